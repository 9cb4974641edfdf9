"""What a system must offer to be measured: one file implements these three classes, and may have a native program."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, TypeAlias

from thalweg.bench.stream import native
from thalweg.bench.stream.order import DURABILITIES, Case, Durability, Language, Order

Buffer: TypeAlias = bytes | bytearray | memoryview
#: Events of one partition in order, and the data of each where there are any.
Arrived: TypeAlias = tuple[int, Sequence[Buffer], Sequence[Buffer]]

#: No side waits longer than this for the other.
TIMEOUT_S = 60.0
#: A call of `Consumer.consume` returns within about this time.
TURN_S = 1.0


class Producer(ABC):
    """The side in Python that hands events over; connected when it is made."""

    @abstractmethod
    def produce(self, partition: int, events: Sequence[bytes], data: bytes | None) -> None:
        """Hand over a batch of events, each with the same data. A prompt order's event leaves at once."""

    def flush(self) -> None:
        """Return when all is as safe as the order's durability says."""

    def close(self) -> None:
        """Release everything."""


class Consumer(ABC):
    """The side in Python that takes events from the first one on; connected when it is made."""

    @abstractmethod
    def consume(self) -> Iterable[Arrived]:
        """What has come, as much as is best; waits for a turn at most, and is empty when nothing came."""

    def close(self) -> None:
        """Release everything."""


class System(ABC):
    """One system: how its server starts, and what its sides are."""

    #: As rows and options name it.
    name: ClassVar[str]
    #: Whether events stay: consumption is measured after production then, otherwise at the same time.
    keeps: ClassVar[bool] = True
    durabilities: ClassVar[tuple[Durability, ...]] = DURABILITIES
    most_partitions: ClassVar[int] = 1000
    #: What the sides in Python import, and how to get it.
    library: ClassVar[tuple[str, str]]
    #: The native program of both sides, and how to get what it is linked with; None: there is none.
    program: ClassVar[native.Source | None] = None

    def missing(self) -> str | None:
        """None when its server can run here, else what to install."""
        return None

    def start(self, folder: Path, durability: Durability) -> str:
        """Start the server, its log in a folder for it alone; returns the address that sides get."""
        return str(folder)

    def stop(self) -> None:
        """Stop what `start` started."""

    def create(self, address: str, topic: str, case: Case) -> None:
        """Make a topic."""

    def delete(self, address: str, topic: str) -> None:
        """Remove a topic and its events."""

    @abstractmethod
    def producer(self, order: Order) -> Producer:
        """The side in Python that produces."""

    @abstractmethod
    def consumer(self, order: Order) -> Consumer:
        """The side in Python that consumes."""

    def missing_for(self, language: Language) -> str | None:
        """None when its sides of a language can run here, else what to install."""
        from importlib.util import find_spec

        if language == "native":
            return "it has no native program" if self.program is None else native.missing(self.program)
        name, how = self.library
        return None if find_spec(name) else f"there is no Python library {name}; {how}"

    def command(self, language: Language, locator: str, folder: Path) -> list[str]:
        """What starts a side, before the words of its order; a program is compiled into `folder`."""
        if language == "native":
            assert self.program is not None
            return [str(native.compiled(self.program, folder))]
        return [sys.executable, "-m", "thalweg.bench.stream.side", locator]

    def fits(self, case: Case) -> bool:
        """Whether it can be measured so."""
        return case.durability in self.durabilities and case.partitions <= self.most_partitions
