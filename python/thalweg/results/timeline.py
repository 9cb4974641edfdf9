"""Events as a Chrome trace, the JSON that Perfetto and chrome://tracing open."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write_timeline(events: Any, target: Path) -> None:
    """Write `events` (a table as `read_events` gives it) as complete events ("ph": "X"), times in microseconds.

    A component is a process of the timeline, a rank is a thread of it.
    """
    columns = {name: events.column(name).to_pylist() for name in events.column_names}
    components = list(dict.fromkeys(columns["component"]))
    pids = {component: number for number, component in enumerate(components, 1)}
    temporary = target.with_suffix(".tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ms","traceEvents":[')
        first = True
        for entry in _metadata(columns, pids):
            file.write(("" if first else ",\n") + json.dumps(entry))
            first = False
        for row in zip(*columns.values(), strict=True):
            event = dict(zip(columns, row, strict=True))
            arguments: dict[str, Any] = {}
            if event["iteration"] >= 0:
                arguments["iteration"] = event["iteration"]
            if event["size_bytes"]:
                arguments["size_bytes"] = event["size_bytes"]
            if event["key"]:
                arguments["key"] = event["key"]
            if event["backend"]:
                arguments["backend"] = event["backend"]
            entry = {
                "name": event["name"] or event["kind"],
                "cat": event["kind"],
                "ph": "X",
                "ts": event["start_ns"] / 1000,
                "dur": max(0, event["end_ns"] - event["start_ns"]) / 1000,
                "pid": pids[event["component"]],
                "tid": event["rank"],
                "args": arguments,
            }
            file.write(("" if first else ",\n") + json.dumps(entry))
            first = False
        file.write("]}\n")
    os.replace(temporary, target)


def _metadata(columns: dict[str, list[Any]], pids: dict[str, int]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": pid, "tid": 0, "args": {"name": component}}
        for component, pid in pids.items()
    ]
    ranks = dict.fromkeys(zip(columns["component"], columns["rank"], strict=True))
    entries += [
        {"name": "thread_name", "ph": "M", "pid": pids[component], "tid": rank, "args": {"name": f"rank {rank}"}}
        for component, rank in ranks
    ]
    return entries
