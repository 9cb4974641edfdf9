"""Tables of simulated runs: applications, packets, links, and the simulator itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg.report.simulated_facts import fidelity, shared

if TYPE_CHECKING:
    from thalweg.simulator.outcome import Distribution
    from thalweg.simulator.recorded import Run

_LATENCY = ("mean latency / µs", "median / µs", "p99 / µs", "max / µs")
_OF_MESSAGES = "Latency is that of all that crosses the network: messages, and transfers to and from storage."
_OF_LINKS = "Sums over all links from routers, and the link that has most; saturation is how long a link was full."
_KINDS = ("terminal", "local", "global")


def tables(runs: Sequence[Run], what: str) -> list[dict[str, Any]]:
    """Return the tables of runs; `what` heads the column of their names. Those without rows are left out."""
    own = zip((run.name for run in runs), shared(runs)[1], strict=True)
    # What tells runs apart stands in the first column.
    apart = {name: _without(facts, what.split(", ")) for name, facts in own}
    found: tuple[tuple[str, str, Callable[[Run], Iterable[dict[str, Any]]]], ...] = (
        ("Scenarios", "What is not the same for all runs.", lambda run: [apart[run.name]] if apart[run.name] else []),
        ("Applications", "Communication, I/O and compute are means over ranks.", _applications),
        ("Messages", _OF_MESSAGES, _messages),
        ("Packets", "", _packets),
        ("Links", _OF_LINKS, _links),
        ("Simulator", "", _simulator),
    )
    made = []
    for title, note, rows in found:
        listed = [_named(run, what, len(runs)) | row for run in runs for row in rows(run)]
        columns = list(dict.fromkeys(column for row in listed for column in row))
        if listed:
            values = [[row.get(column) for column in columns] for row in listed]
            made.append({"title": title, "note": note, "columns": columns, "rows": values})
    return made


def _without(facts: dict[str, str | None], names: Sequence[str]) -> dict[str, str | None]:
    return {name: value for name, value in facts.items() if name not in names}


def _named(run: Run, what: str, runs: int) -> dict[str, Any]:
    """What tells a run's rows from those of others; nothing where there are none."""
    return {what or "run": run.name} if runs > 1 else {}


def _applications(run: Run) -> Iterator[dict[str, Any]]:
    for each in run.outcome.applications:
        yield {
            "application": each.name,
            "elapsed / ms": 1e3 * each.elapsed_s,
            "communication / ms": 1e3 * float(np.mean(each.communication_s)),
            "I/O / ms": 1e3 * float(np.mean(each.io_s)),
            "compute / ms": 1e3 * float(np.mean(each.compute_s)),
            "read / MB": each.bytes_read / 1e6,
            "written / MB": each.bytes_written / 1e6,
        }


def _messages(run: Run) -> Iterator[dict[str, Any]]:
    for each in run.outcome.applications:
        yield {
            "application": each.name,
            "messages": each.messages_sent,
            "sent / MB": each.bytes_sent / 1e6,
            **_latency(each.message_latency),
        }
    if run.outcome.message_latency is not None:
        yield {
            "application": "synthetic traffic",
            "messages": run.outcome.message_latency.count,
            "sent / MB": sum(link.bytes for link in run.outcome.links if link.kind == "terminal") / 1e6,
            **_latency(run.outcome.message_latency),
        }


def _packets(run: Run) -> Iterator[dict[str, Any]]:
    outcome = run.outcome
    yield {
        "fidelity": fidelity(run),
        "end / ms": 1e3 * outcome.end_s,
        "arrived / (GB/s)": outcome.throughput() / 1e9,
        "packets": outcome.packets,
        "routers on the way": outcome.hops_mean,
        "detours": outcome.non_minimal_packets,
        **_latency(outcome.packet_latency),
    }


def _links(run: Run) -> Iterator[dict[str, Any]]:
    for kind in _KINDS:
        links = [link for link in run.outcome.links if link.kind == kind]
        if links:
            saturated_ms = [1e3 * link.saturated_s for link in links]
            yield {
                "links": kind,
                "count": len(links),
                "traffic / MB": sum(link.bytes for link in links) / 1e6,
                "busiest / MB": max(link.bytes for link in links) / 1e6,
                "saturation / ms": sum(saturated_ms),
                "fullest / ms": max(saturated_ms),
            }


def _simulator(run: Run) -> Iterator[dict[str, Any]]:
    outcome = run.outcome
    yield {
        "events": outcome.events,
        "threads": outcome.threads,
        "processor time / s": outcome.cpu_s,
        "packets / s": outcome.packets / outcome.cpu_s if outcome.cpu_s > 0 else None,
        "memory / MB": None if outcome.memory_bytes is None else outcome.memory_bytes / 1e6,
    }


def _latency(found: Distribution | None) -> dict[str, float | None]:
    times = (None,) * 4 if found is None else (found.mean_s, found.median_s, found.p99_s, found.max_s)
    return {name: None if time is None else 1e6 * time for name, time in zip(_LATENCY, times, strict=True)}
