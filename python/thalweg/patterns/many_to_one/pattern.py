"""The workflow of the pattern `many-to-one`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from thalweg.patterns.coupling import ONE_THREAD
from thalweg.patterns.many_to_one.components import simulate, train
from thalweg.patterns.many_to_one.options import Options
from thalweg.patterns.recorded_run import recorded_run
from thalweg.patterns.staging import server_for
from thalweg.results import ResultTable, RunFolder, statistics
from thalweg.results.summaries import iteration_times
from thalweg.workflow import Progress, Workflow


def run(options: Options, folder: Path, progress: Callable[[Progress], None] | None = None) -> RunFolder:
    """Run all simulations beside the trainer; compute the paper's training time per iteration."""
    manager = server_for(options.backend, "many-to-one", folder, options.staged)
    with recorded_run("many-to-one", options, folder) as record, manager as server:
        workflow = Workflow("many-to-one", record)
        arguments = {"server_info": server.get_server_info(), "options": options.model_dump()}
        for member in range(options.simulations):
            workflow.component(name=f"simulation-{member}", args={**arguments, "member": member}, env=ONE_THREAD)(
                simulate
            )
        workflow.component(name="trainer", args=arguments, env=ONE_THREAD)(train)
        results = workflow.launch(on_progress=progress)
        _conclude(record, options, results["trainer"])
    return record


def _conclude(record: RunFolder, options: Options, trained: dict[str, float]) -> None:
    events = record.merge_events()
    per_iteration_s = trained["training_s"] / trained["iterations"]
    solvers = [iteration_times(events, f"simulation-{member}") for member in range(options.simulations)]
    rows = {(row["component"], row["kind"]): row for row in statistics(events) if row["kind"] in ("read", "write")}
    reads = rows["trainer", "read"]
    writes = [rows[f"simulation-{member}", "write"] for member in range(options.simulations)]
    write_s = sum(row["total_s"] for row in writes) / sum(row["events"] for row in writes)
    record.tables.append(
        ResultTable(
            "Training time per iteration (the paper's figure 6)",
            ["simulations", "array (bytes)", "configured (s)", "total / iterations (s)", "read (s)", "write (s)"],
            [
                [
                    options.simulations,
                    options.size_bytes,
                    options.trainer_iteration_s,
                    per_iteration_s,
                    reads["total_s"] / reads["events"],
                    write_s,
                ]
            ],
        )
    )
    record.summary |= {
        "time_per_iteration_s": per_iteration_s,
        "training_s": trained["training_s"],
        "trainer_iterations": trained["iterations"],
        "solver_iteration_mean_s": float(np.mean(np.concatenate(solvers))),
        "solver_iteration_std_s": float(np.std(np.concatenate(solvers))),
        "final_loss": trained["final_loss"],
    }
