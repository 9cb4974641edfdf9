"""Events as a consumer gets them, one or many at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thalweg.errors import ShapeError
from thalweg.stream.identity import EventId
from thalweg.stream.packed import Packed
from thalweg.stream.rules.serializer import Serializer

if TYPE_CHECKING:
    import pyarrow

_UNREAD: Any = object()


class Event:
    """One event.

    Attributes
    ----------
    partition, offset : int
        Where it is.
    data : memoryview, what the broker gave, or None
        The part of the data that was wanted; None where none was. A view keeps the batch that it came with in memory.
    """

    __slots__ = ("_acknowledge", "_encoded", "_metadata", "_serializer", "data", "offset", "partition")

    def __init__(
        self,
        partition: int,
        offset: int,
        encoded: memoryview,
        data: Any,
        serializer: Serializer,
        acknowledge: Callable[[int, int, bool], None],
    ) -> None:
        self.partition = partition
        self.offset = offset
        self.data = data
        self._encoded = encoded
        self._metadata = _UNREAD
        self._serializer = serializer
        self._acknowledge = acknowledge

    @property
    def metadata(self) -> Any:
        """The metadata, as the topic's serializer reads them.

        Raises
        ------
        CorruptDataError
            When they are not what the serializer writes.
        """
        if self._metadata is _UNREAD:
            self._metadata = self._serializer.decode(self._encoded)
        return self._metadata

    @property
    def metadata_bytes(self) -> memoryview:
        """The metadata as they were sent."""
        return self._encoded

    @property
    def id(self) -> EventId:
        """Partition and offset."""
        return EventId(self.partition, self.offset)

    def acknowledge(self, *, wait: bool = False) -> None:
        """Remember that this event, with all before it in its partition, is done with; see `Consumer.acknowledge`."""
        self._acknowledge(self.partition, self.offset + 1, wait)

    def array(self, dtype: npt.DTypeLike, shape: Sequence[int] | int = -1) -> npt.NDArray[Any]:
        """Return the data as an array that views them; shape -1 is one dimension.

        Raises
        ------
        ShapeError
            When the data are not that large.
        """
        return as_array(self.data, dtype, shape, f"event {self.partition}:{self.offset}")

    def __repr__(self) -> str:
        return f"Event(partition={self.partition}, offset={self.offset})"


class EventBatch:
    """Events of one partition that lie one behind the other.

    Attributes
    ----------
    partition : int
        Their partition.
    """

    def __init__(
        self,
        partition: int,
        first: int,
        encoded: Packed,
        data: Packed | Sequence[Any],
        serializer: Serializer,
        acknowledge: Callable[[int, int, bool], None],
    ) -> None:
        self.partition = partition
        self._first = first
        self._encoded = encoded
        self._data = data
        self._serializer = serializer
        self._acknowledge = acknowledge

    def __len__(self) -> int:
        return len(self._encoded)

    def __getitem__(self, number: int) -> Event:
        if not -len(self) <= number < len(self):
            raise IndexError(f"EventBatch: event {number} of {len(self)}")
        number %= len(self)
        return Event(
            self.partition,
            self._first + number,
            self._encoded[number],
            self._data[number],
            self._serializer,
            self._acknowledge,
        )

    def __iter__(self) -> Iterator[Event]:
        return (self[number] for number in range(len(self)))

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Numbers of the events in their partition, shape (count,)."""
        return np.arange(self._first, self._first + len(self), dtype=np.int64)

    @cached_property
    def metadata(self) -> Any:
        """The metadata: a list, or of a topic of records a structured array of shape (count,).

        Raises
        ------
        CorruptDataError
            When some are not what the serializer writes.
        """
        return self._serializer.decode_many(self._encoded)

    @cached_property
    def data(self) -> list[Any]:
        """The data of each event: views, or what the broker gave."""
        return list(self._data.items()) if isinstance(self._data, Packed) else list(self._data)

    def data_array(self, dtype: npt.DTypeLike = np.uint8, shape: Sequence[int] | int = -1) -> npt.NDArray[Any]:
        """Return the data of all as one array of shape (count, *shape); a view where they came evenly.

        Raises
        ------
        ShapeError
            When the data of some are not that large.
        """
        table = self._data.table() if isinstance(self._data, Packed) else None
        dtype = np.dtype(dtype)
        if table is not None and table.shape[1]:
            size, rest = table.shape[1], _shape_of(shape, dtype, table.shape[1], "EventBatch.data_array")
            if table.strides[0] == size:
                return np.frombuffer(table, dtype).reshape(len(self), *rest)
            return np.ndarray((len(self), size // dtype.itemsize), dtype, table, 0, (table.strides[0], dtype.itemsize))[
                :
            ].reshape(len(self), *rest)
        arrays = [
            as_array(data, dtype, shape, f"event {self.partition}:{self._first + number}")
            for number, data in enumerate(self.data)
        ]
        if len({array.shape for array in arrays}) > 1:
            raise ShapeError("EventBatch.data_array: the data differ in size; see EventBatch.data")
        return np.stack(arrays) if arrays else np.empty((0,), dtype)

    def to_arrow(self) -> pyarrow.RecordBatch:
        """Return columns `metadata` (binary; of records one column a field), `data`, `partition`, `offset`."""
        import pyarrow

        columns: dict[str, Any] = {}
        if self._serializer.dtype is not None and self._serializer.dtype.names is not None:
            columns = {name: _arrow_column(self.metadata[name]) for name in self._serializer.dtype.names}
        else:
            columns["metadata"] = _arrow_binary(self._encoded)
        if isinstance(self._data, Packed):
            columns["data"] = _arrow_binary(self._data)
        else:
            columns["data"] = pyarrow.array(
                [None if data is None else bytes(memoryview(data)) for data in self._data], pyarrow.large_binary()
            )
        columns["partition"] = pyarrow.array(np.full(len(self), self.partition, np.int32))
        columns["offset"] = pyarrow.array(self.offsets)
        return pyarrow.RecordBatch.from_pydict(columns)

    def acknowledge(self, *, wait: bool = False) -> None:
        """Remember that these events, with all before them in their partition, are done; see `Consumer.acknowledge`."""
        self._acknowledge(self.partition, self._first + len(self), wait)

    def __repr__(self) -> str:
        return f"EventBatch(partition={self.partition}, first={self._first}, count={len(self)})"


def as_array(data: Any, dtype: npt.DTypeLike, shape: Sequence[int] | int, what: str) -> npt.NDArray[Any]:
    """Return a view of data as an array.

    Raises
    ------
    ShapeError
        When they are not that large.
    """
    dtype = np.dtype(dtype)
    view = memoryview(b"" if data is None else data)
    rest = _shape_of(shape, dtype, view.nbytes, what)
    return np.frombuffer(view, dtype).reshape(rest) if view.nbytes else np.empty(rest, dtype)


def _shape_of(shape: Sequence[int] | int, dtype: np.dtype[Any], size_bytes: int, what: str) -> tuple[int, ...]:
    asked = (shape,) if isinstance(shape, int) else tuple(shape)
    known = math.prod(length for length in asked if length != -1) * dtype.itemsize
    if asked.count(-1) == 1 and known and size_bytes % known == 0:
        return tuple(size_bytes // known if length == -1 else length for length in asked)
    if -1 not in asked and known == size_bytes:
        return asked
    raise ShapeError(f"{what}: {size_bytes} bytes of data are no array of {dtype} of shape {asked}")


def _arrow_binary(packed: Packed) -> pyarrow.Array:
    import pyarrow

    dense = packed.dense()
    offsets = np.zeros(len(dense) + 1, np.int64)
    offsets[1:] = dense.ends
    return pyarrow.LargeBinaryArray.from_buffers(
        pyarrow.large_binary(), len(dense), [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(dense.blob)]
    )


def _arrow_column(column: npt.NDArray[Any]) -> pyarrow.Array:
    import pyarrow

    if column.ndim == 1:
        return pyarrow.array(np.ascontiguousarray(column))
    flat = pyarrow.array(np.ascontiguousarray(column).reshape(-1))
    return pyarrow.FixedSizeListArray.from_arrays(flat, math.prod(column.shape[1:]))
