"""A partition's file: finding batches in it, also after a crash."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from thalweg.errors import CorruptDataError
from thalweg.stream.drivers.folder.batch_format import (
    HEAD_BYTES,
    HEADER_BYTES,
    MAGIC,
    TRAILER_BYTES,
    Header,
    decode_head,
    decode_trailer,
    encode_head,
)
from thalweg.stream.drivers.folder.refusal import refusals

_SEARCH_BYTES = 1 << 20


def make_partition_file(path: Path) -> None:
    """Make the file of a partition without events."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        os.write(fd, encode_head(secrets.token_bytes(8), time.time_ns()))
    finally:
        os.close(fd)


class PartitionFile:
    """An open partition file.

    Attributes
    ----------
    fd : int
        Its descriptor.
    salt : bytes
        With which its checksums begin.

    Raises
    ------
    NotFoundError
        When it is not there.
    CorruptDataError
        When it is not of the format.
    """

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self.path = path
        with refusals("open_topic"):
            self.fd = os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)
        salt = decode_head(os.pread(self.fd, HEAD_BYTES, 0))
        if salt is None:
            self.close()
            raise CorruptDataError(f"open_topic: {path} is no partition file of a version that is known")
        self.salt = salt

    def size(self) -> int:
        """How many bytes it has now."""
        return os.fstat(self.fd).st_size

    def removed(self) -> bool:
        """Tell whether it has no name any more, or its folder was moved away."""
        try:
            named, held = os.stat(self.path), os.fstat(self.fd)
        except OSError:
            return True
        return (named.st_dev, named.st_ino) != (held.st_dev, held.st_ino)

    def header(self, place: int) -> Header | None:
        """Return the good header at a place, None when there is none."""
        return Header.decode(os.pread(self.fd, HEADER_BYTES, place), self.salt, place)

    def last(self, size: int) -> Header | None:
        """Return the header of the batch that ends with the file, None when none does."""
        place = decode_trailer(os.pread(self.fd, TRAILER_BYTES, max(size - TRAILER_BYTES, 0)), self.salt)
        header = None if place is None else self.header(place)
        return header if header is not None and header.end == size else None

    def headers(self, place: int = HEAD_BYTES) -> Iterator[Header]:
        """Yield the headers of the batches that are complete, from a place on; over what is damaged."""
        size = self.size()
        while place < size:
            header = self.header(place)
            if header is None:
                header = self.next_good(place, size)
            if header is None or header.end > size:
                return
            yield header
            place = header.end

    def next_good(self, place: int, size: int) -> Header | None:
        """Return the first good header behind a place."""
        while place < size:
            block = os.pread(self.fd, _SEARCH_BYTES, place)
            at = block.find(MAGIC)
            while at >= 0:
                if (place + at) % 8 == 0 and (header := self.header(place + at)) is not None:
                    return header
                at = block.find(MAGIC, at + 1)
            place += max(len(block) - len(MAGIC) + 1, 1) if len(block) == _SEARCH_BYTES else len(block) or size
        return None

    def end(self, place: int = HEAD_BYTES, number: int = 0) -> tuple[int, int]:
        """Return where the last complete batch ends, and the number of the next event; searches from a good place."""
        last = self.last(self.size())
        if last is not None:
            return last.end, last.first + last.count
        for header in self.headers(place):
            place, number = header.end, header.first + header.count
        return place, number

    def find(self, number: int, place: int = HEAD_BYTES) -> int:
        """Return where the batch with an event begins, or would begin; `place` is that of one before it."""
        start = self.header(place)
        for header in self.headers(place if start is not None and start.first <= number else HEAD_BYTES):
            if number < header.first + header.count:
                return header.place
            place = header.end
        return place

    def close(self) -> None:
        """Close it."""
        os.close(self.fd)
