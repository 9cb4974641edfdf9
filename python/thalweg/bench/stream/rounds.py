"""Interleaved rounds: in every round, case by case, the limits are measured and each system has its turn."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from thalweg.bench.stream import limits, sides
from thalweg.bench.stream.limits import Limits
from thalweg.bench.stream.order import Case, Durability, Language, Order, Role
from thalweg.bench.stream.sides import Heard
from thalweg.bench.stream.system import System
from thalweg.errors import ThalwegError
from thalweg.servers.directories import Namespace

#: Called with what comes, steps done, steps in all.
Progress = Callable[[str, int, int], None]

_FEWEST, _MOST = 50, 500_000
#: Of events that are each made safe alone at worst, a run has this many at most.
_MOST_SAFE = 100_000
_WARM = Case(event_bytes=1000, data_bytes=0, partitions=1, durability="none")
_FEWEST_LATENCIES, _MOST_LATENCIES = 30, 2000
#: Events of a latency run are this many a second, fewer when they would be more bytes than that.
_RATES: dict[Durability, int] = {"none": 1000, "always": 200}
_RATE_BYTES = 100_000_000


@dataclass(frozen=True)
class Contender:
    """A system with sides in one language, and the locator by which a side finds it."""

    system: System
    language: Language
    locator: str

    @property
    def name(self) -> str:
        """As people read it."""
        return f"{self.system.name} ({self.language})"


@dataclass(frozen=True)
class Sample:
    """One run of one contender: who produced, who consumed, who pulled one at a time."""

    round: int
    system: str
    language: Language
    case: Case
    events: int
    produced: Heard
    consumed: Heard
    pushed: Heard | None
    pulled: Heard | None


@dataclass
class Measured:
    """What a benchmark saw."""

    samples: list[Sample] = field(default_factory=list)
    limits: dict[tuple[int, Case], Limits] = field(default_factory=dict)
    #: contender → why it is not, or no longer, measured
    failures: dict[str, str] = field(default_factory=dict)


def events_of(case: Case, volume_bytes: int) -> int:
    """Events of a run that moves about so many bytes."""
    most = _MOST if case.durability == "none" else _MOST_SAFE
    return max(_FEWEST, min(most, volume_bytes // case.size_bytes))


def measure(
    contenders: Sequence[Contender],
    cases: Sequence[Case],
    rounds: int,
    volume_bytes: int,
    folder: Path,
    progress: Progress = lambda note, done, total: None,
) -> Measured:
    """Measure contenders in turns.

    Parameters
    ----------
    contenders : sequence of Contender
        Those of one system share its server.
    cases : sequence of Case
        All are measured in each round.
    rounds : int
        Times that everything is measured.
    volume_bytes : int
        Bytes that a run moves, about.
    folder : Path
        On the disk that logs are kept on; nothing stays there.

    Returns
    -------
    Measured
        A contender that failed is in `failures` and has no further samples.
    """
    measured = Measured()
    turns = [
        (turn, case, one) for turn in range(rounds) for case in cases for one in contenders if one.system.fits(case)
    ]
    total = len(turns)
    with contextlib.ExitStack() as running:
        base = Namespace(folder, "bench", 0)  # what a killed run left goes with the next one
        running.callback(base.remove)
        bench = _Bench(base.root, running, measured)
        bench.start(contenders, cases, volume_bytes, lambda note: progress(note, 0, total))
        seen: set[tuple[int, Case]] = set()
        for done, (turn, case, one) in enumerate(turns):
            events = events_of(case, volume_bytes)
            if (turn, case) not in seen:
                progress("limits", done, total)
                os.sync()
                seen.add((turn, case))
                measured.limits[turn, case] = limits.measure(base.root, events * case.size_bytes, case.event_bytes)
            if one.name in measured.failures:
                continue
            progress(one.name, done, total)
            try:
                measured.samples.append(bench.sample(turn, case, one, events))
            except Exception as error:  # of whatever kind its library raises: the others go on
                measured.failures[one.name] = _words(one, error)
        progress("done", total, total)
    return measured


def _words(one: Contender, error: Exception) -> str:
    return str(error) if isinstance(error, ThalwegError) else f"bench stream: {one.name}: {error!r}"


class _Bench:
    """Servers that run, one for each system and durability, and the next topic's number."""

    def __init__(self, base: Path, running: contextlib.ExitStack, measured: Measured) -> None:
        self._base, self._running, self._measured = base, running, measured
        self._addresses: dict[tuple[str, Durability], tuple[System, str]] = {}
        self._topics = 0

    def start(
        self, contenders: Sequence[Contender], cases: Sequence[Case], volume_bytes: int, say: Callable[[str], None]
    ) -> None:
        """Start what contenders need, and let each move events that are not counted, so that it is warm."""
        for one in contenders:
            for durability in dict.fromkeys(case.durability for case in cases if one.system.fits(case)):
                say(f"starting {one.name}")
                try:
                    self._start(one.system, durability)
                    case = replace(_WARM, durability=durability)
                    list(self._move(case, one, events_of(case, volume_bytes)))
                except Exception as error:  # of whatever kind its library raises
                    self._measured.failures[one.name] = _words(one, error)

    def sample(self, turn: int, case: Case, one: Contender, events: int) -> Sample:
        """One turn of a contender."""
        produced, consumed = self._move(case, one, events)
        pushed, pulled = self._pushed(case, one, events) if case.partitions == 1 else (None, None)
        return Sample(turn, one.system.name, one.language, case, events, produced, consumed, pushed, pulled)

    def _start(self, system: System, durability: Durability) -> None:
        if (system.name, durability) not in self._addresses:
            kind = type(system)()  # a server each
            folder = self._base / f"{system.name}-{durability}"
            folder.mkdir(exist_ok=True)
            self._addresses[system.name, durability] = kind, kind.start(folder, durability)
            self._running.callback(kind.stop)

    def _move(self, case: Case, one: Contender, events: int) -> tuple[Heard, Heard]:
        with self._topic(case, one) as order:
            orders = order("produce", events, 0), order("consume", events, 0)
            if one.system.keeps:
                (produced,), (consumed,) = (self._run(case, one, each) for each in orders)
            else:
                consumed, produced = self._run(case, one, *reversed(orders))
        return produced, consumed

    def _pushed(self, case: Case, one: Contender, events: int) -> tuple[Heard, Heard]:
        rate = max(1, min(_RATES[case.durability], _RATE_BYTES // case.size_bytes))
        count = max(_FEWEST_LATENCIES, min(_MOST_LATENCIES, 2 * rate, events))
        with self._topic(case, one) as order:
            pulled, pushed = self._run(case, one, order("pull", count, rate), order("push", count, rate))
        return pushed, pulled

    def _run(self, case: Case, one: Contender, *orders: Order) -> list[Heard]:
        command = one.system.command(one.language, one.locator, self._base)
        os.sync()  # what others wrote would otherwise be written out in this one's time
        return list(sides.run(one.name, command, orders))

    @contextlib.contextmanager
    def _topic(self, case: Case, one: Contender) -> Iterator[Callable[[Role, int, int], Order]]:
        """A topic for one run, as a maker of its orders."""
        system, address = self._addresses[one.system.name, case.durability]
        self._topics += 1
        topic = f"bench-{self._topics}"
        system.create(address, topic, case)
        try:
            yield lambda role, events, rate: Order(role, address, topic, events, case, rate)
        finally:
            system.delete(address, topic)
