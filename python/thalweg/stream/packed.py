"""Byte strings of many events, one behind the other, with where each ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Buffer: TypeAlias = bytes | bytearray | memoryview
Ends: TypeAlias = npt.NDArray[np.uint64]


@dataclasses.dataclass(frozen=True)
class Packed:
    """A column of byte strings.

    Attributes
    ----------
    blob : buffer
        Their bytes: one dimension, contiguous, items of one byte.
    ends : ndarray, shape (count,), uint64
        Where each ends in `blob`.
    align : int
        Each begins at the next multiple of this behind the end of the one before; a power of two.
    """

    blob: Buffer
    ends: Ends
    align: int = 1

    @classmethod
    def of(cls, items: Sequence[Buffer]) -> Packed:
        """Pack byte strings, by copying them."""
        ends = np.cumsum(np.fromiter(map(len, items), np.uint64, len(items)), dtype=np.uint64)
        return cls(b"".join(items), ends)

    @classmethod
    def rows(cls, blob: Buffer, count: int, row_bytes: int) -> Packed:
        """See `blob` as `count` byte strings of one length."""
        return cls(blob, np.arange(1, count + 1, dtype=np.uint64) * np.uint64(row_bytes))

    @classmethod
    def empty(cls, count: int) -> Packed:
        """Pack `count` byte strings of no length."""
        return cls(b"", np.zeros(count, np.uint64))

    def __len__(self) -> int:
        return len(self.ends)

    @cached_property
    def begins(self) -> Ends:
        """Where each begins in `blob`."""
        begins = np.zeros(len(self.ends), np.uint64)
        if len(begins) < 2:
            return begins
        begins[1:] = self.ends[:-1]
        if self.align > 1:
            begins += np.uint64(self.align - 1)
            begins &= np.uint64(~(self.align - 1) & 0xFFFFFFFFFFFFFFFF)
        return begins

    @property
    def sizes(self) -> Ends:
        """How long each is."""
        return self.ends - self.begins if len(self.ends) > 1 else self.ends

    @cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """Begin and end of each, as Python numbers."""
        return list(zip(self.begins.tolist(), self.ends.tolist(), strict=True))

    @cached_property
    def view(self) -> memoryview:
        """The bytes as a view."""
        return memoryview(self.blob)

    def __getitem__(self, number: int) -> memoryview:
        begin, end = self.bounds[number]
        return self.view[begin:end]

    def items(self) -> Iterable[memoryview]:
        """Yield a view of each."""
        view = self.view
        return (view[begin:end] for begin, end in self.bounds)

    def part(self, begin: int, end: int) -> Packed:
        """Return those of the numbers `begin` to `end`, without copying them."""
        if begin == 0 and end == len(self.ends):
            return self
        if begin >= end:
            return Packed(b"", self.ends[:0], self.align)
        first, last = self.begins[begin], self.ends[end - 1]
        return Packed(self.view[int(first) : int(last)], self.ends[begin:end] - first, self.align)

    def take(self, numbers: npt.NDArray[np.int64]) -> Packed:
        """Return those of `numbers`, in that order, by copying them."""
        sizes = self.sizes[numbers]
        ends = np.cumsum(sizes, dtype=np.uint64)
        total = int(ends[-1]) if len(ends) else 0
        source = np.repeat((self.begins[numbers] - (ends - sizes)).astype(np.int64), sizes.astype(np.int64))
        source += np.arange(total)
        return Packed(np.frombuffer(self.blob, np.uint8)[source].data, ends)

    def dense(self) -> Packed:
        """Return the same without gaps; copies only where there are some."""
        if self.align == 1 or bool((self.begins[1:] == self.ends[:-1]).all()):
            return Packed(self.blob, self.ends)
        return self.take(np.arange(len(self.ends)))

    def table(self) -> npt.NDArray[np.uint8] | None:
        """Return a view of shape (count, length) where all are equally long and lie evenly, else None."""
        count = len(self.ends)
        if not count:
            return None
        size, begins = int(self.ends[0]), self.begins
        if count == 1:
            return np.frombuffer(self.blob, np.uint8, size).reshape(1, size)
        stride = int(begins[1])
        even = np.arange(count, dtype=np.uint64) * np.uint64(stride)
        if not (bool((self.ends - begins == size).all()) and bool((begins == even).all())):
            return None
        flat: Any = np.frombuffer(self.blob, np.uint8)
        table: npt.NDArray[np.uint8] = np.lib.stride_tricks.as_strided(
            flat, (count, size), (stride, 1), writeable=bool(flat.flags.writeable)
        )
        return table
