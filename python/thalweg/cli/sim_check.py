"""``thalweg sim check``: whether a program of the workload language is well formed, and what it will do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.outcome import FAILED, command
from thalweg.cli.output import JsonOption

#: What the workload language accepts.
MOST_TASKS = 1 << 24


@command
def check(
    program: Annotated[Path, typer.Argument(help="The program, a text file.", show_default=False)],
    parameters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PARAMETERS]",
            help="The program's own options, such as `--reps 3`; behind `--` those that are called like one of these.",
            show_default=False,
        ),
    ] = None,
    tasks: Annotated[
        int | None,
        typer.Option("--tasks", "-n", min=1, max=MOST_TASKS, help="Also count what so many tasks will do."),
    ] = None,
    json_path: JsonOption = None,
) -> None:
    """Check a program of the workload language; exit status 1 when it is wrong.

    With `--tasks` the operations of all tasks are counted without a machine: messages, bytes, collectives, files.

    Messages that nobody receives, and receives of what nobody sends, are then warnings.

    Examples:

        thalweg sim check examples/programs/milc.ncptl

        thalweg sim check examples/programs/milc.ncptl --tasks 300 --iterations 3

        thalweg sim check examples/programs/figure6.ncptl --json -
    """
    from thalweg.cli.output import Output
    from thalweg.errors import InvalidError
    from thalweg.simulator.program import Program, Tally, given
    from thalweg.simulator.program import check as findings_of

    output = Output(json_path)
    findings = findings_of(program)
    for finding in findings:
        typer.echo(finding.shown, err=True)
    fields = ("severity", "line", "column", "word", "message", "label", "help")
    rows = [{name: getattr(finding, name) for name in fields} for finding in findings]
    if any(finding.severity == "error" for finding in findings):
        output.write(rows, limits={})
        raise typer.Exit(FAILED)
    checked = Program(program)
    if tasks is None and parameters:
        raise InvalidError("parameters count only with --tasks N; give the number of tasks")
    if tasks is None:
        output.table(
            f"{program}: well formed",
            ["parameter", "options", "description"],
            [[known.name, ", ".join(known.options), known.description] for known in checked.parameters],
        )
        output.write(rows, limits={})
        return
    bound = checked.bound(tasks, given(parameters or []))
    try:
        tally = Tally(*bound.tally(0, tasks))
    except InvalidError as error:  # the program goes wrong with so many tasks
        typer.echo(str(error), err=True)
        raise typer.Exit(FAILED) from None
    for warning in tally.unmatched():
        typer.echo(f"warning: {warning}", err=True)
    counted = [(kind, count, size) for kind, (count, size) in sorted(tally.operations.items())]
    counted += [("messages", *tally.sent), ("messages with collectives", *tally.messages)]
    output.table(f"{program} with {tasks} tasks", ["operation", "count", "bytes"], counted)
    rows += [{"operation": kind, "count": count, "bytes": size} for kind, count, size in counted]
    output.write(rows, limits={})
