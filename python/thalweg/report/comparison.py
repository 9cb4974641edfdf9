"""Several runs on one page, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.errors import InvalidError
from thalweg.report import charts
from thalweg.report.page import write_page
from thalweg.report.recorded import Events, Recorded
from thalweg.results import ResultTable, component_rows


def compare(folders: Sequence[Path], out: Path) -> Path:
    """Write a page that puts runs side by side: throughput, latency, iterations, what differs in configuration.

    Parameters
    ----------
    folders : sequence of Path
        At least two result folders.
    out : Path
        The page to write.

    Raises
    ------
    InvalidError
        When there are fewer than two folders.
    NotFoundError
        When there is no run in one of them.
    """
    if len(folders) < 2:
        raise InvalidError(f"compare: {len(folders)} folder was given; expected two or more")
    runs = [Recorded(Path(folder)) for folder in folders]
    labels = _labels(runs)
    pairs = list(zip(labels, runs, strict=True))
    return write_page(
        "compare.html.j2",
        Path(out),
        {"labels": labels, "tables": [*_tables(pairs), _differences(pairs)], "charts": _charts(pairs)},
    )


def compared_operations(folders: Sequence[Path]) -> ResultTable:
    """Each transport operation in each run: median and p99 time, throughput, and the median beside the first run's.

    Raises
    ------
    NotFoundError
        When there is no run in one of the folders.
    """
    runs = [Recorded(Path(folder)) for folder in folders]
    return _operation_table(list(zip(_labels(runs), runs, strict=True)))


def _operation_table(pairs: Sequence[tuple[str, Recorded]]) -> ResultTable:
    found = [(label, _operations(run, moving=False)) for label, run in pairs]
    rows: list[list[Any]] = []
    for name in dict.fromkeys(name for _, groups in found for name in groups):
        first_ms = _median_ms(found[0][1].get(name))
        for label, groups in found:
            events, median_ms = groups.get(name), _median_ms(groups.get(name))
            rows.append(
                [
                    name,
                    label,
                    len(events) if events else 0,
                    median_ms,
                    float(np.percentile(events.duration_s, 99)) * 1e3 if events else None,
                    events.gb_per_s if events else None,
                    median_ms / first_ms if median_ms is not None and first_ms else None,
                ]
            )
    columns = ["operation", "run", "events", "median / ms", "p99 / ms", "GB/s", f"median : {pairs[0][0]}"]
    return ResultTable("Operations", columns, rows)


def _median_ms(events: Events | None) -> float | None:
    return float(np.median(events.duration_s)) * 1e3 if events else None


def _labels(runs: Sequence[Recorded]) -> list[str]:
    """Names of the runs, numbered where two are the same."""
    parts = [run.name.split(",") for run in runs]
    shared = set(parts[0]).intersection(*parts[1:])
    told = [",".join(part for part in some if part not in shared) for some in parts]
    names = told if all(told) else [run.name for run in runs]  # runs of a sweep: what tells them apart
    return [name if names.count(name) == 1 else f"{name} ({place + 1})" for place, name in enumerate(names)]


def _operations(run: Recorded, moving: bool) -> dict[str, Events]:
    return dict(run.events.operations(moving))


def _charts(pairs: Sequence[tuple[str, Recorded]]) -> list[dict[str, Any]]:
    from markupsafe import Markup

    moving = [(label, _operations(run, moving=True)) for label, run in pairs]
    names = list(dict.fromkeys(name for _, groups in moving for name in groups if groups[name].gb_per_s))
    speed = charts.bars(
        names,
        [(label, [_speed(groups.get(name)) for name in names]) for label, groups in moving],
        "operation",
        "throughput / (GB/s)",
        axis="log",
    )
    transport = [(f"{label}: {name}", groups[name]) for name in names for label, groups in moving if name in groups]
    rows = [(label, component_rows(run.path)) for label, run in pairs]
    lanes = list(dict.fromkeys(_lane(row) for _, found in rows for row in found if row["iterations"]))
    iterations = charts.bars(
        lanes,
        [(label, [_mean_ms(found, lane) for lane in lanes]) for label, found in rows],
        "component",
        "mean time of an iteration / ms",
    )
    titled = [
        ("Throughput", "All bytes over all time of an operation; transfers below 1 KiB are left out.", speed),
        (
            "Latency percentiles",
            "Time of each transfer of 1 KiB and more; the table has all operations.",
            charts.latency(transport),
        ),
        ("Iterations", "", iterations),
    ]
    return [{"title": title, "note": note, "html": Markup(charts.fragment(figure))} for title, note, figure in titled]


def _speed(events: Events | None) -> float | None:
    return events.gb_per_s if events else None


def _lane(row: dict[str, Any]) -> str:
    return f"{row['component']}[{row['rank']}]" if row["rank"] else str(row["component"])


def _mean_ms(rows: list[dict[str, Any]], lane: str) -> float | None:
    found = [row["iteration_mean_s"] for row in rows if _lane(row) == lane]
    return found[0] * 1e3 if found and found[0] is not None else None


def _tables(pairs: Sequence[tuple[str, Recorded]]) -> list[ResultTable]:
    overview = ResultTable(
        "Runs",
        ["run", "pattern", "backend", "status", "elapsed / s", "events", "started", "folder"],
        [
            [
                label,
                run.folder.facts["pattern"],
                run.folder.facts["backend"],
                run.folder.status,
                run.folder.elapsed_s,
                len(run.events),
                str(run.folder.facts["started_utc"])[:19],
                str(run.path),
            ]
            for label, run in pairs
        ],
    )
    keys = list(dict.fromkeys(key for _, run in pairs for key in run.folder.summary))
    summary = ResultTable(
        "Summary",
        ["quantity", *(label for label, _ in pairs)],
        [[key, *(run.folder.summary.get(key) for _, run in pairs)] for key in keys],
    )
    components = [(label, row) for label, run in pairs for row in component_rows(run.path)]
    columns = list(components[0][1]) if components else []
    detail = ResultTable("Components", ["run", *columns], [[label, *row.values()] for label, row in components])
    return [overview, _operation_table(pairs), summary, detail]


def _differences(pairs: Sequence[tuple[str, Recorded]]) -> ResultTable:
    """Configuration, machine and version entries that are not the same in all runs."""
    flat = [
        {
            **_flat(run.folder.facts["configuration"], "configuration"),
            **_flat(run.folder.facts["machine"], "machine"),
            **_flat(run.folder.facts["versions"], "versions"),
        }
        for _, run in pairs
    ]
    keys = list(dict.fromkeys(key for entries in flat for key in entries))
    rows = [[key, *(entries.get(key) for entries in flat)] for key in keys]
    different = [row for row in rows if any(value != row[1] for value in row[2:])]
    return ResultTable("What differs", ["entry", *(label for label, _ in pairs)], different)


def _flat(value: Any, path: str) -> dict[str, Any]:
    """Nested dictionaries as one, keys joined by dots."""
    if isinstance(value, dict):
        return {key: inner for name, part in value.items() for key, inner in _flat(part, f"{path}.{name}").items()}
    return {path: value if isinstance(value, (str, int, float, bool, type(None))) else str(value)}
