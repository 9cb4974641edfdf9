"""How one item goes from producer to consumer while both look at the clock: CLOCK_MONOTONIC, the same in both."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import numpy as np

from thalweg.bench.contender import TIMEOUT_S, Array, Consumer, Operation, Producer
from thalweg.errors import InvalidError, ThalwegError

_READY = b"r"
_DONE = b"d"
_SETTLE_NS = 200_000
_SETTLE_LIMIT_NS = 5_000_000
_KEEP_SAMPLES = 2


class CorruptError(ThalwegError, ValueError):
    """What arrived is not what was sent."""


class PairBrokenError(ThalwegError, ConnectionError):
    """The other side ended first: its failure is the cause."""


@dataclass(frozen=True)
class Batch:
    """What both sides do next: `repeats` timed items of one size after `warmup` untimed ones."""

    operation: Operation
    size_bytes: int
    warmup: int
    repeats: int
    first_index: int
    seed: int
    coupled: bool
    polls: bool

    @property
    def together(self) -> bool:
        """The consumer already waits when the producer begins."""
        return self.coupled or self.operation == "latency"

    @property
    def stride(self) -> int:
        """Items a step: before a timed view there is another, so that a large item's bytes are not the last thing that
        the consumer's caches saw and the view's own cost is what is timed.
        """
        return 2 if self.operation == "get_view" and not self.together else 1

    def indices(self) -> Sequence[int]:
        """The last item of each step: the timed one."""
        first = self.first_index + self.stride - 1
        return range(first, first + self.stride * (self.warmup + self.repeats), self.stride)

    def sampled(self, position: int) -> bool:
        """Is this item compared by checksum? The first and the last ones are."""
        return position < 1 or position >= self.warmup + self.repeats - _KEEP_SAMPLES


def payload(size_bytes: int, seed: int) -> Array:
    """Random incompressible data: uint64, shape (size_bytes / 8,).

    Raises
    ------
    InvalidError
        When the size is not a multiple of 8 bytes.
    """
    if size_bytes % 8:
        raise InvalidError(f"bench: size {size_bytes} bytes is not a multiple of 8, the size of an element")
    return np.random.SFC64(seed).random_raw(size_bytes // 8)


def produce(side: Producer, batch: Batch, channel: socket.socket, consumer_pid: int) -> list[tuple[int, int]]:
    """The producer's half. Returns (begin, end) in nanoseconds of each timed item; a loan's filling is not in it."""
    array = payload(batch.size_bytes, batch.seed)
    times = []
    step: Callable[[Producer, int, Array], tuple[int, int]] = _timed_loan if batch.operation == "loan" else _timed_put
    for position, index in enumerate(batch.indices()):
        for earlier in range(index - batch.stride + 1, index):
            array[0] = earlier
            side.put(earlier, array)
        array[0] = index
        if batch.together:
            _expect(channel, _READY)
            _settle(consumer_pid, batch.polls)
        begin_end = step(side, index, array)
        if not batch.together:
            _send(channel, _READY)
        if batch.sampled(position):
            _send(channel, zlib.crc32(array.data).to_bytes(4, "little"))
        _expect(channel, _DONE)
        if position >= batch.warmup:
            times.append(begin_end)
    return times


def consume(side: Consumer, batch: Batch, channel: socket.socket) -> list[tuple[int, int]]:
    """The consumer's half. Returns (begin, end) in nanoseconds of each timed item; `latency` ends after a touch of all.

    Raises
    ------
    CorruptError
        When an item's stamp, or a sampled item's checksum, is not the producer's.
    """
    into = np.zeros(batch.size_bytes // 8, dtype=np.uint64)
    touch = np.add.reduce
    times = []
    for position, index in enumerate(batch.indices()):
        if batch.together:
            _send(channel, _READY)
        else:
            _expect(channel, _READY)
        for earlier in range(index - batch.stride + 1, index):
            _check_stamp(side.get(earlier), earlier)
        begin = perf_counter_ns()
        if batch.operation == "get_into":
            side.get_into(index, into)
            end = perf_counter_ns()
            got = into
        elif batch.operation == "latency":
            got = side.get(index)
            touch(got)
            end = perf_counter_ns()
        else:
            got = side.get(index)
            end = perf_counter_ns()
        _check_stamp(got, index)
        if batch.sampled(position):
            expected = int.from_bytes(_receive(channel, 4), "little")
            found = zlib.crc32(got.data)
            if found != expected:
                raise CorruptError(
                    f"bench: item {index} arrived with checksum {found:#010x}; sent was {expected:#010x}"
                )
        del got
        for released in range(index - batch.stride + 1, index + 1):
            side.release(released)
        _send(channel, _DONE)
        if position >= batch.warmup:
            times.append((begin, end))
    return times


def _check_stamp(array: Array, index: int) -> None:
    stamp = int(array[0])
    if stamp != index:
        raise CorruptError(f"bench: item {index} arrived with the stamp {stamp}; expected its own index")


def _timed_put(side: Producer, index: int, array: Array) -> tuple[int, int]:
    begin = perf_counter_ns()
    side.put(index, array)
    return begin, perf_counter_ns()


def _timed_loan(side: Producer, index: int, array: Array) -> tuple[int, int]:
    begin = perf_counter_ns()
    lent = side.loan(index, array)
    filling = perf_counter_ns()
    np.copyto(lent, array)
    del lent
    filled = perf_counter_ns()
    side.seal(index)
    return begin + (filled - filling), perf_counter_ns()


def _settle(pid: int, polls: bool) -> None:
    """Return when the consumer is inside its wait: asleep in the kernel, or after a fixed time when it spins."""
    begin = perf_counter_ns()
    stat = Path(f"/proc/{pid}/stat")
    while perf_counter_ns() - begin < (_SETTLE_NS if polls else _SETTLE_LIMIT_NS):
        if not polls and stat.read_bytes().rpartition(b")")[2].split()[0] == b"S":
            return


def _expect(channel: socket.socket, token: bytes) -> None:
    got = _receive(channel, len(token))
    if got != token:
        raise CorruptError(f"bench: the other side said {got!r}; expected {token!r}")


def _send(channel: socket.socket, token: bytes) -> None:
    try:
        channel.sendall(token)
    except ConnectionError:
        raise PairBrokenError("bench: the other side of the pair is gone") from None


def _receive(channel: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        try:
            part = channel.recv(count - len(got))
        except ConnectionError:
            part = b""
        if not part:
            raise PairBrokenError("bench: the other side of the pair is gone")
        got += part
    return got


def deadline(channel: socket.socket) -> None:
    """No token is waited for longer than a contender may wait for its data."""
    channel.settimeout(2 * TIMEOUT_S)
