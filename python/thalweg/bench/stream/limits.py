"""What the disk and memory can do with the same bytes, measured beside each case."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from thalweg.bench import limits

_PIECE_BYTES = 256 * 1024
_COPY_BYTES, _COPIES = 64_000_000, 5
_ROUND_TRIPS = 500
_SYNCS = 50


@dataclass(frozen=True)
class Limits:
    """Medians and totals of one round and case."""

    memcpy_bytes_per_s: float
    append_bytes_per_s: float
    read_bytes_per_s: float
    #: As append and read, of a new file in memory: the kernel has to find its pages.
    memory_write_bytes_per_s: float
    memory_read_bytes_per_s: float
    append_fdatasync_s: float
    unix_round_trip_s: float


def measure(folder: Path, total_bytes: int, event_bytes: int) -> Limits:
    """Measure everything in a folder on the disk that the logs are on; nothing stays there.

    Parameters
    ----------
    folder : Path
        Where the file is made.
    total_bytes : int
        Bytes that are appended, and read back from the page cache, in pieces of 256 KiB.
    event_bytes : int
        Bytes of an append that is followed by fdatasync.
    """
    path = folder / "limit"
    piece = os.urandom(_PIECE_BYTES)
    pieces = max(1, total_bytes // _PIECE_BYTES)
    moved = pieces * _PIECE_BYTES
    memory = os.memfd_create("limit", os.MFD_CLOEXEC)
    try:
        memory_write_s, memory_read_s = _append_and_read_s(memory, piece, pieces)
    finally:
        os.close(memory)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        append_s, read_s = _append_and_read_s(fd, piece, pieces)
        synced = _fdatasync_s(fd, piece[: min(event_bytes, _PIECE_BYTES)])
    finally:
        os.close(fd)
        path.unlink()
    return Limits(
        memcpy_bytes_per_s=_COPY_BYTES / statistics.median(limits.memcpy_s(_COPY_BYTES, _COPIES)),
        append_bytes_per_s=moved / append_s,
        read_bytes_per_s=moved / read_s,
        memory_write_bytes_per_s=moved / memory_write_s,
        memory_read_bytes_per_s=moved / memory_read_s,
        append_fdatasync_s=synced,
        unix_round_trip_s=statistics.median(limits.unix_round_trip_s(_ROUND_TRIPS)),
    )


def _append_and_read_s(fd: int, piece: bytes, pieces: int) -> tuple[float, float]:
    into = bytearray(len(piece))
    begin = perf_counter()
    for _ in range(pieces):
        os.write(fd, piece)
    appended = perf_counter()
    for number in range(pieces):
        os.preadv(fd, [into], number * len(piece))
    return appended - begin, perf_counter() - appended


def _fdatasync_s(fd: int, event: bytes) -> float:
    """Median seconds of an append that is safe; the first one, which writes what was appended before, is left out."""
    os.fdatasync(fd)
    seconds = []
    for _ in range(_SYNCS):
        begin = perf_counter()
        os.write(fd, event)
        os.fdatasync(fd)
        seconds.append(perf_counter() - begin)
    return statistics.median(seconds)
