"""The files of a program of the workload language that runs for real."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from thalweg.errors import InvalidError

#: How much is written or read in one call of the operating system.
_CHUNK = 16 << 20


class Files:
    """Files in a folder, by the numbers that the program gives them; 0 is the application's own.

    What is read and was never written is there all the same: the file grows, by zeros.

    Raises
    ------
    InvalidError
        For a name that leads out of the folder.
    """

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._folder, self._names = folder, ["application", *names]
        self._open: dict[int, int] = {}
        self._data = memoryview(bytes(_CHUNK))
        self._room = memoryview(bytearray(_CHUNK))
        for name in names:
            if name == "application" or not name or Path(name).is_absolute() or ".." in Path(name).parts:
                raise InvalidError(
                    f"sim exec: the file {name!r} is not one in the program's folder; accepted are relative names "
                    "without .., other than 'application'"
                )

    def __enter__(self) -> Files:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    def perform(self, kind: str, file: int, at: int = 0, size: int = 0) -> None:
        """Perform one operation; a file that is not open is opened first."""
        if kind == "close":
            if file in self._open:
                os.close(self._open.pop(file))
            return
        descriptor = self._descriptor(file)
        if kind == "sync":
            os.fsync(descriptor)
        elif kind == "write":
            self._write(descriptor, at, size)
        elif kind == "read":
            self._read(descriptor, at, size)

    def _descriptor(self, file: int) -> int:
        if file not in self._open:
            path = self._folder / self._names[file]
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open[file] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        return self._open[file]

    def _write(self, descriptor: int, at: int, size: int) -> None:
        end = at + size
        while at < end:
            at += os.pwrite(descriptor, self._data[: min(_CHUNK, end - at)], at)

    def _read(self, descriptor: int, at: int, size: int) -> None:
        end = at + size
        if end > os.fstat(descriptor).st_size:
            os.posix_fallocate(descriptor, 0, end)  # only ever makes a file longer, whoever else does so too
        while at < end:
            got = os.preadv(descriptor, [self._room[: min(_CHUNK, end - at)]], at)
            if got == 0:
                raise InvalidError(f"sim exec: a file ended at {at} where {end} bytes were to be read")
            at += got
