"""The workflow of the pattern `navier-stokes`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from thalweg.patterns.navier_stokes.options import Options
from thalweg.patterns.navier_stokes.solver_component import solve
from thalweg.patterns.navier_stokes.trainer_component import train
from thalweg.patterns.recorded_run import recorded_run
from thalweg.patterns.staging import server_for
from thalweg.results import Artifact, ResultTable, RunFolder
from thalweg.workflow import Progress, Workflow


def run(options: Options, folder: Path, progress: Callable[[Progress], None] | None = None) -> RunFolder:
    """Run solver and trainer as processes, draw the figure, and fill the result folder."""
    with (
        recorded_run("navier-stokes", options, folder) as record,
        server_for(options.backend, "navier-stokes", folder) as server,
    ):
        workflow = Workflow("navier-stokes", record)
        shared = {"server_info": server.get_server_info(), "options": options.model_dump()}
        arrays = folder / "fields.npz"
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        workflow.component(name="solver", args=shared, env=one_thread)(solve)
        workflow.component(name="trainer", args={**shared, "arrays": str(arrays)})(train)
        results = workflow.launch(on_progress=progress)
        judged = results["trainer"]
        record.summary |= judged | results["solver"]
        record.summary["error_ratio"] = judged["surrogate_error"] / judged["persistence_error"]
        interval = options.steps * options.time_step
        several = judged["rollout_fields"]
        draw_and_list(record, arrays, interval, judged["persistence_error"])
        record.tables.append(
            ResultTable(
                "Error on unseen flows (mean relative L2)",
                ["prediction over", "surrogate", "predicting no change"],
                [
                    [f"{interval:.2f} time units", judged["surrogate_error"], judged["persistence_error"]],
                    [
                        f"{interval * several:.2f} time units, fed back {several} times",
                        judged["rollout_error"],
                        judged["rollout_persistence_error"],
                    ],
                ],
            )
        )
    return record


def draw_and_list(record: RunFolder, arrays: Path, interval: float, persistence_error: float) -> None:
    """Draw the figure and list it with the arrays it was drawn from."""
    from thalweg.patterns.navier_stokes.figure import draw

    figure = record.path / "surrogate.png"
    draw(arrays, figure, interval=interval, persistence_error=persistence_error)
    record.artifacts.append(Artifact("True field, predicted field, difference and loss", figure.name, "figure"))
    record.artifacts.append(Artifact("The arrays of the figure (NumPy)", arrays.name))
