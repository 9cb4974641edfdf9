"""The whole comparison: each system under light and heavy capture, by batch size; table and picture of the shares."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kit.command import count, parser, positive, table
from kit.command import main as command
from kit.parts import Parts
from matplotlib.figure import Figure

from provenance.record import read
from provenance.sinks import SYSTEMS
from provenance.systems import Places, missing, running
from thalweg.errors import CorruptDataError

_STEPS = 300
_PROFILES = ("light", "heavy")
_COLOURS = {"stream": "#0b5fa5", "redis": "#c8342f", "kafka": "#444444"}


def main(words: Sequence[str] | None = None) -> int:
    """Run what the command line says; return the exit status."""
    made = parser(
        "provenance",
        "Producers capture what they do while they train: the share of their time that goes into flushing it.",
        (
            "",
            "--scale 0.1 --producers 4",
            "--systems stream,redis --json -",
            "--address files:/scratch/p --systems stream",
        ),
        f"of the {_STEPS} steps of a producer",
    )
    made.add_argument("--producers", type=count, default=24, help="processes that train (default: 24)")
    made.add_argument("--batches", type=numbers, default="10,100", help="steps that make an event (default: 10,100)")
    made.add_argument("--step-ms", type=positive, default=20.0, help="how long a step takes (default: 20)")
    made.add_argument("--systems", type=systems, default=",".join(SYSTEMS), help=f"default: {','.join(SYSTEMS)}")
    return command(made.parse_args(words), run)


def numbers(text: str) -> list[int]:
    """Return whole numbers from 1 on, separated by commas."""
    return [count(part) for part in text.split(",")]


def systems(text: str) -> list[str]:
    """Return names of systems, separated by commas."""
    found = text.split(",")
    if not set(found) <= set(SYSTEMS):
        raise argparse.ArgumentTypeError(f"{text} is not accepted; there are {', '.join(SYSTEMS)}")
    return found


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Run all; return the result, and what there is to say."""
    left_out, rows, told = {}, [], None
    steps = max(2, round(_STEPS * options.scale))
    with Parts([f"producer {number}" for number in range(options.producers)]) as parts:
        for system in options.systems:
            why = missing(system)
            if why is not None:
                left_out[system] = why
                continue
            with running(system, options.address, min(4, options.producers)) as places:
                for profile in _PROFILES:
                    for batch in options.batches:
                        row, found = perform(parts, places, system, profile, batch, steps, options)
                        rows.append(row)
                        told = found or told
    draw(rows, options.output / "shares.png")
    result = {
        "example": "provenance",
        "address": options.address or "a server of this run",
        "producers": options.producers,
        "shares": rows,
        "record": told,
        "left_out": left_out,
    }
    said = [share_table(rows), *(f"left out: {name}: {why}" for name, why in left_out.items())]
    if told is not None:
        said.append(f"the record says: learning rate {told['best_rate']:.3g} was best of {options.producers}")
    return result, [*said, f"picture: {options.output}/shares.png"]


def perform(
    parts: Parts, places: Places, system: str, profile: str, batch: int, steps: int, options: argparse.Namespace
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Have all producers train at once; return the share of flushing, and what a stream's record tells afterwards."""
    with places() as place:
        counted = place.pop("count")
        same = {"system": system, "place": place, "profile": profile, "batch": batch, "steps": steps}
        each = [{**same, "number": number, "step_s": options.step_ms / 1e3} for number in range(options.producers)]
        told = parts.all("provenance.training:train", each)
        total = {word: sum(one[word] for one in told) for word in told[0]}
        if counted() != total["events"]:
            raise CorruptDataError(f"{system}: {counted()} events are there; {total['events']} were sent")
        found = read(place, total["events"]) if system == "stream" else None
    row = {"system": system, "profile": profile, "batch": batch, "events": total["events"]}
    row |= {"data_bytes": total["data_bytes"], "flush_s": total["flush_s"], "total_s": total["total_s"]}
    return {**row, "share": total["flush_s"] / total["total_s"]}, found


def share_table(rows: list[dict[str, Any]]) -> str:
    """Return the shares as the paper's table 5 has them."""
    batches = list(dict.fromkeys(row["batch"] for row in rows))
    lines: dict[str, list[str]] = {}
    for row in rows:
        lines.setdefault(f"{row['system']} {row['profile']}", []).append(f"{100 * row['share']:.2f} %")
    header = ["share of time flushing", *(f"batch {batch}" for batch in batches)]
    return table(header, [[name, *shares] for name, shares in lines.items()])


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the shares in percent, a group of bars for each profile and batch size, a bar a system."""
    figure = Figure(figsize=(9, 4.2), layout="constrained", dpi=100)
    axes = figure.subplots()
    cases = list(dict.fromkeys((row["profile"], row["batch"]) for row in rows))
    names = list(dict.fromkeys(row["system"] for row in rows))
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        mine = [row for row in rows if row["system"] == name]
        at = [cases.index((row["profile"], row["batch"])) + (place - (len(names) - 1) / 2) * width for row in mine]
        shares = [100 * row["share"] for row in mine]
        bars = axes.bar(at, shares, width, color=_COLOURS[name], label=name)
        axes.bar_label(bars, [f"{share:.2g}" for share in shares], fontsize=8, padding=1)
    axes.set_xticks(range(len(cases)), [f"{profile}, batches of {batch}" for profile, batch in cases])
    axes.set_yscale("log")
    axes.margins(y=0.12)
    axes.set_ylabel("share of time flushing / %")
    axes.grid(True, axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=len(names))
    figure.savefig(path)
