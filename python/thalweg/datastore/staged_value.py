"""A staged value as typed header and raw bytes (docs/formats/staged-value.md)."""

from __future__ import annotations

import dataclasses
import json
import pickle
import struct
import sys
import zlib
from typing import Any, Literal

import numpy as np

from thalweg.errors import AccessError, CorruptDataError, DTypeError, InvalidError, ShapeError

Array = np.ndarray[Any, np.dtype[Any]]
Kind = Literal["bytes", "array", "pickle"]
MAGIC = b"THWV"
VERSION = 1
ALIGNMENT = 64
LARGEST_HEADER = 1 << 20
_FIXED = struct.Struct("<4sBBBBIIQIBBH")
_KINDS: tuple[Kind, ...] = ("bytes", "array", "pickle")
_ACCEPTED_KINDS = "biufcSUmMV"


@dataclasses.dataclass(frozen=True)
class Header:
    """What a value is, without its bytes."""

    kind: Kind
    size_bytes: int
    dtype: str = ""
    shape: tuple[int, ...] = ()
    fortran: bool = False
    checksum: int | None = None
    pieces: bool = False

    def encode(self) -> bytes:
        """Return the header's bytes, a multiple of 64 long."""
        text = self.dtype.encode("ascii")
        rest = struct.pack(f"<{len(self.shape)}Q", *self.shape) + text
        length = -(-(_FIXED.size + len(rest)) // ALIGNMENT) * ALIGNMENT
        fields = (
            _KINDS.index(self.kind) + 1,
            int(self.fortran),
            len(self.shape),
            length,
            0,
            self.size_bytes,
            self.checksum or 0,
            int(self.checksum is not None),
            int(self.pieces),
            len(text),
        )
        whole = bytearray((_FIXED.pack(MAGIC, VERSION, *fields) + rest).ljust(length, b"\0"))
        struct.pack_into("<I", whole, 12, zlib.crc32(whole))
        return bytes(whole)

    @classmethod
    def decode(cls, data: bytes | memoryview, source: str) -> Header:
        """Read a header; `source` names the value in errors.

        Raises
        ------
        CorruptDataError
            When the bytes are not a whole header of this format.
        """
        if len(data) < _FIXED.size or bytes(data[:4]) != MAGIC:
            raise CorruptDataError(f"{source}: starts with {bytes(data[:4])!r}, expected a staged value ({MAGIC!r})")
        _, version, kind, order, ndim, length, crc, size, checksum, has, pieces, text = _FIXED.unpack_from(data)
        if version != VERSION:
            raise CorruptDataError(f"{source}: has format version {version}; this library reads version {VERSION}")
        if length > len(data) or length < _FIXED.size + 8 * ndim + text:
            raise CorruptDataError(f"{source}: its header is cut off: {len(data)} bytes, expected {length}")
        whole = bytearray(data[:length])
        whole[12:16] = b"\0\0\0\0"
        if zlib.crc32(whole) != crc or not 1 <= kind <= len(_KINDS):
            raise CorruptDataError(f"{source}: its header is damaged: the checksum does not fit")
        shape = struct.unpack_from(f"<{ndim}Q", whole, _FIXED.size)
        start = _FIXED.size + 8 * ndim
        dtype = whole[start : start + text].decode("ascii")
        return cls(_KINDS[kind - 1], size, dtype, shape, bool(order), checksum if has else None, bool(pieces))

    @staticmethod
    def length(data: bytes | memoryview, source: str) -> int:
        """Return the length of the header that `data` (at least 12 bytes) begins."""
        if len(data) < 12 or bytes(data[:4]) != MAGIC:
            raise CorruptDataError(f"{source}: starts with {bytes(data[:4])!r}, expected a staged value ({MAGIC!r})")
        length = int.from_bytes(data[8:12], "little")
        if not _FIXED.size <= length <= LARGEST_HEADER:
            raise CorruptDataError(f"{source}: its header says that it is {length} bytes long")
        return length


@dataclasses.dataclass(frozen=True)
class Packed:
    """A value ready to be staged: `array` for arrays (any strides), `raw` for everything else."""

    kind: Kind
    array: Array | None
    raw: memoryview | None

    @property
    def size_bytes(self) -> int:
        """Bytes of the payload."""
        if self.array is not None:
            return self.array.nbytes
        return self.raw.nbytes if self.raw is not None else 0

    def encode(self, checksum: bool = False) -> tuple[Header, memoryview]:
        """Return header and payload; a strided array is copied once, every other value is not copied."""
        if self.array is None:
            assert self.raw is not None
            header = Header(self.kind, self.raw.nbytes)
            payload = self.raw
        else:
            fortran = self.array.ndim > 1 and self.array.flags.f_contiguous and not self.array.flags.c_contiguous
            flat = self.array.T if fortran else np.ascontiguousarray(self.array)
            payload = bytes_of(flat)
            header = Header("array", payload.nbytes, dtype_text(self.array.dtype), self.array.shape, fortran)
        if checksum:
            header = dataclasses.replace(header, checksum=zlib.crc32(payload))
        return header, payload


def pack(value: Any, *, allow_pickle: bool) -> Packed:
    """Take a value apart without copying it.

    Arrays, torch tensors, DLPack objects and typed buffers become arrays; bytes, bytearray, unsigned-byte
    memoryviews become bytes; anything else is pickled when that is allowed.

    Raises
    ------
    DTypeError
        For an element type that has no raw bytes, and for other objects without `allow_pickle`.
    """
    if isinstance(value, (bytes, bytearray)):
        return Packed("bytes", None, memoryview(value))
    array = _as_array(value)
    if array is not None:
        _check_dtype(array)
        return Packed("array", array, None)
    if isinstance(value, memoryview) or _is_buffer(value):
        view = memoryview(value)
        if view.format == "B" and view.ndim == 1 and view.contiguous:
            return Packed("bytes", None, view)
        return pack(np.asarray(view), allow_pickle=allow_pickle)
    if not allow_pickle:
        raise DTypeError(
            f"stage_write: a value of type {type(value).__name__} has no raw bytes; stage arrays, tensors or bytes, "
            "or open the DataStore with allow_pickle=True"
        )
    return Packed("pickle", None, memoryview(pickle.dumps(value, protocol=5)))


def unpack(header: Header, payload: Any, *, source: str, allow_pickle: bool) -> Any:
    """Put a value together again, as a read-only view of `payload` (bytes-like), without copying it.

    Raises
    ------
    CorruptDataError
        When the payload does not fit the header.
    AccessError
        When it is a pickled object and `allow_pickle` is not given.
    """
    view = memoryview(payload).cast("B") if memoryview(payload).nbytes else memoryview(b"")
    if view.nbytes != header.size_bytes:
        raise CorruptDataError(f"{source}: has {view.nbytes} bytes, its header says {header.size_bytes}")
    if header.checksum is not None and zlib.crc32(view) != header.checksum:
        raise CorruptDataError(f"{source}: its bytes are damaged: the checksum does not fit")
    if header.kind == "bytes":
        return view.toreadonly()
    if header.kind == "pickle":
        if not allow_pickle:
            raise AccessError(f"{source}: is a pickled object; open the DataStore with allow_pickle=True to load it")
        return pickle.loads(view)
    return array_over(header, view, source)


def array_over(header: Header, view: memoryview, source: str) -> Array:
    """Return the array that `view` (of the right length) holds, read-only."""
    dtype = dtype_from_text(header.dtype, source)
    count = int(np.prod(header.shape, dtype=np.int64)) if header.shape else 1
    if count * dtype.itemsize != header.size_bytes:
        raise CorruptDataError(
            f"{source}: shape {header.shape} of {dtype} needs {count * dtype.itemsize} bytes, has {header.size_bytes}"
        )
    array: Array = (
        np.ndarray(header.shape, dtype, buffer=view, order="F" if header.fortran else "C")
        if (header.size_bytes)
        else np.zeros(header.shape, dtype)
    )
    array.flags.writeable = False
    return array


def check_into(into: Array, dtype: np.dtype[Any], shape: tuple[int, ...], source: str) -> None:
    """Refuse a destination that the value does not fit.

    Raises
    ------
    ShapeError, DTypeError
        When shape or element type differ.
    InvalidError
        When the destination cannot be written.
    """
    if into.shape != shape:
        raise ShapeError(f"{source}: has shape {shape}, `into` has {into.shape}; give an array of the same shape")
    if into.dtype != dtype:
        raise DTypeError(f"{source}: has element type {dtype}, `into` has {into.dtype}; give an array of the same type")
    if not into.flags.writeable:
        raise InvalidError(f"{source}: `into` is read-only; give an array that can be written")


def destination(into: Array, header: Header, source: str) -> memoryview | None:
    """Return the bytes of `into` to read the payload straight into, or None when it must be copied through a view."""
    if header.kind != "array":
        raise DTypeError(f"{source}: is {header.kind}, which cannot be read into an array; read it without `into`")
    check_into(into, dtype_from_text(header.dtype, source), header.shape, source)
    flat = into.T if header.fortran else into
    return bytes_of(flat) if flat.flags.c_contiguous else None


def bytes_of(array: Array) -> memoryview:
    """Return the bytes of a C-contiguous array of any element type, without copying."""
    if array.nbytes == 0:
        return memoryview(b"")
    flat: Any = array.reshape(-1).view(np.uint8)
    return memoryview(flat)


def writable_bytes(count: int) -> memoryview:
    """Return fresh memory of `count` bytes, not cleared."""
    return bytes_of(np.empty(count, np.uint8))


def dtype_text(dtype: np.dtype[Any]) -> str:
    """Return the text that stands for an element type in a header."""
    if dtype.names is None and dtype.subdtype is None:
        return dtype.str
    return json.dumps(np.lib.format.dtype_to_descr(dtype))


def dtype_from_text(text: str, source: str) -> np.dtype[Any]:
    """Read back what `dtype_text` wrote."""
    try:
        described = _tuples(json.loads(text)) if text.startswith(("[", "{")) else text
        dtype = np.dtype(described) if isinstance(described, str) else np.lib.format.descr_to_dtype(described)
    except (ValueError, TypeError, SyntaxError) as error:
        raise CorruptDataError(f"{source}: element type {text!r} is unknown: {error}") from error
    if dtype.hasobject:
        raise CorruptDataError(f"{source}: element type {text!r} holds Python objects, which are never staged")
    return dtype


def _tuples(entry: Any) -> Any:
    """JSON has no tuples, descriptions of structured types need them: a list of fields holds tuples."""
    if isinstance(entry, list):
        return [_field(field) for field in entry]
    return entry


def _field(field: Any) -> Any:
    name = tuple(field[0]) if isinstance(field[0], list) else field[0]
    inner = _tuples(field[1])
    return (name, inner, tuple(field[2])) if len(field) > 2 else (name, inner)


def _is_buffer(value: Any) -> bool:
    try:
        memoryview(value).release()
    except TypeError:
        return False
    return True


def _as_array(value: Any) -> Array | None:
    if isinstance(value, np.ma.MaskedArray):
        raise DTypeError("stage_write: a masked array has no raw bytes for its mask; stage `.filled()` instead")
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    if isinstance(value, np.generic):
        return np.asarray(value)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _from_torch(value)
    if isinstance(value, memoryview):
        return None
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError) as error:
            raise DTypeError(f"stage_write: this {type(value).__name__} cannot be read as an array: {error}") from error
    return None


def _from_torch(tensor: Any) -> Array:
    plain = tensor.detach()
    if plain.is_sparse or plain.is_quantized:
        raise DTypeError("stage_write: a sparse or quantised tensor has no raw bytes; stage `.to_dense()` instead")
    try:
        array: Array = plain.cpu().resolve_conj().resolve_neg().numpy()
    except TypeError as error:
        raise DTypeError(
            f"stage_write: {tensor.dtype} has no NumPy type; convert it first, for example .float()"
        ) from (error)
    return array


def _check_dtype(array: Array) -> None:
    dtype = array.dtype
    if dtype.hasobject:
        raise DTypeError(f"stage_write: element type {dtype} holds Python objects; stage numbers, bytes or records")
    unnamed_void = dtype.kind == "V" and dtype.names is None and dtype.type is not np.void
    if dtype.kind not in _ACCEPTED_KINDS or unnamed_void:
        raise DTypeError(
            f"stage_write: element type {dtype} is not NumPy's own; convert it first, for example to float32"
        )
