"""Thalweg's streams: of a server, in its files or in its memory, and as plain files without a server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from thalweg.bench import c_library
from thalweg.bench.stream.native import Source
from thalweg.bench.stream.order import Case, Durability, Order
from thalweg.bench.stream.system import TIMEOUT_S, TURN_S, Arrived, Consumer, Producer, System
from thalweg.errors import WaitTimeoutError
from thalweg.servers import ServerManager

_PIECE = 10_000


def _connected(address: str) -> Any:
    from thalweg import stream

    return stream.connect(address, name="bench", timeout_s=TIMEOUT_S)


class _Producer(Producer):
    def __init__(self, order: Order) -> None:
        self._driver = _connected(order.address)
        topic = self._driver.open_topic(order.topic)
        self._producer = topic.producer("bench", timeout_s=TIMEOUT_S)
        self._prompt = order.prompt

    def produce(self, partition: int, events: Sequence[bytes], data: bytes | None) -> None:
        if self._prompt:
            for event in events:
                self._producer.push(bytes(event), data, partition)
            return
        self._producer.push_many(events, None if data is None else [data] * len(events), partition)

    def flush(self) -> None:
        self._producer.flush(TIMEOUT_S)

    def close(self) -> None:
        self._driver.close()


class _Consumer(Consumer):
    def __init__(self, order: Order) -> None:
        self._driver, self._case = _connected(order.address), order.case
        self._piece = 1 if order.prompt else _PIECE
        self._consumer = self._driver.open_topic(order.topic).consumer("bench", begin="first")

    def consume(self) -> Iterable[Arrived]:
        try:
            batch = self._consumer.pull_many(self._piece).result(TURN_S)
        except WaitTimeoutError:
            return []
        events = batch.metadata.view("u1").reshape(len(batch), self._case.event_bytes)
        return [(batch.partition, events, batch.data if self._case.data_bytes else ())]

    def close(self) -> None:
        self._driver.close()


class Files(System):
    """Plain files in a folder; no server."""

    name = "thalweg-files"
    library = ("thalweg.stream", "make setup")

    driver: ClassVar[str] = "files"
    rest: ClassVar[str] = "files"

    def missing(self) -> str | None:
        there = find_spec("thalweg.stream") and find_spec(f"thalweg.stream.drivers.{self.driver}")
        return None if there else f"streams have no driver {self.driver} here; run make setup"

    def start(self, folder: Path, durability: Durability) -> str:
        return f"files:{folder}"

    def create(self, address: str, topic: str, case: Case) -> None:
        kept: dict[str, Any] = {"rest": self.rest, "durability": case.durability, "partitions": case.partitions}
        with _connected(address) as driver:
            record = [["event", f"V{case.event_bytes}"]]
            driver.create_topic(topic, selector="explicit", serializer={"record": record}, **kept)

    def delete(self, address: str, topic: str) -> None:
        with _connected(address) as driver:
            driver.delete_topic(topic)

    def producer(self, order: Order) -> Producer:
        return _Producer(order)

    def consumer(self, order: Order) -> Consumer:
        return _Consumer(order)


class Thalweg(Files):
    """A server of this project's own, its topics in files: written out when the kernel likes (`none`), or always."""

    name = "thalweg"
    driver = "native"
    program = Source(
        "thalweg_native.c", "thalweg.h", ("thalweg",), "make languages, or make install", c_library.options
    )

    def start(self, folder: Path, durability: Durability) -> str:
        self._server = ServerManager("bench", {"type": "thalweg", "stream_folder": str(folder)})
        return str(self._server.start_server()["address"])

    def stop(self) -> None:
        self._server.stop_server()


class Memory(Thalweg):
    """The same server, its topics in memory."""

    name = "thalweg-memory"
    durabilities = ("none",)
    rest = "memory"


SYSTEMS = (Thalweg, Memory, Files)
