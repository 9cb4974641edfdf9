"""Up to where a named consumer has acknowledged the events of a partition."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from thalweg.stream.drivers.folder.batch_format import HEAD_BYTES
from thalweg.stream.drivers.folder.lock_file import lock
from thalweg.stream.drivers.folder.refusal import refusals

_POSITION = struct.Struct("<8sQQII")
_MAGIC = b"THWG-POS"


def read_position(path: Path) -> tuple[int, int] | None:
    """Return the number of the next event and the place of a batch not behind it; None where there is none."""
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(stored) != _POSITION.size:
        return None
    magic, number, place, crc, _ = _POSITION.unpack(stored)
    good = magic == _MAGIC and crc == zlib.crc32(stored[:24])
    return (number, max(place, HEAD_BYTES)) if good else None


def encode_position(number: int, place: int) -> bytes:
    """Return the bytes of a position file."""
    start = _POSITION.pack(_MAGIC, number, place, 0, 0)[:24]
    return start + struct.pack("<II", zlib.crc32(start), 0)


def raise_position(path: Path, number: int, place: int, timeout_s: float) -> int:
    """Store a position unless a higher one is stored; return the one that is stored then.

    Raises
    ------
    WaitTimeoutError
        When another process is at it for so long.
    """
    with refusals(f"acknowledge: {path}"):
        fd = os.open(path.with_suffix(".at"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            lock(fd, timeout_s, f"acknowledge: {path}")
            stored = read_position(path)
            if stored is not None and stored[0] >= number:
                return stored[0]
            fresh = path.with_suffix(".new")
            fresh.write_bytes(encode_position(number, place))
            os.replace(fresh, path)
            return number
        finally:
            os.close(fd)
