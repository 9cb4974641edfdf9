"""Simulations and the trainer of the pattern `many-to-one`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from thalweg import AI, Simulation
from thalweg.patterns.coupling import PATIENCE_S
from thalweg.patterns.many_to_one.options import Options
from thalweg.patterns.payload import Payloads, verify
from thalweg.workflow import report_progress

KEY = "ensemble/{member}/{update}"
READY = "trainer/ready"
TAKEN = "trainer/taken/{}"


def updates(options: Options) -> int:
    """Return how often the trainer reads."""
    return -(-options.scaled(options.trainer_iterations) // options.read_every)


def simulate(server_info: dict[str, Any], options: dict[str, Any], member: int) -> dict[str, Any]:
    """Iterate and write one array for each update of the trainer; wait when too far ahead of it."""
    chosen = Options(**options)
    count = updates(chosen)
    payloads = Payloads(chosen.size_bytes, chosen.seed * 10_007 + member)
    with Simulation(f"simulation-{member}", chosen.solver_config(), server_info, seed=chosen.seed + member) as solver:
        solver.stage_read(READY, PATIENCE_S)
        for update in range(count):
            solver.run(chosen.write_every)
            if update >= chosen.ahead:
                solver.store.wait([TAKEN.format(update - chosen.ahead)], PATIENCE_S)
            solver.stage_write(KEY.format(member=member, update=update), payloads.next())
            report_progress(update + 1, count, "written")
        return {"iterations": solver.iteration}


def train(server_info: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Before every `read_every` iterations, block until all simulations have written, and read them all."""
    chosen = Options(**options)
    total = chosen.scaled(chosen.trainer_iterations)
    array = np.zeros(chosen.size_bytes // 4, np.float32)  # every backend moves the bytes into memory of its own
    losses: list[float] = []
    with AI("trainer", chosen.trainer_config(), server_info, seed=chosen.seed) as ai:
        ai.store.stage_write(READY, b"")
        start = None
        for update in range(updates(chosen)):
            keys = [KEY.format(member=member, update=update) for member in range(chosen.simulations)]
            ai.store.iteration = ai.iteration
            ai.store.wait(keys, PATIENCE_S, "all")
            start = time.monotonic() if start is None else start  # the first wait is for the others' start
            for key in keys:
                verify(ai.store.stage_read(key, PATIENCE_S, into=array), key)
                ai.store.clean_staged_data(key)
                rows = chosen.samples(array)
                ai.replay.add(rows, rows)
            ai.store.stage_write(TAKEN.format(update), b"")
            if update >= 2 * chosen.ahead:  # no simulation looks at these any more
                ai.store.clean_staged_data(TAKEN.format(update - 2 * chosen.ahead))
            count = min(chosen.read_every, total - ai.iteration)
            losses += ai.train(count, read_every=0).losses
            report_progress(ai.iteration, total, f"loss {losses[-1]:.4g}")
        assert start is not None
        elapsed_s = time.monotonic() - start
    return {"iterations": total, "final_loss": losses[-1], "training_s": elapsed_s}
