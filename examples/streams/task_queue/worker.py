"""A worker: it takes a task, computes, and sends the result, until it is told to stop."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from task_queue.queues import SYSTEMS


def relaxed(positions: np.ndarray, step: float) -> np.ndarray:
    """Return particles on a line after a step towards rest: each drifts to the middle of its neighbours."""
    middle = 0.5 * (np.roll(positions, 1) + np.roll(positions, -1))
    moved: np.ndarray = positions + np.float32(step) * (middle - positions)
    return moved


def work(system: str, place: dict[str, Any], worker: int) -> int:
    """Perform tasks; return how many."""
    queues, done = SYSTEMS[system](place, worker), 0
    try:
        while True:
            task, data = queues.receive()
            received_ns = time.monotonic_ns()
            if task["stop"]:
                queues.done()
                return done
            result = relaxed(np.frombuffer(data, np.float32), task["step"])
            told = {
                "task": task["task"],
                "structure": task["structure"],
                "worker": worker,
                "roughness": float(np.abs(np.diff(result)).mean()),
                "launch_ns": received_ns - task["sent_ns"],
            }
            queues.send({**told, "sent_ns": time.monotonic_ns()}, result)
            queues.done()
            done += 1
    finally:
        queues.close()
