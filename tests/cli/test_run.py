"""``thalweg run``: a pattern from the command line, to its end or to its interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from command_line import DEADLINE_S, PROGRAM, descendants, thalweg
from thalweg.results import RunFolder

pytest.importorskip("thalweg.staging", reason="needs the native library: make setup")
SMALL = ["run", "one-to-one", "--scale", "0.002", "--backend", "node-local", "--size", "4KB"]
ROW = {"component", "rank", "events", "iterations", "iteration_mean_s", "iteration_std_s", "bytes", "backend"}


def both_trace(folder: Path) -> bool:
    """Have solver and trainer begun to record events?"""
    return {path.name.partition("-")[0] for path in folder.glob("*.trace") if path.read_bytes()[:6] == b"THWTRC"} >= {
        "solver",
        "trainer",
    }


def test_a_run_prints_its_tables_and_writes_its_rows(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = thalweg(*SMALL, "--folder", "out", "--json", "out.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for words in (
        "Table 2",
        "Table 3",
        "median ms",
        "paper, original",
        "10,108",
        "out/report.html",
        "out/timeline.json",
    ):
        assert words in done.stdout
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert {"solver", "trainer"} <= {row["component"] for row in rows}
    assert all(row.keys() >= ROW for row in rows)
    assert (tmp_path / "out" / "report.html").exists()


def test_an_earlier_run_is_not_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text("{}")
    done = thalweg(*SMALL, "--folder", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "thalweg: error: run one-to-one: out holds an earlier run; give another --folder, or --replace\n"
    )
    assert (tmp_path / "out" / "run.json").read_text() == "{}"


@pytest.mark.parametrize("command", [[*SMALL], [*SMALL, "--replace"], ["demo"]])
def test_a_folder_in_use_is_refused(command: list[str], tmp_path: Path) -> None:
    running = RunFolder(tmp_path / "out")
    before = (tmp_path / "out" / "run.json").read_text()
    done = thalweg(*command, "--folder", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        f"thalweg: error: RunFolder: out is in use by a run of process {os.getpid()}; "
        "wait for its end or give another folder\n"
    )
    assert (tmp_path / "out" / "run.json").read_text() == before
    running.finish()


@pytest.mark.parametrize("command", [[*SMALL], ["demo"]])
@pytest.mark.parametrize(("folder", "why"), [("/proc/foo", "No such file or directory"), ("file", "File exists")])
def test_a_folder_that_cannot_be_made_is_one_clear_message(
    command: list[str], folder: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    done = thalweg(*command, "--folder", folder, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        f"thalweg: error: RunFolder: {folder} cannot hold a run: {why}; give a folder that can be made and written\n"
    )


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_running(end: signal.Signals, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    command = [*PROGRAM, "run", "one-to-one", "--scale", "1", "--backend", "redis", "--folder", "out"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        try:
            while len(descendants(run.pid)) < 3 or not both_trace(tmp_path / "out" / "traces"):
                assert run.poll() is None, run.communicate()
                os.sched_yield()
            started = descendants(run.pid)
            run.send_signal(end)
            _, errors = run.communicate(timeout=DEADLINE_S)
        finally:
            run.kill()
    assert (run.returncode, errors) == (130, "thalweg: interrupted\n")
    assert [pid for pid in started if Path(f"/proc/{pid}").exists()] == []


def test_help_names_the_backends() -> None:
    shown = " ".join(thalweg("run", "one-to-one", "--help").stdout.replace("│", " ").split())
    assert "thalweg, node-local, filesystem, redis" in shown
