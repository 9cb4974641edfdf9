"""Appending to the partitions of a Kafka topic: metadata are a record's key, data its value."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from thalweg.errors import FullError, InvalidError, ThalwegError, WaitTimeoutError
from thalweg.stream.drivers.broker.library import DATA_BYTES_MAX, RECORD_BYTES_MAX, as_ours, confluent_kafka, settings
from thalweg.stream.drivers.transport import ProducerOptions, TransportProducer
from thalweg.stream.future import Derived, Future, Promise
from thalweg.stream.identity import EventId
from thalweg.stream.packed import Buffer, Packed

_ADAPTIVE_EVENTS = 10_000
_POLL_S = 0.05


class KafkaProducer(TransportProducer):
    """Idempotent; the library's own thread sends, and one here tells the futures."""

    def __init__(self, address: str, topic: str, options: ProducerOptions) -> None:
        kafka = confluent_kafka()
        self._no_room = BufferError
        self._kafka_error = kafka.KafkaException
        self._topic = topic
        self._timeout_s = timeout_s = options.timeout_s
        self._what = f"push: producer {options.name!r} of topic {topic!r}"
        batch_events = options.batch_size or _ADAPTIVE_EVENTS
        self._producer = kafka.Producer(
            {
                **settings(address),
                "client.id": options.name,
                "enable.idempotence": True,
                "linger.ms": 1,
                "batch.num.messages": min(batch_events, 1_000_000),
                "batch.size": 1 << 20,
                "queue.buffering.max.messages": min(max(batch_events * options.max_num_batches, 1), 10_000_000),
                "queue.buffering.max.kbytes": 256 << 10,
                "message.max.bytes": RECORD_BYTES_MAX,
                "delivery.timeout.ms": max(int(timeout_s * 1000), 1000),
                "request.timeout.ms": min(max(int(timeout_s * 500), 500), 30_000),
                "queue.buffering.backpressure.threshold": 1,
            }
        )
        self._failure: ThalwegError | None = None
        self._closed = False
        self._close_lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=self._what, daemon=True)
        self._thread.start()

    def push(self, partition: int, metadata: bytes, data: Sequence[Buffer]) -> Future[EventId]:
        promise: Promise[EventId] = Promise(self._what)
        value = None if not data else bytes(data[0]) if len(data) == 1 else b"".join(data)
        self._produce(partition, metadata, value or None, partial(self._delivered, promise))
        return promise

    def push_many(self, partition: int, metadata: Packed, data: Packed | None) -> Future[range]:
        numbers = _Numbers(len(metadata), self._what)
        delivered = partial(self._delivered_one_of, numbers)
        values = (None,) * len(metadata) if data is None else data.items()
        for key, value in zip(metadata.items(), values, strict=True):
            self._produce(partition, bytes(key), bytes(value) if value else None, delivered)
        return Derived(numbers.promise, lambda found: found)

    def flush(self, timeout_s: float) -> None:
        left = self._producer.flush(timeout_s)
        if left:
            raise WaitTimeoutError(f"flush: {self._what}: {left} events were not appended within {timeout_s:g} s")
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def close(self, timeout_s: float) -> None:
        with self._close_lock:
            if self._closed:
                return
            try:
                self.flush(timeout_s)
            finally:
                self._closed = True
                self._thread.join(10 * _POLL_S)
                self._producer.purge()
                self._producer.flush(_POLL_S)

    def _produce(self, partition: int, key: bytes, value: bytes | None, delivered: Any) -> None:
        if self._closed:
            raise InvalidError(f"{self._what}: it is closed")
        try:
            self._producer.produce(self._topic, value, key, partition, delivered)
        except BufferError:
            self._produce_later(partition, key, value, delivered)
        except self._kafka_error as error:
            raise self._refused(error.args[0], len(key) + len(value or b"")) from None

    def _produce_later(self, partition: int, key: bytes, value: bytes | None, delivered: Any) -> None:
        until = time.monotonic() + self._timeout_s
        while time.monotonic() < until:
            self._producer.poll(0.001)
            try:
                self._producer.produce(self._topic, value, key, partition, delivered)
                return
            except BufferError:
                continue
        raise WaitTimeoutError(f"{self._what}: it was full for {self._timeout_s:g} s; see whether the broker answers")

    def _refused(self, error: Any, size_bytes: int) -> ThalwegError:
        if size_bytes > DATA_BYTES_MAX:
            return FullError(f"{self._what}: an event of {size_bytes} bytes; accepted are {DATA_BYTES_MAX}")
        return as_ours(error, self._what)

    def _delivered(self, promise: Promise[EventId], error: Any, message: Any) -> None:
        if error is None:
            promise.keep(EventId(message.partition(), message.offset()))
        else:
            promise.fail(self._failed(error))

    def _delivered_one_of(self, numbers: _Numbers, error: Any, message: Any) -> None:
        if error is None:
            numbers.add(message.offset())
        else:
            numbers.promise.fail(self._failed(error))

    def _failed(self, error: Any) -> ThalwegError:
        ours = as_ours(error, self._what)
        self._failure = self._failure or ours
        return ours

    def _run(self) -> None:
        while not self._closed:
            self._producer.poll(_POLL_S)


class _Numbers:
    """The numbers that events pushed together got; others' may lie between them."""

    def __init__(self, count: int, what: str) -> None:
        self.promise: Promise[Any] = Promise(what)
        self._count = count
        self._found: list[int] = []
        if not count:
            self.promise.keep(range(0))

    def add(self, number: int) -> None:
        self._found.append(number)
        if len(self._found) == self._count:
            found = sorted(self._found)
            together = found[-1] - found[0] + 1 == self._count
            self.promise.keep(range(found[0], found[-1] + 1) if together else found)
