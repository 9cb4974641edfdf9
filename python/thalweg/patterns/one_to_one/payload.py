"""Payloads that cannot be compressed, with a checksum that the reader verifies."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from thalweg.errors import CorruptDataError, InvalidError

Array = np.ndarray[Any, np.dtype[Any]]
_CHECKSUM_BYTES = 4


class Payloads:
    """Makes float32 payloads of random bits (finite numbers in [1, 2)), of which the last 4 bytes are the CRC-32 of the others.

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
        bits[-1] = zlib.crc32(memoryview(bits[:-1]).cast("B"))
        return bits.view(np.float32)


def verify(payload: Array, key: str) -> None:
    """Check a payload's checksum.

    Raises
    ------
    CorruptDataError
        When it is not what was written.
    """
    data = memoryview(np.ascontiguousarray(payload)).cast("B")
    expected = int.from_bytes(data[-_CHECKSUM_BYTES:], "little")
    found = zlib.crc32(data[:-_CHECKSUM_BYTES])
    if found != expected:
        raise CorruptDataError(
            f"one-to-one: payload {key!r} has the checksum {found:#010x}, written was {expected:#010x}"
        )
