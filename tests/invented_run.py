"""Result folders as a coupled run leaves them, made of invented events."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np

from thalweg.results import Artifact, ComponentRecord, ResultTable, RunFolder

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
