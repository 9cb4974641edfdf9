"""Running a scenario."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.simulator.outcome import Outcome
from thalweg.simulator.program import Program
from thalweg.simulator.scenario import Application, Scenario, nodes_of

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
        "storage": (scenario.storage.arrangement, scenario.storage.device),
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
        applications = [
            (_doing(application, scenario.seed), nodes_of(application)) for application in scenario.application
        ]
        found = _native.simulate_applications(machine, applications, tell)
        for application, (doing, _) in zip(found["applications"], applications, strict=True):
            application["logged"] = [] if isinstance(doing, tuple) else doing.logged()
    names = [application.label for application in scenario.application]
    return Outcome.of(found, names, clock() - begin, _peak_memory())


def _doing(application: Application, seed: int) -> BoundProgram | tuple[str, int | None, Any]:
    """What an application does: a program for as many tasks as it has ranks, a function, or a ready-made one's name."""
    if application.program is None and application.operations is None:
        return application.label, application.iterations, application.reads
    ranks = application.ranks or len(nodes_of(application))
    if application.program is None:
        return application.label, ranks, application.operations
    return Program(application.program).bound(ranks, application.parameters, seed=seed)


def _peak_memory() -> int:
    """Bytes that this process held at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
