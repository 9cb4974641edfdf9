"""The report of one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.report import charts
from thalweg.report.page import picture, write_page
from thalweg.report.recorded import Recorded
from thalweg.results import RunFolder

_TAIL_LINES = 20


def write_report(folder: Path) -> Path:
    """Write ``report.html`` into a result folder, from the files in it alone.

    Parameters
    ----------
    folder : Path
        A result folder (docs/formats/result-folder.md).

    Returns
    -------
    Path
        The page: self-contained, no network needed.

    Raises
    ------
    NotFoundError
        When there is no run in the folder.
    CorruptDataError
        When its files are not of the documented format.
    """
    run = Recorded(Path(folder))
    facts = run.folder.facts
    return write_page(
        "run.html.j2",
        run.path / "report.html",
        {
            "run": run.folder,
            "facts": facts,
            "summary": {key: value for key, value in run.folder.summary.items() if not isinstance(value, (dict, list))},
            "components": run.folder.components,
            "failures": failures(run.folder),
            "tables": [*run.folder.tables, run.statistics()],
            "charts": _charts(run),
            "pictures": _pictures(run),
            "files": _files(run),
            "event_count": len(run.events),
            "configuration": json.dumps(facts["configuration"], indent=2, sort_keys=True, default=str),
        },
    )


def _charts(run: Recorded) -> list[dict[str, Any]]:
    """Title, note and HTML of each chart that the events have something for."""
    from markupsafe import Markup

    events = run.events
    found: list[tuple[str, str, Any]] = []
    if len(events):
        figure, shown = charts.timeline(events)
        note = "Scroll to zoom, drag to move; hover over a mark for what it was."
        if shown < len(events):
            note += f" {shown} of {len(events)} events are drawn; timeline.json has all of them."
        found.append(("Timeline", note, figure))
    moving = events.operations(moving=True)
    if moving:
        found.append(("Throughput", "Each point is one array written or read.", charts.throughput(moving)))
    transport = events.operations(moving=False)
    if transport:
        found.append(("Latency percentiles", "Time of each transport operation.", charts.latency(transport)))
    if np.isin(events.kind, ("compute", "train", "infer")).any():
        note = "The last bin ends at the 99.5th percentile."
        found.append(("Iteration times", note, charts.iteration_times(events)))
    return [{"title": title, "note": note, "html": Markup(charts.fragment(figure))} for title, note, figure in found]


def _pictures(run: Recorded) -> list[dict[str, str]]:
    """Figures of the run, embedded."""
    paths = [
        (artifact.title, run.path / artifact.path) for artifact in run.folder.artifacts if artifact.kind == "figure"
    ]
    return [{"title": title, "uri": picture(path)} for title, path in paths if path.is_file()]


def _files(run: Recorded) -> list[dict[str, str]]:
    """What else is in the folder, to be opened beside the page."""
    known = [("Timeline for Perfetto or chrome://tracing", "timeline.json"), ("All events", "events.parquet")]
    known += [(artifact.title, artifact.path) for artifact in run.folder.artifacts]
    return [{"title": title, "path": path} for title, path in known if (run.path / path).is_file()]


def failures(run: RunFolder) -> list[dict[str, Any]]:
    """Each component that failed, else each that was interrupted: its status, error, and last lines of its log."""
    failed = [component for component in run.components if component.status == "failed"]
    several = {component.name for component in run.components if component.rank > 0}
    return [
        {
            "name": f"{component.name}[{component.rank}]" if component.name in several else component.name,
            "status": component.status,
            "error": component.error or "",
            "tail": _last_lines(run.path / component.log) if component.log else "",
            "parts": [],
        }
        for component in failed or [part for part in run.components if part.status == "interrupted"]
    ]


def _last_lines(log: Path) -> str:
    if not log.is_file():
        return ""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:])
