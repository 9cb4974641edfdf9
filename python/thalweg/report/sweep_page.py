"""The report of sweeps: the figures 3 to 6 of the SimAI-Bench paper, and their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thalweg.errors import InvalidError
from thalweg.report import sweep_charts
from thalweg.report.charts import fragment
from thalweg.report.page import write_page
from thalweg.results import ResultTable, SweepFolder, sweep_measures
from thalweg.results.summaries import Row

_SCALES = (("_bytes_per_s", "GB/s", 1e-9), ("_s", "ms", 1e3), ("_bytes", "MB", 1e-6))


def write_sweep_report(folders: Sequence[Path], out: Path | None = None) -> Path:
    """Write one page for one or more sweeps, from the files in their folders alone.

    Parameters
    ----------
    folders : sequence of Path
        Sweep folders (docs/formats/sweep-folder.md).
    out : Path, optional
        The page. Default: ``report.html`` in the first folder.

    Returns
    -------
    Path
        The page: self-contained, no network needed.

    Raises
    ------
    InvalidError
        When no folder is given.
    NotFoundError, CorruptDataError
        When there is no sweep in one of them, or its files are not of the documented format.
    """
    from markupsafe import Markup

    if not folders:
        raise InvalidError("write_sweep_report: no folder was given; give one or more sweep folders")
    sweeps = [SweepFolder.open(Path(folder)) for folder in folders]
    charts = [
        {"title": title, "note": note, "html": Markup(fragment(figure))}
        for sweep in sweeps
        for title, note, figure in sweep_charts.charts(sweep.pattern, sweep_measures(sweep.path))
    ]
    tables = [*sweep_tables(folders), *(_runs(sweep) for sweep in sweeps)]
    labels = [f"{sweep.pattern} ({sweep.path.name})" for sweep in sweeps]
    page = Path(out) if out is not None else sweeps[0].path / "report.html"
    return write_page("sweep.html.j2", page, {"labels": labels, "charts": charts, "tables": tables})


def sweep_tables(folders: Sequence[Path]) -> list[ResultTable]:
    """Return one table a sweep: each combination with medians over its repeats."""
    tables = []
    for folder in folders:
        sweep = SweepFolder.open(Path(folder))
        rows = sweep_measures(sweep.path)
        names = [name for name in rows[0] if any(row[name] is not None for row in rows)] if rows else []
        title = f"{sweep.pattern}: medians over repeats"
        columns = [_heading(name) for name in names]
        tables.append(ResultTable(title, columns, [[_scaled(name, row) for name in names] for row in rows]))
    return tables


def _runs(sweep: SweepFolder) -> ResultTable:
    columns = [*(sweep.runs[0].point if sweep.runs else ()), "status", "elapsed / s", "folder", "error"]
    rows: list[list[Any]] = [
        [*run.point.values(), run.status, run.elapsed_s, run.folder, run.error] for run in sweep.runs
    ]
    return ResultTable(f"Runs of {sweep.path.name}", columns, rows)


def _heading(name: str) -> str:
    for ending, unit, _ in _SCALES:
        if name.endswith(ending):
            return f"{name.removesuffix(ending).replace('_', ' ')} / {unit}"
    return name.replace("_", " ")


def _scaled(name: str, row: Row) -> Any:
    value = row[name]
    for ending, _, factor in _SCALES:
        if name.endswith(ending) and value is not None:
            return value * factor
    return value
