"""What the benchmark found: a row a case and contender, with ratios to files that are taken round by round."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from thalweg.bench.ensemble.job import Seen
from thalweg.bench.ensemble.run import Contender, Measured
from thalweg.bench.ensemble.settings import Settings
from thalweg.bench.ensemble.traffic import traffic

Row = dict[str, Any]
TMPFS, DISK = Contender("pnetcdf-tmpfs", None), Contender("pnetcdf-disk", None)


def rows(measured: Measured, settings: Settings) -> list[Row]:
    """One row a case and contender, in the order of the cases.

    Times are seconds a cycle: for each component its slowest process, added up over both components, medians over the
    counted cycles of all rounds. ``faster_than_tmpfs`` and ``faster_than_disk`` are those files' time by this one's,
    the median over rounds; None where they were not measured.
    """
    found = []
    speed = measured.limits["memcpy_bytes_per_s"]
    for (case, contender), seen in sorted(measured.seen.items(), key=lambda item: settings.cases.index(item[0][0])):
        bytes_of = traffic(case.domain)
        transfers = [time_s for one in seen for time_s in transfer_s(one)]
        moved_bytes = case.ensembles * bytes_of.moved_bytes
        transfer = statistics.median(transfers)
        found.append(
            {
                "preset": settings.preset.name,
                "transport": contender.transport,
                "ensembles": case.ensembles,
                "processes": case.domain.processes,
                "replay": contender.replay,
                "moved_bytes": moved_bytes,
                "file_bytes": case.ensembles * bytes_of.file_bytes,
                "transfer_s": transfer,
                "transfer_least_s": min(transfers),
                "transfer_most_s": max(transfers),
                "scale_transfer_s": _median(seen, lambda one: one.transfer_s["scale"]),
                "letkf_transfer_s": _median(seen, lambda one: one.transfer_s["letkf"]),
                "io_s": _median(seen, lambda one: _both(one.io_s)),
                "cycle_s": _median(seen, lambda one: one.cycle_s),
                "faster_than_tmpfs": _against(measured.seen.get((case, TMPFS)), seen),
                "faster_than_disk": _against(measured.seen.get((case, DISK)), seen),
                "of_memcpy": moved_bytes / transfer / speed,
                "grid": [case.domain.px, case.domain.py],
                "total_processes": 2 * case.processes,
                "cycles": len(seen[0].cycle_s),
                "rounds": len(seen),
            }
        )
    return found


def transfer_s(seen: Seen) -> list[float]:
    """Data-transfer time of each counted cycle, in seconds: both components' added up."""
    return _both(seen.transfer_s)


def _both(by_component: dict[str, list[float]]) -> list[float]:
    return [sum(times) for times in zip(*by_component.values(), strict=True)]


def _median(seen: list[Seen], times_s: Callable[[Seen], list[float]]) -> float:
    return statistics.median(time_s for one in seen for time_s in times_s(one))


def _against(other: list[Seen] | None, seen: list[Seen]) -> float | None:
    if other is None:
        return None
    return statistics.median(
        statistics.median(transfer_s(theirs)) / statistics.median(transfer_s(own))
        for theirs, own in zip(other, seen, strict=True)
    )
