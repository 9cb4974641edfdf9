"""``thalweg sim``: machines that are not there."""

from __future__ import annotations

import contextlib
import fnmatch
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption
from thalweg.cli.sim_check import check
from thalweg.cli.sim_exec import execute

if TYPE_CHECKING:
    from thalweg.simulator.running import Tell


def register(app: typer.Typer) -> None:
    """Add the commands of the simulator."""
    sim = typer.Typer(no_args_is_help=True, help="Simulate workloads on an interconnect that is not there.")
    sim.command("run")(run)
    sim.command("validate")(validate)
    sim.command("check")(check)
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
    json_path: JsonOption = None,
) -> None:
    """Run a scenario: time, communication and I/O of each application, latencies, traffic.

    Examples:

        thalweg sim run examples/scenarios/milc-cont-min.toml

        thalweg sim run examples/scenarios/uniform-random.toml --seed 7 --json -
    """
    from thalweg.cli.output import Output
    from thalweg.configuration import load
    from thalweg.simulator import Scenario, simulate

    output = Output(json_path)
    content = load(scenario, "scenario")
    given = {"model": model, "seed": seed, "threads": threads}
    content.update({name: value for name, value in given.items() if value is not None})
    wanted = Scenario.checked(content, scenario.absolute().parent)
    with _telling(scenario.stem) as tell:
        rows = list(simulate(wanted, tell=tell).rows())
    output.table(
        str(scenario),
        ["application", "quantity", "value"],
        [[row["application"], row["quantity"], row["value"]] for row in rows],
    )
    output.write(rows, limits={})


@command
def validate(
    only: Annotated[
        str, typer.Option("--only", metavar="PATTERN", help="Cases whose name fits, such as `uniform-*` or `*-milc`.")
    ] = "*",
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
    from thalweg.errors import InvalidError
    from thalweg.simulator.validation import cases
    from thalweg.simulator.validation import validate as compared

    output = Output(json_path)
    wanted = fnmatch.filter(cases(), only)
    if not wanted:
        raise InvalidError(f"--only: no case fits {only!r}; there are {', '.join(cases())}")
    rows = []
    for case in wanted:
        with _telling(case) as tell:
            rows += compared(case, tell=tell)
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
    output.write(rows, limits={})


@contextlib.contextmanager
def _telling(name: str) -> Iterator[Tell]:
    """A line on the terminal that says how far a run is; silence anywhere else."""
    begin = time.monotonic()
    terminal = sys.stderr.isatty()

    def tell(simulated_s: float, packets: int) -> None:
        if terminal:
            rate = packets / max(time.monotonic() - begin, 1e-9)
            line = f"{name}: {simulated_s * 1e3:.3f} ms simulated, {packets:,} packets, {rate / 1e6:.2f} M/s"
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()

    try:
        yield tell
    finally:
        if terminal:
            sys.stderr.write("\r\x1b[K")
