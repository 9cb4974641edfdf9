"""``thalweg compare A B``: runs, or sweeps, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption

if TYPE_CHECKING:
    from thalweg.cli.output import Output


@command
def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="Two or more folders of runs, or of sweeps.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", help="The page that is written.")] = Path("runs/compare.html"),
    json_path: JsonOption = None,
) -> None:
    """Put runs side by side: operations, iterations, throughput, latency, configuration; or sweeps of one pattern.

    Examples:

        thalweg compare runs/one-to-one-001 runs/one-to-one-002

        thalweg compare runs/thalweg runs/redis --out runs/backends.html --json -

        thalweg compare runs/sweep-before runs/sweep-after
    """
    from thalweg.cli.output import Output
    from thalweg.cli.recorded_folders import kind_of
    from thalweg.errors import InvalidError

    if len(folders) < 2:
        raise InvalidError(f"compare: {len(folders)} folder was given; expected two or more")
    output = Output(json_path)
    kinds = [kind_of(folder, "compare") for folder in folders]
    if len(set(kinds)) > 1:
        told = ", ".join(f"{folder} is a {kind}" for folder, kind in zip(folders, kinds, strict=True))
        raise InvalidError(f"compare: {told}; give runs only, or sweeps only")
    if kinds[0] == "run":
        _runs(folders, out, output)
    else:
        _sweeps(folders, out, output)


def _runs(folders: list[Path], out: Path, output: Output) -> None:
    from thalweg.report import compare as write_comparison
    from thalweg.report import compared_operations
    from thalweg.results import component_rows

    page = write_comparison(folders, out)
    rows = [{"run": str(folder), **row} for folder in folders for row in component_rows(folder)]
    columns = list(rows[0]) if rows else []
    operations = compared_operations(folders)
    output.table(operations.title, operations.columns, operations.rows)
    output.table("Components", columns, [[row[name] for name in columns] for row in rows])
    output.line(f"page      {page}")
    output.write(rows)


def _sweeps(folders: list[Path], out: Path, output: Output) -> None:
    from thalweg.report import compare_sweeps, compared_sweeps
    from thalweg.results import sweep_rows

    page = compare_sweeps(folders, out)
    medians = compared_sweeps(folders)
    output.table(medians.title, medians.columns, medians.rows)
    output.line(f"page      {page}")
    output.write([{"sweep": str(folder), **row} for folder in folders for row in sweep_rows(folder)])
