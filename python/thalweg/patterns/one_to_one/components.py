"""Solver and trainer of the pattern `one-to-one`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from thalweg import AI, Simulation
from thalweg.patterns.coupling import PATIENCE_S
from thalweg.patterns.one_to_one.options import Options
from thalweg.patterns.payload import Payloads, verify
from thalweg.workflow import report_progress

KEY = "snapshot/{rank}/{number}"
READY = "trainer/ready"


def solve(server_info: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Iterate and write until the trainer says stop; each rank writes arrays of its own."""
    chosen = Options(**options)
    total = chosen.scaled(chosen.solver_iterations)
    written = 0
    with Simulation("solver", chosen.solver_config(), server_info, seed=chosen.seed) as simulation:
        rank = simulation.ranks.rank
        payloads = Payloads(chosen.size_bytes, chosen.seed + 10_007 * rank)
        simulation.stage_read(READY, PATIENCE_S)
        while True:
            if simulation.iteration % chosen.write_every == 0:
                for _ in range(chosen.arrays_per_write):
                    simulation.stage_write(KEY.format(rank=rank, number=written), payloads.next())
                    written += 1
            simulation.run(1)
            report_progress(min(simulation.iteration, total - 1), total, f"{written} written")
            if simulation.iteration % chosen.read_every == 0 and simulation.stop_requested():
                break
    report_progress(total, total, f"{written} written")
    return {"iterations": simulation.iteration, "written": written}


def train(server_info: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Train for the configured number of iterations, verify what is read, then stop the solver.

    Each rank reads the arrays of one rank of the solver.
    """
    chosen = Options(**options)
    total = chosen.scaled(chosen.trainer_iterations)
    array = np.zeros(chosen.size_bytes // 4, np.float32)  # every backend moves the bytes into memory of its own
    read = 0
    losses: list[float] = []

    def progress(number: int, loss: float) -> None:
        report_progress(number + 1, total, f"loss {loss:.4g}, {read} read")

    with AI("trainer", chosen.trainer_config(), server_info, seed=chosen.seed) as ai:
        ai.store.stage_write(READY, b"")
        rank = ai.ranks.rank
        ai.store.wait([KEY.format(rank=rank, number=0)], PATIENCE_S)
        start = time.monotonic()
        while ai.iteration < total:
            ai.store.iteration = ai.iteration
            while ai.store.poll_staged_data(key := KEY.format(rank=rank, number=read)):
                verify(ai.store.stage_read(key, PATIENCE_S, into=array), key)
                ai.store.clean_staged_data(key)
                rows = chosen.samples(array)
                ai.replay.add(rows, rows)
                read += 1
            count = min(chosen.read_every, total - ai.iteration)
            losses += ai.train(count, read_every=0, on_iteration=progress).losses
        elapsed_s = time.monotonic() - start
        ai.stop_simulation()
    return {"iterations": total, "read": read, "final_loss": losses[-1], "training_s": elapsed_s}
