"""Which part of an event's data is wanted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from thalweg.errors import InvalidError

if TYPE_CHECKING:
    import numpy.typing as npt


class DataDescriptor:
    """A part of data of `whole_bytes`: byte ranges that are laid one behind the other.

    A data selector gets the descriptor of all and returns one made of it: `all`, `none`, `range`, `ranges`, `block`.

    Examples
    --------
    >>> wanted = DataDescriptor(100).ranges([(0, 4), (96, 100)])
    >>> wanted.size_bytes, wanted.pieces
    (8, ((0, 4), (96, 100)))
    >>> DataDescriptor(48).block((3, 4), "<f4", lower=(1, 1), extent=(2, 2)).pieces
    ((20, 28), (36, 44))
    """

    __slots__ = ("pieces", "size_bytes", "whole_bytes")

    def __init__(self, whole_bytes: int, pieces: Sequence[tuple[int, int]] | None = None) -> None:
        self.whole_bytes = whole_bytes
        self.pieces: tuple[tuple[int, int], ...] = ((0, whole_bytes),) if pieces is None else tuple(pieces)
        self.size_bytes = sum(end - begin for begin, end in self.pieces)

    @property
    def all(self) -> DataDescriptor:
        """All of the data."""
        return DataDescriptor(self.whole_bytes)

    @property
    def none(self) -> DataDescriptor:
        """Nothing of them."""
        return DataDescriptor(self.whole_bytes, ())

    @property
    def is_all(self) -> bool:
        """Tell whether it is all of the data."""
        return self.pieces == ((0, self.whole_bytes),)

    def range(self, begin: int, end: int) -> DataDescriptor:
        """Return the bytes `begin` to `end`, without the latter.

        Raises
        ------
        InvalidError
            When they do not lie within the data.
        """
        return self.ranges([(begin, end)])

    def ranges(self, ranges: Iterable[tuple[int, int]]) -> DataDescriptor:
        """Return several byte ranges, in the order given.

        Raises
        ------
        InvalidError
            When one does not lie within the data.
        """
        pieces = [(int(begin), int(end)) for begin, end in ranges]
        for begin, end in pieces:
            if not 0 <= begin <= end <= self.whole_bytes:
                raise InvalidError(
                    f"DataDescriptor: bytes {begin} to {end} of data of {self.whole_bytes}; "
                    f"accepted are 0 <= begin <= end <= {self.whole_bytes}"
                )
        return DataDescriptor(self.whole_bytes, [piece for piece in pieces if piece[0] < piece[1]])

    def block(
        self, shape: Sequence[int], dtype: npt.DTypeLike, lower: Sequence[int], extent: Sequence[int]
    ) -> DataDescriptor:
        """Return an n-dimensional block of data that are an array in row-major order.

        Parameters
        ----------
        shape : sequence of int
            Of the array that the data are.
        dtype : dtype
            Of its elements.
        lower, extent : sequence of int
            Where the block begins and how long it is, in elements along each axis.

        Raises
        ------
        InvalidError
            When the array is not as large as the data, or the block does not lie within it.
        """
        import numpy as np

        shape, lower, extent = [tuple(int(length) for length in part) for part in (shape, lower, extent)]
        item = np.dtype(dtype).itemsize
        if min(shape, default=1) < 0 or math.prod(shape) * item != self.whole_bytes:
            raise InvalidError(
                f"DataDescriptor.block: shape {shape} of {np.dtype(dtype)} is {math.prod(shape) * item} bytes; "
                f"the data are {self.whole_bytes}"
            )
        if not len(shape) == len(lower) == len(extent) or any(
            not 0 <= low <= low + length <= full for low, length, full in zip(lower, extent, shape, strict=True)
        ):
            raise InvalidError(
                f"DataDescriptor.block: lower {lower}, extent {extent} do not lie within an array of shape {shape}"
            )
        return DataDescriptor(self.whole_bytes, _runs(shape, lower, extent, item))

    def __repr__(self) -> str:
        return f"DataDescriptor({self.whole_bytes}, {list(self.pieces)!r})"


def _runs(shape: tuple[int, ...], lower: tuple[int, ...], extent: tuple[int, ...], item: int) -> list[tuple[int, int]]:
    """Return the runs of bytes that a block consists of, as long as they can be."""
    if 0 in extent:
        return []
    whole_from = len(shape)  # behind this axis the block has all that there is
    while whole_from > 0 and extent[whole_from - 1] == shape[whole_from - 1]:
        whole_from -= 1
    last = max(whole_from - 1, 0)
    strides: list[int] = [item] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    run_bytes = math.prod(extent[last:]) * item
    start = sum(low * stride for low, stride in zip(lower, strides, strict=True))
    steps: list[Any] = [range(0, extent[axis] * strides[axis], strides[axis]) for axis in range(last)]
    return [(start + sum(step), start + sum(step) + run_bytes) for step in product(*steps)]
