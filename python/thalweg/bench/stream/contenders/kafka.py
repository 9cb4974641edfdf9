"""Kafka through librdkafka, with the settings that move most: large batches, deep prefetch, no compression."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from thalweg.bench.stream.native import Source
from thalweg.bench.stream.order import Case, Durability, Order
from thalweg.bench.stream.system import TIMEOUT_S, TURN_S, Arrived, Consumer, Producer, System
from thalweg.errors import ComponentFailedError, WaitTimeoutError
from thalweg.servers import ServerManager, kafka_jars

_LARGEST = 64_000_000
_PIECE = 10_000
_QUEUE, _QUEUE_BYTES = 1_000_000, 1_000_000_000


class _Producer(Producer):
    def __init__(self, order: Order) -> None:
        from confluent_kafka import Producer as Client

        self._topic, self._most = order.topic, min(_QUEUE, _QUEUE_BYTES // order.case.size_bytes) // 2
        self._client = Client(
            {
                "bootstrap.servers": order.address,
                "acks": "all" if order.case.durability == "always" else "1",
                "linger.ms": 0 if order.prompt else 5,
                "batch.size": 1_000_000,
                "queue.buffering.max.messages": _QUEUE,
                "queue.buffering.max.kbytes": _QUEUE_BYTES // 1000,
                "message.max.bytes": _LARGEST,
                "socket.nagle.disable": True,
            }
        )
        self._client.list_topics(order.topic, TIMEOUT_S)

    def produce(self, partition: int, events: Sequence[bytes], data: bytes | None) -> None:
        if data is None:
            messages: list[dict[str, Any]] = [{"value": event} for event in events]
        else:
            messages = [{"key": event, "value": data} for event in events]
        until = time.monotonic() + TIMEOUT_S
        while len(self._client) > self._most and time.monotonic() < until:
            self._client.poll(0.01)
        if self._client.produce_batch(self._topic, messages, partition) != len(messages):
            raise ComponentFailedError(f"bench stream: kafka: a batch of {len(messages)} events did not fit its queue")

    def flush(self) -> None:
        left = self._client.flush(TIMEOUT_S)
        if left:
            raise ComponentFailedError(f"bench stream: kafka: {left} events were not acknowledged in {TIMEOUT_S:.0f} s")


class _Consumer(Consumer):
    def __init__(self, order: Order) -> None:
        from confluent_kafka import Consumer as Client
        from confluent_kafka import TopicPartition

        self._single, self._keyed = order.case.partitions == 1, order.case.data_bytes > 0
        self._piece = 1 if order.prompt else _PIECE
        self._client = Client(
            {
                "bootstrap.servers": order.address,
                "group.id": order.topic,
                "enable.auto.commit": False,
                "fetch.max.bytes": _LARGEST,
                "max.partition.fetch.bytes": 16_000_000,
                "receive.message.max.bytes": 2 * _LARGEST,
                "queued.min.messages": 1_000_000,
                "queued.max.messages.kbytes": 1_000_000,
                "fetch.queue.backoff.ms": 1,
                "socket.nagle.disable": True,
            }
        )
        self._places = [TopicPartition(order.topic, number, 0) for number in range(order.case.partitions)]
        for place in self._places:
            self._client.get_watermark_offsets(place, TIMEOUT_S)
        if order.prompt:
            self._assign()

    def _assign(self) -> None:
        """Fetching begins with this; once."""
        self._client.assign(self._places)
        self._places = []

    def consume(self) -> Iterable[Arrived]:
        if self._places:
            self._assign()
        messages = self._client.consume(self._piece, 0.1 * TURN_S)
        for message in messages:
            if message.error() is not None:
                raise ComponentFailedError(f"bench stream: kafka: {message.error()}")
        by_partition: dict[int, list[Any]] = {}
        if self._single:
            if messages:
                by_partition[0] = messages
        else:
            for message in messages:
                by_partition.setdefault(int(message.partition() or 0), []).append(message)
        for partition, mine in by_partition.items():
            if self._keyed:
                yield partition, [message.key() for message in mine], [message.value() for message in mine]
            else:
                yield partition, [message.value() for message in mine], ()

    def close(self) -> None:
        self._client.close()


class Kafka(System):
    """A broker of this project's own, one a durability; it must have been warm before it is timed."""

    name = "kafka"
    library = ("confluent_kafka", "pip install confluent-kafka")
    program = Source("kafka.c", "librdkafka/rdkafka.h", ("rdkafka",), "Debian: apt-get install librdkafka-dev")

    def missing(self) -> str | None:
        return kafka_jars.missing() or self.missing_for("python")

    _admin: Any = None

    def start(self, folder: Path, durability: Durability) -> str:
        settings = {"message.max.bytes": str(_LARGEST), "log.retention.ms": "-1", "log.segment.delete.delay.ms": "0"}
        self._server = ServerManager("bench", {"type": "kafka", "path": str(folder), "settings": settings})
        address = "{host}:{port}".format(**self._server.start_server())
        from confluent_kafka.admin import AdminClient

        self._admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        return address

    def stop(self) -> None:
        self._admin = None  # it would go on looking for the broker
        self._server.stop_server()

    def create(self, address: str, topic: str, case: Case) -> None:
        """Make a topic, and wait until the broker answers for each of its partitions."""
        from confluent_kafka import KafkaException, TopicPartition

        admin: Any = importlib.import_module("confluent_kafka.admin")
        each = {"flush.messages": "1"} if case.durability == "always" else {}
        self._admin.create_topics([admin.NewTopic(topic, case.partitions, 1, config=each)])[topic].result(TIMEOUT_S)
        asked = {TopicPartition(topic, number): admin.OffsetSpec.latest() for number in range(case.partitions)}
        until = time.monotonic() + TIMEOUT_S
        while True:
            try:
                self._admin.list_topics(topic, TURN_S)  # makes the client look again who leads the partitions
                for answer in self._admin.list_offsets(asked, request_timeout=TURN_S).values():
                    answer.result(TIMEOUT_S)
                return
            except KafkaException as error:
                if time.monotonic() > until:
                    raise WaitTimeoutError(f"bench stream: kafka: topic {topic} is not ready: {error}") from error
                time.sleep(0.01)

    def delete(self, address: str, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(TIMEOUT_S)

    def producer(self, order: Order) -> Producer:
        return _Producer(order)

    def consumer(self, order: Order) -> Consumer:
        return _Consumer(order)


SYSTEMS = (Kafka,)
