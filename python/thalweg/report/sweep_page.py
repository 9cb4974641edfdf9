"""The report of sweeps: the figures 3 to 6 of the SimAI-Bench paper, and their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thalweg.errors import InvalidError
from thalweg.report.charts import fragment
from thalweg.report.page import write_page
from thalweg.report.recorded_sweep import RecordedSweep, backend_colours, heading, scaled
from thalweg.report.run_page import failures
from thalweg.report.sweep_charts import chart
from thalweg.report.sweep_figures import SweepFigure, sweep_figures
from thalweg.report.sweep_prints import print_figure
from thalweg.results import ResultTable, RunFolder, SweepFolder, measures_of

_AXES = {"size_bytes": "sizes", "backend": "backends", "simulations": "numbers of simulations"}
PAGE = "report.html"


def write_sweep_report(folders: Sequence[Path], out: Path | None = None) -> Path:
    """Write one page for one or more sweeps, from the files in their folders alone.

    The figures stand beside the page as PNG and SVG too: ``figure-3.png`` beside ``report.html``,
    ``NAME-figure-3.png`` beside ``NAME.html``.

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
    if not folders:
        raise InvalidError("write_sweep_report: no folder was given; give one or more sweep folders")
    sweeps = [RecordedSweep(SweepFolder.open(Path(folder))) for folder in folders]
    page = Path(out) if out is not None else sweeps[0].folder.path / PAGE
    page.parent.mkdir(parents=True, exist_ok=True)
    colours = backend_colours(sweeps)
    patterns = [sweep.folder.pattern for sweep in sweeps]
    sections = []
    for place, sweep in enumerate(sweeps):
        prefix = "" if page.name == PAGE else f"{page.stem}-"
        # two sweeps of one pattern have the same figures
        suffix = (
            f"-{patterns[:place].count(sweep.folder.pattern) + 1}" if patterns.count(sweep.folder.pattern) > 1 else ""
        )
        figures = sweep_figures(sweep.folder.pattern, sweep.points, colours)
        sections.append(
            {
                "name": sweep.name,
                "facts": _facts(sweep),
                "status": sweep.status,
                "figures": [
                    _shown(figure, page.with_name(f"{prefix}figure-{figure.number}{suffix}")) for figure in figures
                ],
                "failures": _failures(sweep),
                "tables": [_medians(sweep), _runs(sweep)],
            }
        )
    return write_page("sweep.html.j2", page, {"sweeps": sections})


def sweep_tables(folders: Sequence[Path]) -> list[ResultTable]:
    """Return one table a sweep: each combination with medians over its repeats."""
    return [_medians(RecordedSweep(SweepFolder.open(Path(folder)))) for folder in folders]


def _shown(figure: SweepFigure, target: Path) -> dict[str, Any]:
    """What the page says of a figure; writes its files."""
    from markupsafe import Markup

    return {
        "title": f"Figure {figure.number}: {figure.title}",
        "note": figure.note,
        "paper": figure.paper,
        "html": Markup(fragment(chart(figure.drawing))),
        "reading": figure.reading,
        "files": [file.name for file in print_figure(figure.drawing, target)],
    }


def _facts(sweep: RecordedSweep) -> list[str]:
    runs = sweep.folder.runs
    done = [run for run in runs if run.status == "done"]
    words = [f"{len(done)} of {len(runs)} runs done", f"{sum(run.elapsed_s for run in runs):.0f} s"]
    words += [f"{len(values)} {_AXES.get(axis, axis)}" for axis, values in sweep.folder.axes.items()]
    words.append(f"{sweep.folder.repeats} repeat{'' if sweep.folder.repeats == 1 else 's'}")
    words += [f"{option.replace('_', ' ')} {value}" for option, value in sweep.folder.options.items()]
    if done:
        machine = RunFolder.open(sweep.folder.path / done[0].folder).facts["machine"]
        words.append(f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB")
    return [*words, f"{sweep.folder.started_utc[:19].replace('T', ' ')} UTC"]


def _medians(sweep: RecordedSweep) -> ResultTable:
    rows = [measures_of(point) for point in sweep.points]
    names = [name for name in rows[0] if any(row.get(name) is not None for row in rows)] if rows else []
    return ResultTable(
        f"{sweep.folder.pattern}: medians over repeats",
        [heading(name) for name in names],
        [[scaled(name, row.get(name)) for name in names] for row in rows],
    )


def _runs(sweep: RecordedSweep) -> ResultTable:
    runs = sweep.folder.runs
    axes = [name for name in runs[0].point if name != "repeat"] if runs else []
    columns = [*(heading(name) for name in axes), "repeat", "status", "elapsed / s", "folder"]
    rows: list[list[Any]] = [
        [
            *(scaled(name, run.point.get(name)) for name in axes),
            run.point.get("repeat"),
            sweep.run_status(run.status),
            run.elapsed_s if run.status != "pending" else None,
            run.folder,
        ]
        for run in runs
    ]
    return ResultTable("Runs", columns, rows)


def _failures(sweep: RecordedSweep) -> list[dict[str, Any]]:
    """Each run that began and has no results: why, and what its components that failed said last."""
    found = []
    for run in sweep.folder.runs:
        status = sweep.run_status(run.status)
        if status not in ("done", "pending", "running"):
            path = sweep.folder.path / run.folder
            parts = failures(RunFolder.open(path)) if (path / "run.json").exists() else []
            found.append({"name": run.folder, "status": status, "error": run.error or "", "tail": "", "parts": parts})
    return found
