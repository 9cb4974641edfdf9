"""What a benchmark of the synthetic workflow found: a row a case and reader, and the paper's claims read from them."""

from __future__ import annotations

import statistics
from typing import Any

from thalweg.bench.staging.run import Measured
from thalweg.bench.staging.settings import FILES, Settings

Row = dict[str, Any]
READERS = ("first", "second")


def rows(measured: Measured, settings: Settings) -> list[Row]:
    """One row a case and reader, in the order of the cases.

    Times are seconds a time step of the rank that took longest: medians over the steps of all rounds, without each
    round's first step; ``_mean``, ``_least`` and ``_most`` say what the median hides: steps that met no replica.
    """
    found = []
    for case in settings.cases:
        seen = measured.seen.get(case, [])
        if not seen:
            continue
        writes = [time_s for one in seen for time_s in one.write_s[1:]]
        for reader in READERS:
            reads = [time_s for one in seen for time_s in one.read_s[reader][1:]]
            waits = [time_s for one in seen for time_s in one.wait_s[reader][1:]]
            last = seen[-1]
            found.append(
                {
                    "figure": case.figure,
                    "strategy": case.method,
                    "reader": reader,
                    "delay_s": case.delay_s,
                    "servers": 0 if case.method in FILES else case.servers,
                    "subset": case.subset,
                    "write_s": statistics.median(writes),
                    "read_s": statistics.median(reads),
                    "write_mean_s": statistics.fmean(writes),
                    "read_mean_s": statistics.fmean(reads),
                    "wait_s": statistics.median(waits),
                    "write_least_s": min(writes),
                    "write_most_s": max(writes),
                    "read_least_s": min(reads),
                    "read_most_s": max(reads),
                    "server_memory_bytes": last.memory_bytes,
                    "replica_bytes": last.replica_bytes,
                    "data_bytes": settings.data_bytes,
                    "domain": list(settings.domain),
                    "steps": settings.steps,
                    "writers": case.writers,
                    "readers": case.readers,
                    "workers": settings.workers,
                    "repeats": len(seen),
                }
            )
    return found


def readings(found: list[Row]) -> list[str]:
    """What the rows say about the claims of the paper, a sentence a comparison; the signs are those of the times."""
    said = []
    for first, second in pairs(found):
        for other_first, other_second in pairs(found):
            if not _compared(first, other_first):
                continue
            changes = [
                f"{who} {_change(own[f'{what}_s'], other[f'{what}_s'])} "
                f"(mean {_change(own[f'{what}_mean_s'], other[f'{what}_mean_s'])})"
                for who, what, own, other in (
                    ("first reader", "read", first, other_first),
                    ("second reader", "read", second, other_second),
                    ("writer", "write", first, other_first),
                )
            ]
            replicas = first["replica_bytes"] / first["data_bytes"]
            where = f"pause {first['delay_s']:g} s, {first['writers']} writers, {first['servers']} servers"
            said.append(
                f"{first['strategy']} against {other_first['strategy']}: {', '.join(changes)} "
                f"({where}, d = {first['subset']}; replicas {replicas:.0%} of the data)"
            )
    return said


def pairs(found: list[Row]) -> list[tuple[Row, Row]]:
    """The two rows of each case: first and second reader."""
    return list(zip(found[::2], found[1::2], strict=True))


def _compared(row: Row, other: Row) -> bool:
    """Strategies with RAD, staging with each kind of file; in cases that differ in nothing else."""
    fields = ("delay_s", "subset", "writers", "readers")
    if any(row[field] != other[field] for field in fields) or row["strategy"] in FILES:
        return False
    if row["figure"] == 10:
        return other["strategy"] in FILES
    return bool(other["strategy"] == "rad" != row["strategy"] and row["servers"] == other["servers"])


def _change(own: float, other: float) -> str:
    return f"{own / other - 1:+.0%}".replace("-", "−")
