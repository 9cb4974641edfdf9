"""A connection to where topics are."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from thalweg.errors import InvalidError, NotFoundError, NotSupportedError
from thalweg.stream.definition import (
    PARTITIONS_MAX,
    PartitionDefinition,
    Rest,
    Rule,
    TopicDefinition,
    TopicDescription,
    check_name,
    partition_definition,
)
from thalweg.stream.drivers.transport import Capabilities, RetentionKind, StreamTransport
from thalweg.stream.rules.selector import selector_of
from thalweg.stream.rules.serializer import serializer_of
from thalweg.stream.rules.validator import json_text, validator_of
from thalweg.stream.topic import Topic


class Driver:
    """A connection; made by `thalweg.stream.connect`. A context manager."""

    def __init__(self, transport: StreamTransport, address: str) -> None:
        self.address = address
        self._transport = transport

    @property
    def capabilities(self) -> Capabilities:
        """What the technology can do."""
        return self._transport.capabilities

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        rest: Rest | None = None,
        durability: str | None = None,
        retention: Any = None,
        validator: Rule = None,
        selector: Rule = "round_robin",
        serializer: Rule = "json",
    ) -> None:
        """Make a topic.

        Parameters
        ----------
        name : str
            Letters, digits and ``. _ -``.
        partitions : int
            How many, 1 to 4096.
        rest : str or mapping, optional
            ``"memory"``, ``"files"``, or ``{"data": folder}``: files, the data apart in that folder of the server's
            node. Without, in files where the server has a folder (``thalweg serve --streams DIR``), else in memory.
        durability : str, optional
            ``"none"`` (survives the server where it rests in files), ``"interval"`` or ``"interval:50ms"`` (so long
            after it at the latest also the machine), ``"always"`` (also the machine, before a push is done).
        retention : mapping, optional
            ``age_s``, ``size_bytes``, ``acknowledged``: events go that are older, beyond so many bytes, or acknowledged
            by every named consumer. Without, all stay.
        validator : str or mapping, optional
            ``"json"``, ``{"schema": {...}}`` (a JSON Schema), ``{"user": name}``.
        selector : str or mapping
            ``"round_robin"``, ``"random"``, ``"explicit"``, ``{"hash": "/json/pointer"}``, ``{"user": name}``.
        serializer : str or mapping
            ``"json"``, ``"messagepack"``, ``{"record": [["n", "<i8"], ...]}`` (a NumPy type; writes only the values),
            ``{"user": name}``.

        Raises
        ------
        ExistsError
            When it is there.
        InvalidError
            When an argument is outside what is accepted.
        NotSupportedError
            When the technology cannot do it.
        """
        operation = f"create_topic {name!r}"
        check_name(name, operation)
        if not isinstance(partitions, int) or isinstance(partitions, bool) or not 1 <= partitions <= PARTITIONS_MAX:
            raise InvalidError(f"{operation}: {partitions!r} partitions; accepted are 1 to {PARTITIONS_MAX}")
        partition = self._partition(operation, rest, durability, retention)
        for rule in (validator, selector, serializer):
            json_text(rule)
        validator_of(validator, serializer_of(serializer))
        selector_of(selector, partitions)
        self._transport.create(name, TopicDefinition((partition,) * partitions, validator, selector, serializer))

    def list_topics(self) -> list[str]:
        """Return the names of all topics, sorted."""
        return self._transport.topics()

    def topic_exists(self, name: str) -> bool:
        """Tell whether a topic is there; any error that keeps from knowing it is raised."""
        try:
            self._transport.describe(check_name(name, "topic_exists"))
        except NotFoundError:
            return False
        return True

    def describe_topic(self, name: str) -> TopicDescription:
        """Return what a topic is now.

        Raises
        ------
        NotFoundError
            When it is not there.
        """
        return self._transport.describe(check_name(name, "describe_topic"))

    def delete_topic(self, name: str) -> None:
        """Remove a topic with its events.

        Raises
        ------
        NotFoundError
            When it is not there.
        """
        self._transport.delete(check_name(name, "delete_topic"))

    def add_partition(
        self, name: str, *, rest: Rest | None = None, durability: str | None = None, retention: Any = None
    ) -> int:
        """Add a partition to a topic and return its number; who opened the topic before does not use it.

        What is not given is as in the topic's last partition.

        Raises
        ------
        NotFoundError
            When the topic is not there.
        NotSupportedError
            When the technology cannot do it.
        """
        operation = f"add_partition {name!r}"
        last = self.describe_topic(name).partitions[-1]
        partition = self._partition(
            operation,
            last.rest if rest is None else rest,
            last.durability if durability is None else durability,
            last.retention if retention is None else retention,
        )
        same = partition == PartitionDefinition(last.rest, last.durability, last.retention)
        if not self.capabilities.mixed_partitions and not same:
            raise NotSupportedError(f"{operation}: {self.address}: all partitions of a topic must be alike")
        return self._transport.add_partition(name, partition)

    def open_topic(self, name: str) -> Topic:
        """Return a topic to append to and to read from.

        Raises
        ------
        NotFoundError
            When it is not there, or a rule of a user's own is not registered in this process.
        """
        return Topic(self._transport, self.describe_topic(name))

    def close(self) -> None:
        """Give back the connection; close producers and consumers before. Further calls do nothing."""
        self._transport.close()

    def __enter__(self) -> Driver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Driver({self.address!r})"

    def _partition(self, operation: str, rest: object, durability: object, retention: object) -> PartitionDefinition:
        """Return the definition of a partition that the technology can do."""
        can = self.capabilities
        partition = partition_definition(
            operation,
            can.rests[0] if rest is None and not can.server_chooses_rest else rest,
            can.durabilities[0] if durability is None else durability,
            retention,
        )
        asked: list[tuple[str, str, tuple[str, ...]]] = [
            ("rest", partition.rest_kind, can.rests),
            ("durability", partition.durability_kind, can.durabilities),
            *(("retention", kind, can.retentions) for kind in _kinds(partition)),
        ]
        for what, kind, possible in asked:
            if kind not in possible:
                raise NotSupportedError(
                    f"{operation}: {self.address} has no {what} {kind!r}; it has {', '.join(possible) or 'none'}"
                )
        if partition.rest_kind == "memory" and partition.durability_kind != "none":
            raise InvalidError(
                f"{operation}: durability {partition.durability!r} in memory; take rest 'files' or durability 'none'"
            )
        return partition


def _kinds(partition: PartitionDefinition) -> list[RetentionKind]:
    kept = partition.retention
    found: list[RetentionKind] = []
    if kept.age_s is not None:
        found.append("age")
    if kept.size_bytes is not None:
        found.append("size")
    if kept.acknowledged:
        found.append("acknowledged")
    return found
