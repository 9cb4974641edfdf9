"""What a topic is: its partitions, and the rules that all clients agree on."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from thalweg.errors import InvalidError

#: Where a partition rests: ``"memory"``, ``"files"``, or ``{"data": folder}``: files, the data apart in that folder.
Rest: TypeAlias = str | Mapping[str, str]
#: A validator, selector or serializer as it is stored with the topic: None, a name, or a mapping with one key.
Rule: TypeAlias = str | Mapping[str, Any] | None
RestKind: TypeAlias = Literal["memory", "files", "apart"]
DurabilityKind: TypeAlias = Literal["none", "interval", "always"]

PARTITIONS_MAX = 4096
INTERVAL_S = 0.05
_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0}
_INTERVAL = re.compile(r"interval(?::(\d+(?:\.\d+)?)(ms|s|min))?")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")


@dataclasses.dataclass(frozen=True)
class Retention:
    """What is kept of a partition; events go when any of these says so, and all stay where none does.

    Attributes
    ----------
    age_s : float, optional
        Events that are older go.
    size_bytes : int, optional
        The oldest events go while there are more bytes.
    acknowledged : bool
        Events go that every named consumer has acknowledged.
    """

    age_s: float | None = None
    size_bytes: int | None = None
    acknowledged: bool = False


@dataclasses.dataclass(frozen=True)
class PartitionDefinition:
    """Where a partition rests, when an event counts as appended, what is kept.

    Attributes
    ----------
    rest : str or mapping
        ``"memory"``, ``"files"``, ``{"data": folder}``, or ``"anywhere"``: the server chooses.
    durability : str
        ``"none"``, ``"interval:TIME"`` or ``"always"``.
    """

    rest: Rest = "memory"
    durability: str = "none"
    retention: Retention = Retention()

    @property
    def rest_kind(self) -> RestKind:
        """Tell which kind of rest it is."""
        if isinstance(self.rest, str):
            return "memory" if self.rest == "memory" else "files"
        return "apart"

    @property
    def data_folder(self) -> str | None:
        """The folder for the data, where they lie apart."""
        return None if isinstance(self.rest, str) else self.rest["data"]

    @property
    def durability_kind(self) -> DurabilityKind:
        """Tell which kind of durability it is."""
        if self.durability == "none":
            return "none"
        return "always" if self.durability == "always" else "interval"

    @property
    def interval_s(self) -> float | None:
        """After how long an event survives the machine, where durability is an interval."""
        found = _INTERVAL.fullmatch(self.durability)
        if found is None:
            return None
        return float(found[1]) * _UNITS[found[2]] if found[1] else INTERVAL_S


@dataclasses.dataclass(frozen=True)
class TopicDefinition:
    """A topic as its creator defines it; the rules are their JSON forms."""

    partitions: tuple[PartitionDefinition, ...]
    validator: Rule = None
    selector: Rule = "round_robin"
    serializer: Rule = "json"


@dataclasses.dataclass(frozen=True)
class PartitionDescription:
    """A partition as it is now: its definition, the first event that is there and the number that the next gets."""

    number: int
    rest: Rest
    durability: str
    retention: Retention
    first: int
    next: int


@dataclasses.dataclass(frozen=True)
class TopicDescription:
    """A topic as it is now."""

    name: str
    validator: Rule
    selector: Rule
    serializer: Rule
    partitions: tuple[PartitionDescription, ...]


def check_name(name: object, operation: str, what: str = "topic") -> str:
    """Return the name of a topic, consumer or producer.

    Raises
    ------
    InvalidError
        When it is not one.
    """
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise InvalidError(
            f"{operation}: {what} {name!r}; accepted are 1 to 200 of A-Z a-z 0-9 . _ -, begun with neither . nor -"
        )
    return name


def partition_definition(operation: str, rest: object, durability: object, retention: object) -> PartitionDefinition:
    """Return a partition's definition from what a user gave.

    Raises
    ------
    InvalidError
        When it is not one; the message has the value and what is accepted.
    """
    return PartitionDefinition(
        _rest(operation, rest), _durability(operation, durability), _retention(operation, retention)
    )


def _rest(operation: str, rest: object) -> Rest:
    if rest is None:
        return "anywhere"
    if rest in ("memory", "files"):
        return str(rest)
    if isinstance(rest, Mapping) and set(rest) == {"data"} and str(rest["data"]).startswith("/"):
        return {"data": str(rest["data"])}
    raise InvalidError(f"{operation}: rest {rest!r}; accepted are 'memory', 'files' and {{'data': '/absolute/folder'}}")


def _durability(operation: str, durability: object) -> str:
    if isinstance(durability, str):
        if durability in ("none", "always"):
            return durability
        interval_s = PartitionDefinition(durability=durability).interval_s
        if interval_s is not None and 0.001 <= interval_s <= 3600:
            return f"interval:{interval_s * 1000:.12g}ms"
    raise InvalidError(
        f"{operation}: durability {durability!r}; accepted are 'none', 'always' and 'interval:TIME' of 1ms to 60min"
    )


def _retention(operation: str, retention: object) -> Retention:
    if retention is None:
        return Retention()
    if isinstance(retention, Retention):
        retention = dataclasses.asdict(retention)
    known = {field.name for field in dataclasses.fields(Retention)}
    if not isinstance(retention, Mapping) or not set(retention) <= known:
        raise InvalidError(f"{operation}: retention {retention!r}; accepted is a mapping of {', '.join(sorted(known))}")
    age_s, size_bytes = retention.get("age_s"), retention.get("size_bytes")
    acknowledged = retention.get("acknowledged", False)
    if age_s is not None and (not _is_number(age_s) or not 0 < age_s < math.inf):
        raise InvalidError(f"{operation}: retention age_s {age_s!r}; accepted are None and seconds above 0")
    if size_bytes is not None and (not _is_number(size_bytes) or size_bytes != int(size_bytes) or size_bytes < 1):
        raise InvalidError(f"{operation}: retention size_bytes {size_bytes!r}; accepted are None and bytes, at least 1")
    if not isinstance(acknowledged, bool):
        raise InvalidError(f"{operation}: retention acknowledged {acknowledged!r}; accepted are True and False")
    return Retention(
        None if age_s is None else float(age_s), None if size_bytes is None else int(size_bytes), acknowledged
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
