"""A program of the workload language sends, as real MPI processes, what the simulator counts for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from source_tree import ROOT

PROGRAMS = ROOT / "examples/programs"
EVERYTHING = """
n is "size" and comes from "--size" or "-s" with default 1000.
All tasks t asynchronously send 2 n*(t+1) byte messages to task (t+1) mod num_tasks then all tasks await completion.
Task 0 multicasts an n word message to all other tasks.
Task 1 multicasts an n word message to tasks t such that t is odd.
All tasks reduce n doublewords to task 1.
Tasks t such that t < 3 reduce n doublewords.
All tasks reduce n integers to all tasks.
All tasks synchronize then tasks t such that t > 0 synchronize.
All tasks backend execute "MPI_Allgather(a, " and n and ", MPI_BYTE, b, " and n and ", MPI_BYTE, MPI_COMM_WORLD)".
All tasks backend execute "MPI_Alltoall(a, " and n and ", MPI_BYTE, b, " and n and ", MPI_BYTE, MPI_COMM_WORLD)".
All tasks t WRITE n pages to "state" at t*n pages then all tasks SYNC "state" then all tasks CLOSE "state".
All tasks t READ n pages from "state" at t*n pages.
Task 0 sends a 1 byte message to unsuspecting task 1 then task 1 receives a 1 byte message from task 0.
Task 0 logs msgs_sent as "sent" and bytes_sent as "bytes".
"""


def command(mpi: Any, ranks: int, *words: str) -> list[str]:
    oversubscribe = ["--oversubscribe"] if mpi.name == "openmpi" else []
    launcher = ["--", mpi.mpirun, *oversubscribe, "-n", str(ranks)]
    return [sys.executable, "-m", "thalweg.cli", "sim", "exec", *words, *launcher]


def execute(mpi: Any, ranks: int, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(mpi, ranks, *words),
        env=dict(mpi.env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )


def counted(done: subprocess.CompletedProcess[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    return {row["operation"]: row for row in rows if "operation" in row}, [row for row in rows if "rank" in row]


@pytest.mark.parametrize("collectives", ["mpi", "messages"])
def test_real_counts_are_the_simulated_ones(mpi: Any, collectives: str, tmp_path: Path) -> None:
    (tmp_path / "all.ncptl").write_text(EVERYTHING)
    words = [str(tmp_path / "all.ncptl"), "--size", "500", "--collectives", collectives, "--json", "-"]
    kinds, ranks = counted(execute(mpi, 4, *words, "--keep", str(tmp_path / "files")))
    assert all(row["same"] for row in kinds.values())
    assert len(kinds) == 16
    assert kinds["isend"]["bytes"] == 2 * 500 * (1 + 2 + 3 + 4)
    if collectives == "mpi":
        assert [row["messages"] for row in ranks] == [3, 2, 2, 2]
    else:
        assert kinds["messages"]["count"] == sum(row["messages"] for row in ranks) > 60
    assert (tmp_path / "files/state").stat().st_size == 4 * 500 * 4096


@pytest.mark.parametrize("collectives", ["mpi", "messages"])
def test_a_loop_over_a_time_repeats_equally_often_on_all_ranks(mpi: Any, collectives: str, tmp_path: Path) -> None:
    timed = tmp_path / "timed.ncptl"
    timed.write_text("for 40 milliseconds all tasks t send a 100 byte message to task (t+1) mod num_tasks\n")
    kinds, _ = counted(execute(mpi, 3, str(timed), "--collectives", collectives, "--json", "-"))
    assert all(row["same"] for row in kinds.values())
    laps, rest = divmod(kinds["send"]["count"], 3)
    assert laps > 0 and rest == 0
    assert kinds["barrier"]["count"] == kinds["bcast"]["count"] == 3 * (laps + 1)


def test_figure_6_runs_for_real(mpi: Any) -> None:
    words = ["--reps", "2", "--msgsize", "1K", "--sample=256K", "--compute", "5"]
    kinds, ranks = counted(execute(mpi, 4, str(PROGRAMS / "figure6.ncptl"), *words, "--json", "-"))
    assert {kind: (row["count"], row["bytes"]) for kind, row in kinds.items()} == {
        "bcast": (8, 8 * 4 * 4096),
        "read": (8, 8 * (256 << 10)),
        "compute": (8, 0),
        "allreduce": (8, 8 * 4096),
        "messages": (0, 0),
    }
    assert all(row["compute_s"] >= 0.01 for row in ranks)


def test_a_program_that_waits_for_ever_is_stopped_and_leaves_nothing(mpi: Any, tmp_path: Path) -> None:
    stuck = tmp_path / "stuck.ncptl"
    stuck.write_text("task 0 receives a 1 byte message from task 1\n")
    env_temp = tmp_path / "temporary"
    env_temp.mkdir()
    done = subprocess.run(
        command(mpi, 2, str(stuck), "--timeout", "8"),
        env={**mpi.env, "TMPDIR": str(env_temp)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "not done in 8 s: rank 0 waits for 1 B from rank 1; rank 1 has ended" in done.stderr
    assert [path.name for path in env_temp.iterdir() if path.name.startswith("thalweg-exec-")] == []
    assert working(str(env_temp)) == []


def test_an_interrupt_ends_all_ranks(mpi: Any, tmp_path: Path) -> None:
    slow = tmp_path / "slow.ncptl"
    slow.write_text("all tasks synchronize then all tasks WRITE 1 then all tasks sleep for 100 seconds\n")
    kept = tmp_path / "files"
    env = {**mpi.env, "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(
        command(mpi, 2, str(slow), "--keep", str(kept)),
        env=env,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not (kept / "application").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert (kept / "application").exists()
        os.kill(running.pid, signal.SIGINT)
        _, complaint = running.communicate(timeout=60)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 130
    assert "interrupted" in complaint
    assert working(str(tmp_path)) == []


def test_what_goes_wrong_in_a_rank_is_told(mpi: Any, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.ncptl"
    wrong.write_text("all tasks synchronize then task 1 computes for 1/(num_tasks-3) seconds\n")
    done = execute(mpi, 3, str(wrong))
    assert done.returncode == 1
    assert "rank 1: workload program: division by zero" in done.stderr
    done = execute(mpi, 2, str(wrong), "--reps", "3")
    assert "has no parameter --reps; the program has none" in done.stderr


def working(folder: str) -> list[int]:
    """Workers that are left of a job in a folder; those that are about to end may do so."""
    deadline = time.monotonic() + 20
    while True:
        left = [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if any(word.startswith(folder) and word.endswith("job.json") for word in process.info["cmdline"] or [])
        ]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.1)
