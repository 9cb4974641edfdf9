"""The component that steers the funnel: it submits tasks, sorts what they predict, and resubmits the best."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from thalweg import DataStore
from thalweg.patterns.funnel.options import Options
from thalweg.patterns.funnel.tasks import MODEL, PREDICTED, SCORED, infer, library, read_predictions, simulate, train
from thalweg.workflow import Tasks, report_progress

_BEST_SHARE = 0.01


def steer(server_info: dict[str, Any], content: dict[str, Any]) -> list[dict[str, float]]:
    """Run all rounds; return for each what was found and how long its parts took."""
    options = Options(**content)
    candidates = library(options.candidates, options.features, options.seed)
    best = set(candidates.best(_BEST_SHARE).tolist())
    generator = np.random.default_rng(options.seed)
    simulations, trainings, inferences = (
        Tasks(name, retries=options.retries) for name in ("simulate", "train", "infer")
    )
    tried = np.zeros(options.candidates, dtype=bool)
    chosen = generator.choice(options.candidates, options.per_round, replace=False)
    predicted: Any = None
    keys: list[str] = []
    rounds: list[dict[str, float]] = []
    best_score = np.inf
    with DataStore("steer", server_info) as store:
        for round_ in range(options.rounds):
            start = time.monotonic()
            parts = np.array_split(chosen, -(-len(chosen) // options.batch))
            scoring = [
                simulations.submit(simulate, server_info, content, round_, task, part)
                for task, part in enumerate(parts)
            ]
            best_score = min(best_score, *(future.result() for future in scoring))
            simulated = time.monotonic()
            tried[chosen] = True
            keys += [SCORED.format(round=round_, task=task) for task in range(len(parts))]
            error = _error(candidates.scores(chosen), predicted[chosen] if predicted is not None else None)
            loss = trainings.submit(train, server_info, content, round_, keys).result()
            trained = time.monotonic()
            predicting = [
                inferences.submit(infer, server_info, content, round_, part) for part in range(options.inference_tasks)
            ]
            for future in predicting:
                future.result()
            predicted = read_predictions(store, options, round_)
            for part in range(options.inference_tasks):
                store.clean_staged_data(PREDICTED.format(round=round_, part=part))
            if round_ > 0:
                store.clean_staged_data(MODEL.format(round=round_ - 1))
            chosen = _next(predicted, tried, options, generator)
            ended = time.monotonic()
            rounds.append(
                {
                    "simulated": int(tried.sum()),
                    "best": float(best_score),
                    "found": len(best & set(np.flatnonzero(tried).tolist())),
                    "of": len(best),
                    "by_chance": len(best) * tried.sum() / options.candidates,
                    "error": error,
                    "loss": loss,
                    "simulate_s": simulated - start,
                    "train_s": trained - simulated,
                    "infer_s": ended - trained,
                }
            )
            report_progress(round_ + 1, options.rounds, f"{rounds[-1]['found']} of {len(best)} best found")
    return rounds


def _next(predicted: Any, tried: Any, options: Options, generator: np.random.Generator) -> Any:
    """Sort by predicted score; take the best that were not tried, and some at random."""
    order = np.argsort(predicted)
    order = order[~tried[order]]
    explored = round(options.explore * options.per_round)
    first = order[: options.per_round - explored]
    rest = order[options.per_round - explored :]
    return np.concatenate([first, generator.choice(rest, min(explored, len(rest)), replace=False)])


def _error(true: Any, predicted: Any) -> float:
    """Root mean square error of the surrogate's scores for what was then simulated, by their standard deviation."""
    if predicted is None:
        return float("nan")
    return float(np.sqrt(np.mean((true - predicted) ** 2)) / (np.std(true) or 1.0))
