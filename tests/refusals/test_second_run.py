"""A second run never sees what the first one staged, whatever the backend and however the first one ended."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from pathlib import Path

import pytest

from command_line import DEADLINE_S
from left_behind import nothing_left
from refused import start
from thalweg.datastore.registry import BACKENDS

STEPS = """
import sys, time
from pathlib import Path
from thalweg import DataStore

def first(server, how):
    with DataStore("first", server) as store:
        store.stage_write("field/0", bytes(1000))
        assert store.poll_staged_data("field/0")
    Path("up").touch()
    if how == "FAILS":
        raise ValueError("no more")
    if how == "SIGKILL":
        time.sleep(1000)

def second(server):
    with DataStore("second", server) as store:
        assert not store.poll_staged_data("field/0")
        store.stage_write("field/0", b"mine")
        assert bytes(store.stage_read("field/0", 0)) == b"mine"
"""
FILE = """
[[servers]]
name = "staging"
{server}
[[components]]
name = "{function}"
function = "steps:{function}"
args = {{ server = {{ server = "staging" }}{how} }}
"""


def servers(folder: Path) -> dict[str, str]:
    """Return the same server for both runs, as far as its backend lets it be named: path or port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    return {
        "thalweg": 'type = "thalweg"',
        "node-local": f'type = "node-local"\npath = "{folder}"',
        "filesystem": f'type = "filesystem"\npath = "{folder}"',
        "redis": f'type = "redis"\nport = {port}',
        "dragon": 'type = "dragon"\nmemory_limit_bytes = 268435456',
    }


@pytest.mark.parametrize("how", ["ENDS", "FAILS", "SIGKILL"])
@pytest.mark.parametrize("backend", ["thalweg", "node-local", "filesystem", "redis", "dragon"])
def test_a_second_run_starts_empty(backend: str, how: str, tmp_path: Path) -> None:
    missing = BACKENDS[backend].available()
    if backend == "redis" and shutil.which("redis-server") is None:
        missing = "no redis-server"
    if missing is not None:
        pytest.skip(missing)
    (tmp_path / "shared").mkdir()
    (tmp_path / "steps.py").write_text(STEPS)
    server = servers(tmp_path / "shared")[backend]
    with nothing_left(tmp_path / "shared") as mark:
        how_given = f', how = "{how}"'
        (tmp_path / "workflow.toml").write_text(FILE.format(server=server, function="first", how=how_given))
        run = start(tmp_path, mark)
        while not (tmp_path / "up").exists() and run.poll() is None:
            os.sched_yield()
        if how == "SIGKILL":
            run.send_signal(signal.SIGKILL)
        _, errors = run.communicate(timeout=DEADLINE_S)
        assert run.returncode == {"ENDS": 0, "FAILS": 1, "SIGKILL": -9}[how], errors
        (tmp_path / "workflow.toml").write_text(FILE.format(server=server, function="second", how=""))
        run = start(tmp_path, mark, "--replace")
        output, errors = run.communicate(timeout=DEADLINE_S)
        assert (run.returncode, errors) == (0, ""), output
