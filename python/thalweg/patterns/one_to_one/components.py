"""Solver and trainer of the pattern `one-to-one`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from thalweg import AI, Simulation
from thalweg.patterns.one_to_one.options import Options
from thalweg.patterns.one_to_one.payload import Array, Payloads, verify
from thalweg.workflow import report_progress

KEY = "snapshot/{}"
READY = "trainer/ready"
_PATIENCE_S = 120.0
_FEATURES = 64


def scaled(iterations: int, scale: float) -> int:
    """Return the iterations of a run at `scale`, at least 1."""
    return max(1, round(iterations * scale))


def solve(server_info: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Iterate and write until the trainer says stop."""
    chosen = Options(**options)
    run_time: Any = chosen.solver_iteration_s
    if chosen.distribution != "constant":
        run_time = {"distribution": chosen.distribution, "mean": run_time, "std": chosen.solver_std_s}
    config = {
        "kernels": [
            {
                "name": "nekrs_iteration",
                "mini_app_kernel": "MatMulSimple2D",
                "data_size": chosen.matrix,
                "run_time": run_time,
            }
        ]
    }
    payloads = Payloads(chosen.size_bytes, chosen.seed)
    total = scaled(chosen.solver_iterations, chosen.scale)
    written = 0
    with Simulation("solver", config, server_info, seed=chosen.seed) as simulation:
        simulation.stage_read(READY, _PATIENCE_S)
        while True:
            if simulation.iteration % chosen.write_every == 0:
                for _ in range(chosen.arrays_per_write):
                    simulation.stage_write(KEY.format(written), payloads.next())
                    written += 1
            simulation.run(1)
            report_progress(min(simulation.iteration, total - 1), total, f"{written} written")
            if simulation.iteration % chosen.read_every == 0 and simulation.stop_requested():
                break
    report_progress(total, total, f"{written} written")
    return {"iterations": simulation.iteration, "written": written}


def train(server_info: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Train for the configured number of iterations, verify what is read, then stop the solver."""
    chosen = Options(**options)
    total = scaled(chosen.trainer_iterations, chosen.scale)
    config = {
        "model": {"type": "mlp", "inputs": _features(chosen), "outputs": _features(chosen), "hidden": [64]},
        "iteration_time_s": chosen.trainer_iteration_s,
        "batch_size": 32,
        "replay_bytes": max(64 << 20, 4 * chosen.size_bytes),
    }

    def samples(key: str, value: Array) -> tuple[Array, Array]:
        verify(value, key)
        numbers = value[:-1]  # the last word is the checksum, which is no number to learn
        rows = numbers[: numbers.size // _features(chosen) * _features(chosen)].reshape(-1, _features(chosen))
        return rows, rows

    with AI("trainer", config, server_info, seed=chosen.seed, to_samples=samples) as ai:
        ai.follow(KEY, clean=True)
        ai.store.stage_write(READY, b"")
        start = time.monotonic()
        record = ai.train(
            total,
            read_every=chosen.read_every,
            first_data_timeout_s=_PATIENCE_S,
            on_iteration=lambda number, loss: report_progress(number + 1, total, f"loss {loss:.4f}"),
        )
        ai.stop_simulation()
        return {
            "iterations": record.iterations,
            "read": record.values_read,
            "final_loss": record.losses[-1],
            "training_s": time.monotonic() - start,
        }


def _features(options: Options) -> int:
    return min(_FEATURES, options.size_bytes // 4 - 1)


def sweep(server_info: dict[str, Any], options: dict[str, Any]) -> None:
    """Write, read and verify messages of each size, so that the run has events of all of them (figure 4)."""
    from thalweg.datastore import DataStore

    chosen = Options(**options)
    with DataStore("sweep", server_info) as store:
        for number, size in enumerate(chosen.sizes):
            payloads = Payloads(size // 4 * 4, chosen.seed + number)
            for repeat in range(chosen.sweep_repeats + 1):
                store.iteration = number
                key = f"sweep/{size}" if repeat else f"warm-up/{size}"
                store.stage_write(key, payloads.next())
                target = np.empty(
                    size // 4, np.float32
                )  # into memory of its own, so that every backend moves the bytes
                target.fill(0)
                verify(store.stage_read(key, _PATIENCE_S, into=target), key)
                store.clean_staged_data(key)
            report_progress(number + 1, len(chosen.sizes), f"{size / 1e6:g} MB")
