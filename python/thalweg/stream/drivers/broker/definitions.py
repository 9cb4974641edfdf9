"""The rules of topics, which Kafka has no place for: records of a compacted topic, so that all clients agree."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from typing import Any

from thalweg.errors import CorruptDataError, ExistsError, WaitTimeoutError
from thalweg.stream.definition import PartitionDefinition, Retention, TopicDefinition
from thalweg.stream.drivers.broker.library import as_ours, confluent_kafka, errors, settings

#: The key of a record is a topic's name, its value the definition; no value says that the topic is gone.
DEFINITIONS = "thalweg.topics"


class Definitions:
    """Reads on in the topic of definitions whenever it is asked, and writes to it."""

    def __init__(self, address: str, admin: Any, timeout_s: float) -> None:
        self._kafka = confluent_kafka()
        self._admin = admin
        self._address = address
        self._timeout_s = timeout_s
        self._known: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._reader: Any = None
        self._next: int | None = None

    def get(self, topic: str, partitions: int) -> TopicDefinition:
        """Return the definition of a topic that is there; of one that others made, what fits any."""
        with self._lock:
            self._read_on()
            stored = self._known.get(topic)
        return (
            TopicDefinition((PartitionDefinition("files"),) * partitions) if stored is None else _decode(topic, stored)
        )

    def put(self, topic: str, definition: TopicDefinition | None) -> None:
        """Store the definition of a topic, or that it is gone."""
        self._make()
        value = None if definition is None else _encode(definition)
        failed: list[Any] = []
        with errors("create_topic"):
            producer = self._kafka.Producer({**settings(self._address), "acks": "all", "linger.ms": 0})
            producer.produce(
                DEFINITIONS,
                key=topic,
                value=value,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
            left = producer.flush(self._timeout_s)
        if failed:
            raise as_ours(failed[0], "create_topic")
        if left:
            raise WaitTimeoutError(f"create_topic: the broker did not store the definition in {self._timeout_s:g} s")

    def close(self) -> None:
        """Give back the connection."""
        with self._lock:
            if self._reader is not None:
                self._reader.close()
                self._reader = None

    def _make(self) -> None:
        new = self._kafka.admin.NewTopic(DEFINITIONS, 1, -1, config={"cleanup.policy": "compact"})
        try:
            with errors("create_topic"):
                self._admin.create_topics([new], operation_timeout=self._timeout_s)[DEFINITIONS].result(self._timeout_s)
        except ExistsError:
            pass

    def _read_on(self) -> None:
        place = self._kafka.TopicPartition(DEFINITIONS, 0)
        with errors("open_topic"):
            if DEFINITIONS not in self._admin.list_topics(timeout=self._timeout_s).topics:
                return
            if self._reader is None:
                group = {"group.id": DEFINITIONS, "enable.auto.commit": False, "enable.partition.eof": True}
                self._reader = self._kafka.Consumer({**settings(self._address), **group})
            until = time.monotonic() + self._timeout_s
            first, end = self._reader.get_watermark_offsets(place, timeout=self._timeout_s)
            if self._next is None:
                self._next = place.offset = first  # a number, as the library takes half a second to look one up
                self._reader.assign([place])
            while self._next < end:
                message = self._reader.poll(max(until - time.monotonic(), 0))
                if message is None:
                    raise WaitTimeoutError(f"open_topic: {DEFINITIONS!r} could not be read in {self._timeout_s:g} s")
                if message.error() is None:
                    self._note(message)
                elif message.error().code() == self._kafka.KafkaError._PARTITION_EOF:
                    self._next = max(self._next, message.offset())
                else:
                    raise as_ours(message.error(), "open_topic")

    def _note(self, message: Any) -> None:
        self._next = message.offset() + 1
        name, value = message.key().decode(), message.value()
        if value is None:
            self._known.pop(name, None)
        else:
            self._known[name] = value


def _encode(definition: TopicDefinition) -> bytes:
    return json.dumps(dataclasses.asdict(definition)).encode()


def _decode(topic: str, stored: bytes) -> TopicDefinition:
    try:
        found = json.loads(stored)
        partitions = tuple(
            PartitionDefinition(part["rest"], part["durability"], Retention(**part["retention"]))
            for part in found["partitions"]
        )
        return TopicDefinition(partitions, found["validator"], found["selector"], found["serializer"])
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptDataError(f"open_topic: the definition of {topic!r} in {DEFINITIONS!r}: {error!r}") from None
