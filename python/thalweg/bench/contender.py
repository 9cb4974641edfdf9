"""What a transport must offer to be measured: one file implements these three classes."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from time import monotonic
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from thalweg.errors import WaitTimeoutError

T = TypeVar("T")
Operation = Literal["put", "loan", "get_view", "get_into", "latency"]
Array = npt.NDArray[np.uint64]

#: The order in which operations are measured and shown.
OPERATIONS: tuple[Operation, ...] = ("put", "loan", "get_view", "get_into", "latency")

#: No call of a contender may wait longer than this for its other side.
TIMEOUT_S = 60.0


def polled(look: Callable[[], T | None], what: str) -> T:
    """Spin on `look` until it finds something; the clock is read once in a thousand turns.

    Raises
    ------
    WaitTimeoutError
        When there is nothing within `TIMEOUT_S`.
    """
    deadline = monotonic() + TIMEOUT_S
    while True:
        for _ in range(1000):
            found = look()
            if found is not None:
                return found
        if monotonic() > deadline:
            raise WaitTimeoutError(f"bench: {what} did not arrive within {TIMEOUT_S:.0f} s")


class Producer(ABC):
    """The writing side, alone in its process. Every item has an index that the consumer knows as well."""

    def prepare(self, size_bytes: int) -> None:
        """Make ready for items of this size; not timed."""

    @abstractmethod
    def put(self, index: int, array: Array) -> None:
        """Hand over the elements of `array`; after the return the caller may change `array`. Timed."""

    def loan(self, index: int, array: Array) -> Array:
        """Memory of the transport, shaped like `array`, to be filled in place. Timed."""
        raise NotImplementedError(f"{type(self).__name__} declares no loan")

    def seal(self, index: int) -> None:
        """Hand over the memory that was lent last. Timed."""
        raise NotImplementedError(f"{type(self).__name__} declares no loan")

    def finish(self) -> None:
        """The items of this size are done; not timed."""

    def close(self) -> None:
        """Release everything."""


class Consumer(ABC):
    """The reading side, alone in its process."""

    def prepare(self, size_bytes: int) -> None:
        """Make ready for items of this size; not timed."""

    @abstractmethod
    def get(self, index: int) -> Array:
        """The elements of an item, without a copy where the transport can: waits until it is there. Timed."""

    def get_into(self, index: int, into: Array) -> None:
        """Bring the elements of an item into a given array: waits until it is there. Timed."""
        np.copyto(into, self.get(index))

    def release(self, index: int) -> None:
        """The item is not needed any more: drop views of it, free its memory; not timed."""

    def finish(self) -> None:
        """The items of this size are done; not timed."""

    def close(self) -> None:
        """Release everything."""


class Contender(ABC):
    """One transport: how its servers start, what it can do, what its two sides are."""

    #: As rows and options name it.
    name: ClassVar[str]
    operations: ClassVar[tuple[Operation, ...]] = ("put", "get_into", "latency")
    #: A put completes only with a reader at the other end, so both sides always run at once.
    coupled: ClassVar[bool] = False
    #: The consumer of `latency` spins instead of being woken.
    polls: ClassVar[bool] = False

    def available(self) -> str | None:
        """None when it can run here, else what to install."""
        return None

    def start(self) -> Any:
        """Start what both sides need, before they are there; returns a plain value that both sides get."""
        return secrets.token_hex(6)

    def stop(self) -> None:
        """Stop what `start` started."""

    def launcher(self) -> list[str]:
        """Command that starts both sides together, as ranks 0 (producer) and 1; empty: they start one by one."""
        return []

    def join(self) -> None:
        """Called first in both processes, at the same time."""

    @abstractmethod
    def producer(self, place: Any) -> Producer:
        """The writing side; made before the consumer."""

    @abstractmethod
    def consumer(self, place: Any) -> Consumer:
        """The reading side."""
