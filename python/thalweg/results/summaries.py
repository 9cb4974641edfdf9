"""Figures of a run, computed from its recorded events alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from thalweg.errors import NotFoundError
from thalweg.results.events import read_events

Row = dict[str, Any]
_WORK = ("compute", "train", "infer")
#: The time of a smaller transfer is all latency: bytes by time would say nothing of how fast data moves.
LEAST_BYTES_FOR_THROUGHPUT = 1024


def statistics(events: Any) -> list[Row]:
    """Summarise events by component, rank, kind, name and backend.

    Parameters
    ----------
    events : pyarrow.Table
        As `read_events` gives it.

    Returns
    -------
    list of dict
        component, rank, kind, name, backend, events, bytes, total_s, mean_s, std_s (of the population), median_s,
        p99_s, bytes_per_s (bytes of all events over the sum of their times; 0 where none moved).
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    keys = [events.column(name).to_pylist() for name in ("component", "rank", "kind", "name", "backend")]
    for index, group in enumerate(zip(*keys, strict=True)):
        groups.setdefault(group, []).append(index)
    durations = (events.column("end_ns").to_numpy() - events.column("start_ns").to_numpy()) * 1e-9
    sizes = events.column("size_bytes").to_numpy()
    rows = []
    for (component, rank, kind, name, backend), indices in groups.items():
        spent, moved = durations[indices], int(sizes[indices].sum())
        total = float(spent.sum())
        rows.append(
            {
                "component": component,
                "rank": rank,
                "kind": kind,
                "name": name,
                "backend": backend,
                "events": len(indices),
                "bytes": moved,
                "total_s": total,
                "mean_s": float(spent.mean()),
                "std_s": float(spent.std()),
                "median_s": float(np.median(spent)),
                "p99_s": float(np.percentile(spent, 99)),
                "bytes_per_s": moved / total if total > 0 else 0.0,
            }
        )
    return rows


def gb_per_s(size_bytes: int, events: int, total_s: float) -> float | None:
    """Throughput of transfers; None when nothing moved or they are smaller than 1 KiB on average.

    Parameters
    ----------
    size_bytes, events, total_s : int, int, float
        Bytes, number and time of all transfers together.

    Examples
    --------
    >>> gb_per_s(2_000_000, 2, 0.001), gb_per_s(800, 2, 0.001)
    (2.0, None)
    """
    if not events or size_bytes / events < LEAST_BYTES_FOR_THROUGHPUT or total_s <= 0:
        return None
    return size_bytes / total_s / 1e9


def iteration_times(events: Any, component: str, rank: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Seconds of computing or training in each iteration of one component, in the order of iterations.

    Returns
    -------
    ndarray, shape (iterations,), float64
        The sum over the compute and train events of an iteration; transport and waiting are not in it.
    """
    names = np.asarray(events.column("component").to_pylist(), dtype=object)
    kinds = np.asarray(events.column("kind").to_pylist(), dtype=object)
    iterations = events.column("iteration").to_numpy()
    mask = (names == component) & np.isin(kinds, _WORK) & (events.column("rank").to_numpy() == rank) & (iterations >= 0)
    if not mask.any():
        return np.zeros(0)
    durations = (events.column("end_ns").to_numpy() - events.column("start_ns").to_numpy())[mask] * 1e-9
    _, inverse = np.unique(iterations[mask], return_inverse=True)
    return np.asarray(np.bincount(inverse, weights=durations), dtype=np.float64)


def component_rows(folder: Path) -> list[Row]:
    """Summarise each component and rank of a run.

    Returns
    -------
    list of dict
        component, rank, events, iterations, iteration_mean_s, iteration_std_s (of the population; both None without
        iterations), bytes (read and written), backend.

    Raises
    ------
    NotFoundError
        When the folder has no events.parquet.
    """
    path = Path(folder) / "events.parquet"
    if not path.exists():
        raise NotFoundError(f"results: {path} is not there; give the folder of a finished run")
    events = read_events(path)
    pairs = dict.fromkeys(zip(events.column("component").to_pylist(), events.column("rank").to_pylist(), strict=True))
    names = events.column("component").to_pylist()
    ranks = events.column("rank").to_pylist()
    backends = events.column("backend").to_pylist()
    sizes = events.column("size_bytes").to_pylist()
    kinds = events.column("kind").to_pylist()
    rows = []
    for component, rank in sorted(pairs):
        mine = [i for i, pair in enumerate(zip(names, ranks, strict=True)) if pair == (component, rank)]
        times = iteration_times(events, component, rank)
        used = sorted({backends[i] for i in mine} - {""})
        rows.append(
            {
                "component": component,
                "rank": rank,
                "events": len(mine),
                "iterations": len(times),
                "iteration_mean_s": float(times.mean()) if len(times) else None,
                "iteration_std_s": float(times.std()) if len(times) else None,
                "bytes": sum(sizes[i] for i in mine if kinds[i] in ("read", "write")),
                "backend": ",".join(used),
            }
        )
    return rows
