"""Result folders as a coupled run leaves them, made of invented events."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.results import Artifact, ComponentRecord, ResultTable, RunFolder, SweepFolder

MS = 1_000_000
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def make_run(path: Path, *, name: str | None = None, slower: float = 1.0, iterations: int = 200) -> Path:
    """A solver that writes every tenth iteration and a trainer that reads; all times grow by `slower`."""
    run = RunFolder(
        path,
        name=name,
        pattern="one-to-one",
        backend="thalweg",
        configuration={"scale": 0.05, "model": {"width": slower}},
    )
    random = np.random.default_rng(1)
    with run.tracer("solver") as solver, run.tracer("trainer") as trainer:
        for tracer, kind, kernel, step_ms in (
            (solver, "compute", "MatMulSimple2D", 31.2),
            (trainer, "train", "mlp", 61.0),
        ):
            now = run.start_ns
            tracer.record("init", "start", now, now + 40 * MS)
            now += 40 * MS
            for iteration in range(iterations if tracer is solver else iterations // 2):
                step = int(random.normal(step_ms, step_ms / 20) * MS * slower)
                tracer.record(kind, kernel, now, now + step, iteration=iteration)
                now += step
                if iteration % 10 == 9:
                    moved = "write" if tracer is solver else "read"
                    took = int(random.gamma(4, 0.05) * MS * slower)
                    key = f"field/{iteration}"
                    tracer.record(
                        moved,
                        f"stage_{moved}",
                        now,
                        now + took,
                        key=key,
                        iteration=iteration,
                        size_bytes=1_277_952,
                        backend="thalweg",
                    )
                    now += took
    (path / "fields.png").write_bytes(PIXEL)
    (path / "logs" / "solver.log").write_text("first line\nlast line\n")
    run.components = [
        ComponentRecord("solver", "local", 0, "done", 0, 6.3, "logs/solver.log"),
        ComponentRecord("trainer", "local", 0, "done", 0, 6.2),
    ]
    run.summary = {"surrogate_error": 0.0312, "persistence_error": 0.41, "final_loss": 1.2e-4}
    run.tables = [
        ResultTable(
            "Events (paper, table 2)",
            ["source", "simulation steps", "writes"],
            [["paper", 10108, 203], ["here", 507, 11]],
        )
    ]
    run.artifacts = [Artifact("True, predicted, difference", "fields.png", "figure")]
    run.finish()
    return path


def make_ensemble(path: Path, *, members: int = 8, iterations: int = 20) -> Path:
    """Many simulations that write each iteration, and a trainer that reads."""
    run = RunFolder(path, pattern="many-to-one", backend="thalweg")
    for number in reversed(range(members)):
        with run.tracer(f"simulation-{number}") as tracer:
            for iteration in range(iterations):
                now = run.start_ns + (1 + 20 * iteration + number) * MS
                tracer.record("compute", "step", now, now + 10 * MS, iteration=iteration)
                key = f"ensemble/{number}/{iteration}"
                tracer.record("write", "stage_write", now + 10 * MS, now + 12 * MS, key=key, size_bytes=400_000)
    with run.tracer("trainer") as tracer:
        start = run.start_ns + 20 * (iterations + 1) * MS
        tracer.record("read", "stage_read", start, start + MS, key="ensemble/0/0", size_bytes=400_000)
    run.components = [ComponentRecord(f"simulation-{number}", "local") for number in range(members)]
    run.finish()
    return path


def make_sweep(
    path: Path,
    pattern: str,
    axes: Mapping[str, Sequence[Any]],
    *,
    repeats: int = 1,
    status: str = "done",
    ends: Mapping[int, str] | None = None,
    slower: float = 1.0,
) -> Path:
    """A sweep of invented runs: writing 1 MB takes 1 ms and reading it 0.5 ms, four times that with Redis.

    Repeat n is 10 % slower than n - 1, the trainer's iteration takes 61 ms and one more for each simulation;
    `ends` says how runs (by place) ended otherwise than well, and these have no results.
    """
    sweep = SweepFolder.create(path, pattern, {}, axes, repeats, resume=False)
    common = {"backend": "thalweg", "size_bytes": 1_000_000, "solver_iteration_s": 0.0312, "trainer_iteration_s": 0.061}
    if pattern == "many-to-one":
        common["simulations"] = 1
    for place, entry in enumerate(sweep.runs):
        entry.status = (ends or {}).get(place, "done")
        if entry.status == "pending":
            continue
        configuration = {**common, **{key: value for key, value in entry.point.items() if key != "repeat"}}
        run = RunFolder(path / entry.folder, pattern=pattern, configuration=configuration)
        entry.elapsed_s = 2.0
        if entry.status == "failed":
            entry.error = "trainer: exit status 3"
            (run.logs / "trainer.log").write_text("no space left on device\n")
            run.components = [ComponentRecord("trainer", "local", 0, "failed", 3, 1.0, "logs/trainer.log", entry.error)]
            run.finish("failed")
            continue
        factor = slower * (4 if configuration["backend"] == "redis" else 1) * (1 + 0.1 * (entry.point["repeat"] - 1))
        moving_ns = int(configuration["size_bytes"] * factor)
        with run.tracer("solver") as solver, run.tracer("trainer") as trainer:
            for number in range(5):
                now = run.start_ns + number * 100 * MS
                solver.record("compute", "step", now, now + 31_200_000, iteration=number)
                trainer.record("train", "mlp", now, now + 61 * MS, iteration=number)
                size, backend = configuration["size_bytes"], configuration["backend"]
                solver.record("write", "stage_write", now, now + moving_ns, size_bytes=size, backend=backend)
                trainer.record("read", "stage_read", now, now + moving_ns // 2, size_bytes=size, backend=backend)
        if pattern == "many-to-one":
            run.summary = {"time_per_iteration_s": 0.061 + 0.001 * configuration["simulations"] * factor}
        run.finish()
    sweep.finish(status)
    return path
