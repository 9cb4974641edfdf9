"""The pattern `one-to-one` with several ranks, as a user starts it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("torch")


@pytest.mark.parametrize("backend", ["thalweg", "redis"])
def test_ranks_of_solver_and_trainer_exchange_their_own_arrays(mpi, backend, tmp_path):
    if backend == "redis" and shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    options = ["--ranks", "2", "--backend", backend, "--scale", "0.004", "--size", "40KB", "--folder", "run"]
    done = subprocess.run(
        [sys.executable, "-m", "thalweg.cli", "run", "one-to-one", *options, "--json", "out.json"],
        env=dict(mpi.env),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {(row["component"], row["rank"]): row for row in json.loads((tmp_path / "out.json").read_text())["rows"]}
    assert set(rows) == {("solver", 0), ("solver", 1), ("trainer", 0), ("trainer", 1)}
    assert [rows["trainer", rank]["iterations"] for rank in (0, 1)] == [20, 20]
    assert {row["backend"] for row in rows.values()} == {backend}
    from thalweg.results import RunFolder

    events = RunFolder.open(tmp_path / "run").events().to_pylist()
    for rank in (0, 1):
        read = [e["key"] for e in events if e["kind"] == "read" and e["rank"] == rank and e["component"] == "trainer"]
        assert read
        assert all(key.startswith(f"snapshot/{rank}/") for key in read)
