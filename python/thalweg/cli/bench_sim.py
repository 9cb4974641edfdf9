"""``thalweg bench sim``: how fast the simulator is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption


@command
def sim(
    scenarios: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Scenarios. [dim]\\[default: uniform random traffic on 1,056 nodes][/dim]", show_default=False
        ),
    ] = None,
    threads: Annotated[str, typer.Option("--threads", metavar="N,N,…", help="Threads that work on a run.")] = "1",
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Another model than the scenario's.")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Interleaved rounds; medians are over them.")] = 3,
    json_path: JsonOption = None,
) -> None:
    """Events and packets a second of processor time, and memory, beside what the queue of events alone can do.

    Every run has a process of its own. The limit is the hold model: an event is taken, and another one added, and
    nothing else happens; a packet needs at least one event a router.

    Examples:

        thalweg bench sim

        thalweg bench sim examples/scenarios/workload1-*.toml --repeats 1 --json speed.json

        thalweg bench sim --model default --threads 1,2
    """
    from thalweg.bench.simulator import UNIFORM_RANDOM, measure
    from thalweg.cli.output import Output
    from thalweg.cli.progress import live
    from thalweg.configuration import load
    from thalweg.errors import InvalidError
    from thalweg.simulator import Scenario

    output = Output(json_path)
    counts = threads.split(",")
    if not all(count.isdecimal() and int(count) > 0 for count in counts):
        raise InvalidError(f"--threads {threads!r}: expected whole numbers from 1, such as 1,2")
    contents = {path.stem: load(path, "scenario") for path in scenarios or []}
    folders = {path.absolute().parent for path in scenarios or []}
    if len(contents) < len(scenarios or []) or len(folders) > 1:
        raise InvalidError("bench sim: the scenarios must be of one folder, each with a name of its own")
    folder = next(iter(folders), None)
    contents = contents or {"uniform-random-minimal": dict(UNIFORM_RANDOM)}
    variants = [{"threads": int(count), **({"model": model} if model else {})} for count in counts]
    for content in contents.values():
        Scenario.checked({**content, **variants[0]}, folder)  # before anything takes time
    with live() as tell:
        rows, limits = measure(
            contents,
            variants,
            repeats,
            folder=folder,
            tell=lambda what, done, total: tell("bench sim", done, total, what),
        )
    output.table(
        "simulated",
        [
            "scenario",
            "fidelity",
            "threads",
            "events",
            "packets",
            "cpu / s",
            "wall / s",
            "packets / cpu s",
            "peak memory / MB",
        ],
        [[*list(row.values())[:-1], row["peak_memory_bytes"] / 1e6] for row in rows],
    )
    alone = limits["queue_events_per_cpu_s"] / 1e6
    output.line(f"the queue of events alone: {alone:.1f} million events a second of processor time")
    output.write(rows, limits)
