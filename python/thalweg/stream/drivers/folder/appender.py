"""Appending batches to a partition file, one process at a time."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from pathlib import Path

from thalweg.errors import NotFoundError
from thalweg.stream.drivers.folder.batch_format import HEAD_BYTES, encode_batch
from thalweg.stream.drivers.folder.lock_file import lock, unlock
from thalweg.stream.drivers.folder.partition_file import PartitionFile
from thalweg.stream.drivers.folder.refusal import refusals
from thalweg.stream.packed import Buffer, Ends

_MOST_PARTS = 512


@dataclasses.dataclass
class Piece:
    """Events that become one batch in the file."""

    metadata: Sequence[Buffer]
    metadata_ends: Ends
    data: Sequence[Buffer]
    data_ends: Ends


class Appender:
    """Appends to one partition file; used by one thread."""

    def __init__(self, path: Path, *, durable: bool, timeout_s: float) -> None:
        self._file = PartitionFile(path, writable=True)
        self._durable = durable
        self._timeout_s = timeout_s
        self._end = HEAD_BYTES
        self._next = 0

    def append(self, pieces: Sequence[Piece]) -> int:
        """Append events under consecutive numbers; return the first number.

        Raises
        ------
        WaitTimeoutError
            When another process holds the partition too long.
        NotFoundError
            When the topic was deleted.
        FullError
            When the disk is full; nothing is appended.
        """
        fd, what = self._file.fd, f"push: {self._file.path}"
        with refusals(what):
            lock(fd, self._timeout_s, what)
            try:
                if self._file.removed():
                    raise NotFoundError(f"{what}: the topic was deleted")
                self._find_end()
                place, number = self._end, self._next
                try:
                    for piece in pieces:
                        place, number = self._write(place, number, piece)
                except BaseException:
                    os.ftruncate(fd, self._end)
                    raise
                first, self._end, self._next = self._next, place, number
            finally:
                unlock(fd)
            if self._durable:
                os.fdatasync(fd)
        return first

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _find_end(self) -> None:
        """Find where to append; what a process left that was killed while it wrote is cut off."""
        size = self._file.size()
        if size == self._end:
            return
        self._end, self._next = self._file.end(self._end, self._next)
        if self._end < size:
            os.ftruncate(self._file.fd, self._end)

    def _write(self, place: int, number: int, piece: Piece) -> tuple[int, int]:
        header, parts = encode_batch(
            self._file.salt,
            place,
            number,
            time.time_ns(),
            piece.metadata,
            piece.metadata_ends,
            piece.data,
            piece.data_ends,
        )
        left = [memoryview(part) for part in parts if len(part)]
        while left:
            written = os.pwritev(self._file.fd, left[:_MOST_PARTS], place)
            place += written
            while left and written >= len(left[0]):
                written -= len(left.pop(0))
            if written:
                left[0] = left[0][written:]
        return header.end, number + header.count
