"""Running a scenario."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.errors import InvalidError
from thalweg.simulator.outcome import Outcome
from thalweg.simulator.program import Program
from thalweg.simulator.scenario import Application, Scenario, nodes_of
from thalweg.simulator.trace import Trace

if TYPE_CHECKING:
    from thalweg._native import BoundProgram

#: Hears the simulated time in seconds and how many packets have arrived.
Tell = Callable[[float, int], None]


def simulate(scenario: Scenario | Mapping[str, Any] | str | Path, *, tell: Tell | None = None) -> Outcome:
    """Run a scenario; blocks until its end, without the GIL, and Ctrl-C stops it.

    Parameters
    ----------
    scenario : Scenario, dict, or path of a .toml or .json file
        What is to run on which machine.
    tell : callable, optional
        Called about once a second with the simulated time in seconds and the packets that have arrived; what it
        raises stops the run.

    Returns
    -------
    Outcome
        The same for the same scenario, but for ``cpu_s`` and ``memory_bytes``.

    Raises
    ------
    ConfigError
        When the scenario is wrong: with the path of the key.
    InvalidError
        When it cannot run: nodes that do not exist or are named twice, ranks that wait for what never comes.

    Examples
    --------
    >>> traffic = {"pattern": "uniform-random", "message_bytes": "4KiB", "mean_gap_ns": 2000, "messages": 10}
    >>> outcome = simulate({"network": {"routing": "minimal"}, "synthetic": traffic})
    >>> outcome.packets
    10560
    >>> 3.6 < outcome.hops_mean < 3.8
    True
    """
    from thalweg import _native

    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario)
    network = scenario.network
    machine = {
        "model": scenario.model,
        "fidelity": scenario.fidelity,
        "routing": network.routing,
        "topology": network.topology,
        "shape": network.shape(),
        "changes": network.changes(),
        "collectives": scenario.mpi.collectives(),
        "rendezvous_bytes": scenario.mpi.rendezvous_bytes,
        "storage": (scenario.storage.arrangement, scenario.storage.device, scenario.storage.numbers()),
        "seed": scenario.seed,
        "threads": scenario.threads,
    }
    clock = time.thread_time if scenario.threads == 1 else time.process_time
    begin = clock()
    if scenario.synthetic is not None:
        traffic = scenario.synthetic
        found = _native.simulate_synthetic(
            machine,
            traffic.pattern,
            traffic.message_bytes,
            traffic.mean_gap_ns,
            traffic.gaps,
            traffic.messages,
            tell,
        )
    else:
        traces = [_trace(each) for each in scenario.application]
        doing = [_doing(*each, scenario.seed) for each in zip(scenario.application, traces, strict=True)]
        nodes = [_nodes(*each) for each in zip(scenario.application, traces, strict=True)]
        found = _native.simulate_applications(machine, list(zip(doing, nodes, strict=True)), tell)
        for application, done, trace in zip(found["applications"], doing, traces, strict=True):
            application["logged"] = [] if isinstance(done, tuple) else done.logged()
            unreceived = application.pop("unreceived")
            lost = [f"{unreceived} messages to its ranks were received by nobody"] if unreceived else []
            application["notes"] = ([] if trace is None else trace.notes) + lost
    return Outcome.of(found, scenario.names(), clock() - begin, _peak_memory())


def _trace(application: Application) -> Trace | None:
    if application.trace is None:
        return None
    scale = 1.0 if application.compute_scale is None else application.compute_scale
    return Trace(application.trace, application.through or "network", scale)


def _doing(application: Application, trace: Trace | None, seed: int) -> BoundProgram | tuple[str, int | None, Any]:
    """What an application does: a program for as many tasks as it has ranks, a function, or a ready-made one's name."""
    if trace is not None:
        return application.label, len(trace.processes), trace.operations
    if application.program is None and application.operations is None:
        return application.label, application.iterations, application.reads
    ranks = application.ranks or len(nodes_of(application))
    if application.program is None:
        return application.label, ranks, application.operations
    return Program(application.program).bound(ranks, application.parameters, seed=seed)


def _nodes(application: Application, trace: Trace | None) -> list[int] | str:
    """The nodes of an application's ranks, or how they are chosen; those beyond a trace's ranks stay free."""
    nodes = nodes_of(application)
    if trace is None or isinstance(nodes, str):
        return nodes
    if len(nodes) < len(trace.processes):
        raise InvalidError(
            f"scenario: application {application.label}: has {len(nodes)} nodes for the {len(trace.processes)} "
            "processes of its trace; give each one, or a placement"
        )
    return nodes[: len(trace.processes)]


def _peak_memory() -> int:
    """Bytes that this process held at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
