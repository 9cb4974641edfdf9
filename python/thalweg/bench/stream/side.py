"""One side of a system in a process of its own, in Python: ``python -m thalweg.bench.stream.side LOCATOR ORDER…``.

It says ``ready`` when it is connected, begins at a line of input, and says one JSON object at its end: ``stamps_ns``,
the clock at every hundredth of the events; ``cpu_s``; for ``pull`` the ``latencies_ns``, for ``push`` the seconds in
which it was ``pushing_s``, the flush at the end with it. So do the native programs.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from thalweg.bench.stream.order import STAMP_BYTES, Order
from thalweg.bench.stream.system import TIMEOUT_S, Arrived, Buffer, Consumer, Producer
from thalweg.errors import CorruptDataError, ThalwegError, WaitTimeoutError

_PARTS = 100


class Stamps:
    """The clock at every hundredth of the events."""

    def __init__(self, events: int) -> None:
        self._step = max(1, events // _PARTS)
        self.seen: list[int] = [time.monotonic_ns()]
        self._next = self._step

    def at(self, done: int) -> None:
        """So many events are done."""
        if done >= self._next:
            self.seen.append(time.monotonic_ns())
            self._next = done + self._step


def produce(producer: Producer, order: Order) -> dict[str, Any]:
    """Hand all events over, batch by batch, each to the next partition, and wait until they are safe."""
    events = [stamped(number, order.case.event_bytes) for number in range(order.batch)]
    data = stamped(0, order.case.data_bytes) if order.case.data_bytes else None
    partitions = cycle(range(order.case.partitions))
    stamps = Stamps(order.events)
    for done in range(0, order.events, order.batch):
        producer.produce(next(partitions), events[: order.events - done], data)
        stamps.at(done + order.batch)
    producer.flush()
    stamps.seen.append(time.monotonic_ns())
    return {"stamps_ns": stamps.seen}


def consume(consumer: Consumer, order: Order) -> dict[str, Any]:
    """Take all events; of each piece that arrives the first and last are looked at."""
    arrived, total = [0] * order.case.partitions, 0
    stamps = Stamps(order.events)
    for partition, events, data in _pieces(consumer, order.events):
        for place in {0, len(events) - 1}:
            check(events[place], order.case.event_bytes, (arrived[partition] + place) % order.batch)
        if order.case.data_bytes:
            check(data[-1], order.case.data_bytes, 0)
        arrived[partition] += len(events)
        total += len(events)
        stamps.at(total)
    stamps.seen.append(time.monotonic_ns())
    return {"stamps_ns": stamps.seen}


def push(producer: Producer, order: Order) -> dict[str, Any]:
    """Hand one event over at each tick, with the time at which that was done."""
    rest = os.urandom(order.case.event_bytes - STAMP_BYTES)
    data = stamped(0, order.case.data_bytes) if order.case.data_bytes else None
    begin, pause_ns, pushing_ns = time.monotonic_ns(), 1_000_000_000 // order.rate, 0
    for number in range(order.events):
        time.sleep(max(0, begin + number * pause_ns - time.monotonic_ns()) / 1e9)
        now = time.monotonic_ns()
        event = now.to_bytes(STAMP_BYTES, "little") + rest
        producer.produce(0, [event], data)
        pushing_ns += time.monotonic_ns() - now
    now = time.monotonic_ns()
    producer.flush()
    end = time.monotonic_ns()
    return {"stamps_ns": [begin, end], "pushing_s": (pushing_ns + end - now) / 1e9}


def pull(consumer: Consumer, order: Order) -> dict[str, Any]:
    """Take each event as it comes; its latency is the time since its stamp."""
    latencies, begin = [], time.monotonic_ns()
    for _, events, _ in _pieces(consumer, order.events):
        now = time.monotonic_ns()
        latencies += [now - stamp_of(event) for event in events]
    return {"stamps_ns": [begin, time.monotonic_ns()], "latencies_ns": latencies}


def _pieces(consumer: Consumer, events: int) -> Iterator[Arrived]:
    """What arrives, until all events have.

    Raises
    ------
    WaitTimeoutError
        When nothing comes for too long.
    """
    total, until = 0, time.monotonic() + TIMEOUT_S
    while total < events:
        before = total
        for piece in consumer.consume():
            total += len(piece[1])
            yield piece
        if total > before:
            until = time.monotonic() + TIMEOUT_S
        elif time.monotonic() > until:
            raise WaitTimeoutError(f"bench stream: {total} of {events} events came, then none within {TIMEOUT_S:.0f} s")


def stamped(number: int, size_bytes: int) -> bytes:
    """Bytes that cannot be compressed, after a number."""
    return number.to_bytes(STAMP_BYTES, "little") + os.urandom(size_bytes - STAMP_BYTES)


def stamp_of(event: Buffer) -> int:
    """The number that an event begins with."""
    return int.from_bytes(event[:STAMP_BYTES], "little")


def check(event: Buffer, size_bytes: int, expected: int) -> None:
    """Refuse an event that is not the one whose turn it is.

    Raises
    ------
    CorruptDataError
        When its size or its stamp is another.
    """
    if len(event) != size_bytes or stamp_of(event) != expected:
        raise CorruptDataError(
            f"bench stream: an event of {len(event)} bytes arrived with the stamp {stamp_of(event)}; "
            f"expected {size_bytes} bytes and the stamp {expected}"
        )


def main(locator: str, *words: str) -> None:
    """Be the side that the order names."""
    from thalweg.bench.stream.contenders import find

    system, order = find(locator), Order.parse(words)
    side: Any = system.producer(order) if order.role in ("produce", "push") else system.consumer(order)
    try:
        print("ready", flush=True)
        sys.stdin.readline()
        begin_s = time.process_time()
        roles: dict[str, Any] = {"produce": produce, "consume": consume, "push": push, "pull": pull}
        told = roles[order.role](side, order)
        print(json.dumps({**told, "cpu_s": time.process_time() - begin_s}), flush=True)
    finally:
        side.close()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ThalwegError as error:
        sys.exit(f"{error}")
