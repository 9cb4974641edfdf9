"""``thalweg report FOLDER …``: the page of a run, or of sweeps, written again from the result files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption


@command
def report(
    folders: Annotated[
        list[Path], typer.Argument(help="A result folder, such as runs/demo; or sweep folders.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The page. [dim]\\[default: report.html in the first folder][/dim]")
    ] = None,
    json_path: JsonOption = None,
) -> None:
    """Write the report of a run, or one report of several sweeps: self-contained, opens without a network.

    Examples:

        thalweg report runs/demo

        thalweg report runs/one-to-one-sweep runs/many-to-one-sweep --out runs/paper.html
    """
    from thalweg.cli.output import Output
    from thalweg.cli.recorded_folders import kind_of
    from thalweg.errors import InvalidError
    from thalweg.report import write_report, write_sweep_report
    from thalweg.results import component_rows, sweep_rows

    output = Output(json_path)
    kinds = {kind_of(folder, "report") for folder in folders}
    if kinds == {"sweep"}:
        output.line(f"report    {write_sweep_report(folders, out)}")
        output.write([row for folder in folders for row in sweep_rows(folder)])
        return
    if len(folders) != 1:
        raise InvalidError(
            f"report: {', '.join(map(str, folders))} are not all sweeps; give one run, or sweeps only "
            "(`thalweg compare` puts runs side by side)"
        )
    if out is not None:
        raise InvalidError("report: --out is for sweeps; the report of a run stands in its folder")
    output.line(f"report    {write_report(folders[0])}")
    output.write(component_rows(folders[0]))
