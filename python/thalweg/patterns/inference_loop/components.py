"""Solver and model of the pattern `inference-loop`."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg import AI, Simulation
from thalweg.patterns.inference_loop.options import Options
from thalweg.workflow import report_progress

REQUEST = "request/{client}/{number}"
ANSWER = "answer/{key}"
READY = "model/ready"


def solve(server_info: dict[str, Any], content: dict[str, Any], client: int) -> dict[str, Any]:
    """Iterate; every few iterations ask the model what the state tends to, wait for the answer, and follow it."""
    options = Options(**content)
    kernel = {
        "name": "iteration",
        "mini_app_kernel": "MatMulSimple2D",
        "data_size": 64,
        "run_time": options.solver_iteration_s,
    }
    state = np.random.default_rng(options.seed + client).standard_normal((options.cells, options.features), np.float32)
    answer = np.zeros_like(state)
    with Simulation(f"solver-{client}", {"kernels": [kernel]}, server_info, seed=options.seed + client) as solver:
        solver.stage_read(READY, options.patience_s)
        for number in range(options.requests):
            solver.run(options.ask_every)
            key = REQUEST.format(client=client, number=number)
            reply = ANSWER.format(key=key)
            solver.stage_write(key, state)
            solver.store.wait([reply], options.patience_s)
            solver.stage_read(reply, options.patience_s, into=answer)
            solver.store.clean_staged_data(reply)
            state = np.tanh(state + 0.1 * answer)
            report_progress(number + 1, options.requests, "answered")
        return {"iterations": solver.iteration, "state": float(np.abs(state).mean())}


def infer(server_info: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """Answer all requests of all solvers; what is asked at the same time is predicted at once."""
    options = Options(**content)
    model = {
        "type": "mlp",
        "inputs": options.features,
        "outputs": options.features,
        "hidden": [options.hidden, options.hidden],
    }
    patterns = [REQUEST.format(client=client, number="{}") for client in range(options.clients)]
    with AI("inference", {"model": model, "threads": 1}, server_info, seed=options.seed) as ai:
        ai.predict(np.zeros((options.cells, options.features), np.float32))  # the first call sets torch up
        ai.store.stage_write(READY, b"")
        record = ai.serve(
            patterns, ANSWER, num_requests=options.clients * options.requests, timeout_s=options.patience_s
        )
    return {"requests": record.requests, "batches": record.batches}
