"""Which partition an event goes to."""

from __future__ import annotations

import itertools
import json
import random
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thalweg.errors import InvalidError
from thalweg.stream.definition import Rule
from thalweg.stream.rules.own import OwnRules, only_key

OwnSelector: TypeAlias = Callable[[Any, int], int]
_CRC_TABLE = np.array([zlib.crc32(bytes([n])) for n in range(256)], np.uint32) ^ np.uint32(zlib.crc32(b"\0"))


class Selector(ABC):
    """Chooses among `partitions` partitions, for one producer.

    Attributes
    ----------
    looks : bool
        It looks at the metadata.
    """

    looks = False

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions

    @abstractmethod
    def one(self, metadata: Any) -> int:
        """Return the partition of an event; `metadata` are None where it does not look."""

    def many(self, count: int, metadata: Any) -> npt.NDArray[np.int64]:
        """Return the partition of each of many events."""
        return np.fromiter((self.one(value) for value in metadata), np.int64, count)


class RoundRobin(Selector):
    """One after the other; of many at once, each partition gets as many that lie one behind the other."""

    def __init__(self, partitions: int) -> None:
        super().__init__(partitions)
        self._next = itertools.cycle(range(partitions)).__next__

    def one(self, metadata: Any) -> int:
        return self._next()

    def many(self, count: int, metadata: Any) -> npt.NDArray[np.int64]:
        start = self._next()
        return (np.arange(count, dtype=np.int64) * self.partitions // max(count, 1) + start) % self.partitions


class Random(Selector):
    """Any, with equal chance."""

    def one(self, metadata: Any) -> int:
        return random.randrange(self.partitions)

    def many(self, count: int, metadata: Any) -> npt.NDArray[np.int64]:
        return np.sort(np.random.default_rng().integers(0, self.partitions, count))


class Explicit(Selector):
    """The one that is given with the event."""

    def one(self, metadata: Any) -> int:
        raise InvalidError(
            "push: no partition was given, and the topic's selector is 'explicit'; "
            f"give partition=, 0 to {self.partitions - 1}"
        )

    def many(self, count: int, metadata: Any) -> npt.NDArray[np.int64]:
        return np.full(count, self.one(None))


class Hash(Selector):
    """CRC-32 of a value in the metadata, modulo the partitions.

    Of a text its UTF-8 is taken, of bytes they, of any other value its JSON without blanks.

    Parameters
    ----------
    pointer : str
        Where the value is: a JSON pointer (RFC 6901).
    """

    looks = True

    def __init__(self, pointer: str, partitions: int) -> None:
        super().__init__(partitions)
        if pointer and not pointer.startswith("/"):
            raise InvalidError(f"selector: hash {pointer!r}; expected a JSON pointer such as '/key' or '/outer/0'")
        self._pointer = pointer
        self._steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]

    def one(self, metadata: Any) -> int:
        value = metadata
        for step in self._steps:
            try:
                value = value[int(step)] if isinstance(value, list | tuple) else value[step]
            except (KeyError, IndexError, ValueError, TypeError):
                raise InvalidError(
                    f"push: the metadata have no {self._pointer!r}, by which the topic selects partitions"
                ) from None
        return zlib.crc32(_text(value)) % self.partitions

    def many(self, count: int, metadata: Any) -> npt.NDArray[np.int64]:
        dtype = getattr(metadata, "dtype", None)
        if dtype is not None and dtype.names and len(self._steps) == 1 and self._steps[0] in dtype.names:
            column = metadata[self._steps[0]]
            if column.ndim == 1 and column.dtype.kind in "iufS":
                return (_crc_of_each(_texts(column)) % np.uint32(self.partitions)).astype(np.int64)
        return super().many(count, metadata)


class _User(Selector):
    looks = True

    def __init__(self, own: OwnSelector, partitions: int) -> None:
        super().__init__(partitions)
        self._own = own

    def one(self, metadata: Any) -> int:
        chosen = self._own(metadata, self.partitions)
        if not isinstance(chosen, int | np.integer) or not 0 <= chosen < self.partitions:
            raise InvalidError(f"selector: chose partition {chosen!r}; accepted are 0 to {self.partitions - 1}")
        return int(chosen)


OWN: OwnRules[OwnSelector] = OwnRules("selector")
_PLAIN: dict[str, type[Selector]] = {"round_robin": RoundRobin, "random": Random, "explicit": Explicit}


def selector_of(rule: Rule, partitions: int) -> Selector:
    """Return a selector of a topic, for one producer.

    Raises
    ------
    InvalidError
        When there is no such rule.
    NotFoundError
        When it is a user's and not registered in this process.
    """
    if isinstance(rule, str) and rule in _PLAIN:
        return _PLAIN[rule](partitions)
    if isinstance(pointer := only_key(rule, "hash"), str):
        return Hash(pointer, partitions)
    if isinstance(name := only_key(rule, "user"), str):
        return _User(OWN[name], partitions)
    raise InvalidError(
        f"selector: {rule!r}; accepted are {', '.join(map(repr, _PLAIN))}, {{'hash': '/pointer'}} and {{'user': name}}"
    )


def _text(value: Any) -> bytes:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))).encode()


def _texts(column: npt.NDArray[Any]) -> npt.NDArray[np.bytes_]:
    """Return the text of each value of a column of numbers or bytes, as `_text` does."""
    if column.dtype.kind == "S":
        return column
    return column.astype(np.float64).astype("S32") if column.dtype.kind == "f" else column.astype("S24")


def _crc_of_each(texts: npt.NDArray[np.bytes_]) -> npt.NDArray[np.uint32]:
    """Return `zlib.crc32` of each text, one column of bytes after the other."""
    width = texts.dtype.itemsize
    table = np.ascontiguousarray(texts).view(np.uint8).reshape(len(texts), width)
    lengths = np.char.str_len(texts)
    crc = np.full(len(texts), 0xFFFFFFFF, np.uint32)
    for at in range(width):
        further = (crc >> np.uint32(8)) ^ _CRC_TABLE[(crc ^ table[:, at]) & np.uint32(0xFF)]
        crc = np.where(at < lengths, further, crc)
    return crc ^ np.uint32(0xFFFFFFFF)


def check_partition(partition: object, partitions: int, operation: str) -> int:
    """Return the number of a partition.

    Raises
    ------
    InvalidError
        When there is none of that number.
    """
    if isinstance(partition, int | np.integer) and not isinstance(partition, bool) and 0 <= partition < partitions:
        return int(partition)
    raise InvalidError(f"{operation}: partition {partition!r}; accepted are 0 to {partitions - 1}")


def grouped(chosen: npt.NDArray[np.int64]) -> Sequence[tuple[int, npt.NDArray[np.int64] | tuple[int, int]]]:
    """Return the events of each partition that was chosen: their (begin, end) where they lie together, else numbers."""
    found: list[tuple[int, npt.NDArray[np.int64] | tuple[int, int]]] = []
    for partition in np.unique(chosen).tolist():
        numbers = np.flatnonzero(chosen == partition)
        first, last = int(numbers[0]), int(numbers[-1])
        found.append((partition, (first, last + 1) if last - first + 1 == len(numbers) else numbers))
    return found
