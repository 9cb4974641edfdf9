"""What the promises of a driver are tested with: a connection, and topics that go when the test ends."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

from thalweg.errors import ThalwegError
from thalweg.stream import Driver, Topic, connect

PATIENCE_S = 60.0
#: A time in which nothing comes where nothing should.
NOTHING_S = 0.3
MakeTopic: TypeAlias = Callable[..., Topic]


class Promises:
    """Base of the groups of promises; its fixtures are what an implementation gives."""

    @pytest.fixture
    def address(self) -> Iterator[str]:
        """Yield the address of a running server."""
        raise NotImplementedError("give a fixture `address` that yields the address of a running server")

    @pytest.fixture
    def stop_server(self) -> Callable[[], None] | None:
        """Return a callable that makes the server go away, or None."""
        return None

    @pytest.fixture
    def driver(self, address: str) -> Iterator[Driver]:
        """Yield a connection."""
        with connect(address, name="conformance", timeout_s=PATIENCE_S) as driver:
            yield driver

    @pytest.fixture
    def make_topic(self, driver: Driver) -> Iterator[MakeTopic]:
        """Yield a function that makes a topic from the arguments of `create_topic` and opens it."""
        names = []

        def make(partitions: int = 1, **definition: Any) -> Topic:
            name = f"conformance-{uuid.uuid4().hex}"
            driver.create_topic(name, partitions, **definition)
            names.append(name)
            return driver.open_topic(name)

        yield make
        for name in names:
            with contextlib.suppress(ThalwegError):  # deleted by the test, or its server is gone
                driver.delete_topic(name)

    @pytest.fixture
    def topic(self, make_topic: MakeTopic) -> Topic:
        """Return a topic of one partition that takes any JSON."""
        return make_topic()


def fill(topic: Topic, count: int, first: int = 0) -> None:
    """Push events ``{"n": first}`` and on, with their number as data too."""
    with topic.producer("filler") as producer:
        for number in range(first, first + count):
            producer.push({"n": number}, str(number).encode())


def numbers_of(events: Any) -> list[int]:
    """Return the numbers that `fill` gave to events."""
    return [event.metadata["n"] for event in events]
