"""Rows of a result: medians over rounds, and ratios taken within each round before their median is."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

from thalweg.bench.contender import OPERATIONS
from thalweg.bench.rounds import Measured, Sample

#: The peer whose speed every row is also given in, when it was measured.
REFERENCE = "iceoryx2"


def rows(measured: Measured) -> list[dict[str, Any]]:
    """One row for each contender, operation and size.

    Returns
    -------
    list of dict
        ``backend``, ``size_bytes``, ``operation``; ``median_s``: median over rounds of each round's median; ``p99_s``
        over all items; ``bytes_per_s``: size by median; ``of_memcpy``: speed as a fraction of memcpy's at that size;
        ``round_trips``: median time in Unix-socket round trips; ``of_iceoryx2``: speed as a multiple of iceoryx2's in
        the same operation, None where it was not measured; ``rounds``, ``items``.
    """
    grouped: dict[tuple[str, int, str], list[Sample]] = defaultdict(list)
    for sample in measured.samples:
        grouped[sample.contender, sample.size_bytes, sample.operation].append(sample)
    names = list(dict.fromkeys(sample.contender for sample in measured.samples))
    order = {operation: place for place, operation in enumerate(OPERATIONS)}
    result = []
    for (name, size_bytes, operation), samples in sorted(
        grouped.items(),
        key=lambda item: (names.index(item[0][0]), order[item[0][2]], item[0][1]),  # type: ignore[index]
    ):
        medians = {sample.round: statistics.median(sample.seconds) for sample in samples}
        peer = {
            sample.round: statistics.median(sample.seconds)
            for sample in grouped.get((REFERENCE, size_bytes, operation), [])
        }
        common = medians.keys() & peer.keys()
        median_s = statistics.median(medians.values())
        everything = [seconds for sample in samples for seconds in sample.seconds]
        result.append(
            {
                "backend": name,
                "size_bytes": size_bytes,
                "operation": operation,
                "median_s": median_s,
                "p99_s": percentile(everything, 0.99),
                "bytes_per_s": size_bytes / median_s,
                "of_memcpy": statistics.median(
                    measured.memcpy_s[turn, size_bytes] / seconds for turn, seconds in medians.items()
                ),
                "round_trips": statistics.median(
                    seconds / measured.round_trip_s[turn, size_bytes] for turn, seconds in medians.items()
                ),
                "of_iceoryx2": statistics.median(peer[turn] / medians[turn] for turn in common) if common else None,
                "rounds": len(samples),
                "items": len(everything),
            }
        )
    return result


def limits_of(measured: Measured) -> dict[str, Any]:
    """The limits of the same run: medians over rounds; memcpy at the largest size, and at every size."""
    by_size: dict[int, list[float]] = defaultdict(list)
    for (_, size_bytes), seconds in measured.memcpy_s.items():
        by_size[size_bytes].append(seconds)
    speeds = {size_bytes: size_bytes / statistics.median(seconds) for size_bytes, seconds in sorted(by_size.items())}
    return {
        "memcpy_bytes_per_s": speeds[max(speeds)],
        "unix_round_trip_s": statistics.median(measured.round_trip_s.values()),
        "memcpy": [{"size_bytes": size_bytes, "bytes_per_s": speed} for size_bytes, speed in speeds.items()],
    }


def percentile(values: list[float], fraction: float) -> float:
    """The nearest-rank percentile: the smallest value that at least this fraction of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-fraction * len(ordered) // 1) - 1)]
