"""The whole of TekApp: its processes from start to end, images against the phantom, costs against ZeroMQ."""

from __future__ import annotations

import argparse
import dataclasses
import statistics
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from kit.command import count, parser, positive, table
from kit.command import main as command
from kit.parts import Parts
from kit.place import streams_at, topics

from tekapp import images
from tekapp.components import Plan
from tekapp.phantom import Array, head
from tekapp.pictures import draw_costs, draw_images, three
from thalweg.servers.server import new_namespace
from thalweg.sizes import format_size

_PROJECTIONS = 1500
_SMOOTHING = 0.05
_COMPONENTS = ("DAQ [P]", "DIST [C]", "DIST [P]", "SIRT [C]", "SIRT [P]", "DEN [C]")


def main(words: Sequence[str] | None = None) -> int:
    """Run what the command line says; return the exit status."""
    made = parser(
        "tekapp",
        "Tomography as a stream: DAQ -> DIST -> SIRT -> DEN, each a process, on the Shepp-Logan phantom.",
        ("", "--scale 0.1 --sirt 1", "--address kafka:localhost:9092 --json result.json", "--address files:/scratch/t"),
        f"of the {_PROJECTIONS} projections",
    )
    made.add_argument("--sirt", type=count, default=2, help="processes that reconstruct (default: 2)")
    made.add_argument("--slices", type=count, default=40, help="of the phantom (default: 40)")
    made.add_argument("--pixels", type=count, default=128, help="of a slice's edge (default: 128)")
    made.add_argument(
        "--window", type=count, default=150, help="projections of an update, before --scale (default: 150)"
    )
    made.add_argument("--iterations", type=count, default=120, help="of SIRT, over all windows (default: 120)")
    made.add_argument("--noise", type=positive, default=0.1, help="deviation of a projection's values (default: 0.1)")
    options = made.parse_args(words)
    if options.sirt > options.slices:
        made.error(f"--sirt {options.sirt}: more processes than the {options.slices} slices; give at most so many")
    return command(options, run)


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Run it over streams, then over ZeroMQ; return the result, and what there is to say."""
    projections = max(1, round(_PROJECTIONS * options.scale))
    window = max(1, round(options.window * options.scale))
    windows = -(-projections // window)
    plan = Plan(
        system="stream",
        address="",
        topics={},
        projections=projections,
        slices=options.slices,
        pixels=options.pixels,
        sirt=options.sirt,
        window=window,
        iterations=-(-options.iterations // windows),
        noise=options.noise,
        smoothing=_SMOOTHING,
    )
    truth = head(plan.slices, plan.pixels)
    names = {"daq-dist": 1, "dist-sirt": plan.sirt, "sirt-den": plan.sirt, "images": 1}
    with Parts(["DAQ", "DIST", "DEN", *(f"SIRT {number}" for number in range(plan.sirt))]) as parts:
        with streams_at(options.address) as address, topics(address, names) as made:
            plan = dataclasses.replace(plan, address=address, topics=made)
            rows, found = perform(parts, plan)
        left_out = {}
        if find_spec("zmq"):
            own = {word: new_namespace(word) for word in names}
            plain, same = perform(parts, dataclasses.replace(plan, system="zeromq", topics=own))
            assert all(np.array_equal(*pair) for pair in zip(found[-1], same[-1], strict=True)), "ZeroMQ: other images"
            rows += plain
        else:
            left_out["zeromq"] = "there is no Python library zmq; pip install pyzmq"
    quality = [
        {"projections": min((number + 1) * window, projections)}
        | {word: images.error(volume, truth) for word, volume in zip(("sirt", "den"), pair, strict=True)}
        for number, pair in enumerate(found)
    ]
    draw_images(truth, *found[-1], quality, options.output / "images.png")
    draw_costs(rows, options.output / "costs.png")
    result = {
        "example": "tekapp",
        "address": options.address or "a server of this run",
        "projections": projections,
        "quality": quality,
        "costs": rows,
        "left_out": left_out,
    }
    last = quality[-1]
    lines = [
        "{}: RMSE {rmse:.4f}, PSNR {psnr_db:.1f} dB".format(word.upper(), **last[word]) for word in ("sirt", "den")
    ]
    said = [cost_table(rows), "\n".join(lines), f"pictures: {options.output}/images.png, {options.output}/costs.png"]
    return result, [*said, *(f"left out: {name}: {why}" for name, why in left_out.items())]


def perform(parts: Parts, plan: Plan) -> tuple[list[dict[str, Any]], list[tuple[Array, Array]]]:
    """Run the components over one system; return what events cost, and the images after every window."""
    sink = plan.receiver("images", [0])
    for place, word in enumerate(("daq", "dist", "den")):
        parts.begin(place, f"tekapp.components:{word}", plan=plan)
    for number in range(plan.sirt):
        parts.begin(3 + number, "tekapp.components:sirt", plan=plan, number=number)
    costs: dict[str, list[dict[str, Any]]] = {}
    for told in parts.results():
        for component, cost in told.items():
            costs.setdefault(component, []).append(cost)
    found = collected(sink, plan)
    sink.finish()
    return [summary(plan.system, component, costs[component]) for component in _COMPONENTS], found


def collected(sink: Any, plan: Plan) -> list[tuple[Array, Array]]:
    """Return all slices after each window, as SIRT and as DEN have them."""
    windows = -(-plan.projections // plan.window)
    volumes = np.zeros((windows, 2, plan.slices, plan.pixels, plan.pixels), np.float32)
    for _ in range(windows * plan.sirt):
        metadata, data = sink.receive()
        begin, end = metadata["slices"]
        volumes[metadata["window"], :, begin:end] = np.frombuffer(data, np.float32).reshape(2, -1, *volumes.shape[-2:])
    return [(sirt, den) for sirt, den in volumes]


def summary(system: str, component: str, costs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what an event costs a component, all its processes together."""
    each = [ns for cost in costs for ns in cost["each_ns"]]
    return {
        "component": component,
        "system": system,
        "events": len(each),
        "size_bytes": costs[0]["size_bytes"],
        "min_us": min(each) / 1e3,
        "median_us": statistics.median(each) / 1e3,
        "max_us": max(each) / 1e3,
        "mean_us": (sum(each) + sum(cost["flush_ns"] for cost in costs)) / len(each) / 1e3,
    }


def cost_table(rows: list[dict[str, Any]]) -> str:
    """Return the costs as the paper's table 3 has them."""
    systems = list(dict.fromkeys(row["system"] for row in rows))
    words = [f"{system} {word}" for system in systems for word in ("min", "med", "max", "mean")]
    lines = []
    for component in _COMPONENTS:
        mine = [row for row in rows if row["component"] == component]
        cells = [three(row[f"{word}_us"]) for row in mine for word in ("min", "median", "max", "mean")]
        lines.append([component, mine[0]["events"], format_size(mine[0]["size_bytes"]), *cells])
    return table(["µs an event", "events", "size", *words], lines)
