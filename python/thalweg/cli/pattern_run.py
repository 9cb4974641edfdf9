"""One run of a pattern, from its options to its printed findings."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from thalweg.cli.outcome import FAILED, INTERRUPTED
from thalweg.cli.output import Output, text
from thalweg.cli.progress import live
from thalweg.errors import ConfigError

#: Kinds of events whose bytes went through a transport; those of a kernel went through memory.
_MOVING = ("write", "read", "collective")


def perform(name: str, values: Mapping[str, Any], folder: Path, *, replace: bool, output: Output) -> None:
    """Run a pattern into a folder, write its report, print its tables, and exit with its status.

    Parameters
    ----------
    name : str
        A registered pattern.
    values : mapping
        Options that were given; the others keep their defaults.
    replace : bool
        Remove an earlier run from the folder first.

    Raises
    ------
    ConfigError
        When an option's value is refused, or the folder holds a run that is to be kept.
    FolderInUseError
        When another run goes on in the folder.
    InvalidError
        When the folder cannot be made or written, or holds something else than a run.
    """
    from thalweg.patterns import PATTERNS
    from thalweg.report import write_report
    from thalweg.results import FolderLock, component_rows

    pattern = PATTERNS[name]
    options = _validated(name, pattern.Options, values)
    if not replace and os.path.exists(folder / "run.json"):
        FolderLock(folder).release()  # a run that goes on is another matter than an earlier one
        raise ConfigError(f"run {name}: {folder} holds an earlier run; give another --folder, or --replace")
    with live() as tell:
        run = pattern.run(
            options, folder, lambda progress: tell(progress.component, progress.done, progress.total, progress.note)
        )
    with FolderLock(folder):
        page = write_report(folder)
    output.table("Events", *_events(run.events()))
    for table in run.tables:
        output.table(table.title, table.columns, table.rows)
    if run.summary:
        output.table("Summary", ["quantity", "value"], [[key, text(value)] for key, value in run.summary.items()])
    for component in run.components:
        if component.error:
            output.line(f"{component.name}[{component.rank}] {component.status}: {component.error}")
    output.line(f"report    {page}")
    for artifact in run.artifacts:
        if artifact.kind == "figure":
            output.line(f"figure    {folder / artifact.path}")
    output.line(f"timeline  {folder / 'timeline.json'}  (opens in ui.perfetto.dev or chrome://tracing)")
    output.write(component_rows(folder))
    if run.status != "done":
        raise typer.Exit(INTERRUPTED if run.status == "interrupted" else FAILED)


def _events(table: Any) -> tuple[list[str], list[list[object]]]:
    """Columns and rows of what happened: numbers, times and throughput by component and kind."""
    from thalweg.results import gb_per_s, statistics

    columns = ["component", "kind", "name", "events", "MB", "mean ms", "median ms", "p99 ms", "GB/s"]
    rows: list[list[object]] = [
        [
            f"{row['component']}[{row['rank']}]" if row["rank"] else row["component"],
            row["kind"],
            row["name"],
            row["events"],
            row["bytes"] / 1e6 if row["kind"] in _MOVING else None,
            row["mean_s"] * 1e3,
            row["median_s"] * 1e3,
            row["p99_s"] * 1e3,
            gb_per_s(row["bytes"], row["events"], row["total_s"]) if row["kind"] in _MOVING else None,
        ]
        for row in statistics(table)
    ]
    return columns, rows


def next_folder(name: str, parent: Path = Path("runs")) -> Path:
    """The first of ``runs/NAME-001``, ``-002``, … that is not there."""
    number = 1
    while (folder := parent / f"{name}-{number:03d}").exists():
        number += 1
    return folder


def _validated(name: str, model: Any, values: Mapping[str, Any]) -> Any:
    from pydantic import ValidationError

    from thalweg.cli.model_options import flag
    from thalweg.configuration import what_is_accepted

    try:
        return model(**values)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        reason = str(found["ctx"]["error"]) if found["type"] == "value_error" else None
        if reason and not found["loc"]:  # about several options: in their words
            for field in model.model_fields:
                reason = re.sub(rf"\b{field}\b", flag(field), reason)
            raise ConfigError(f"run {name}: {reason}") from None
        where = flag(str(found["loc"][0])) if found["loc"] else "options"
        if reason:
            raise ConfigError(f"run {name}: {where}: {reason}") from None
        raise ConfigError(f"run {name}: {where}: is {found['input']!r}; {what_is_accepted(found)}") from None
