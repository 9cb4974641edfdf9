"""The workflow of the pattern `funnel`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from thalweg.patterns.coupling import ONE_THREAD
from thalweg.patterns.funnel.figure import draw_search
from thalweg.patterns.funnel.options import Options
from thalweg.patterns.funnel.steering import steer
from thalweg.patterns.recorded_run import recorded_run
from thalweg.patterns.staging import server_for
from thalweg.results import Artifact, ResultTable, RunFolder
from thalweg.workflow import Progress, Workflow


def run(options: Options, folder: Path, progress: Callable[[Progress], None] | None = None) -> RunFolder:
    """Run the rounds of simulate, train, infer, sort and resubmit, and say what they found."""
    with recorded_run("funnel", options, folder) as record, server_for(options.backend, "funnel", folder) as server:
        workflow = Workflow("funnel", record, task_processes=options.processes)
        arguments = {"server_info": server.get_server_info(), "content": options.model_dump()}
        workflow.component(name="steer", args=arguments, env=ONE_THREAD)(steer)
        rounds = workflow.launch(on_progress=progress)["steer"]
        record.merge_events()
        columns = ["simulated", "best", "found", "of", "by_chance", "error", "simulate_s", "train_s", "infer_s"]
        titles = ["simulated", "best score", "found", "of the best", "by chance", "surrogate error / std"]
        titles += ["simulate (s)", "train (s)", "infer and sort (s)"]
        rows = [[number + 1, *(entry[column] for column in columns)] for number, entry in enumerate(rounds)]
        record.tables.append(ResultTable("Rounds", ["round", *titles], rows))
        last = rounds[-1]
        record.summary |= {
            "best_score": last["best"],
            "found_of_best": last["found"],
            "enrichment": last["found"] / last["by_chance"],
            "simulated_share": last["simulated"] / options.candidates,
        }
        path = record.path / "search.png"
        draw_search(rounds, path)
        record.artifacts.append(Artifact("What was found, by simulations made", path.name, "figure"))
    return record
