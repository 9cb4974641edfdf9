"""All cases of a figure in interleaved rounds."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from thalweg.bench.staging import binary_files, parallel_hdf5, staged
from thalweg.bench.staging.crew import Crew
from thalweg.bench.staging.settings import FILES, Case, Settings
from thalweg.bench.staging.staged import Seen
from thalweg.errors import MissingLibraryError

#: Called with what is measured now, how much is done, and of how much.
Progress = Callable[[str, float, float], None]
#: One case, measured once.
Way = Callable[[Case, Settings, Crew], Seen]


@dataclass
class Measured:
    """What was seen of every case, round by round; and why a method has no cases."""

    seen: dict[Case, list[Seen]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def measure(settings: Settings, progress: Progress) -> Measured:
    """Measure every case, in turns within each round.

    Raises
    ------
    ComponentFailedError, WaitTimeoutError
        When a process fails or does not answer. Nothing is left behind then.
    MissingLibraryError
        When a method that was asked for by name cannot run here; otherwise it is left out, and said so.
    """
    measured = Measured()
    with contextlib.ExitStack() as kept, Crew() as crew:
        ways = _file_ways(settings, kept, measured)
        cases = [case for case in settings.cases if case.method not in measured.left_out]
        total, done = settings.repeats * len(cases), 0
        for case in _warming(cases):
            progress("warming the servers", done, total)
            staged.run(case, settings, crew)
        for _ in range(settings.repeats):
            for case in cases:
                progress(_words(case), done, total)
                done += 1
                way = ways.get(case.method, staged.run)
                measured.seen.setdefault(case, []).append(way(case, settings, crew))
    return measured


def _file_ways(settings: Settings, kept: contextlib.ExitStack, measured: Measured) -> dict[str, Way]:
    """How each kind of file that is wanted is measured; what it needs is found, or compiled, here."""

    def binary_files_way() -> Way:
        folder = kept.enter_context(tempfile.TemporaryDirectory(prefix="thalweg-bench-"))
        return partial(binary_files.run, program=binary_files.compiled(Path(folder)))

    ways: dict[str, Way] = {}
    makers: dict[str, Callable[[], Way]] = {
        "binary-files": binary_files_way,
        "parallel-hdf5": lambda: partial(parallel_hdf5.run, overlay=parallel_hdf5.found()),
    }
    for method in FILES:
        if any(case.method == method for case in settings.cases):
            try:
                ways[method] = makers[method]()
            except MissingLibraryError as error:
                if settings.named:
                    raise
                measured.left_out[method] = str(error)
    return ways


def _warming(cases: list[Case]) -> list[Case]:
    """For each number of servers a case that is not counted and fills all the memory that others will use."""
    served = {case.servers: case for case in cases if case.method not in FILES}
    return [replace(case, method="rasia", delay_s=0.0) for case in served.values()]


def _words(case: Case) -> str:
    return f"{case.method}, {case.writers} writers, {case.servers} servers, pause {case.delay_s:g} s, {case.subset}³"
