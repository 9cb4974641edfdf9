"""The driver `kafka`: topics of a Kafka broker, through librdkafka."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from thalweg.errors import InvalidError, NotFoundError, WaitTimeoutError
from thalweg.stream.definition import (
    PartitionDefinition,
    PartitionDescription,
    TopicDefinition,
    TopicDescription,
)
from thalweg.stream.drivers.broker.consumer import KafkaConsumer
from thalweg.stream.drivers.broker.definitions import DEFINITIONS, Definitions
from thalweg.stream.drivers.broker.library import DATA_BYTES_MAX, RECORD_BYTES_MAX, confluent_kafka, errors, settings
from thalweg.stream.drivers.broker.producer import KafkaProducer
from thalweg.stream.drivers.transport import (
    Capabilities,
    ConsumerOptions,
    ProducerOptions,
    StreamTransport,
    TransportConsumer,
    TransportProducer,
)

_PAUSE_S = 0.02


class KafkaTransport(StreamTransport):
    """A topic is a Kafka topic; other Kafka clients see metadata as a record's key and data as its value."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        rests=("files",),
        durabilities=("none", "interval", "always"),
        retentions=("age", "size"),
        mixed_partitions=False,
        exclusive_partitions=False,
        survives_restart=True,
        partial_reads=False,
        data_bytes_max=DATA_BYTES_MAX,
    )

    def __init__(self, address: str | None, *, name: str, token: str | None, timeout_s: float) -> None:
        if not address or not address.rpartition(":")[2].isdigit():
            raise InvalidError(f"connect: kafka:{address or ''}; expected kafka:HOST:PORT")
        if token is not None:
            raise InvalidError("connect: a token with kafka:...; brokers that ask for one are not supported yet")
        self._kafka = confluent_kafka()
        self._address = address
        self._timeout_s = timeout_s
        self._admin = self._kafka.admin.AdminClient(settings(address))
        self._definitions = Definitions(address, self._admin, timeout_s)
        self._bounds_reader: Any = None
        self._topics()

    def create(self, topic: str, definition: TopicDefinition) -> None:
        part = definition.partitions[0]
        kept = part.retention
        config = {
            "max.message.bytes": str(RECORD_BYTES_MAX),
            "retention.ms": "-1" if kept.age_s is None else str(max(int(kept.age_s * 1000), 1)),
            "retention.bytes": "-1" if kept.size_bytes is None else str(kept.size_bytes),
        }
        if part.durability_kind == "always":
            config["flush.messages"] = "1"
        elif part.interval_s is not None:
            config["flush.ms"] = str(max(int(part.interval_s * 1000), 1))
        new = self._kafka.admin.NewTopic(topic, len(definition.partitions), -1, config=config)
        with errors(f"create_topic {topic!r}"):
            self._admin.create_topics([new], operation_timeout=self._timeout_s)[topic].result(self._timeout_s)
        self._definitions.put(topic, definition)
        self._wait(topic, len(definition.partitions))

    def delete(self, topic: str) -> None:
        self._partitions(topic)
        with errors(f"delete_topic {topic!r}"):
            self._admin.delete_topics([topic], operation_timeout=self._timeout_s)[topic].result(self._timeout_s)
        self._definitions.put(topic, None)
        self._wait(topic, 0)

    def topics(self) -> list[str]:
        return sorted(name for name in self._topics() if not name.startswith("__") and name != DEFINITIONS)

    def describe(self, topic: str) -> TopicDescription:
        count = self._partitions(topic)
        definition = self._definitions.get(topic, count)
        last = definition.partitions[-1]
        described = []
        for number in range(count):
            part = definition.partitions[number] if number < len(definition.partitions) else last
            first, end = self._bounds(topic, number)
            described.append(PartitionDescription(number, part.rest, part.durability, part.retention, first, end))
        return TopicDescription(
            topic, definition.validator, definition.selector, definition.serializer, tuple(described)
        )

    def add_partition(self, topic: str, definition: PartitionDefinition) -> int:
        count = self._partitions(topic)
        more = self._kafka.admin.NewPartitions(topic, count + 1)
        with errors(f"add_partition {topic!r}"):
            self._admin.create_partitions([more], operation_timeout=self._timeout_s)[topic].result(self._timeout_s)
        self._wait(topic, count + 1)
        return count

    def producer(self, topic: str, partitions: int, options: ProducerOptions) -> TransportProducer:
        return KafkaProducer(self._address, topic, options)

    def consumer(self, topic: str, options: ConsumerOptions) -> TransportConsumer:
        self._partitions(topic)
        return KafkaConsumer(self._address, topic, options)

    def close(self) -> None:
        self._definitions.close()
        if self._bounds_reader is not None:
            self._bounds_reader.close()
            self._bounds_reader = None

    def _topics(self) -> dict[str, int]:
        """Return the topics that are there, with their numbers of partitions."""
        with errors(f"connect kafka:{self._address}"):
            found = self._admin.list_topics(timeout=self._timeout_s).topics
        return {name: len(topic.partitions) for name, topic in found.items() if topic.error is None}

    def _partitions(self, topic: str) -> int:
        try:
            return self._topics()[topic]
        except KeyError:
            raise NotFoundError(f"topic {topic!r} is not there in kafka:{self._address}; create it first") from None

    def _bounds(self, topic: str, partition: int) -> tuple[int, int]:
        with errors(f"describe_topic {topic!r}"):
            if self._bounds_reader is None:
                self._bounds_reader = self._kafka.Consumer({**settings(self._address), "group.id": DEFINITIONS})
            place = self._kafka.TopicPartition(topic, partition)
            until = time.monotonic() + self._timeout_s
            while True:
                try:
                    first, end = self._bounds_reader.get_watermark_offsets(place, timeout=self._timeout_s)
                    return first, end
                except self._kafka.KafkaException as error:  # the library may not have heard of it yet
                    unknown = (self._kafka.KafkaError._UNKNOWN_PARTITION, self._kafka.KafkaError._UNKNOWN_TOPIC)
                    if error.args[0].code() not in unknown or time.monotonic() >= until:
                        raise
                    self._bounds_reader.list_topics(topic, timeout=self._timeout_s)

    def _wait(self, topic: str, partitions: int) -> None:
        """Wait until the broker shows a topic with so many partitions."""
        until = time.monotonic() + self._timeout_s
        while self._topics().get(topic, 0) != partitions:
            if time.monotonic() >= until:
                raise WaitTimeoutError(
                    f"topic {topic!r}: the broker does not show {partitions} partitions after {self._timeout_s:g} s"
                )
            time.sleep(_PAUSE_S)
