"""A wrong file or command is refused before anything runs: the whole message, from the tables beside this file."""

from __future__ import annotations

import shlex
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from command_line import thalweg
from refused import Refusal, table
from thalweg import AI, ServerManager, Simulation, Workflow
from thalweg.errors import ThalwegError

STEPS = "NUMBER = 7\n\ndef nothing(): pass\n\ndef simulate(steps, server): pass\n"


@pytest.fixture
def taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Yield a port that is taken; the test runs in a folder of its own, and starts nothing that stays."""
    monkeypatch.chdir(tmp_path)
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]
    assert [child for child in psutil.Process().children(recursive=True) if child.pid not in before] == []


@pytest.mark.parametrize("refusal", table("simulation"))
def test_simulation(refusal: Refusal, taken: int, tmp_path: Path) -> None:
    refusal = refusal.written(tmp_path, taken)
    with pytest.raises(ThalwegError) as told:
        Simulation("solver", refusal.file)
    assert str(told.value) == refusal.message


@pytest.mark.parametrize("refusal", table("ai"))
def test_ai(refusal: Refusal, taken: int, tmp_path: Path) -> None:
    refusal = refusal.written(tmp_path, taken)
    with pytest.raises(ThalwegError) as told:
        AI("trainer", refusal.file)
    assert str(told.value) == refusal.message


@pytest.mark.parametrize("refusal", table("server"))
def test_server(refusal: Refusal, taken: int, tmp_path: Path) -> None:
    refusal = refusal.written(tmp_path, taken)
    with pytest.raises(ThalwegError) as told, ServerManager("staging", refusal.file):
        pass
    assert str(told.value) == refusal.message


@pytest.mark.parametrize("refusal", table("workflow"))
def test_workflow(refusal: Refusal, taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = refusal.written(tmp_path, taken)
    (tmp_path / "steps.py").write_text(STEPS)
    monkeypatch.setattr(sys, "path", [*sys.path])
    try:
        with pytest.raises(ThalwegError) as told:
            Workflow.from_file(refusal.file, folder="run").launch(timeout_s=60)
    finally:
        sys.modules.pop("steps", None)
    assert str(told.value) == refusal.message


@pytest.mark.parametrize("refusal", table("command_line"))
def test_command_line(refusal: Refusal, taken: int, tmp_path: Path) -> None:
    refusal = refusal.written(tmp_path, taken)
    before = sorted(tmp_path.rglob("*"))
    done = thalweg(*shlex.split(refusal.what)[1:], cwd=tmp_path)
    assert (done.returncode, done.stderr, done.stdout) == (2, f"thalweg: error: {refusal.message}\n", "")
    assert sorted(tmp_path.rglob("*")) == before
