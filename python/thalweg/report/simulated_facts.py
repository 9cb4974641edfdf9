"""What simulated runs were runs of, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.simulator.recorded import Run


def fidelity(run: Run) -> str:
    """How closely a run looked at the network: ``packet`` or ``flow``."""
    return str(run.scenario.get("fidelity", "packet"))


def facts(run: Run) -> dict[str, str]:
    """Return the machine of a run, and what was where on it, by name; what a run does not have is left out."""
    scenario = run.scenario
    network = scenario.get("network", {})
    nodes = sum(link.kind == "terminal" for link in run.outcome.links)
    found = {
        "fidelity": fidelity(run),
        "model": scenario.get("model", "default"),
        "topology": f"{network.get('topology', 'dragonfly')} of {nodes:,} nodes",
        "routing": network.get("routing", "minimal"),
    }
    if scenario.get("application"):
        found["placement"] = ", ".join(dict.fromkeys(_placement(each) for each in scenario["application"]))
        found["storage"] = _storage(scenario)
    else:
        found["traffic"] = scenario["synthetic"]["pattern"]
    return found | {"seed": str(scenario.get("seed", 1)), "version": run.version or "not known"}


def shared(runs: Sequence[Run]) -> tuple[dict[str, str], list[dict[str, str | None]]]:
    """Return the facts that are the same for all runs, and for each run those that are not."""
    each = [facts(run) for run in runs]
    names = list(dict.fromkeys(name for own in each for name in own))
    same = {name for name in names if len({own.get(name) for own in each}) == 1}
    return (
        {name: each[0][name] for name in names if name in same},
        [{name: own.get(name) for name in names if name not in same} for own in each],
    )


def _placement(application: Mapping[str, Any]) -> str:
    nodes = application.get("nodes")
    if isinstance(nodes, str):
        return f"{Path(nodes).name}, line {application['line']}" if "line" in application else Path(nodes).name
    return str(application.get("placement", "contiguous")) if nodes is None else f"{len(nodes):,} nodes by number"


def _storage(scenario: Mapping[str, Any]) -> str:
    """Where data were stored and on what; without words of its own that of the model."""
    storage = scenario.get("storage", {})
    arrangement = storage.get("arrangement", "compute-side")
    behind = arrangement == "storage-side"
    artifact = scenario.get("model") == "mfnetsim-artifact" and arrangement == "compute-side"
    device = storage.get("device", "artifact" if artifact else "hdd" if behind else "ssd")
    return f"{arrangement}, {'ssd below 64 KiB, else ' if behind else ''}{device}"
