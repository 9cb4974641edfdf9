"""What carries events between components: a topic of a stream, or ZeroMQ; both note what each event costs them."""

from __future__ import annotations

import json
import time
from typing import Any

from kit.parts import TIMEOUT_S

from tekapp.phantom import Array
from thalweg import stream

#: A consumer of TekApp has one name in every topic.
_NAME = "tekapp"


class Cost:
    """Nanoseconds that each event took of its component, and those of the flush after the last."""

    def __init__(self) -> None:
        self.each_ns: list[int] = []
        self.flush_ns = 0

    def told(self, size_bytes: int) -> dict[str, Any]:
        """Return it with the size of the events."""
        return {"each_ns": self.each_ns, "flush_ns": self.flush_ns, "size_bytes": size_bytes}


class StreamSender:
    """Pushes events to a topic."""

    def __init__(self, address: str, topic: str, partitions: list[int]) -> None:
        self.cost, self.size_bytes = Cost(), 0
        self._driver = stream.connect(address, name=_NAME)
        self._producer = self._driver.open_topic(topic).producer(_NAME, timeout_s=TIMEOUT_S)

    def send(self, metadata: dict[str, Any], data: Array, partition: int = 0) -> None:
        """Push an event, whose data stay as they are from now on."""
        begin = time.perf_counter_ns()
        self._producer.push(metadata, data, partition)
        self.cost.each_ns.append(time.perf_counter_ns() - begin)
        self.size_bytes = data.nbytes

    def finish(self) -> dict[str, Any]:
        """Wait until all events are there; return what it cost."""
        begin = time.perf_counter_ns()
        self._producer.flush(TIMEOUT_S)
        self.cost.flush_ns = time.perf_counter_ns() - begin
        self._producer.close()
        self._driver.close()
        return self.cost.told(self.size_bytes)


class StreamReceiver:
    """Pulls events from partitions of a topic."""

    def __init__(self, address: str, topic: str, partitions: list[int]) -> None:
        self.cost, self.size_bytes = Cost(), 0
        self._driver = stream.connect(address, name=_NAME)
        self._consumer = self._driver.open_topic(topic).consumer(_NAME, partitions=partitions, timeout_s=TIMEOUT_S)
        self._last: dict[int, stream.Event] = {}

    def receive(self) -> tuple[dict[str, Any], memoryview]:
        """Return metadata and data of the next event."""
        begin = time.perf_counter_ns()
        event = self._consumer.pull().result(TIMEOUT_S)
        metadata, data = event.metadata, event.data
        self.cost.each_ns.append(time.perf_counter_ns() - begin)
        self._last[event.partition], self.size_bytes = event, len(data)
        return metadata, data

    def finish(self) -> dict[str, Any]:
        """Acknowledge what was received; return what it cost."""
        for event in self._last.values():
            event.acknowledge()
        self._consumer.close()
        self._driver.close()
        return self.cost.told(self.size_bytes)


class ZeroMqSender:
    """Pushes to a socket for each partition; small data are copied, as that is quicker."""

    def __init__(self, address: str, topic: str, partitions: list[int]) -> None:
        import zmq

        self.cost, self.size_bytes = Cost(), 0
        self._context = zmq.Context()
        self._sockets = {partition: self._context.socket(zmq.PUSH) for partition in partitions}
        for partition, socket in self._sockets.items():
            socket.setsockopt(zmq.SNDTIMEO, int(1000 * TIMEOUT_S))
            socket.setsockopt(zmq.LINGER, int(1000 * TIMEOUT_S))
            socket.connect(f"ipc://@{topic}-{partition}")

    def send(self, metadata: dict[str, Any], data: Array, partition: int = 0) -> None:
        """Send an event, whose data stay as they are from now on."""
        begin = time.perf_counter_ns()
        self._sockets[partition].send_multipart((json.dumps(metadata).encode(), data.data), copy=False)
        self.cost.each_ns.append(time.perf_counter_ns() - begin)
        self.size_bytes = data.nbytes

    def finish(self) -> dict[str, Any]:
        """Wait until all was sent, which is not counted, as the paper's table 3 has it; return what it cost."""
        for socket in self._sockets.values():
            socket.close()
        self._context.term()
        return self.cost.told(self.size_bytes)


class ZeroMqReceiver:
    """Pulls from a socket that senders of all its partitions connect to."""

    def __init__(self, address: str, topic: str, partitions: list[int]) -> None:
        import zmq

        self.cost, self.size_bytes = Cost(), 0
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.PULL)
        self._socket.setsockopt(zmq.RCVTIMEO, int(1000 * TIMEOUT_S))
        for partition in partitions:
            self._socket.bind(f"ipc://@{topic}-{partition}")

    def receive(self) -> tuple[dict[str, Any], memoryview]:
        """Return metadata and data of the next event."""
        begin = time.perf_counter_ns()
        encoded, frame = self._socket.recv_multipart(copy=False)
        metadata, data = json.loads(encoded.bytes), frame.buffer
        self.cost.each_ns.append(time.perf_counter_ns() - begin)
        self.size_bytes = len(data)
        return metadata, data

    def finish(self) -> dict[str, Any]:
        """Return what it cost."""
        self._socket.close()
        self._context.term()
        return self.cost.told(self.size_bytes)


SYSTEMS: dict[str, tuple[Any, Any]] = {
    "stream": (StreamSender, StreamReceiver),
    "zeromq": (ZeroMqSender, ZeroMqReceiver),
}
