"""The simulator measured: events and packets a second of processor time, beside its queue of events alone."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from thalweg.errors import ThalwegError
from thalweg.simulator.limit import queue_events_per_cpu_s

#: Called with what is measured now, how much is done, and of how much.
Progress = Callable[[str, float, float], None]

#: 1,056 nodes that send 4 KiB to random others, all at the same times; minimal routes, credits and virtual channels.
UNIFORM_RANDOM: Mapping[str, Any] = {
    "model": "mfnetsim-artifact",
    "network": {"routing": "minimal"},
    "synthetic": {
        "pattern": "uniform-random",
        "message_bytes": 4096,
        "mean_gap_ns": 2000,
        "messages": 2000,
        "gaps": "even",
    },
}
#: Events that wait in the queue when it is measured alone: about as many as in the scenario above.
_PENDING = 4096


def measure(
    scenarios: Mapping[str, Mapping[str, Any]],
    variants: Sequence[Mapping[str, Any]],
    rounds: int,
    *,
    folder: Path | None = None,
    tell: Progress = lambda what, done, total: None,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run each scenario in each variant, in turns, each in a process of its own.

    Parameters
    ----------
    scenarios : mapping
        What files of scenarios would have, by name.
    variants : sequence of mapping
        Keys that are put over the scenario, such as ``{"threads": 2}``.
    rounds : int
        Medians are over so many runs.
    folder : Path, optional
        Where files that scenarios name are looked for.

    Returns
    -------
    rows : list of dict
        scenario, fidelity, threads, events, packets, cpu_s, wall_s, packets_per_cpu_s, peak_memory_bytes.
    limits : dict
        The events a second of processor time of the queue alone, measured in the same rounds.
    """
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    hold: list[float] = []
    total = rounds * len(scenarios) * len(variants)
    for turn in range(rounds):
        hold.append(queue_events_per_cpu_s(pending=_PENDING))
        for name, content in scenarios.items():
            for number, variant in enumerate(variants):
                tell(name, turn * len(scenarios) * len(variants) + number, total)
                run = _in_a_process({"content": {**content, **variant}, "folder": str(folder) if folder else None})
                found.setdefault((name, number), []).append(run)
    rows = []
    for (name, number), runs in found.items():
        counts = {(run["events"], run["packets"]) for run in runs}
        if len(counts) > 1:
            raise ThalwegError(
                f"bench sim: {name} had {sorted(counts)} events and packets: runs of one scenario differ"
            )
        cpu_s = statistics.median(run["cpu_s"] for run in runs)
        rows.append(
            {
                "scenario": name,
                "fidelity": variants[number].get("fidelity") or scenarios[name].get("fidelity", "packet"),
                "threads": runs[0]["threads"],
                "events": runs[0]["events"],
                "packets": runs[0]["packets"],
                "cpu_s": cpu_s,
                "wall_s": statistics.median(run["wall_s"] for run in runs),
                "packets_per_cpu_s": runs[0]["packets"] / cpu_s if cpu_s > 0 else 0.0,
                "peak_memory_bytes": max(run["memory_bytes"] for run in runs),
            }
        )
    return rows, {"queue_events_per_cpu_s": statistics.median(hold), "queue_pending": _PENDING}


def _in_a_process(wanted: Mapping[str, Any]) -> dict[str, Any]:
    program = [sys.executable, "-m", "thalweg.bench.simulator"]
    done = subprocess.run(program, input=json.dumps(wanted), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise ThalwegError(f"bench sim: a run failed: {reason[0]}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _one() -> None:
    """One run, for the process that asks over the standard input."""
    from thalweg.simulator import Scenario, simulate

    wanted = json.load(sys.stdin)
    scenario = Scenario.checked(wanted["content"], Path(wanted["folder"]) if wanted["folder"] else None)
    begin = time.monotonic()
    outcome = simulate(scenario)
    told = {name: getattr(outcome, name) for name in ("events", "packets", "threads", "cpu_s", "memory_bytes")}
    json.dump({**told, "wall_s": time.monotonic() - begin}, sys.stdout)


if __name__ == "__main__":
    _one()
