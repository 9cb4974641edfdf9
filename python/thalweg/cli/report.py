"""``thalweg report FOLDER``: the page of a run, written again from its result files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption


@command
def report(
    folder: Annotated[Path, typer.Argument(help="A result folder, such as runs/demo.", show_default=False)],
    json_path: JsonOption = None,
) -> None:
    """Write FOLDER/report.html from the result files: self-contained, opens without a network.

    Example:

        thalweg report runs/demo
    """
    from thalweg.cli.output import Output
    from thalweg.report import write_report
    from thalweg.results import component_rows

    output = Output(json_path)
    output.line(f"report    {write_report(folder)}")
    output.write(component_rows(folder))
