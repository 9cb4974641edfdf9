"""The workflow of the pattern `inference-loop`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from thalweg.patterns.coupling import ONE_THREAD
from thalweg.patterns.inference_loop.components import infer, solve
from thalweg.patterns.inference_loop.latency import PARTS, draw_latency, latency_table, round_trips
from thalweg.patterns.inference_loop.options import Options
from thalweg.patterns.recorded_run import recorded_run
from thalweg.patterns.staging import server_for
from thalweg.results import Artifact, RunFolder
from thalweg.workflow import Progress, Workflow


def run(options: Options, folder: Path, progress: Callable[[Progress], None] | None = None) -> RunFolder:
    """Run all solvers beside the model, and say what a request costs."""
    manager = server_for(options.backend, "inference-loop", folder, options.staged)
    with recorded_run("inference-loop", options, folder) as record, manager as server:
        workflow = Workflow("inference-loop", record)
        arguments = {"server_info": server.get_server_info(), "content": options.model_dump()}
        for client in range(options.clients):
            workflow.component(name=f"solver-{client}", args={**arguments, "client": client}, env=ONE_THREAD)(solve)
        workflow.component(name="inference", args=arguments, env=ONE_THREAD)(infer)
        results = workflow.launch(on_progress=progress)
        times = round_trips(record.merge_events())
        record.tables.append(latency_table(times))
        answered = results["inference"]
        trip = times[PARTS[3]]
        record.summary |= {
            "requests": answered["requests"],
            "requests_per_batch": answered["requests"] / answered["batches"],
            "round_trip_median_s": float(np.median(trip)),
            "round_trip_p99_s": float(np.percentile(trip, 99)),
            "share_of_solver_time_waiting": float(
                trip.mean() / (trip.mean() + options.ask_every * options.solver_iteration_s)
            ),
        }
        path = record.path / "latency.png"
        draw_latency(times, path, backend=options.backend)
        record.artifacts.append(Artifact("Latency of requests", path.name, "figure"))
    return record
