"""What users push, as bytes: one event's data, or the columns of many events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg.errors import DTypeError, InvalidError, ShapeError
from thalweg.stream.packed import Buffer, Packed
from thalweg.stream.rules.serializer import Serializer

#: Data of this mean size and larger are not copied together.
APART_BYTES = 64 << 10


def segments(data: Any) -> Sequence[Buffer]:
    """Return the data of an event as buffers of one dimension and items of one byte, without copying what can be so.

    Raises
    ------
    DTypeError
        When it is not None, bytes-like, an array, or a list of these.
    """
    if data is None:
        return ()
    if type(data) is bytes:
        return (data,)
    if isinstance(data, list | tuple):
        return [_segment(part) for part in data]
    return (_segment(data),)


def metadata_column(metadata: Any, serializer: Serializer) -> tuple[Packed, Any]:
    """Return the metadata of many events, encoded and as values to look at.

    Raises
    ------
    InvalidError
        When it is not a list, a structured array or an Arrow table, or the serializer refuses some.
    """
    if _is_arrow(metadata):
        metadata = _from_arrow(metadata, serializer)
        if isinstance(metadata, Packed):
            return metadata, metadata.items()
    if isinstance(metadata, np.ndarray):
        if metadata.ndim != 1:
            raise InvalidError(f"push_many: metadata of shape {metadata.shape}; expected one dimension, of events")
        if serializer.dtype is None:
            metadata = _as_mappings(metadata)
        return serializer.encode_many(metadata), metadata
    if isinstance(metadata, str | bytes | bytearray | memoryview | dict) or not isinstance(metadata, Sequence):
        raise InvalidError(
            f"push_many: metadata of type {type(metadata).__name__}; accepted are a list with one item an event, "
            "a structured array, a pyarrow RecordBatch or Table"
        )
    return serializer.encode_many(metadata), metadata


def data_column(data: Any, count: int) -> Packed | list[Sequence[Buffer]] | None:
    """Return the data of many events: packed, or where they are large as the buffers of each.

    Raises
    ------
    ShapeError
        When they are not of `count` events.
    DTypeError
        When they are no array, Arrow array of bytes, or list of bytes-like things.
    """
    if data is None:
        return None
    if _is_arrow(data):
        packed = _binary(data)
        _check_count(len(packed), count)
        return packed
    if isinstance(data, np.ndarray):
        _check_count(len(data) if data.ndim else 0, count)
        return Packed.rows(_segment(data), count, data.nbytes // count if count else 0)
    if not isinstance(data, list | tuple):
        raise DTypeError(
            f"push_many: data of type {type(data).__name__}; accepted are None, an array of shape (events, ...), "
            "a list with one item an event, a pyarrow array of bytes"
        )
    _check_count(len(data), count)
    each = [segments(item) for item in data]
    total = sum(len(part) for parts in each for part in parts)
    if total >= APART_BYTES * max(count, 1):
        return each
    return Packed.of([parts[0] if len(parts) == 1 else b"".join(parts) for parts in each])


def _segment(data: Any) -> Buffer:
    if isinstance(data, bytes):
        return data
    if isinstance(data, np.ndarray | np.generic):
        if data.dtype.hasobject:
            raise DTypeError(f"push: data of {data.dtype}; Python objects have no bytes, pickle them yourself")
        return np.ascontiguousarray(data).reshape(-1).view(np.uint8).data
    try:
        view = memoryview(data)
    except TypeError:
        raise DTypeError(
            f"push: data of type {type(data).__name__}; accepted are None, bytes-like, arrays, and lists of these"
        ) from None
    if not view.nbytes:
        return b""
    if not view.c_contiguous:
        return view.tobytes()
    return view if view.ndim == 1 and view.itemsize == 1 and view.format == "B" else view.cast("B")


def _check_count(found: int, count: int) -> None:
    if found != count:
        raise ShapeError(f"push_many: data of {found} events with metadata of {count}; expected as many")


def _is_arrow(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pyarrow"


def _from_arrow(metadata: Any, serializer: Serializer) -> Any:
    """Return a structured array, packed bytes, or a list of mappings of an Arrow table or array."""
    import pyarrow

    if isinstance(metadata, pyarrow.RecordBatch):
        metadata = pyarrow.Table.from_batches([metadata])
    if not isinstance(metadata, pyarrow.Table):
        return _binary(metadata)
    if serializer.dtype is None:
        if metadata.num_columns == 1 and _is_bytes(metadata.schema.field(0).type):
            return _binary(metadata.column(0))
        return metadata.to_pylist()
    names = serializer.dtype.names or ()
    if set(metadata.column_names) != set(names):
        raise InvalidError(
            f"push_many: metadata with the columns {', '.join(metadata.column_names)}; the topic has {', '.join(names)}"
        )
    array = np.empty(metadata.num_rows, serializer.dtype)
    for name in names:
        column, target = metadata.column(name), serializer.dtype[name]
        if column.null_count:
            raise InvalidError(f"push_many: column {name!r} has {column.null_count} nulls; records have none")
        values = column.to_numpy()
        if values.dtype.kind != "O" and not np.can_cast(values.dtype, target.base, "same_kind"):
            raise InvalidError(f"push_many: column {name!r} is {column.type}; the topic has {target}")
        array[name] = values
    return array


def _is_bytes(kind: Any) -> bool:
    import pyarrow

    tests = ("is_binary", "is_large_binary", "is_string", "is_large_string", "is_fixed_size_binary")
    return any(getattr(pyarrow.types, test)(kind) for test in tests)


def _binary(array: Any) -> Packed:
    """View an Arrow array of bytes or texts; nulls are of no length."""
    import pyarrow

    if isinstance(array, pyarrow.ChunkedArray):
        array = array.combine_chunks()
        if isinstance(array, pyarrow.ChunkedArray):
            array = pyarrow.concat_arrays(array.chunks) if array.num_chunks else pyarrow.array([], array.type)
    if not isinstance(array, pyarrow.Array) or not _is_bytes(array.type):
        raise DTypeError(f"push_many: {getattr(array, 'type', type(array).__name__)}; expected a column of bytes")
    if pyarrow.types.is_fixed_size_binary(array.type):
        width = array.type.byte_width
        return Packed.rows(memoryview(array.buffers()[1])[array.offset * width :], len(array), width)
    wide = pyarrow.types.is_large_binary(array.type) or pyarrow.types.is_large_string(array.type)
    _, offsets, blob = array.buffers()
    if not len(array):
        return Packed.empty(0)
    bounds = np.frombuffer(offsets, np.int64 if wide else np.int32)[array.offset : array.offset + len(array) + 1]
    view = memoryview(blob)[int(bounds[0]) : int(bounds[-1])] if blob is not None else b""
    return Packed(view, (bounds[1:] - bounds[0]).astype(np.uint64))


def _as_mappings(records: Any) -> Any:
    """Return what a serializer of any values makes of an array: mappings of a structured one, else its items."""
    names = records.dtype.names
    return records.tolist() if names is None else [dict(zip(names, row, strict=True)) for row in records.tolist()]
