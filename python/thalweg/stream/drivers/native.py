"""The driver `native`: topics of a Thalweg server, over shared memory or TCP, or of one in this process."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import time
from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from thalweg import _native
from thalweg.errors import CorruptDataError, InvalidError, NotFoundError, ServerGoneError, WaitTimeoutError
from thalweg.stream.definition import (
    PartitionDefinition,
    PartitionDescription,
    Retention,
    Rule,
    TopicDefinition,
    TopicDescription,
)
from thalweg.stream.drivers.transport import (
    Begin,
    Capabilities,
    ConsumerOptions,
    Held,
    ProducerOptions,
    RawBatch,
    StreamTransport,
    TransportConsumer,
    TransportProducer,
)
from thalweg.stream.future import TIMEOUT_S, Future, check_timeout, until_called
from thalweg.stream.identity import EventId
from thalweg.stream.packed import Buffer, Packed

T = TypeVar("T")
#: Memory for the batches of one producer that are under way.
OUTBOX_BYTES = 64 << 20
#: Data in a batch begin at multiples of this.
_ALIGN = 8
_ALWAYS = -1.0
_LOOK_S = 0.02


class NativeTransport(StreamTransport):
    """Talks to the stream service through the compiled client."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        rests=("memory", "files", "apart"),
        durabilities=("none", "interval", "always"),
        retentions=("age", "size", "acknowledged"),
        survives_restart=True,
        server_chooses_rest=True,
    )

    def __init__(self, address: str | None, *, name: str, token: str | None, timeout_s: float) -> None:
        if token is None:
            token = os.environ.get("THALWEG_TOKEN", "")
        self._timeout_s = timeout_s
        self._driver = _native.StreamDriver(address, name=name, token=token, timeout_s=timeout_s)

    def create(self, topic: str, definition: TopicDefinition) -> None:
        validator, selector, serializer = map(
            json.dumps, (definition.validator, definition.selector, definition.serializer)
        )
        partitions = [_encoded(partition) for partition in definition.partitions]
        self._driver.create(topic, partitions, validator, selector, serializer, self._timeout_s)

    def delete(self, topic: str) -> None:
        self._driver.delete(topic, self._timeout_s)

    def topics(self) -> list[str]:
        return self._driver.topics(self._timeout_s)

    def describe(self, topic: str) -> TopicDescription:
        *rules, partitions = self._driver.describe(topic, self._timeout_s)
        validator, selector, serializer = (_rule(topic, rule) for rule in rules)
        described = tuple(
            PartitionDescription(number, *_decoded(definition), first, following)
            for number, (definition, first, following) in enumerate(partitions)
        )
        return TopicDescription(topic, validator, selector, serializer, described)

    def add_partition(self, topic: str, definition: PartitionDefinition) -> int:
        self._driver.add_partition(topic, _encoded(definition), self._timeout_s)
        return len(self._driver.describe(topic, self._timeout_s)[3]) - 1

    def producer(self, topic: str, partitions: int, options: ProducerOptions) -> TransportProducer:
        made = self._driver.producer(
            topic,
            batch_size=options.batch_size,
            batches=options.max_num_batches,
            strict=options.ordering == "strict",
            outbox_bytes=OUTBOX_BYTES,
            timeout_s=options.timeout_s,
        )
        return NativeProducer(made, options.timeout_s)

    def consumer(self, topic: str, options: ConsumerOptions) -> TransportConsumer:
        made = self._driver.consumer(
            topic,
            name=options.name,
            partitions=None if options.partitions is None else list(options.partitions),
            first=options.begin == "first",
            timeout_s=options.timeout_s,
        )
        consumer = NativeConsumer(made, options.whole, options.timeout_s)
        try:
            _wait_for(options, consumer, topic)
        except BaseException:
            consumer.close()
            raise
        return consumer

    def close(self) -> None:
        self._driver.close()


class NativeProducer(TransportProducer):
    """Gathers and sends in the compiled client; what was pushed is copied before `push` returns."""

    def __init__(self, producer: _native.StreamProducer, timeout_s: float) -> None:
        self._push = producer.push
        self._producer = producer
        self._timeout_s = timeout_s

    def push(self, partition: int, metadata: bytes, data: Sequence[Buffer]) -> Future[EventId]:
        parts = [part if type(part) is bytes else np.frombuffer(part, np.uint8) for part in data]
        return NativeFuture(self._push(partition, metadata, parts, self._timeout_s), partition)

    def push_many(self, partition: int, metadata: Packed, data: Packed | None) -> Future[range]:
        metadata = metadata.dense()
        data = None if data is None else data.dense()
        pushed = self._producer.push_many(
            partition,
            _array(metadata.blob),
            metadata.ends,
            None if data is None else _array(data.blob),
            None if data is None else data.ends,
            self._timeout_s,
        )
        return NativeRange(pushed)

    def flush(self, timeout_s: float) -> None:
        self._producer.flush(timeout_s)

    def close(self, timeout_s: float) -> None:
        self._producer.close(timeout_s)


class _NativeFuture(Future[T]):
    """What the compiled client knows of something that was pushed."""

    __slots__ = ("_pushed",)

    def __init__(self, pushed: Any) -> None:
        self._pushed = pushed

    def done(self) -> bool:
        return bool(self._pushed.done())

    @abstractmethod
    def _value(self, found: Any) -> T: ...

    def result(self, timeout_s: float = TIMEOUT_S) -> T:
        return self._value(self._pushed.result(check_timeout(timeout_s, "result")))

    def __await__(self) -> Generator[Any, None, T]:
        if not self._pushed.done():
            yield from until_called(self._pushed.when_done)
        return self.result(TIMEOUT_S)


class NativeFuture(_NativeFuture[EventId]):
    """The identity of an event."""

    __slots__ = ("_partition",)

    def __init__(self, pushed: _native.Pushed, partition: int) -> None:
        super().__init__(pushed)
        self._partition = partition

    def _value(self, found: Any) -> EventId:
        return EventId(self._partition, found)


class NativeRange(_NativeFuture[Any]):
    """The numbers of events that were pushed together: a range, or a list where others' came between."""

    __slots__ = ()

    def _value(self, found: Any) -> Any:
        if len(found) == 1:
            return range(*found[0])
        return [number for begin, end in found for number in range(begin, end)]


@dataclasses.dataclass
class _NativeBatch(RawBatch):
    """A batch with the events that it is of."""

    events: _native.StreamEvents


class NativeConsumer(TransportConsumer):
    """Reads the partitions' files themselves where the server is on this node."""

    def __init__(self, consumer: _native.StreamConsumer, whole: bool, timeout_s: float) -> None:
        self._consumer = consumer
        self._whole = whole
        self._timeout_s = timeout_s

    def pull(self, max_events: int, timeout_s: float) -> RawBatch | None:
        events = self._consumer.pull(min(max_events, 1 << 31), timeout_s)
        if events is None:
            return None
        blob, ends = events.metadata()
        metadata = Packed(blob.data, ends)
        if not events.apart:
            blob, data_ends = events.data()
            data = Packed(blob.data, data_ends, _ALIGN)
            return _NativeBatch(events.partition, events.first, metadata, data.sizes, data, events)
        bounds = Packed(b"", events.data_ends(), _ALIGN)
        if not self._whole:
            return _NativeBatch(events.partition, events.first, metadata, bounds.sizes, None, events)
        data = self._read_all(events, bounds.ends)
        return _NativeBatch(
            events.partition, events.first, metadata.part(0, len(data)), bounds.sizes[: len(data)], data, events
        )

    def _read_all(self, events: _native.StreamEvents, ends: Any) -> Packed:
        """Return the data of the first events; those not returned are pulled again, save one that is damaged."""
        buffer = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
        try:
            readable = self._consumer.read_all(events, buffer, self._timeout_s)
        except CorruptDataError:
            self._consumer.give_back(events, 1)
            raise
        except BaseException:
            self._consumer.give_back(events, 0)
            raise
        if readable < len(ends):
            self._consumer.give_back(events, readable)
        return Packed(buffer.data, ends[:readable], _ALIGN)

    def read(self, batch: RawBatch, number: int, ranges: Sequence[tuple[int, int]], into: memoryview) -> None:
        if not isinstance(batch, _NativeBatch):
            raise InvalidError(f"read: a batch of {type(batch).__name__}; expected one that this consumer pulled")
        self._consumer.read(batch.events, number, list(ranges), np.frombuffer(into, np.uint8), self._timeout_s)

    def acknowledge(self, partition: int, next_offset: int, wait: bool = False) -> None:
        self._consumer.acknowledge(partition, next_offset, self._timeout_s if wait else None)

    def seek(self, partition: int, to: int | float | Begin) -> None:
        if isinstance(to, float):
            self._consumer.seek_time(partition, to, self._timeout_s)
            return
        if isinstance(to, str):
            known = {number: (first, end) for number, _, _, first, end in self._consumer.positions(self._timeout_s)}
            if partition not in known:
                raise InvalidError(f"seek: partition {partition}, which is not held; held are {sorted(known)}")
            to = known[partition][0 if to == "first" else 1]
        if to < 0 or partition < 0:
            raise InvalidError(f"seek: event {to} of partition {partition}; accepted are numbers of at least 0")
        self._consumer.seek(partition, to, self._timeout_s)

    def holds(self, partition: int) -> bool:
        try:
            return self._consumer.holds(partition, self._timeout_s)
        except (ServerGoneError, WaitTimeoutError):  # what was fetched can be given out all the same
            return True

    def held(self) -> Mapping[int, Held]:
        positions = self._consumer.positions(self._timeout_s)
        return {number: Held(acknowledged, end) for number, acknowledged, _, _, end in positions}

    def close(self) -> None:
        self._leave(False)

    def forget(self) -> None:
        self._leave(True)

    def _leave(self, forget: bool) -> None:
        with contextlib.suppress(ServerGoneError, NotFoundError):  # then nobody waits for the partitions
            self._consumer.close(forget, self._timeout_s)


def _wait_for(options: ConsumerOptions, consumer: NativeConsumer, topic: str) -> None:
    """Return when the consumer has the partitions that were given; other members may have to leave first."""
    until = time.monotonic() + options.timeout_s
    while missing := sorted(set(options.partitions or ()) - set(consumer.held())):
        if time.monotonic() >= until:
            raise WaitTimeoutError(
                f"consumer {options.name!r} of topic {topic!r}: another member held partition {missing[0]} for "
                f"{options.timeout_s:g} s; wait longer, or share all partitions"
            )
        time.sleep(_LOOK_S)


def _array(blob: Buffer) -> Any:
    return blob if type(blob) is bytes else np.frombuffer(blob, np.uint8)


def _encoded(partition: PartitionDefinition) -> _native.PartitionTuple:
    """Return a partition as the compiled client takes it."""
    interval_s = {"none": 0.0, "always": _ALWAYS}.get(partition.durability_kind, partition.interval_s or 0.0)
    kept = partition.retention
    rest = partition.rest if partition.rest == "anywhere" else partition.rest_kind
    return str(rest), partition.data_folder, interval_s, kept.age_s, kept.size_bytes, kept.acknowledged


def _decoded(partition: _native.PartitionTuple) -> tuple[Any, str, Retention]:
    """Return rest, durability and retention of a partition as users know them."""
    rest, data, interval_s, age_s, size_bytes, acknowledged = partition
    durability = "none" if interval_s == 0 else "always" if interval_s < 0 else f"interval:{interval_s * 1000:.12g}ms"
    return (rest if data is None else {"data": data}), durability, Retention(age_s, size_bytes, acknowledged)


def _rule(topic: str, text: str) -> Rule:
    try:
        rule: Rule = json.loads(text)
    except ValueError as error:
        raise InvalidError(f"describe: topic {topic!r} has a rule that is no JSON: {text[:100]!r} ({error})") from None
    return rule
