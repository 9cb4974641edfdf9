"""``thalweg compare A B``: runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption


@command
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Two or more result folders.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="The page that is written.")] = Path("runs/compare.html"),
    json_path: JsonOption = None,
) -> None:
    """Put runs side by side: operations, iterations, throughput, latency, configuration.

    Examples:

        thalweg compare runs/one-to-one-001 runs/one-to-one-002

        thalweg compare runs/thalweg runs/redis --out runs/backends.html --json -
    """
    from thalweg.cli.output import Output
    from thalweg.errors import InvalidError
    from thalweg.report import compare as write_comparison
    from thalweg.report import compared_operations
    from thalweg.results import component_rows

    if len(folders) < 2:
        raise InvalidError(f"compare: {len(folders)} folder was given; expected two or more")
    output = Output(json_path)
    page = write_comparison(folders, out)
    rows = [{"run": str(folder), **row} for folder in folders for row in component_rows(folder)]
    columns = list(rows[0]) if rows else []
    operations = compared_operations(folders)
    output.table(operations.title, operations.columns, operations.rows)
    output.table("Components", columns, [[row[name] for name in columns] for row in rows])
    output.line(f"page      {page}")
    output.write(rows)
