"""A component that fails is told in full by `thalweg run`, and leaves nothing behind: from failures.toml."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import DEADLINE_S
from left_behind import nothing_left
from refused import Refusal, start, table
from thalweg import ServerManager

NAMESPACE = re.compile(r"(?<=thalweg-)[\w-]+-[0-9a-f]{12}")
RUNNING = """
[[servers]]
name = "files"
type = "node-local"
path = "shm"
[[servers]]
name = "staging"
type = "redis"
[[components]]
name = "function"
function = "failing:sleeps"
[[components]]
name = "program"
command = ["sh", "-c", "sleep 1000 & touch up; sleep 1000"]
"""

REPORT = "report    run/report.html\n"


@pytest.fixture
def places(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Yield what the words of the table stand for; the file system of 4 MiB is mounted and unmounted."""
    (tmp_path / "disk").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    yield {"PORT": port, "DISK": str(tmp_path / "disk")}
    subprocess.run(["umount", "--lazy", str(tmp_path / "disk")], check=False, stderr=subprocess.DEVNULL)


def told(expected: str) -> re.Pattern[str]:
    """Return what matches the message; a line of ... matches any lines."""
    return re.compile(
        "".join(r"(?:.*\n)*" if line.strip() == "..." else re.escape(line + "\n") for line in expected.splitlines())
    )


@pytest.mark.parametrize("failure", table("failures"))
def test_a_failure(failure: Refusal, tmp_path: Path, places: dict[str, str]) -> None:
    file, message = failure.what, failure.message
    if "DISK" in file:
        mounted = ["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", places["DISK"]]
        if os.getuid() != 0 or subprocess.run(mounted, check=False, capture_output=True).returncode != 0:
            pytest.skip("a small file system cannot be mounted here")
    for word, meaning in places.items():
        file, message = file.replace(word, meaning), message.replace(word, meaning)
    (tmp_path / "workflow.toml").write_text(file)
    with nothing_left(tmp_path / "disk") as mark:
        run = start(tmp_path, mark, *failure.options)
        output, errors = run.communicate(timeout=DEADLINE_S)
        assert (run.returncode, output) == (1, REPORT)
    errors = NAMESPACE.sub("NAMESPACE", errors)
    assert told(f"thalweg: error: {message}").fullmatch(errors), errors


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda end: end.name)
def test_an_end_from_outside(end: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "workflow.toml").write_text(RUNNING)
    (tmp_path / "shm").mkdir()
    with nothing_left(*(() if end == signal.SIGKILL else (tmp_path / "shm",))) as mark:
        run = start(tmp_path, mark)
        while not (tmp_path / "up").exists():
            assert run.poll() is None, run.communicate()
            os.sched_yield()
        run.send_signal(end)
        output, errors = run.communicate(timeout=DEADLINE_S)
    ended = (-9, "", "") if end == signal.SIGKILL else (130, REPORT, "thalweg: interrupted\n")
    assert (run.returncode, output, errors) == ended
    if end == signal.SIGKILL:  # nobody could remove the namespace: the next start does
        (left,) = (tmp_path / "shm").iterdir()
        with ServerManager("next", {"type": "node-local", "path": str(tmp_path / "shm")}):
            assert not left.exists()
