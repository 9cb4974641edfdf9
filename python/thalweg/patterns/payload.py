"""Payloads that cannot be compressed, with a checksum that the reader verifies."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from thalweg.datastore.staged_value import bytes_of
from thalweg.errors import CorruptDataError, InvalidError

Array = np.ndarray[Any, np.dtype[Any]]
_CHECKSUM_BYTES = 4


class Payloads:
    """Makes float32 payloads: random numbers in [1, 2), and the CRC-32 of all of them in the last 4 bytes.

    Parameters
    ----------
    size_bytes : int
        A multiple of 4, at least 8.
    seed : int
        The same seed gives the same series of payloads.
    """

    def __init__(self, size_bytes: int, seed: int) -> None:
        if size_bytes < 8 or size_bytes % 4:
            raise InvalidError(f"Payloads: size_bytes is {size_bytes}; give a multiple of 4, at least 8")
        self._rng = np.random.default_rng(seed)
        self._count = size_bytes // 4

    def next(self) -> Array:
        """Return the next payload, shape (size_bytes / 4,), float32."""
        bits = self._rng.integers(0, 1 << 23, self._count, np.uint32)
        bits |= np.uint32(0x3F800000)
        bits[-1] = zlib.crc32(bytes_of(bits[:-1]))
        return bits.view(np.float32)


def verify(payload: Array, key: str) -> None:
    """Check a payload's checksum.

    Raises
    ------
    CorruptDataError
        When it is not what was written.
    """
    data = bytes_of(np.ascontiguousarray(payload))
    expected = int.from_bytes(data[-_CHECKSUM_BYTES:], "little")
    found = zlib.crc32(data[:-_CHECKSUM_BYTES])
    if found != expected:
        raise CorruptDataError(f"payload {key!r} has the checksum {found:#010x}, written was {expected:#010x}")
