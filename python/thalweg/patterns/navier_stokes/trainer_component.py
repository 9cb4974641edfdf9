"""The component that learns: trains the surrogate while fields come in, then judges it on unseen flows."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from thalweg import AI
from thalweg.patterns.navier_stokes.options import Options
from thalweg.patterns.navier_stokes.solver_component import FIELD, READ, UNSEEN
from thalweg.workflow import report_progress

Array = np.ndarray[Any, np.dtype[Any]]
_WARM_UP = 0.05
_REPLAY_BYTES = 512 << 20
_PATIENCE_S = 120.0


def train(server_info: dict[str, Any], options: dict[str, Any], arrays: str) -> dict[str, Any]:
    """Train on what the solver stages, tell it to stop, and judge the surrogate.

    Parameters
    ----------
    arrays : str
        File (.npz) for the loss curve and the fields of the figure.

    Returns
    -------
    dict
        surrogate_error, persistence_error (mean relative L2 over all pairs of the unseen flows), rollout errors, and
        counts.
    """
    chosen = Options(**options)
    pairs = _Pairs(chosen)
    with AI("surrogate", _config(chosen), server_info, seed=chosen.seed, to_samples=pairs) as ai:
        pairs.ai = ai
        unseen = ai.store.stage_read(UNSEEN, _PATIENCE_S)
        ai.follow(FIELD, clean=True)
        start = time.monotonic()

        def on_iteration(number: int, loss: float) -> None:
            elapsed = time.monotonic() - start
            share = (number + 1) / chosen.iterations if chosen.iterations else elapsed / chosen.train_s
            ai.set_learning_rate(chosen.learning_rate * _schedule(share))
            done, total = (
                (number + 1, chosen.iterations) if chosen.iterations else (min(elapsed, chosen.train_s), chosen.train_s)
            )
            report_progress(done, total, f"loss {loss:.4f}, {ai.replay.added} pairs")

        record = ai.train(
            chosen.iterations,
            None if chosen.iterations else chosen.train_s,
            read_every=chosen.read_every,
            first_data_timeout_s=_PATIENCE_S,
            on_iteration=on_iteration,
        )
        ai.stop_simulation()
        judged = _judge(ai, unseen, pairs.scale)
        shown = judged.pop("shown")
        np.savez_compressed(Path(arrays), loss=np.array(record.losses), **shown)
        judged |= {
            "iterations": record.iterations,
            "train_s": record.elapsed_s,
            "final_loss": float(np.mean(record.losses[-20:])),
            "fields_read": record.values_read,
            "pairs_seen": ai.replay.added,
            "parameters": sum(entry.numel() for entry in ai.model.parameters()),
        }
    return judged


class _Pairs:
    """Makes pairs (field, the flow's next field) of fields that follow each other, scaled to about unit size."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._last: Array | None = None
        self.scale = 1.0
        self.ai: AI | None = None

    def __call__(self, key: str, fields: Array) -> tuple[Array, Array]:
        number = int(key.rpartition("/")[2])
        assert self.ai is not None
        self.ai.store.stage_write(READ.format(number), b"")
        if number == 0:
            self.scale = float(np.sqrt((fields**2).mean()))
        scaled = (fields / self.scale)[:, np.newaxis]
        before, self._last = self._last, scaled
        if number % self._options.fields_per_flow == 0 or before is None:
            return scaled[:0], scaled[:0]
        # the equations keep their form when x is mirrored and the vorticity changes its sign
        inputs = np.concatenate([before, -before[..., ::-1]])
        return inputs, np.concatenate([scaled, -scaled[..., ::-1]])


def _config(options: Options) -> dict[str, Any]:
    model: dict[str, Any] = {"type": options.model, "width": options.width, "layers": options.layers, "residual": True}
    if options.model == "fno":
        model["modes"] = min(options.modes, options.grid // 2)

    return {
        "model": model,
        "loss": "relative_l2",
        "learning_rate": options.learning_rate,
        "batch_size": options.batch_size,
        "replay_bytes": _REPLAY_BYTES,
        "threads": options.threads,
    }


def _schedule(share: float) -> float:
    if share < _WARM_UP:
        return 0.1 + 0.9 * share / _WARM_UP
    return 0.002 + 0.998 * (1 + math.cos(math.pi * min(1.0, (share - _WARM_UP) / (1 - _WARM_UP)))) / 2


def _relative(a: Array, b: Array) -> Array:
    """Return |a - b| / |b| of each field, over the last two axes."""
    return np.asarray(np.linalg.norm(a - b, axis=(-2, -1)) / np.linalg.norm(b, axis=(-2, -1)))


def _judge(ai: AI, unseen: Array, scale: float) -> dict[str, Any]:
    """Compare with what the solver found; `unseen` has shape (fields, flows, n, n)."""
    before, after = unseen[:-1], unseen[1:]
    flat = before.reshape(-1, 1, *before.shape[2:]) / scale
    predicted = ai.predict(flat).reshape(before.shape) * scale
    errors = _relative(predicted, after)
    several = min(4, len(unseen) - 1)
    state = unseen[0][:, np.newaxis] / scale
    for _ in range(several):
        state = ai.predict(state)
    rolled = _relative(state[:, 0] * scale, unseen[several])
    middle = len(before) // 2
    return {
        "surrogate_error": float(errors.mean()),
        "surrogate_error_worst": float(errors.max()),
        "persistence_error": float(_relative(before, after).mean()),
        "rollout_fields": several,
        "rollout_error": float(rolled.mean()),
        "rollout_persistence_error": float(_relative(unseen[0], unseen[several]).mean()),
        "shown": {
            "before": before[middle, 0],
            "true": after[middle, 0],
            "predicted": predicted[middle, 0],
            "shown_error": errors[middle, 0],
        },
    }
