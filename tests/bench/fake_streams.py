"""Systems over plain files that behave well, lose, damage, or die: what the benchmark must measure, or notice."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from thalweg.bench.stream.order import Case, Order
from thalweg.bench.stream.system import Arrived, Consumer, Producer, System
from thalweg.errors import NotFoundError


class _Writer(Producer):
    def __init__(self, order: Order) -> None:
        self._open = contextlib.ExitStack()
        self._files = [self._open.enter_context(path.open("ab", buffering=0)) for path in _paths(order)]

    def produce(self, partition: int, events: Sequence[bytes], data: bytes | None) -> None:
        self._files[partition].write(b"".join(event + (data or b"") for event in events))

    def close(self) -> None:
        self._open.close()


class _Reader(Consumer):
    def __init__(self, order: Order) -> None:
        self._case = order.case
        self._open = contextlib.ExitStack()
        self._files = [self._open.enter_context(path.open("rb", buffering=0)) for path in _paths(order)]
        self._rest = [b""] * len(self._files)

    def consume(self) -> Iterable[Arrived]:
        own, size = self._case.event_bytes, self._case.size_bytes
        for number, file in enumerate(self._files):
            read = self._rest[number] + file.read(1 << 20)
            whole = len(read) // size * size
            self._rest[number] = read[whole:]
            if whole:
                pieces = [read[at : at + size] for at in range(0, whole, size)]
                yield number, [piece[:own] for piece in pieces], [piece[own:] for piece in pieces]
        time.sleep(0.0001)

    def close(self) -> None:
        self._open.close()


def _paths(order: Order) -> list[Path]:
    return [Path(order.address, order.topic, str(number)) for number in range(order.case.partitions)]


class Good(System):
    name = "good"
    library = ("json", "")

    def create(self, address: str, topic: str, case: Case) -> None:
        folder = Path(address, topic)
        folder.mkdir()
        for number in range(case.partitions):
            (folder / str(number)).touch()

    def delete(self, address: str, topic: str) -> None:
        for path in Path(address, topic).iterdir():
            path.unlink()
        Path(address, topic).rmdir()

    def producer(self, order: Order) -> Producer:
        return _Writer(order)

    def consumer(self, order: Order) -> Consumer:
        return _Reader(order)


class Kafka(Good):
    """Stands for the system that others are compared with."""

    name = "kafka"


class Live(Good):
    """Produced and consumed at once, as a system without a log is."""

    name = "live"
    keeps = False
    durabilities = ("none",)
    most_partitions = 1


class _Losing(_Writer):
    def produce(self, partition: int, events: Sequence[bytes], data: bytes | None) -> None:
        super().produce(partition, events[1:], data)


class _Damaging(_Writer):
    def produce(self, partition: int, events: Sequence[bytes], data: bytes | None) -> None:
        super().produce(partition, [b"\xff" * len(event) for event in events], data)


class _Dying(_Reader):
    def consume(self) -> Iterable[Arrived]:
        os._exit(7)


class Losing(Good):
    name = "losing"

    def producer(self, order: Order) -> Producer:
        return _Losing(order)


class Damaging(Good):
    name = "damaging"

    def producer(self, order: Order) -> Producer:
        return _Damaging(order)


class Dying(Good):
    name = "dying"

    def consumer(self, order: Order) -> Consumer:
        return _Dying(order)


class Unstartable(Good):
    name = "unstartable"

    def start(self, folder: Path, durability: str) -> str:
        raise NotFoundError("unstartable: it has no server")


class Absent(Good):
    name = "absent"
    library = ("no_such_library", "pip install no-such-library")


SYSTEMS = (Good, Kafka, Live, Losing, Damaging, Dying, Unstartable, Absent)
