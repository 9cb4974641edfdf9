"""Several sweeps of one pattern on one page, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thalweg.errors import InvalidError
from thalweg.report.charts import fragment
from thalweg.report.page import write_page
from thalweg.report.recorded_sweep import RecordedSweep, backend_colours, heading, scaled
from thalweg.report.sweep_charts import chart
from thalweg.report.sweep_panels import Drawing, Mark, Panel, Series
from thalweg.results import ResultTable, SweepFolder, SweepPoint
from thalweg.results.sweep_summaries import Spread

_MEASURES = ("write_s", "read_s", "compute_s", "train_s", "time_per_iteration_s")


def compare_sweeps(folders: Sequence[Path], out: Path) -> Path:
    """Write a page that puts sweeps of one pattern side by side: times by size and backend, medians and their ratios.

    Parameters
    ----------
    folders : sequence of Path
        At least two sweep folders.
    out : Path
        The page to write.

    Raises
    ------
    InvalidError
        When there are fewer than two folders, or they hold sweeps of different patterns.
    NotFoundError
        When there is no sweep in one of them.
    """
    from markupsafe import Markup

    sweeps = _opened(folders)
    drawings = _drawings(sweeps)
    charts = [{"title": title, "note": note, "html": Markup(fragment(chart(drawn)))} for title, note, drawn in drawings]
    overview = ResultTable(
        "Sweeps",
        ["sweep", "pattern", "status", "runs", "done", "started", "folder"],
        [
            [
                label,
                sweep.folder.pattern,
                sweep.status,
                len(sweep.folder.runs),
                sum(run.status == "done" for run in sweep.folder.runs),
                sweep.folder.started_utc[:19],
                str(sweep.folder.path),
            ]
            for label, sweep in sweeps.items()
        ],
    )
    page = {"labels": list(sweeps), "charts": charts, "tables": [overview, _medians(sweeps)]}
    return write_page("compare.html.j2", Path(out), page)


def compared_sweeps(folders: Sequence[Path]) -> ResultTable:
    """Each measure of each combination: its median in each sweep, and that beside the first sweep's.

    Raises
    ------
    InvalidError, NotFoundError
        As `compare_sweeps`.
    """
    return _medians(_opened(folders))


def _opened(folders: Sequence[Path]) -> dict[str, RecordedSweep]:
    if len(folders) < 2:
        raise InvalidError(f"compare: {len(folders)} folder was given; expected two or more")
    sweeps = [RecordedSweep(SweepFolder.open(Path(folder))) for folder in folders]
    patterns = [sweep.folder.pattern for sweep in sweeps]
    if len(set(patterns)) > 1:
        raise InvalidError(f"compare: the folders hold sweeps of {', '.join(patterns)}; give sweeps of one pattern")
    names = [sweep.folder.path.absolute().name for sweep in sweeps]
    labels = [name if names.count(name) == 1 else f"{name} ({place + 1})" for place, name in enumerate(names)]
    return dict(zip(labels, sweeps, strict=True))


def _by_options(sweep: RecordedSweep) -> dict[tuple[tuple[str, Any], ...], SweepPoint]:
    return {tuple(sorted(point.options.items())): point for point in sweep.points if point.measured}


def _medians(sweeps: dict[str, RecordedSweep]) -> ResultTable:
    found = [_by_options(sweep) for sweep in sweeps.values()]
    keys = list(dict.fromkeys(key for points in found for key in points))
    names = list(dict.fromkeys(name for key in keys for name, _ in key))
    rows: list[list[Any]] = []
    for measure in _MEASURES:
        for key in keys:
            spreads = [points[key].spread(measure) if key in points else None for points in found]
            medians = [spread.median * 1e3 if spread else None for spread in spreads]
            if any(medians):
                first, options = medians[0], dict(key)
                ratios = [median / first if median and first else None for median in medians[1:]]
                point = [scaled(name, options.get(name)) for name in names]
                rows.append([measure.removesuffix("_s").replace("_", " "), *point, *medians, *ratios])
    labels = list(sweeps)
    columns = ["measure", *(heading(name) for name in names), *(f"{label} / ms" for label in labels)]
    return ResultTable("Medians", [*columns, *(f"{label} : {labels[0]}" for label in labels[1:])], rows)


def _drawings(sweeps: dict[str, RecordedSweep]) -> list[tuple[str, str, Drawing]]:
    """One drawing a measure that differs with the size, one panel a number of simulations."""
    colours = backend_colours(list(sweeps.values()))
    counts = sorted({point.options.get("simulations", 1) for sweep in sweeps.values() for point in sweep.points})
    found = []
    for measure, title in (
        ("write_s", "Time of one write"),
        ("read_s", "Time of one read"),
        ("time_per_iteration_s", "Training time per iteration"),
    ):
        panels = []
        for count in counts:
            lines = [
                line
                for place, (label, sweep) in enumerate(sweeps.items())
                for line in _lines(label, sweep, measure, count, colours, dashed=place > 0)
            ]
            panels.append(Panel(f"simulations: {count}" if len(counts) > 1 else "", "time / ms", lines))
        drawing = Drawing(panels)
        if drawing.sizes_mb:
            found.append((title, f"{next(iter(sweeps))} is solid, what is compared with it dashed.", drawing))
    return found


def _lines(
    label: str, sweep: RecordedSweep, measure: str, count: int, colours: dict[str, str], *, dashed: bool
) -> list[Series]:
    marks: dict[str, list[Mark]] = {}
    for point in sweep.points:
        spread = point.spread(measure)
        if (
            spread
            and point.options.get("simulations", 1) == count
            and {"backend", "size_bytes"} <= point.options.keys()
        ):
            runs = f"{len(point.measured)} run{'' if len(point.measured) == 1 else 's'}"
            mark = Mark(point.options["size_bytes"] / 1e6, Spread(*(1e3 * value for value in spread)), runs)
            marks.setdefault(point.options["backend"], []).append(mark)
    return [
        Series(f"{label}: {backend}", colours[backend], sorted(some, key=lambda mark: mark.size_mb), dashed)
        for backend, some in marks.items()
    ]
