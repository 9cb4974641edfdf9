"""How metadata become bytes."""

from __future__ import annotations

import contextlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from thalweg.errors import CorruptDataError, InvalidError
from thalweg.homes import library
from thalweg.stream.definition import Rule
from thalweg.stream.packed import Buffer, Packed
from thalweg.stream.rules.numpy_scalars import plain_number
from thalweg.stream.rules.own import OwnRules, only_key

if TYPE_CHECKING:
    import numpy as np


class Serializer(ABC):
    """Turns metadata into bytes and back.

    Raises
    ------
    InvalidError
        From encoding, with the JSON path of the value that does not fit.
    CorruptDataError
        From decoding, when the bytes are not what the serializer writes.
    """

    #: The type of the records whose values alone are written; None where any metadata are.
    dtype: np.dtype[Any] | None = None

    @abstractmethod
    def encode(self, value: Any) -> bytes:
        """Return the bytes of metadata."""

    @abstractmethod
    def decode(self, encoded: Buffer) -> Any:
        """Return the metadata; those of no bytes are None."""

    def encode_many(self, values: Sequence[Any]) -> Packed:
        """Return the bytes of the metadata of many events; those that are bytes are taken as they are."""
        encode = self.encode
        return Packed.of([bytes(v) if isinstance(v, bytes | bytearray | memoryview) else encode(v) for v in values])

    def decode_many(self, packed: Packed) -> Any:
        """Return the metadata of many events."""
        return [self.decode(item) for item in packed.items()]


class JsonSerializer(Serializer):
    """JSON in UTF-8, without blanks; NumPy scalars are numbers."""

    def __init__(self) -> None:
        self._encode = json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain_number
        ).encode

    def encode(self, value: Any) -> bytes:
        try:
            return self._encode(value).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidError(f"metadata: {_why_not_json(value, '$') or error}; expected what JSON can say") from None

    def decode(self, encoded: Buffer) -> Any:
        if not len(encoded):
            return None
        try:
            return json.loads(bytes(encoded))
        except ValueError as error:
            raise CorruptDataError(f"metadata: {_start(encoded)} is not JSON: {error}") from None

    def decode_many(self, packed: Packed) -> Any:
        try:
            found = json.loads(b"[" + b",".join(packed.items()) + b"]")
        except ValueError:
            found = []
        return found if len(found) == len(packed) else super().decode_many(packed)


class MessagePackSerializer(Serializer):
    """MessagePack, which can say bytes as well; NumPy scalars are numbers."""

    def __init__(self) -> None:
        msgspec = library("msgspec", "serializer 'messagepack'", "streams")
        self._encode: Callable[[Any], bytes] = msgspec.msgpack.Encoder(enc_hook=plain_number).encode
        self._decode = msgspec.msgpack.Decoder().decode
        self._wrong = msgspec.DecodeError

    def encode(self, value: Any) -> bytes:
        try:
            return self._encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InvalidError(f"metadata: {error}; expected what MessagePack can say") from None

    def decode(self, encoded: Buffer) -> Any:
        if not len(encoded):
            return None
        try:
            return self._decode(encoded)
        except self._wrong as error:
            raise CorruptDataError(f"metadata: {_start(encoded)} is not MessagePack: {error}") from None


class RecordSerializer(Serializer):
    """Records of a NumPy type: only the values are written, one behind the other, without padding."""

    def __init__(self, fields: Any) -> None:
        import numpy as np

        try:
            self.dtype = np.dtype([(field[0], *map(_plain, field[1:])) for field in fields])
        except (TypeError, ValueError, IndexError, KeyError) as error:
            raise InvalidError(f"serializer: record {fields!r}: {error}; expected [[name, type], ...]") from None
        if self.dtype.hasobject or not self.dtype.itemsize:
            raise InvalidError(f"serializer: record {fields!r}: has no bytes to write; expected numbers and 'S' texts")

    def encode(self, value: Any) -> bytes:
        import numpy as np

        assert self.dtype is not None and self.dtype.names is not None
        if isinstance(value, np.void | np.ndarray):
            encoded: bytes = self._array(value).tobytes()
            return encoded
        try:
            if isinstance(value, dict):
                if value.keys() != self.dtype.fields.keys():  # type: ignore[union-attr]
                    raise ValueError(f"has the fields {', '.join(map(str, value))}")
                value = [value[name] for name in self.dtype.names]
            return np.array(tuple(value), self.dtype).tobytes()
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidError(f"metadata: {_short(value)}: {error}; expected a record of {self.dtype.descr}") from None

    def decode(self, encoded: Buffer) -> Any:
        import numpy as np

        assert self.dtype is not None
        if not len(encoded):
            return None
        if len(encoded) != self.dtype.itemsize:
            raise CorruptDataError(
                f"metadata: {len(encoded)} bytes; a record of {self.dtype.descr} has {self.dtype.itemsize}"
            )
        return np.frombuffer(encoded, self.dtype)[0]

    def encode_many(self, values: Any) -> Packed:
        import numpy as np

        assert self.dtype is not None
        if not isinstance(values, np.ndarray):
            return super().encode_many(values)
        array = np.ascontiguousarray(self._array(values.reshape(-1)))
        return Packed.rows(array.view(np.uint8).data, len(array), self.dtype.itemsize)

    def decode_many(self, packed: Packed) -> Any:
        import numpy as np

        assert self.dtype is not None
        table = packed.table()
        if table is None or table.shape[1] != self.dtype.itemsize:
            if not len(packed):
                return np.empty(0, self.dtype)
            wrong = int(np.flatnonzero(packed.sizes != self.dtype.itemsize)[0])
            return self.decode(packed[wrong]) or super().decode_many(packed)
        return np.ascontiguousarray(table).view(self.dtype)[:, 0]

    def _array(self, values: Any) -> Any:
        assert self.dtype is not None
        if values.dtype == self.dtype:
            return values
        if values.dtype.names != self.dtype.names:
            raise InvalidError(f"metadata: records of {values.dtype}; the topic has {self.dtype.descr}")
        try:
            return values.astype(self.dtype, casting="same_kind")
        except TypeError as error:
            raise InvalidError(f"metadata: records of {values.dtype}: {error}") from None


class OwnSerializer(NamedTuple):
    """A serializer of a user's own."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


class _User(Serializer):
    def __init__(self, own: OwnSerializer) -> None:
        self._own = own

    def encode(self, value: Any) -> bytes:
        return bytes(self._own.encode(value))

    def decode(self, encoded: Buffer) -> Any:
        return self._own.decode(bytes(encoded))


OWN: OwnRules[OwnSerializer] = OwnRules("serializer")


def serializer_of(rule: Rule) -> Serializer:
    """Return the serializer of a topic.

    Raises
    ------
    InvalidError
        When there is no such rule.
    NotFoundError
        When it is a user's and not registered in this process.
    MissingLibraryError
        When it needs a library that is not installed.
    """
    if rule == "json":
        return JsonSerializer()
    if rule == "messagepack":
        return MessagePackSerializer()
    if isinstance(fields := only_key(rule, "record"), list | tuple):
        return RecordSerializer(fields)
    if isinstance(name := only_key(rule, "user"), str):
        return _User(OWN[name])
    raise InvalidError(
        f"serializer: {rule!r}; accepted are 'json', 'messagepack', {{'record': [[name, type], ...]}} "
        "and {'user': name}"
    )


def _plain(part: Any) -> Any:
    """Return a part of a NumPy field as NumPy wants it: what JSON made lists are shapes."""
    return tuple(part) if isinstance(part, list) else part


def _start(encoded: Buffer) -> str:
    return repr(bytes(encoded[:40])) + ("..." if len(encoded) > 40 else "")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _why_not_json(value: Any, path: str, depth: int = 0) -> str | None:
    """Return where and why JSON cannot say a value."""
    if value is None or isinstance(value, str | bool | int):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{path} is {value}"
    if depth > 500:
        return f"{path[:80]}... is nested too deeply"
    if isinstance(value, dict):
        parts = ((key, item, f"{path}.{key}") for key, item in value.items())
        wrong = next((key for key in value if not isinstance(key, str | int | float | bool | None)), None)
        if wrong is not None:
            return f"{path} has the key {_short(wrong)}"
    elif isinstance(value, list | tuple):
        parts = ((number, item, f"{path}[{number}]") for number, item in enumerate(value))
    else:
        with contextlib.suppress(TypeError):
            return _why_not_json(plain_number(value), path)
        return f"{path} is {_short(value)} of type {type(value).__name__}"
    return next((why for _, item, where in parts if (why := _why_not_json(item, where, depth + 1))), None)
