"""All cases of a figure in interleaved rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from thalweg.bench.staging import staged
from thalweg.bench.staging.crew import Crew
from thalweg.bench.staging.settings import FILES, Case, Settings
from thalweg.bench.staging.staged import Seen

#: Called with what is measured now, how much is done, and of how much.
Progress = Callable[[str, float, float], None]


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
    """
    measured = Measured()
    total, done = settings.repeats * len(settings.cases), 0
    with Crew() as crew:
        for _ in range(settings.repeats):
            for case in settings.cases:
                progress(_words(case), done, total)
                done += 1
                if case.method in FILES:
                    measured.left_out[case.method] = "not yet"
                    continue
                measured.seen.setdefault(case, []).append(staged.run(case, settings, crew))
    return measured


def _words(case: Case) -> str:
    return f"{case.method}, {case.writers} writers, {case.servers} servers, pause {case.delay_s:g} s, {case.subset}³"
