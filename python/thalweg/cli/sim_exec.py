"""``thalweg sim exec``: a program of the workload language as a real MPI program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from thalweg.cli.outcome import FAILED, command
from thalweg.cli.output import JsonOption


@command
def execute(
    program: Annotated[Path, typer.Argument(help="The program, a text file.", show_default=False)],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PARAMETERS] [-- LAUNCHER]",
            help="The program's own options; then, behind `--`, what starts the ranks.",
            show_default=False,
        ),
    ] = None,
    collectives: Annotated[
        str, typer.Option("--collectives", metavar="mpi|messages", help="MPI's own, or messages as in the simulator.")
    ] = "mpi",
    timeout_s: Annotated[float, typer.Option("--timeout", min=0.1, help="Stop all ranks after so many seconds.")] = 600,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Leave the program's files in this folder.")
    ] = None,
    json_path: JsonOption = None,
) -> None:
    """Run a program with real messages and files, and compare what it did with what the simulator counts.

    Exit status 1 when a rank fails, counts differ, or the time is over: then who waits for whom is told.

    Examples:

        thalweg sim exec examples/programs/figure6.ncptl --reps 2 --msgsize 1K -- mpirun -n 4

        thalweg sim exec examples/programs/checkpoint.ncptl --share 1M --keep /tmp/files --json - -- mpiexec -n 8
    """
    from thalweg.cli.output import Output
    from thalweg.errors import InvalidError
    from thalweg.simulator.execution import execute as run
    from thalweg.simulator.program import Program, given, split

    output = Output(json_path)
    kinds: dict[str, Literal["mpi", "messages"]] = {"mpi": "mpi", "messages": "messages"}
    if collectives not in kinds:
        raise InvalidError(f"--collectives: is {collectives!r}; accepted are mpi, messages")
    parameters, launcher = split(words or [])
    done = run(
        Program(program),
        launcher,
        given(parameters),
        collectives=kinds[collectives],
        timeout_s=timeout_s,
        keep=keep,
    )
    for task, text in done.outputs:
        output.line(f"task {task}: {text}")
    for task, label, value in done.logged:
        output.line(f"task {task}: {label}: {value:.6g}")
    met, expected = done.operations, done.expected.operations
    rows = [
        (kind, *met.get(kind, (0, 0)), *expected.get(kind, (0, 0))) for kind in sorted(met.keys() | expected.keys())
    ]
    messages = done.expected.messages if collectives == "messages" else done.expected.sent
    rows.append(("messages", *done.sent, *messages))
    output.table(
        f"{program} with {len(done.ranks)} ranks: {done.elapsed_s:.3f} s",
        ["operation", "count", "bytes", "simulated count", "simulated bytes", "same"],
        [[*row, row[1:3] == row[3:5]] for row in rows],
    )
    output.table(
        "ranks",
        ["rank", "messages", "bytes", "elapsed_s", "communication_s", "io_s", "compute_s"],
        [
            [rank.rank, *rank.sent, rank.elapsed_s, rank.communication_s, rank.io_s, rank.compute_s]
            for rank in done.ranks
        ],
    )
    output.write(
        [
            {
                "operation": kind,
                "count": count,
                "bytes": size,
                "simulated_count": simulated,
                "simulated_bytes": simulated_size,
                "same": (count, size) == (simulated, simulated_size),
            }
            for kind, count, size, simulated, simulated_size in rows
        ]
        + [
            {
                "rank": rank.rank,
                "messages": rank.sent[0],
                "bytes": rank.sent[1],
                "elapsed_s": rank.elapsed_s,
                "communication_s": rank.communication_s,
                "io_s": rank.io_s,
                "compute_s": rank.compute_s,
            }
            for rank in done.ranks
        ],
        limits={},
    )
    if any(row[1:3] != row[3:5] for row in rows):
        raise typer.Exit(FAILED)
