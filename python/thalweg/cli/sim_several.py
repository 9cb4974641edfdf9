"""``thalweg sim sweep`` and ``thalweg sim compare``: several simulated runs, side by side."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption

if TYPE_CHECKING:
    from thalweg.cli.output import Output
    from thalweg.simulator import Scenario
    from thalweg.simulator.recorded import Run

ParallelOption = Annotated[
    int | None,
    typer.Option("--parallel", metavar="N", min=1, help="So many runs at a time. [dim]\\[default: one a core][/dim]"),
]


@command
def sweep(
    scenarios: Annotated[list[Path], typer.Argument(help="Scenarios, TOML or JSON files.", show_default=False)],
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE,VALUE,…",
            help="Values for a key of the scenario, as TOML or plain words: `network.routing=minimal,par`, or lists: "
            "`application.0.nodes=\\[0,1],\\[2,3]`.",
        ),
    ] = None,
    parallel: ParallelOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="A folder for all runs and their report.")] = None,
    json_path: JsonOption = None,
) -> None:
    """Run scenarios with every combination of values, side by side on the machine's cores, into one report.

    Every run is written as it ends. The same sweep into the same folder goes on where it was interrupted: runs that are
    there are not repeated. What cannot run is told, and the others are done.

    Keys have dots between tables, and in a list the number of an entry, from 0: `application.0.placement`.

    Examples:

        thalweg sim sweep uniform-random.toml --set network.routing=minimal,valiant,par --set seed=1,2,3

        thalweg sim sweep examples/scenarios/milc-*.toml examples/scenarios/workload1-*.toml --parallel 2 --out milc
    """
    from thalweg.cli.output import Output
    from thalweg.cli.pattern_run import next_folder
    from thalweg.cli.sim_telling import telling
    from thalweg.errors import ThalwegError
    from thalweg.simulator.recorded import Run, done_before, save, writable
    from thalweg.simulator.several import failure, simulate_all

    output = Output(json_path)
    wanted = _combined(scenarios, sets or [])
    folder = writable(out if out is not None else next_folder("sim-sweep"))
    before = {name: done_before(name, scenario, folder / name) for name, scenario in wanted.items()}
    runs = {name: run for name, run in before.items() if run is not None}
    failed: dict[str, ThalwegError] = {}
    if runs:
        output.line(f"{len(runs)} of {len(wanted)} done before")
    left = {name: scenario for name, scenario in wanted.items() if name not in runs}
    try:
        with telling() as tell:
            for name, outcome in simulate_all(left, parallel or os.cpu_count() or 1, tell=tell):
                if isinstance(outcome, ThalwegError):
                    failed[name] = outcome
                    told = "could not run"
                else:
                    runs[name] = Run.of(name, wanted[name], outcome)
                    save(runs[name], folder / name)
                    told = f"{outcome.packets:,} packets in {outcome.cpu_s:.1f} s of processor time"
                output.line(f"{len(runs) + len(failed)} of {len(wanted)}: {name}, {told}")
    except KeyboardInterrupt:
        output.line(f"{len(runs)} of {len(wanted)} runs are in {folder}; the same sweep with --out {folder} goes on")
        raise
    if runs:
        shown([runs[name] for name in wanted if name in runs], folder / "report.html", output)
    if failed:
        raise failure({name: failed[name] for name in wanted if name in failed}, len(wanted))


@command
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Folders of simulated runs, or of sweeps.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="The page that is written.")] = Path("runs/sim-compare.html"),
    json_path: JsonOption = None,
) -> None:
    """Put simulated runs side by side: applications, latencies, links; what shares a machine beside itself alone.

    Examples:

        thalweg sim compare runs/sim-milc-cont-min-001 runs/sim-workload1-cont-min-001

        thalweg sim compare runs/sim-sweep-001 --out report.html --json -
    """
    from thalweg.cli.output import Output
    from thalweg.errors import InvalidError
    from thalweg.simulator.recorded import load, within, writable

    output = Output(json_path)
    writable(out.absolute().parent)
    if out.is_dir():
        raise InvalidError(f"--out: {out} is a folder; name a page, such as {out / 'report.html'}")
    runs: list[Run] = []
    for folder in folders:
        whole, others = within(folder)
        runs += [load(path) for path in whole or [folder]]
        for path in others if whole else []:
            output.line(f"{path} holds no whole run; it is left out")
    names = [run.name for run in runs]
    if len(runs) < 2:
        raise InvalidError(f"sim compare: one run was given, {names[0]}; expected two or more")
    for name in names:
        if names.count(name) > 1:
            raise InvalidError(
                f"sim compare: two runs are called {name}; give runs of different scenarios, or with other values"
            )
    shown(runs, out, output)


def shown(runs: list[Run], page: Path, output: Output) -> None:
    """Print what runs found, write their report, and the rows for programs."""
    from thalweg.report.simulated import interference, write_simulated
    from thalweg.report.simulated_facts import fidelity
    from thalweg.simulator.recorded import writing

    several = len(runs) > 1
    rows = [({"scenario": run.name} if several else {}) | row for run in runs for row in run.outcome.rows()]
    beside = interference(runs)
    if several:
        _side_by_side(runs, output)
    else:
        title = f"{runs[0].name} (fidelity: {fidelity(runs[0])})"
        output.table(title, ["application", "quantity", "value"], [list(row.values()) for row in rows])
    if beside:
        output.table("beside the same application alone", list(beside[0]), [list(row.values()) for row in beside])
    applications = [each for run in runs for each in run.outcome.applications]
    for name in dict.fromkeys(
        each.name for each in applications if each.message_latency.count > each.messages_sent == 0
    ):
        output.line(f"{name}: sends no messages; its latency is that of transfers to and from storage")
    told = (f"{each.name}: {note}" for run in runs for each in run.outcome.applications for note in each.notes)
    for line in dict.fromkeys(told):
        output.line(line)
    output.write(rows, limits={})
    with writing(page):
        write_simulated(runs, page)
    output.line(f"report: {page}")


def _side_by_side(runs: list[Run], output: Output) -> None:
    from thalweg.report.simulated_facts import fidelity

    quantities = ["elapsed_ms", "communication_ms", "io_ms", "latency_us_mean", "latency_us_max"]
    if not any(run.outcome.applications for run in runs):
        quantities[:3] = []
    if not all(run.outcome.applications for run in runs):
        quantities += ["message_latency_us_mean", "throughput_gb_per_s"]
    rows = []
    flows = any(fidelity(run) == "flow" for run in runs)
    for run in runs:
        found: dict[str, dict[str, Any]] = {}
        for row in run.outcome.rows():
            found.setdefault(row["application"], {})[row["quantity"]] = row["value"]
        for application, values in found.items():
            if application != "network" or len(found) == 1:
                rows.append(
                    [
                        run.name,
                        *([fidelity(run)] if flows else []),
                        application,
                        *(values.get(quantity) for quantity in quantities),
                    ]
                )
    output.table("runs", ["scenario", *(["fidelity"] if flows else []), "application", *quantities], rows)


def _combined(paths: list[Path], sets: list[str]) -> dict[str, Scenario]:
    """Scenarios by names that tell them apart."""
    from thalweg.configuration import load
    from thalweg.errors import ConfigError, InvalidError
    from thalweg.simulator import Scenario
    from thalweg.simulator.several import combinations, listed

    values = []
    for one in sets:
        key, equals, words = one.partition("=")
        if not equals or not key or not all(listed(words)):
            raise InvalidError(
                f"--set {one!r}: expected KEY=VALUE,VALUE,… such as network.routing=minimal,par; lists in brackets"
            )
        values.append((key, [_value(word) for word in listed(words)]))
    found: dict[str, Scenario] = {}
    for path in paths:
        own: dict[str, Scenario] = {}
        for chosen, content in combinations(load(path, "scenario"), values).items():
            name = f"{path.stem},{chosen}" if chosen else path.stem
            if name in found:
                raise InvalidError(f"sim sweep: two scenarios are called {name}; rename a file")
            try:
                scenario = Scenario.checked(content, path.absolute().parent)
            except ConfigError as error:
                raise ConfigError(f"{name}: {error}") from None
            same = next((other for other, known in own.items() if known == scenario), None)
            if same is not None:
                raise InvalidError(f"sim sweep: {same} and {name} are the same scenario; give each value once")
            found[name] = own[name] = scenario
    return found


def _value(word: str) -> object:
    """A value as TOML would have it, or text."""
    from thalweg.configuration import toml

    try:
        return toml(f"value = {word}")["value"]
    except ValueError:
        return word
