"""Reading the partitions of a Kafka topic that a member of a group holds."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg.errors import InvalidError, NotSupportedError, ServerGoneError, ThalwegError, WaitTimeoutError
from thalweg.stream.drivers.broker.library import RECORD_BYTES_MAX, as_ours, confluent_kafka, errors, settings
from thalweg.stream.drivers.broker.records import batches_of
from thalweg.stream.drivers.transport import Begin, ConsumerOptions, Held, RawBatch, TransportConsumer
from thalweg.stream.future import Promise

_ADAPTIVE_EVENTS = 10_000
_POLL_S = 0.02
_STORE_EVERY_S = 0.05
_CALL_S = 10.0
_AGAIN_S = 0.1


class KafkaConsumer(TransportConsumer):
    """One thread talks with the library: it fetches ahead, stores what was acknowledged, and does what it is asked.

    It goes on while nobody pulls, so that members can come and go.
    """

    def __init__(self, address: str, topic: str, options: ConsumerOptions) -> None:
        kafka = self._kafka = confluent_kafka()
        self._topic = topic
        self._begin = options.begin
        self._most = options.batch_size or _ADAPTIVE_EVENTS
        self._ahead = options.max_num_batches
        self._what = f"pull: consumer {options.name!r} of topic {topic!r}"
        self._batches: deque[RawBatch] = deque()
        self._changed = threading.Condition()
        self._assigned: set[int] = set()
        self._acknowledged: dict[int, int] = {}
        self._to_store: dict[int, int] = {}
        self._requests: deque[tuple[Callable[[], Any], Promise[Any]]] = deque()
        self._failure: ThalwegError | None = None
        self._closed = False
        self._ready = threading.Event()
        self._paused = False
        self._consumer = kafka.Consumer(
            {
                **settings(address),
                "error_cb": self._note_error,
                "client.id": options.name,
                "group.id": f"{topic}.{options.name}",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 10_000,
                "heartbeat.interval.ms": 500,
                "fetch.wait.max.ms": 100,
                "fetch.max.bytes": RECORD_BYTES_MAX,
                "receive.message.max.bytes": RECORD_BYTES_MAX + (1 << 20),
                "queued.max.messages.kbytes": 64 << 10,
                "fetch.queue.backoff.ms": 10,
            }
        )
        with errors(self._what):
            if options.partitions is None:
                self._consumer.subscribe([topic], on_assign=self._on_assign, on_revoke=self._on_revoke)
            else:
                self._on_assign(self._consumer, [kafka.TopicPartition(topic, number) for number in options.partitions])
        self._thread = threading.Thread(target=self._run, name=self._what, daemon=True)
        self._thread.start()
        if not self._ready.wait(options.timeout_s) or self._failure is not None:
            self.close()
            raise self._failure or WaitTimeoutError(
                f"{self._what}: the group gave no partitions within {options.timeout_s:g} s"
            )

    def pull(self, max_events: int, timeout_s: float) -> RawBatch | None:
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._failure or self._closed, timeout_s)
            if not self._batches:
                failure, self._failure = self._failure, None
                if failure is not None and not self._closed:
                    raise failure
                return None
            batch = self._batches.popleft()
            count = len(batch.metadata)
            if count > max_events:
                self._batches.appendleft(_part(batch, max_events, count))
                batch = _part(batch, 0, max_events)
            self._changed.notify_all()
            return batch

    def read(self, batch: RawBatch, number: int, ranges: Sequence[tuple[int, int]], into: memoryview) -> None:
        raise NotSupportedError("kafka: data come with their batch")

    def acknowledge(self, partition: int, next_offset: int, wait: bool = False) -> None:
        with self._changed:
            if partition in self._assigned and next_offset > self._acknowledged.get(partition, -1):
                self._acknowledged[partition] = self._to_store[partition] = next_offset
        if wait:
            self._ask(lambda: self._store(wait=True))

    def seek(self, partition: int, to: int | float | Begin) -> None:
        self._ask(lambda: self._seek(partition, to))

    def held(self) -> Mapping[int, Held]:
        found: dict[int, Held] = self._ask(self._held)
        return found

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(_CALL_S)

    def _run(self) -> None:
        stored_at = 0.0
        try:
            while not self._closed:
                self._serve()
                if time.monotonic() >= stored_at + _STORE_EVERY_S:
                    self._store(wait=False)
                    stored_at = time.monotonic()
                self._fetch()
        except self._kafka.KafkaException as error:
            self._fail(as_ours(error.args[0], self._what))
        except Exception as error:
            self._fail(ServerGoneError(f"{self._what}: {error!r}"))
        finally:
            self._end()

    def _fetch(self) -> None:
        """Take what is there, unless enough was fetched ahead; serves the group in any case."""
        with self._changed:
            full = len(self._batches) >= self._ahead
            if full and not self._paused:
                full = not self._changed.wait_for(
                    lambda: len(self._batches) < self._ahead or self._closed or self._requests, _POLL_S * 5
                )
        if full != self._paused:
            places = self._consumer.assignment()
            (self._consumer.pause if full else self._consumer.resume)(places)
            self._paused = full
        first = self._consumer.poll(_POLL_S)
        if first is None:
            return
        found = [first]
        if self._most > 1 and not full:
            found += self._consumer.consume(self._most - 1, 0)
        good = [message for message in found if message.error() is None]
        for message in found:
            if message.error() is not None:
                self._note_error(message.error())
        if good:
            with self._changed:
                self._batches.extend(batches_of(good))
                self._changed.notify_all()

    def _serve(self) -> None:
        while self._requests:
            request, promise = self._requests.popleft()
            try:
                with errors(self._what):
                    promise.keep(request())
            except ThalwegError as error:
                promise.fail(error)

    def _ask(self, request: Callable[[], Any]) -> Any:
        """Have the thread do something, and return what comes of it."""
        promise: Promise[Any] = Promise(self._what)
        with self._changed:
            if self._closed or not self._thread.is_alive():
                raise InvalidError(f"{self._what}: it is closed")
            self._requests.append((request, promise))
            self._changed.notify_all()
        return promise.result(_CALL_S)

    def _held(self) -> dict[int, Held]:
        found = {}
        for partition in sorted(self._assigned):
            first, end = self._bounds(partition)
            found[partition] = Held(self._acknowledged.get(partition, first), end)
        return found

    def _seek(self, partition: int, to: int | float | Begin) -> None:
        if partition not in self._assigned:
            held = ", ".join(map(str, sorted(self._assigned))) or "none"
            raise InvalidError(f"seek: partition {partition!r} is not held by this member; it holds {held}")
        first, end = self._bounds(partition)
        if isinstance(to, float):
            asked = self._kafka.TopicPartition(self._topic, partition, int(to * 1000))
            (found,) = self._consumer.offsets_for_times([asked], timeout=_CALL_S)
            number = found.offset if found.offset >= 0 else end
        else:
            number = first if to == "first" else end if to == "next" else to
        if not isinstance(number, int) or not first <= number <= end:
            raise InvalidError(f"seek: partition {partition}: offset {number}; accepted are {first} to {end}")
        place = self._kafka.TopicPartition(self._topic, partition, number)
        until = time.monotonic() + _CALL_S
        while True:
            try:
                self._consumer.seek(place)
                break
            except self._kafka.KafkaException as error:  # a partition that was just assigned cannot be sought in yet
                if error.args[0].code() != self._kafka.KafkaError._STATE or time.monotonic() > until:
                    raise
                time.sleep(_POLL_S)
        with self._changed:
            self._batches = deque(batch for batch in self._batches if batch.partition != partition)

    def _bounds(self, partition: int) -> tuple[int, int]:
        place = self._kafka.TopicPartition(self._topic, partition)
        try:
            first, end = self._consumer.get_watermark_offsets(place, timeout=_CALL_S)
            return first, end
        except self._kafka.KafkaException as error:
            if error.args[0].code() != self._kafka.KafkaError._UNKNOWN_PARTITION:
                raise
            raise ServerGoneError(  # it is held, so it is known: no broker that has it can be reached
                f"{self._what}: no broker has partition {partition} now; see whether the broker runs"
            ) from None

    def _on_assign(self, consumer: Any, places: Sequence[Any]) -> None:
        stored = self._committed(consumer, places) if places else []
        for place in stored:
            if place.offset >= 0:
                self._acknowledged[place.partition] = place.offset
                continue
            first, end = consumer.get_watermark_offsets(place, timeout=_CALL_S)
            place.offset = first
            if self._begin == "next":
                place.offset = self._acknowledged[place.partition] = end
                with self._changed:
                    self._to_store[place.partition] = end  # the next holder begins there too
        consumer.assign(stored)
        self._assigned = {place.partition for place in stored}
        self._paused = False
        self._ready.set()

    def _committed(self, consumer: Any, places: Sequence[Any]) -> list[Any]:
        """Return what is stored; a broker that has just started moves the group's coordinator once or twice."""
        error = self._kafka.KafkaError
        moving = {error.NOT_COORDINATOR, error.COORDINATOR_NOT_AVAILABLE, error.COORDINATOR_LOAD_IN_PROGRESS}
        until = time.monotonic() + _CALL_S
        while True:
            try:
                found: list[Any] = consumer.committed(list(places), timeout=_CALL_S)
                return found
            except self._kafka.KafkaException as met:
                if met.args[0].code() not in moving or time.monotonic() > until:
                    raise
            time.sleep(_AGAIN_S)

    def _on_revoke(self, consumer: Any, places: Sequence[Any]) -> None:
        self._store(wait=True)
        gone = {place.partition for place in places}
        with self._changed:
            self._batches = deque(batch for batch in self._batches if batch.partition not in gone)
            self._assigned -= gone
            for partition in gone:
                self._acknowledged.pop(partition, None)
                self._to_store.pop(partition, None)

    def _store(self, *, wait: bool) -> None:
        with self._changed:
            # Who waits also waits for what was handed over before without waiting.
            to_store = dict(self._acknowledged) if wait else self._to_store
            self._to_store = {}
        if not to_store:
            return
        places = [self._kafka.TopicPartition(self._topic, partition, number) for partition, number in to_store.items()]
        try:
            self._consumer.commit(offsets=places, asynchronous=not wait)
        except self._kafka.KafkaException as error:
            if error.args[0].code() != self._kafka.KafkaError.ILLEGAL_GENERATION:  # given to another member meanwhile
                self._fail(as_ours(error.args[0], "acknowledge"))

    def _end(self) -> None:
        self._store(wait=True)
        self._consumer.close()
        with self._changed:
            self._closed = True
            self._batches.clear()
            while self._requests:
                self._requests.popleft()[1].fail(InvalidError(f"{self._what}: it is closed"))
            self._changed.notify_all()

    def _note_error(self, error: Any) -> None:
        code = self._kafka.KafkaError
        if error.code() in (code._ALL_BROKERS_DOWN, code.UNKNOWN_TOPIC_OR_PART, code._UNKNOWN_TOPIC) or error.fatal():
            self._fail(as_ours(error, self._what))

    def _fail(self, error: ThalwegError) -> None:
        with self._changed:
            self._failure = error
            self._changed.notify_all()
        self._ready.set()


def _part(batch: RawBatch, begin: int, end: int) -> RawBatch:
    assert batch.data is not None
    return RawBatch(
        batch.partition,
        batch.first + begin,
        batch.metadata.part(begin, end),
        batch.data_sizes[begin:end],
        batch.data.part(begin, end),
    )
