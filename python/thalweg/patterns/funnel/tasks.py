"""The tasks of the pattern `funnel`: what runs in other processes, and talks through the DataStore."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from thalweg import AI, DataStore, Simulation
from thalweg.patterns.funnel.library import Array, Library
from thalweg.patterns.funnel.options import Options

SCORED = "scored/{round}/{task}"
MODEL = "model/{round}"
PREDICTED = "predicted/{round}/{part}"
_PATIENCE_S = 60.0


@cache
def library(candidates: int, features: int, seed: int) -> Library:
    """Return the library; a process that runs many tasks makes it once."""
    return Library(candidates, features, seed)


def model_config(options: Options) -> dict[str, Any]:
    """Return the configuration of the surrogate."""
    model = {"type": "mlp", "inputs": options.features, "outputs": 1, "hidden": [64, 64]}
    return {"model": model, "learning_rate": 3e-3, "batch_size": 64, "threads": 1, "replay_bytes": 64 << 20}


def simulate(server_info: dict[str, Any], content: dict[str, Any], round_: int, task: int, chosen: Array) -> float:
    """Score candidates, each for the time of a simulation; stage pairs of number and score; return the best score."""
    options = Options(**content)
    run_time = {"distribution": "lognormal", "mean": options.simulation_s, "std": options.simulation_std_s}
    kernel = {"name": "dock", "mini_app_kernel": "MatMulSimple2D", "data_size": 64, "run_time": run_time}
    with Simulation("simulate", {"kernels": [kernel]}, server_info, seed=options.seed + 1000 * round_ + task) as solver:
        solver.run(len(chosen))
        scores = library(options.candidates, options.features, options.seed).scores(chosen)
        solver.stage_write(SCORED.format(round=round_, task=task), np.stack([chosen.astype(np.float32), scores]))
    return float(scores.min())


def train(server_info: dict[str, Any], content: dict[str, Any], round_: int, keys: list[str]) -> float:
    """Train the surrogate on all scores so far, staged under `keys`; stage it; return the last loss."""
    options = Options(**content)
    vectors = library(options.candidates, options.features, options.seed).vectors
    with AI("train", model_config(options), server_info, seed=options.seed) as ai:
        if round_ > 0:
            ai.read_model(MODEL.format(round=round_ - 1))
        for key in keys:
            numbers, scores = ai.store.stage_read(key, _PATIENCE_S)
            ai.replay.add(vectors[numbers.astype(np.int64)], scores[:, None])
        record = ai.train(options.train_iterations, read_every=0)
        ai.stage_model(MODEL.format(round=round_))
    return record.losses[-1]


def infer(server_info: dict[str, Any], content: dict[str, Any], round_: int, part: int) -> int:
    """Predict the scores of one part of the library, stage them, and return how many they are."""
    options = Options(**content)
    vectors = library(options.candidates, options.features, options.seed).vectors
    mine = np.array_split(np.arange(options.candidates), options.inference_tasks)[part]
    with AI("infer", model_config(options), server_info, seed=options.seed) as ai:
        ai.read_model(MODEL.format(round=round_))
        predicted = ai.predict(vectors[mine])[:, 0]
        ai.store.stage_write(PREDICTED.format(round=round_, part=part), predicted)
    return len(mine)


def read_predictions(store: DataStore, options: Options, round_: int) -> Array:
    """Return the predicted scores of the whole library, shape (candidates,)."""
    keys = [PREDICTED.format(round=round_, part=part) for part in range(options.inference_tasks)]
    return np.concatenate([np.array(store.stage_read(key, _PATIENCE_S)) for key in keys])
