"""Interleaved rounds: in every round, size by size, each contender has its turn and the limits are measured again."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from thalweg.bench import limits
from thalweg.bench.contender import OPERATIONS, Contender, Operation
from thalweg.bench.exchange import Batch
from thalweg.bench.pair import Pair
from thalweg.errors import ThalwegError

#: A batch moves about this many bytes, and has no fewer and no more items than these.
_BATCH_BYTES = 256_000_000
_FEWEST, _MOST = 4, 100


@dataclass(frozen=True)
class Sample:
    """Seconds of every timed item of one contender, operation and size in one round."""

    round: int
    contender: str
    operation: Operation
    size_bytes: int
    seconds: tuple[float, ...]


@dataclass
class Measured:
    """What a benchmark saw."""

    samples: list[Sample] = field(default_factory=list)
    #: (round, size in bytes) → median seconds of one copy
    memcpy_s: dict[tuple[int, int], float] = field(default_factory=dict)
    #: (round, size in bytes) → median seconds of one round trip, measured beside that size
    round_trip_s: dict[tuple[int, int], float] = field(default_factory=dict)
    #: contender → why it is not, or no longer, measured
    failures: dict[str, str] = field(default_factory=dict)


def repeats_of(size_bytes: int) -> int:
    """Timed items in a batch of this size."""
    return max(_FEWEST, min(_MOST, _BATCH_BYTES // size_bytes))


def measure(
    contenders: Sequence[tuple[Contender, str]],
    sizes_bytes: Sequence[int],
    rounds: int,
    progress: Callable[[str, int, int], None] = lambda note, done, total: None,
) -> Measured:
    """Measure contenders in turns.

    Parameters
    ----------
    contenders : sequence of (Contender, str)
        With the locator by which a worker process finds each.
    sizes_bytes : sequence of int
        Multiples of 8.
    rounds : int
        Times that everything is measured.
    progress : callable, optional
        Called before each step with what comes, steps done, steps in all.

    Returns
    -------
    Measured
        A contender that failed is in `failures` and has no further samples.
    """
    measured = Measured()
    total = rounds * len(sizes_bytes) * (len(contenders) + 1)
    done = 0
    with contextlib.ExitStack() as running:
        pairs: dict[str, Pair] = {}
        for contender, locator in contenders:
            progress(f"starting {contender.name}", done, total)
            try:
                pairs[contender.name] = running.enter_context(Pair(contender, locator))
            except ThalwegError as error:
                measured.failures[contender.name] = str(error)
        for turn in range(rounds):
            for size_bytes in sizes_bytes:
                progress("limits", done, total)
                repeats = repeats_of(size_bytes)
                measured.memcpy_s[turn, size_bytes] = statistics.median(limits.memcpy_s(size_bytes, repeats))
                measured.round_trip_s[turn, size_bytes] = statistics.median(limits.unix_round_trip_s(200))
                done += 1
                for name, pair in list(pairs.items()):
                    progress(name, done, total)
                    try:
                        measured.samples += _turn(pair, turn, size_bytes)
                    except ThalwegError as error:
                        measured.failures[name] = str(error)
                        pairs.pop(name).end()
                    done += 1
        progress("done", total, total)
    return measured


def _turn(pair: Pair, turn: int, size_bytes: int) -> Iterator[Sample]:
    contender = pair.contender
    repeats = repeats_of(size_bytes)
    warmup = max(2, repeats // 10)
    operations = [operation for operation in OPERATIONS if operation in contender.operations]
    batches = [
        Batch(
            operation=operation,
            size_bytes=size_bytes,
            warmup=warmup,
            repeats=repeats,
            first_index=1 + 2 * (warmup + repeats) * (place + len(OPERATIONS) * turn),
            seed=turn + 1,
            coupled=contender.coupled,
            polls=contender.polls,
        )
        for place, operation in enumerate(operations)
    ]
    for batch, (produced, consumed) in zip(batches, pair.measure(batches), strict=True):
        spans = zip(produced, consumed, strict=True)
        yield Sample(turn, contender.name, batch.operation, size_bytes, tuple(_seconds(batch, *span) for span in spans))


def _seconds(batch: Batch, produced: tuple[int, int], consumed: tuple[int, int]) -> float:
    """What an operation's time is: the caller's own; from the put's begin where the consumer had waited before it."""
    if batch.operation in ("put", "loan"):
        begin, end = produced
    elif batch.together:
        begin, end = produced[0], consumed[1]
    else:
        begin, end = consumed
    return (end - begin) / 1e9
