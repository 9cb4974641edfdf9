"""The four components, each a process: DAQ measures, DIST divides, SIRT reconstructs, DEN removes noise."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tekapp.channels import SYSTEMS
from tekapp.phantom import Array, projection

#: Angles that are this apart lie evenly over half a turn, however many there are.
_GOLDEN = np.pi * (np.sqrt(5) - 1) / 2


@dataclasses.dataclass(frozen=True)
class Plan:
    """What all components know: how large everything is, and what carries the events where."""

    system: str
    address: str
    topics: dict[str, str]
    projections: int
    slices: int
    pixels: int
    sirt: int
    window: int
    iterations: int
    noise: float
    smoothing: float

    def slab(self, number: int) -> slice:
        """Return the slices of a SIRT process."""
        return slice(number * self.slices // self.sirt, (number + 1) * self.slices // self.sirt)

    def sender(self, word: str, partitions: int = 1) -> Any:
        """Return what sends to the partitions of a topic."""
        return SYSTEMS[self.system][0](self.address, self.topics[word], list(range(partitions)))

    def receiver(self, word: str, partitions: list[int]) -> Any:
        """Return what receives from partitions of a topic."""
        return SYSTEMS[self.system][1](self.address, self.topics[word], partitions)


def daq(plan: Plan) -> dict[str, Any]:
    """Send a projection after the other, with the noise of a detector."""
    out, random = plan.sender("daq-dist"), np.random.default_rng(1)
    for number in range(plan.projections):
        angle = float(number * _GOLDEN % np.pi)
        clean = projection(plan.slices, plan.pixels, angle)
        noise = random.standard_normal(clean.shape, np.float32)
        out.send({"n": number, "angle": angle}, clean + np.float32(plan.noise) * noise)
    return {"DAQ [P]": out.finish()}


def dist(plan: Plan) -> dict[str, Any]:
    """Give every SIRT process its slices of each projection."""
    source, out = plan.receiver("daq-dist", [0]), plan.sender("dist-sirt", plan.sirt)
    for _ in range(plan.projections):
        metadata, data = source.receive()
        rows = np.frombuffer(data, np.float32).reshape(plan.slices, plan.pixels)
        for number in range(plan.sirt):
            out.send({**metadata, "sirt": number}, rows[plan.slab(number)], number)
    return {"DIST [P]": out.finish(), "DIST [C]": source.finish()}


def sirt(plan: Plan, number: int) -> dict[str, Any]:
    """Improve the images of some slices with every window of projections, and send them on each time."""
    from tekapp.images import Sirt

    source, out = plan.receiver("dist-sirt", [number]), plan.sender("sirt-den", plan.sirt)
    slab = plan.slab(number)
    slices = slab.stop - slab.start
    state = Sirt(slices, plan.pixels)
    for first in range(0, plan.projections, plan.window):
        angles: list[float] = []
        rows: list[Array] = []
        for _ in range(min(plan.window, plan.projections - first)):
            metadata, data = source.receive()
            angles.append(metadata["angle"])
            rows.append(np.frombuffer(data, np.float32).reshape(slices, plan.pixels).copy())
        images = state.improve(angles, np.stack(rows), plan.iterations)
        out.send({"window": first // plan.window, "sirt": number, "slices": [slab.start, slab.stop]}, images, number)
    return {"SIRT [P]": out.finish(), "SIRT [C]": source.finish()}


def den(plan: Plan) -> dict[str, Any]:
    """Remove noise from all images; send them on, both as they were and without."""
    from tekapp.images import denoised

    source, out = plan.receiver("sirt-den", list(range(plan.sirt))), plan.sender("images")
    windows = -(-plan.projections // plan.window)
    for _ in range(windows * plan.sirt):
        metadata, data = source.receive()
        images = np.frombuffer(data, np.float32).reshape(-1, plan.pixels, plan.pixels)
        out.send(metadata, np.stack([images, denoised(images, plan.smoothing)]))
    out.finish()
    return {"DEN [C]": source.finish()}
