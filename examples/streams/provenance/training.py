"""A producer: it trains a small model with parameters of its own, captures every step, flushes every so many."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import psutil

from provenance.sinks import SYSTEMS

#: Sizes of the activations that a heavy event carries, in turn: 100 KB to 1 MB.
HEAVY_BYTES = (100_000, 250_000, 500_000, 1_000_000)
_SAMPLES, _FEATURES = 128, 32


def rate(number: int) -> float:
    """Return the learning rate that a producer tries."""
    return 0.9 * 0.85**number


def losses(number: int, steps: int) -> Iterator[float]:
    """Fit a linear model by gradient descent; yield the loss after each step."""
    random = np.random.default_rng(0)  # the same data for all
    inputs = random.standard_normal((_SAMPLES, _FEATURES))
    truth = inputs @ random.standard_normal(_FEATURES)
    weights = np.zeros(_FEATURES)
    for _ in range(steps):
        weights -= rate(number) * inputs.T @ (inputs @ weights - truth) / _SAMPLES
        yield float(np.mean((inputs @ weights - truth) ** 2))


def train(
    system: str, place: dict[str, Any], number: int, profile: str, batch: int, steps: int, step_s: float
) -> dict[str, Any]:
    """Train; return the seconds in all and those of flushing, and how many events that were.

    A step's computation on this processor is short; for the rest of `step_s` the process sleeps, as one does that waits
    for an accelerator.
    """
    sink = SYSTEMS[system](place, number)
    process = psutil.Process()
    activations = np.random.default_rng(number).random(max(HEAVY_BYTES) // 4, np.float32)
    buffer: list[dict[str, Any]] = []
    events, flush_s, data_bytes = 0, 0.0, 0
    begin = time.monotonic()
    try:
        for step, loss in enumerate(losses(number, steps)):
            unit = {"producer": number, "step": step, "loss": loss, "rate": rate(number), "at_s": time.monotonic()}
            if profile == "heavy":
                used, memory = process.cpu_times(), process.memory_info()
                unit |= {"user_s": used.user, "system_s": used.system, "resident_bytes": memory.rss}
            buffer.append(unit)
            time.sleep(max(0.0, begin + (step + 1) * step_s - time.monotonic()))
            if len(buffer) == batch or step == steps - 1:
                size = HEAVY_BYTES[events % len(HEAVY_BYTES)] // 4
                data = activations[:size] if profile == "heavy" else None
                before = time.monotonic()
                sink.flush(buffer, data)
                flush_s += time.monotonic() - before
                buffer, events = [], events + 1
                data_bytes += 0 if data is None else data.nbytes
        total_s = time.monotonic() - begin
    finally:
        sink.close()
    return {"total_s": total_s, "flush_s": flush_s, "events": events, "data_bytes": data_bytes}
