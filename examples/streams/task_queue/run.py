"""The whole campaign: each size over streams and over Redis in turn; table and picture of the latencies."""

from __future__ import annotations

import argparse
import contextlib
import shutil
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kit.command import count, parser, table
from kit.command import main as command
from kit.parts import Parts
from kit.place import streams_at, topics
from matplotlib.figure import Figure

from task_queue.queues import SYSTEMS
from task_queue.thinker import Thinker
from thalweg.errors import InvalidError
from thalweg.servers import ServerManager
from thalweg.sizes import format_size, parse_sizes

_TASKS = 200
_FEWEST = 4
_SIZES = "1KB,10KB,100KB,1MB,10MB"
_COLOURS = {"stream": "#0b5fa5", "redis": "#c8342f"}
_MEASURES = {"task_launch_us": "task_launch", "result_comm_us": "result_comm"}


def main(words: Sequence[str] | None = None) -> int:
    """Run what the command line says; return the exit status."""
    made = parser(
        "task_queue",
        "A thinker submits tasks to workers and gets results: how long both are on their way, by size.",
        ("", "--scale 0.1 --sizes 1KB,1MB", "--workers 4 --json -", "--address kafka:localhost:9092 --sizes 1KB,100KB"),
        f"of the {_TASKS} tasks of a size",
    )
    made.add_argument("--workers", type=count, default=2, help="processes that compute (default: 2)")
    made.add_argument("--sizes", type=sizes, default=_SIZES, help=f"of inputs, and of results (default: {_SIZES})")
    return command(made.parse_args(words), run)


def sizes(text: str) -> list[int]:
    """Return sizes of arrays of single precision."""
    try:
        found = parse_sizes(text)
    except InvalidError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if any(size % 4 or size < 8 for size in found):
        raise argparse.ArgumentTypeError(f"{text}: give multiples of 4 bytes, from 8 on")
    return found


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Run the campaign on both systems; return the result, and what there is to say."""
    why = redis_missing()
    left_out = {} if why is None else {"redis": why}
    with contextlib.ExitStack() as stack:
        parts = stack.enter_context(Parts([f"worker {number}" for number in range(options.workers)]))
        places = {name: stack.enter_context(place(name, options)) for name in SYSTEMS if name not in left_out}
        rows = [
            {"system": system, **perform(parts, system, where, size_bytes, options)}
            for size_bytes in options.sizes
            for system, where in places.items()
        ]
    draw(rows, options.output / "latencies.png")
    result = {
        "example": "task_queue",
        "address": options.address or "a server of this run",
        "workers": options.workers,
        "latencies": rows,
        "left_out": left_out,
    }
    said = [latency_table(rows), f"picture: {options.output}/latencies.png"]
    return result, [*said, *(f"left out: {name}: {why}" for name, why in left_out.items())]


def redis_missing() -> str | None:
    """Return None where Redis can run, else what to install."""
    if shutil.which("redis-server") is None:
        return "there is no program redis-server; install it (Debian: apt-get install redis-server)"
    return None if find_spec("redis") else "there is no Python library redis; pip install redis hiredis"


@contextlib.contextmanager
def place(system: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield where the queues of a system are."""
    if system == "redis":
        with ServerManager("tasks", "redis") as server:
            yield server.get_server_info()["instances"][0]
        return
    wanted = {"tasks": options.workers, "results": 1}
    with streams_at(options.address) as address, topics(address, wanted, queues=True) as names:
        yield {"address": address, **names}


def perform(
    parts: Parts, system: str, where: dict[str, Any], size_bytes: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Have the tasks of a size done over one system, after a few that are not counted."""
    for worker in range(options.workers):
        parts.begin(worker, "task_queue.worker:work", system=system, place=where, worker=worker)
    queues = SYSTEMS[system](where, None)
    try:
        thinker = Thinker(queues, options.workers)
        warm, tasks = 4 * options.workers, max(_FEWEST, round(_TASKS * options.scale))
        thinker.campaign(size_bytes, warm)
        row = thinker.campaign(size_bytes, tasks)
        thinker.stop()
        assert sum(parts.results()) == warm + tasks, "tasks were lost, or done twice"
    finally:
        queues.close()
    return row


def latency_table(rows: list[dict[str, Any]]) -> str:
    """Return medians with what 5 and 95 of 100 are below, a line a size."""
    systems = list(dict.fromkeys(row["system"] for row in rows))
    lines = []
    for size_bytes in dict.fromkeys(row["size_bytes"] for row in rows):
        mine = {row["system"]: row for row in rows if row["size_bytes"] == size_bytes}
        cells = [
            "{median:.0f} ({p5:.0f}-{p95:.0f})".format(**mine[system][measure])
            for measure in _MEASURES
            for system in systems
        ]
        lines.append([format_size(size_bytes), *cells])
    return table(["µs", *(f"{word} {system}" for word in _MEASURES.values() for system in systems)], lines)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw both latencies against the size, a line a system; the band holds 90 of 100."""
    figure = Figure(figsize=(10, 4.2), layout="constrained", dpi=100)
    for axes, (measure, title) in zip(figure.subplots(1, 2, sharey=True), _MEASURES.items(), strict=True):
        for system in dict.fromkeys(row["system"] for row in rows):
            mine = sorted((row for row in rows if row["system"] == system), key=lambda row: row["size_bytes"])
            at = [row["size_bytes"] for row in mine]
            colour = _COLOURS[system]
            axes.plot(at, [row[measure]["median"] for row in mine], "o-", color=colour, label=system)
            band = [[row[measure][word] for row in mine] for word in ("p5", "p95")]
            axes.fill_between(at, *band, color=colour, alpha=0.15, linewidth=0)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(at, [format_size(size_bytes) for size_bytes in at], minor=False)
        axes.set_title(title, loc="left", fontweight="bold")
        axes.set_xlabel("size of the data")
        axes.grid(True, color="#dddddd", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("latency / µs")
    figure.axes[0].legend(frameon=False)
    figure.savefig(path)
