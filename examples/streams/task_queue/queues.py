"""What carries tasks to workers and results back: two topics of a stream, or two lists of Redis."""

from __future__ import annotations

import json
import struct
from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
from kit.parts import TIMEOUT_S

from thalweg import stream
from thalweg.errors import WaitTimeoutError

Message: TypeAlias = tuple[dict[str, Any], memoryview]


class Queues(ABC):
    """One side of a pair of queues: a worker's (its number), or the thinker's (None)."""

    @abstractmethod
    def __init__(self, place: dict[str, Any], worker: int | None) -> None: ...

    @abstractmethod
    def send(self, metadata: dict[str, Any], data: np.ndarray, worker: int = 0) -> None:
        """Send a task to a worker, or a result to the thinker; the data stay as they are from now on."""

    @abstractmethod
    def receive(self) -> Message:
        """Wait for the next message."""

    def done(self) -> None:
        """What was received last is dealt with; before, a worker that dies leaves it to the next of its name."""

    @abstractmethod
    def close(self) -> None:
        """Give back the connection."""


class StreamQueues(Queues):
    """Topics: of tasks, with a partition a worker; of results. An event leaves as it is pushed."""

    def __init__(self, place: dict[str, Any], worker: int | None) -> None:
        mine, other = ("results", "tasks") if worker is None else ("tasks", "results")
        self._driver = stream.connect(place["address"], name="queue")
        name = "thinker" if worker is None else "workers"
        self._producer = self._driver.open_topic(place[other]).producer(name, batch_size=1, timeout_s=TIMEOUT_S)
        self._consumer = self._driver.open_topic(place[mine]).consumer(name, partitions=[worker or 0])

    def send(self, metadata: dict[str, Any], data: np.ndarray, worker: int = 0) -> None:
        self._producer.push(metadata, data, worker)

    def receive(self) -> Message:
        self._event = self._consumer.pull().result(TIMEOUT_S)
        return self._event.metadata, self._event.data

    def done(self) -> None:
        self._event.acknowledge()

    def close(self) -> None:
        self._consumer.close()
        self._producer.close()
        self._driver.close()


class RedisQueues(Queues):
    """Lists: RPUSH at one end, BLPOP from the other, which forgets; a message is one value, as Colmena's are."""

    def __init__(self, place: dict[str, Any], worker: int | None) -> None:
        import redis

        self._mine, self._other = ("results", "tasks") if worker is None else ("tasks", "results")
        self._client: Any = redis.Redis(place["host"], place["port"], password=place["password"], protocol=2)

    def send(self, metadata: dict[str, Any], data: np.ndarray, worker: int = 0) -> None:
        encoded = json.dumps(metadata).encode()
        size = struct.pack("<I", len(encoded))
        self._client.rpush(self._other, b"".join((size, encoded, data.data.cast("B"))))

    def receive(self) -> Message:
        answer = self._client.blpop([self._mine], TIMEOUT_S)
        if answer is None:
            raise WaitTimeoutError(f"redis: nothing came to {self._mine!r} within {TIMEOUT_S:g} s")
        value = answer[1]
        (size,) = struct.unpack_from("<I", value)
        return json.loads(value[4 : 4 + size]), memoryview(value)[4 + size :]

    def close(self) -> None:
        self._client.close()


SYSTEMS: dict[str, type[Queues]] = {"stream": StreamQueues, "redis": RedisQueues}
