"""Recording events at a cost of about a microsecond, into a mapped file that outlives a kill of the process."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import mmap
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thalweg.errors import InvalidError
from thalweg.results import trace_format as fmt

_numbers = itertools.count()
_current: contextvars.ContextVar[Tracer | None] = contextvars.ContextVar("thalweg_tracer", default=None)
_pack = fmt.EVENT.pack_into
_EVENT_BYTES = fmt.EVENT.size


def current_tracer() -> Tracer | None:
    """Return the tracer of the workflow component that runs this code, or None outside of one."""
    return _current.get()


def set_current_tracer(tracer: Tracer | None) -> None:
    """Make `tracer` the one that `current_tracer` gives in this thread's context."""
    _current.set(tracer)


class Tracer:
    """Appends the events of one component to one trace file.

    Memory is bounded: one mapped chunk of 1 MiB, whatever the number of events. An event is in the file as soon as
    `record` returns; a SIGKILL of the process loses none. Thread-safe.

    Parameters
    ----------
    folder : Path
        Where the trace file is made (``RunFolder.traces``).
    component : str
        Name of the component that the events belong to.
    rank : int
        Rank within the component.
    run_start_ns : int
        CLOCK_MONOTONIC at the start of the run; times are stored raw and become relative to it when merged.

    Raises
    ------
    OSError
        From the constructor and, once every 1 MiB of events, from `record`: when the disk is full.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with Tracer(pathlib.Path(tempfile.mkdtemp()), "solver") as tracer:
    ...     with tracer.span("compute", "fft", iteration=3):
    ...         pass
    """

    def __init__(self, folder: Path, component: str, rank: int = 0, run_start_ns: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.component, self.rank = component, rank
        self.run_start_ns = time.monotonic_ns() if run_start_ns is None else run_start_ns
        safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in component)
        self.path = folder / f"{safe}-{rank}-{os.getpid()}-{next(_numbers)}.trace"
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        os.write(self._fd, fmt.encode_header(fmt.TraceHeader(component, rank, os.getpid(), self.run_start_ns)))
        self._lock = threading.Lock()
        self._strings: dict[str, int] = {"": 0}
        self._chunks = 0
        self._map: mmap.mmap | None = None
        self._position = 0
        self.events = 0
        self._next_chunk()

    def record(
        self,
        kind: str,
        name: str,
        start_ns: int,
        end_ns: int,
        *,
        key: str = "",
        iteration: int = -1,
        size_bytes: int = 0,
        backend: str = "",
    ) -> None:
        """Append one event.

        Parameters
        ----------
        kind : str
            One of init, compute, train, write, read, poll, wait, delete, collective.
        name : str
            Kernel or operation. Meant to be one of few (at most 65,535 different ones are kept apart).
        start_ns, end_ns : int
            ``time.monotonic_ns()`` before and after.
        key : str
            Staged key; cut at 4096 bytes.
        iteration : int
            Iteration of the component, -1 for none.
        size_bytes : int
            Bytes that moved.
        backend : str
            DataStore backend, or ``hdf5`` for files of IO kernels.

        Raises
        ------
        InvalidError
            For an unknown kind, or after `close`.
        """
        key_bytes = key.encode() if key else b""
        if len(key_bytes) > fmt.LONGEST_STRING:
            key_bytes = key_bytes[: fmt.LONGEST_STRING]
        with self._lock:
            try:
                code = fmt.KIND_CODE[kind]
                strings = self._strings
                name_number = strings[name] if name in strings else self._intern(name)
                backend_number = strings[backend] if backend in strings else self._intern(backend)
                length = len(key_bytes)
                size = (_EVENT_BYTES + length + 7) & ~7
                if self._position + size > fmt.CHUNK_BYTES:
                    self._next_chunk()
                buffer: Any = self._map
                at = self._position
                if length:
                    buffer[at + 40 : at + 40 + length] = key_bytes
                _pack(buffer, at, 0, code, name_number, length, backend_number, iteration, size_bytes, start_ns, end_ns)
                buffer[at] = 1  # the tag last: the record is there as a whole or not at all
                self._position = at + size
                self.events += 1
            except KeyError:
                raise InvalidError(
                    f"Tracer.record: kind {kind!r} is unknown; accepted are {', '.join(fmt.KINDS)}"
                ) from None
            except TypeError:
                if self._map is None:
                    raise InvalidError(f"Tracer.record: the tracer of {self.component!r} is closed") from None
                raise

    @contextlib.contextmanager
    def span(
        self, kind: str, name: str, *, key: str = "", iteration: int = -1, size_bytes: int = 0, backend: str = ""
    ) -> Iterator[None]:
        """Record the block as one event; a block that raises is not recorded."""
        start = time.monotonic_ns()
        yield
        end = time.monotonic_ns()
        self.record(kind, name, start, end, key=key, iteration=iteration, size_bytes=size_bytes, backend=backend)

    def close(self) -> None:
        """Cut the file to what was written. Further calls do nothing."""
        with self._lock:
            if self._map is None:
                return
            used = fmt.HEADER_BYTES + (self._chunks - 1) * fmt.CHUNK_BYTES + self._position
            self._map.close()
            self._map = None
            self._position = 0
            os.ftruncate(self._fd, used)
            os.close(self._fd)

    def __enter__(self) -> Tracer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _intern(self, text: str) -> int:
        data = text.encode()[: fmt.LONGEST_STRING]
        number = len(self._strings)
        if number > 0xFFFF:
            return 0
        size = fmt.padded(fmt.STRING.size + len(data))
        if self._position + size > fmt.CHUNK_BYTES:
            self._next_chunk()
        if self._map is None:
            raise TypeError("closed")
        at = self._position
        start = at + fmt.STRING.size
        self._map[start : start + len(data)] = data
        fmt.STRING.pack_into(self._map, at, 0, 0, number, len(data), 0)
        self._map[at] = fmt.TAG_STRING
        self._position = at + size
        self._strings[text] = number
        return number

    def _next_chunk(self) -> None:
        if self._chunks and self._map is None:
            raise TypeError("closed")
        offset = fmt.HEADER_BYTES + self._chunks * fmt.CHUNK_BYTES
        os.posix_fallocate(self._fd, offset, fmt.CHUNK_BYTES)  # a full disk is an error here, not a SIGBUS later
        following = mmap.mmap(self._fd, fmt.CHUNK_BYTES, offset=offset)
        if self._map is not None:
            if self._position < fmt.CHUNK_BYTES:
                self._map[self._position] = fmt.TAG_PAD
            self._map.close()
        self._map, self._position = following, 0
        self._chunks += 1
