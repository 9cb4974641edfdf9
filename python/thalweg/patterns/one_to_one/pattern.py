"""The workflow of the pattern `one-to-one`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from thalweg.patterns.coupling import ONE_THREAD
from thalweg.patterns.one_to_one import figure, tables
from thalweg.patterns.one_to_one.components import solve, train
from thalweg.patterns.one_to_one.options import Options
from thalweg.patterns.recorded_run import recorded_run
from thalweg.patterns.staging import server_for
from thalweg.results import Artifact, RunFolder
from thalweg.results.summaries import iteration_times
from thalweg.workflow import Progress, Workflow


def run(options: Options, folder: Path, progress: Callable[[Progress], None] | None = None) -> RunFolder:
    """Run solver and trainer side by side, and compute the paper's tables."""
    manager = server_for(options.backend, "one-to-one", folder, options.staged)
    with recorded_run("one-to-one", options, folder) as record, manager as server:
        workflow = Workflow("one-to-one", record)
        arguments = {"server_info": server.get_server_info(), "options": options.model_dump()}
        several: dict[str, Any] = {"type": "remote", "processes_per_node": options.ranks} if options.ranks > 1 else {}
        workflow.component(name="solver", args=arguments, env=ONE_THREAD, **several)(solve)
        workflow.component(name="trainer", args=arguments, env=ONE_THREAD, **several)(train)
        results = workflow.launch(on_progress=progress)
        _conclude(record, options)
        trained = results["trainer"][0] if options.ranks > 1 else results["trainer"]
        record.summary |= {
            "final_loss": trained["final_loss"],
            "training_s": trained["training_s"],
        }
    return record


def _conclude(record: RunFolder, options: Options) -> None:
    events = record.merge_events()
    solver = iteration_times(events, "solver")
    record.tables += [tables.event_table(events, options), tables.time_table(events, options)]
    record.summary |= {
        "solver_iterations": len(solver),
        "solver_iteration_mean_s": float(solver.mean()),
        "solver_iteration_std_s": float(solver.std()),
        "solver_mean_deviation": float(solver.mean() / options.solver_iteration_s - 1),
    }
    if options.distribution != "constant" and options.solver_std_s > 0:
        record.summary["solver_std_deviation"] = float(solver.std() / options.solver_std_s - 1)
    path = record.path / "timeline.png"
    figure.draw_timeline(events, path, backend=options.backend)
    record.artifacts.append(Artifact("Timeline of solver and trainer (the paper's figure 2)", path.name, "figure"))
