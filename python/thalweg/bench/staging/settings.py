"""What ``bench staging`` is asked for: read from options, checked against what the machine can hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from thalweg.errors import InvalidError

T = TypeVar("T")

FIGURES = (7, 8, 9, 10)
STRATEGIES = ("rad", "rasar", "rasia", "sahr")
#: How figure 10 exchanges data: through staging in the writer's layout and in the reader's, and through files.
METHODS = ("homogeneous", "rad", "sahr", "binary-files", "parallel-hdf5")
FILES = ("binary-files", "parallel-hdf5")

CELL_BYTES = 8
#: What is left to everything else: interpreters, replicas that a superset made larger, the system.
_SPARE_BYTES = 512 << 20
_MOST_RANKS = 64
_MOST_DELAY_S = 600.0


@dataclass(frozen=True)
class Case:
    """One bar of a figure.

    Attributes
    ----------
    method : str
        A strategy, or of `METHODS`.
    writers, readers, servers : int
        Processes; there are as many second readers as readers.
    delay_s : float
        Pause in every cycle of writers and readers.
    subset : int
        Edge, in cells, of the cube that readers read.
    """

    figure: int
    method: str
    writers: int
    readers: int
    servers: int
    delay_s: float
    subset: int


@dataclass(frozen=True)
class Settings:
    """A whole run of the benchmark.

    Attributes
    ----------
    domain : tuple of int
        Cells along each of three axes, slowest first.
    steps : int
        Time steps, at least 2: the first one is left out of statistics.
    workers : int
        Threads of a server that reorganise.
    lag : float
        By which share of the pause a reader that runs beside the writer falls behind after its first step.
    cases : tuple of Case
        In the order in which they are measured.
    repeats : int
        Rounds over all cases.
    named : bool
        Whether the methods were asked for by name: one that cannot run here is an error then.
    into : bool
        Whether readers get into arrays of their own, which they use again.
    """

    figure: int
    domain: tuple[int, int, int]
    steps: int
    workers: int
    lag: float
    cases: tuple[Case, ...]
    repeats: int
    named: bool
    into: bool

    @property
    def step_bytes(self) -> int:
        """Bytes of the domain at one time step."""
        return math.prod(self.domain) * CELL_BYTES

    @property
    def data_bytes(self) -> int:
        """Bytes of all time steps, which are all kept."""
        return self.steps * self.step_bytes


def read(
    *,
    figure: int,
    strategies: str | None,
    domain: str,
    steps: int,
    writers: int | None,
    readers: int | None,
    servers: str | None,
    processes: str | None,
    workers: int,
    delays: str | None,
    subsets: str | None,
    lag: float | None,
    repeats: int,
    into: bool,
) -> Settings:
    """Read the options of ``bench staging``; those that are None have a default, which may depend on the figure.

    Raises
    ------
    InvalidError
        For an option that says nothing that can be measured, or that the figure does not use, or a domain that does
        not fit into memory.
    """
    if figure not in FIGURES:
        _refuse("--figure", figure, "7, 8, 9 and 10")
    apart = {"--writers": writers, "--readers": readers, "--servers": servers, "--lag": lag}
    _unused(figure, {"--processes": processes} if figure != 10 else apart)
    writers, readers = (4 if writers is None else writers), (2 if readers is None else readers)
    lag = 0.5 if lag is None else lag
    extents = _domain(domain)
    known = METHODS if figure == 10 else STRATEGIES
    methods = _list("--strategies", strategies or ",".join(known), lambda word: _one_of("--strategies", word, known))
    counts = {"--writers": writers, "--readers": readers, "--workers": workers}
    for option, count in counts.items():
        _whole(option, str(count), _MOST_RANKS)
    if not 2 <= steps <= 1000:
        _refuse("--steps", steps, "whole numbers from 2 to 1000; the first step is left out of statistics")
    if not 0 <= lag <= 10:
        _refuse("--lag", lag, "numbers from 0 to 10")
    _whole("--repeats", str(repeats), 1000)
    served = _list("--servers", servers or ("1,2,4" if figure == 8 else "2"), _count("--servers"))
    pauses = _list("--delays", delays or _DELAYS[figure], _seconds)
    edge = min(extents)
    read_edges = _list(
        "--subsets",
        subsets or (",".join(str(max(1, edge // n)) for n in (8, 4, 2, 1)) if figure == 9 else str(max(extents))),
        lambda word: _whole("--subsets", word, max(extents)),
    )
    if figure == 10:
        scales = _list("--processes", processes or "1,2,4", _count("--processes"))
        groups = [(count, max(1, count // 2), max(1, count // 2)) for count in scales]
    else:
        groups = [(writers, readers, count) for count in served]
    cases = tuple(
        Case(figure, method, writing, reading, serving, delay_s, subset)
        for writing, reading, serving in groups
        for subset in read_edges
        for delay_s in pauses
        for method in methods
    )
    for case in cases:
        _fits(case, extents)
    settings = Settings(figure, extents, steps, workers, lag, cases, repeats, strategies is not None, into)
    _guard(settings)
    return settings


_DELAYS = {7: "0,0.1,0.25,0.5", 8: "0.1", 9: "0.5", 10: "0.25"}


def _guard(settings: Settings) -> None:
    """Refuse what would not fit: every step and its replica in each group of servers, and the arrays of all ranks."""
    from thalweg.bench.limits import available_memory

    groups = len({case.servers for case in settings.cases})
    needed = 2 * groups * settings.data_bytes + 4 * settings.step_bytes + _SPARE_BYTES
    available = available_memory()
    if needed > available:
        raise InvalidError(
            f"bench staging: --domain, --steps: {settings.steps} steps of {settings.step_bytes:,} bytes, twice "
            f"for replicas, and the arrays of all ranks need {needed:,}; "
            f"{available:,} are available"
        )


def _fits(case: Case, domain: tuple[int, ...]) -> None:
    """Every rank and server must have cells."""
    from thalweg.bench.staging.domain import Block, blocks, core

    whole = Block((0, 0, 0), domain)
    for who, block, ranks in (
        ("writers", whole, case.writers),
        ("readers", core(domain, case.subset), case.readers),
    ):
        if any(part.cells == 0 for part in blocks(block, ranks)):
            shape = "×".join(map(str, block.extent))
            raise InvalidError(
                f"bench staging: {ranks} {who} share {shape} cells, and some would have none; give fewer, or more cells"
            )


def _unused(figure: int, options: Mapping[str, object]) -> None:
    """Refuse options that were given, but have no effect with this figure."""
    for option, value in options.items():
        if value is not None:
            others = "7, 8 or 9" if figure == 10 else "10"
            raise InvalidError(
                f"bench staging: {option} {value} has no effect with --figure {figure}; "
                f"give figure {others}, or leave {option} out"
            )


def _domain(words: str) -> tuple[int, int, int]:
    parts = words.replace("×", "x").split("x")
    extents = [_whole("--domain", part, 1 << 20) for part in parts]
    if len(extents) == 1:
        extents *= 3
    if len(extents) != 3:
        _refuse("--domain", words, "one or three whole numbers, such as 192 or 128x128x64")
    return extents[0], extents[1], extents[2]


def _list(option: str, words: str, read_one: Callable[[str], T]) -> list[T]:
    found = [read_one(word.strip()) for word in words.split(",")]
    return list(dict.fromkeys(found))


def _one_of(option: str, word: str, known: tuple[str, ...]) -> str:
    if word not in known:
        _refuse(option, word, ", ".join(known))
    return word


def _count(option: str) -> Callable[[str], int]:
    return lambda word: _whole(option, word, _MOST_RANKS)


def _whole(option: str, word: str, most: int) -> int:
    if not (word.isdecimal() and 1 <= int(word) <= most):
        _refuse(option, word, f"whole numbers from 1 to {most}")
    return int(word)


def _seconds(word: str) -> float:
    try:
        found = float(word)
    except ValueError:
        found = math.nan
    if not 0 <= found <= _MOST_DELAY_S:
        _refuse("--delays", word, f"seconds from 0 to {_MOST_DELAY_S:g}")
    return found


def _refuse(option: str, value: object, accepted: str) -> NoReturn:
    raise InvalidError(f"bench staging: {option} {value!r}; accepted are {accepted}")
