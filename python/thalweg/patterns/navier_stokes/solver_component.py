"""The component that solves: streams vorticity fields until the trainer has enough."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from thalweg.datastore import DataStore
from thalweg.patterns.navier_stokes.options import Options
from thalweg.patterns.navier_stokes.solver import Array, VorticitySolver, random_vorticity
from thalweg.results import current_tracer
from thalweg.simulation.simulation import STOP_KEY
from thalweg.workflow import report_progress

FIELD, READ, UNSEEN = "field/{}", "read/{}", "unseen"
_UNSEEN_SEED = 1_000_003
_PATIENCE_S = 600.0


def solve(server_info: dict[str, Any], options: dict[str, Any]) -> dict[str, float]:
    """Stage the unseen flows, then fields for training until the trainer says stop.

    Returns
    -------
    dict
        fields: how many were staged; largest_courant: over all flows.
    """
    chosen = Options(**options)
    with DataStore("solver", server_info) as store:
        unseen = [fields for fields, _ in _flow(chosen, chosen.seed + _UNSEEN_SEED, chosen.unseen_flows)]
        store.stage_write(UNSEEN, np.stack(unseen))
        staged, courant = 0, 0.0
        for fields, highest in _endless(chosen):
            store.iteration = staged
            store.stage_write(FIELD.format(staged), fields)
            staged, courant = staged + 1, max(courant, highest)
            report_progress(staged, float("inf"), f"{staged} fields of {chosen.members} flows")
            if _told_to_stop(store, staged - chosen.ahead):
                break
    return {"fields": staged, "largest_courant": courant}


def _told_to_stop(store: DataStore, reading: int) -> bool:
    """Wait until the trainer has read field number `reading`, or wants no more."""
    if reading < 0:
        return store.poll_staged_data(STOP_KEY)
    token = READ.format(reading)
    ready = store.wait([token, STOP_KEY], _PATIENCE_S, "any")
    store.clean_staged_data(token)
    return STOP_KEY in ready


def _endless(options: Options) -> Iterator[tuple[Array, float]]:
    flow = 0
    while True:
        yield from _flow(options, options.seed * 7919 + flow, options.members)
        flow += 1


def _flow(options: Options, seed: int, members: int) -> Iterator[tuple[Array, float]]:
    """Yield fields_per_flow fields of new flows, shape (members, n, n), float32, and their Courant number."""
    tracer = current_tracer()
    initial = random_vorticity(members, options.grid, seed, peak=options.peak)
    solver = VorticitySolver(initial, options.viscosity, options.time_step)
    solver.advance(options.spin_up)
    for number in range(options.fields_per_flow):
        yield solver.vorticity.astype(np.float32), solver.courant()
        start = time.monotonic_ns()
        solver.advance(options.steps)
        if tracer is not None:
            tracer.record("compute", "vorticity", start, time.monotonic_ns(), iteration=tracer.events + number)
