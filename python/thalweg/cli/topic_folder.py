"""``thalweg topic check`` and ``thalweg topic repair``: folders of streams after damage to the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption

if TYPE_CHECKING:
    from thalweg.cli.output import Output
    from thalweg.stream.repair import Problem

FolderArgument = Annotated[
    str,
    typer.Argument(metavar="FOLDER", help="The folder that `thalweg serve --streams` was given; no server may run."),
]


def register(topics: typer.Typer) -> None:
    """Add ``check`` and ``repair``."""
    topics.command("check")(check)
    topics.command("repair")(repair)


@command
def check(folder: FolderArgument, json_path: JsonOption = None) -> None:
    """Read every file of a folder of streams and say what is damaged, and what that costs. Changes nothing.

    Exits with 1 when something is damaged.

    Example:

        thalweg topic check /data/streams
    """
    from thalweg.cli.output import Output
    from thalweg.stream.repair import check as look

    output = Output(json_path)
    problems = look(folder)
    _print(output, problems)
    output.write(_rows(problems), limits={})
    if any(problem.mending for problem in problems):
        output.line(f"to mend them: thalweg topic repair {folder}")
    if problems:
        raise typer.Exit(1)


@command
def repair(folder: FolderArgument, json_path: JsonOption = None) -> None:
    """Mend a folder of streams: heads and indexes of files, the catalogue, and topics that it does not know.

    Nothing is deleted: what is replaced is moved to FOLDER/aside. Events that are damaged stay errors for their
    readers. Exits with 1 when something is damaged still.

    Example:

        thalweg topic repair /data/streams
    """
    from thalweg.cli.output import Output
    from thalweg.stream.repair import repair as mend

    output = Output(json_path)
    done, left = mend(folder)
    for line in done:
        output.line(f"mended    {line}")
    _print(output, left)
    output.write(
        [{"path": None, "problem": line, "cost": "nothing", "mending": "done"} for line in done] + _rows(left),
        limits={},
    )
    if left:
        raise typer.Exit(1)


def _print(output: Output, problems: list[Problem]) -> None:
    if not problems:
        output.line("nothing is damaged")
    for problem in problems:
        output.line(f"damaged   {problem.path}: {problem.what}")
        output.line(f"          costs {problem.cost}")
        output.line(f"          repair: {problem.mending or 'not possible; reading on behind it is'}")


def _rows(problems: list[Problem]) -> list[dict[str, Any]]:
    return [
        {"path": str(problem.path), "problem": problem.what, "cost": problem.cost, "mending": problem.mending}
        for problem in problems
    ]
