"""``thalweg sim``: machines that are not there."""

from __future__ import annotations

import fnmatch
import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption
from thalweg.cli.sim_check import check
from thalweg.cli.sim_exec import execute
from thalweg.cli.sim_several import ParallelOption, compare, sweep
from thalweg.cli.sim_telling import telling


def register(app: typer.Typer) -> None:
    """Add the commands of the simulator."""
    sim = typer.Typer(no_args_is_help=True, help="Simulate workloads on an interconnect that is not there.")
    sim.command("run")(run)
    sim.command("sweep")(sweep)
    sim.command("compare")(compare)
    sim.command("validate")(validate)
    # Options that are not the command's own are the program's.
    sim.command("check", context_settings={"ignore_unknown_options": True})(check)
    sim.command("exec", context_settings={"ignore_unknown_options": True})(execute)
    app.add_typer(sim, name="sim")


@command
def run(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a TOML or JSON file.", show_default=False)],
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="Whose rules: default, paper or mfnetsim-artifact."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Another seed than the scenario's.")] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="How many threads work on it; the results are the same.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The run's folder. [dim]\\[default: a new one in runs][/dim]")
    ] = None,
    json_path: JsonOption = None,
) -> None:
    """Run a scenario: time, communication and I/O of each application, latencies, traffic; with a report.

    Examples:

        thalweg sim run examples/scenarios/milc-cont-min.toml

        thalweg sim run examples/scenarios/uniform-random.toml --seed 7 --json -
    """
    from thalweg.cli.output import Output
    from thalweg.cli.pattern_run import next_folder
    from thalweg.cli.sim_several import shown
    from thalweg.configuration import load
    from thalweg.simulator import Scenario, simulate
    from thalweg.simulator.recorded import Run, free, save

    output = Output(json_path)
    content = load(scenario, "scenario")
    given = {"model": model, "seed": seed, "threads": threads}
    content.update({name: value for name, value in given.items() if value is not None})
    wanted = Scenario.checked(content, scenario.absolute().parent)
    folder = free(out if out is not None else next_folder(f"sim-{scenario.stem}"))
    with telling() as tell:
        outcome = simulate(wanted, tell=partial(tell, scenario.stem))
    run = Run.of(scenario.stem, wanted, outcome)
    try:
        save(run, folder)
    finally:  # what was found is told where it cannot be written
        shown([run], folder / "report.html", output)


@command
def validate(
    only: Annotated[
        str, typer.Option("--only", metavar="PATTERN", help="Cases whose name fits, such as `uniform-*` or `*-milc`.")
    ] = "*",
    parallel: ParallelOption = None,
    json_path: JsonOption = None,
) -> None:
    """Run what the published artifact of MFNetSim ran, and say by how much the results differ from its.

    Ten cases of synthetic traffic take seconds each, the sixteen of applications up to two minutes each; table 1 of the
    paper's storage devices takes none. Within is 3 %, of the devices 1 %.

    Examples:

        thalweg sim validate --only 'uniform-*'

        thalweg sim validate --only 'storage-*'

        thalweg sim validate --only '*-checkpoint' --json validation.json
    """
    from thalweg.cli.output import Output
    from thalweg.errors import InvalidError, ThalwegError
    from thalweg.simulator import Scenario
    from thalweg.simulator.several import failure, simulate_all
    from thalweg.simulator.validation import STORAGE, beside, cases, reason

    output = Output(json_path)
    wanted = fnmatch.filter(cases(), only)
    if not wanted:
        raise InvalidError(f"--only: no case fits {only!r}; there are {', '.join(cases())}")
    found = {case: beside(case, None) for case in wanted if case == STORAGE}
    scenarios = {case: Scenario.load(cases()[case]) for case in wanted if case != STORAGE}
    failed: dict[str, ThalwegError] = {}
    with telling() as tell:
        for case, outcome in simulate_all(scenarios, parallel or os.cpu_count() or 1, tell=tell):
            if isinstance(outcome, ThalwegError):
                failed[case] = outcome
            else:
                found[case] = beside(case, outcome)
    rows = [row for case in wanted for row in found.get(case, [])]
    output.table(
        "beside the published runs",
        ["scenario", "quantity", "model", "reference", "deviation %", "within"],
        [
            [
                row["scenario"],
                row["quantity"],
                row["model"],
                row["reference"],
                100 * row["deviation"],
                "yes" if row["within"] else "no",
            ]
            for row in rows
        ],
    )
    output.line(f"{sum(row['within'] for row in rows)} of {len(rows)} are within their tolerance")
    for case in wanted:
        missed = [row["quantity"] for row in found.get(case, []) if not row["within"]]
        if missed:
            output.line(f"{case}, {', '.join(missed)}: {reason(case)}")
    output.write(rows, limits={})
    if failed:
        raise failure({name: failed[name] for name in wanted if name in failed}, len(wanted))
