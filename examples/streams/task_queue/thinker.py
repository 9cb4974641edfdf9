"""The thinker: it keeps every worker busy with one task, and makes the next task of each result."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from task_queue.queues import Queues
from task_queue.worker import relaxed

_STEP = 0.8
_CHECKED = 10


class Thinker:
    """Relaxes one structure for each worker, a task a step."""

    def __init__(self, queues: Queues, workers: int) -> None:
        self._queues, self._workers = queues, workers

    def campaign(self, size_bytes: int, tasks: int) -> dict[str, Any]:
        """Have so many tasks done with inputs of a size; return latencies in µs, and the structures' roughness."""
        random = np.random.default_rng(size_bytes)
        structures = [random.random(size_bytes // 4, np.float32) for _ in range(self._workers)]
        before = [float(np.abs(np.diff(structure)).mean()) for structure in structures]
        after = list(before)
        launch_us, result_us = [], []
        submitted, done = min(self._workers, tasks), 0
        for worker in range(submitted):
            self._submit(worker, worker, worker, structures[worker])
        while done < tasks:
            result, data = self._queues.receive()
            result_us.append((time.monotonic_ns() - result["sent_ns"]) / 1e3)
            launch_us.append(result["launch_ns"] / 1e3)
            which, found = result["structure"], np.frombuffer(data, np.float32)
            if done % _CHECKED == 0:
                assert np.array_equal(found, relaxed(structures[which], _STEP)), "a worker's result is another"
            structures[which], after[which] = found, result["roughness"]
            done += 1
            if submitted < tasks:
                self._submit(submitted, result["worker"], which, found)
                submitted += 1
            self._queues.done()
        return {
            "size_bytes": size_bytes,
            "tasks": done,
            "roughness": [before, after],
            "task_launch_us": spread(launch_us),
            "result_comm_us": spread(result_us),
        }

    def stop(self) -> None:
        """Have all workers return."""
        for worker in range(self._workers):
            self._queues.send({"stop": True}, np.empty(0, np.float32), worker)

    def _submit(self, number: int, worker: int, which: int, structure: np.ndarray) -> None:
        task = {"stop": False, "task": number, "structure": which, "step": _STEP}
        self._queues.send({**task, "sent_ns": time.monotonic_ns()}, structure, worker)


def spread(values: list[float]) -> dict[str, float]:
    """Return the median, and what 5 and 95 of 100 are below."""
    low, median, high = np.percentile(values, (5, 50, 95))
    return {"p5": float(low), "median": float(median), "p95": float(high)}
