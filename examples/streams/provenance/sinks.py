"""Where a producer's events go: a topic of a stream, a stream of Redis, a topic of Kafka; each call waits for them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from kit.parts import TIMEOUT_S

from thalweg import stream
from thalweg.errors import ComponentFailedError

#: Bytes of a message that a broker of Kafka must take.
LARGEST_BYTES = 4_000_000


class Sink(ABC):
    """The connection of one producer, by its number."""

    @abstractmethod
    def __init__(self, place: dict[str, Any], number: int) -> None: ...

    @abstractmethod
    def flush(self, units: list[dict[str, Any]], data: np.ndarray | None) -> None:
        """Send units as one event, and return when it is there."""

    @abstractmethod
    def close(self) -> None:
        """Give back the connection."""


class StreamSink(Sink):
    """A topic with a partition for each of the last digits of a producer's number."""

    def __init__(self, place: dict[str, Any], number: int) -> None:
        self._driver = stream.connect(place["address"], name=f"producer-{number}")
        topic = self._driver.open_topic(place["topic"])
        self._partition = number % len(topic.description.partitions)
        self._producer = topic.producer(f"producer-{number}", timeout_s=TIMEOUT_S)

    def flush(self, units: list[dict[str, Any]], data: np.ndarray | None) -> None:
        self._producer.push(units, data, self._partition)
        self._producer.flush(TIMEOUT_S)

    def close(self) -> None:
        self._producer.close()
        self._driver.close()


class RedisSink(Sink):
    """XADD; its answer says that it is there."""

    def __init__(self, place: dict[str, Any], number: int) -> None:
        import redis

        self._key = place["topic"]
        self._client: Any = redis.Redis(place["host"], place["port"], password=place["password"], protocol=2)
        self._client.ping()

    def flush(self, units: list[dict[str, Any]], data: np.ndarray | None) -> None:
        fields = ("m", json.dumps(units).encode(), *(() if data is None else ("d", data.data.cast("B"))))
        self._client.execute_command("XADD", self._key, "*", *fields)

    def close(self) -> None:
        self._client.close()


class KafkaSink(Sink):
    """A message with the units as key and the data as value, sent without delay."""

    def __init__(self, place: dict[str, Any], number: int) -> None:
        from confluent_kafka import Producer

        self._topic = place["topic"]
        self._partition = number % place["partitions"]
        self._client = Producer(
            {
                "bootstrap.servers": place["broker"],
                "acks": "1",
                "linger.ms": 0,
                "message.max.bytes": LARGEST_BYTES,
                "socket.nagle.disable": True,
            }
        )
        self._client.list_topics(self._topic, TIMEOUT_S)

    def flush(self, units: list[dict[str, Any]], data: np.ndarray | None) -> None:
        value = b"" if data is None else data.tobytes()
        self._client.produce(self._topic, value, json.dumps(units).encode(), self._partition)
        if self._client.flush(TIMEOUT_S):
            raise ComponentFailedError(f"kafka: an event was not acknowledged within {TIMEOUT_S:g} s")

    def close(self) -> None:
        """It closes with its last reference."""


SYSTEMS: dict[str, type[Sink]] = {"stream": StreamSink, "redis": RedisSink, "kafka": KafkaSink}
