"""A Dragon run-time is started, answers, fills up, fails and ends as other servers do."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest

from thalweg import DataStore, ServerManager
from thalweg.datastore.dragon import DragonBackend
from thalweg.errors import ConfigError, FullError, MissingLibraryError, ServerGoneError
from thalweg.servers import directories, dragon

needs_dragon = pytest.mark.skipif(importlib.util.find_spec("dragon") is None, reason="dragonhpc is not installed")
PATIENCE_S = 60.0


def processes_of(group):
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (ProcessLookupError, psutil.Error):
            pass
    return found


def wait_gone(group, segments):
    until = time.monotonic() + PATIENCE_S
    while (left := processes_of(group)) or any(segment.exists() for segment in segments):
        assert time.monotonic() < until, f"left: processes {left}, segments {[s for s in segments if s.exists()]}"
        threading.Event().wait(0.05)


@needs_dragon
def test_a_dragon_server_leaves_no_process_no_segment_and_no_file():
    server = ServerManager("s", {"type": "dragon", "memory_limit_bytes": 64 << 20})
    with server, DataStore("d", server.get_server_info()) as store:
        group, segments = server._server._launcher.pid, set(server._server._segments)
        namespace = server._server._directory.root
        assert len(processes_of(group)) > 3
        assert len([segment for segment in segments if segment.exists()]) > 3
        assert namespace.is_dir()
        store.stage_write("a", np.arange(10))
        with pytest.raises(FullError, match=r"^stage_write: key 'f/\d': \d+ bytes: the Dragon dictionary has reached"):
            for number in range(10):
                store.stage_write(f"f/{number}", np.full(2 << 20, number))
        assert number == 3
        assert [store.stage_read(f"f/{n}", 0).min() for n in range(number)] == [0, 1, 2]
        assert store.clean_staged_data("f/0")
        store.stage_write("f/3", np.full(2 << 20, 3))
        assert store.stage_read("f/3", 0).min() == 3
        assert store.stage_read("a", 0).tolist() == list(range(10))
    assert processes_of(group) == []
    assert not any(segment.exists() for segment in segments)
    assert not namespace.exists()


@needs_dragon
def test_two_dragon_servers_do_not_see_each_others_data():
    with (
        ServerManager("s", "dragon") as one,
        ServerManager("s", "dragon") as two,
        DataStore("d", one.get_server_info()) as first,
        DataStore("d", two.get_server_info()) as second,
    ):
        first.stage_write("a", b"1")
        assert not second.poll_staged_data("a")
        second.stage_write("a", b"2")
        assert bytes(first.stage_read("a", 0)) == b"1"


@needs_dragon
@pytest.mark.parametrize("victim", ["starter", "run-time"])
def test_whoever_is_killed_nothing_is_left_and_a_blocked_read_ends(victim, tmp_path):
    script = (
        "import json, sys; from pathlib import Path; from thalweg import ServerManager\n"
        "import thalweg.servers.dragon as module; module.default_base = lambda: Path(sys.argv[1])\n"
        "server = ServerManager('s', 'dragon'); server.start_server(); inner = server._server\n"
        "facts = [server.get_server_info(), inner._launcher.pid, list(map(str, inner._segments))]\n"
        "print(json.dumps(facts), flush=True)\n"
        "sys.stdin.readline(); server.stop_server()\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    info, group, segments = json.loads(starter.stdout.readline())
    with DataStore("d", info) as store, ThreadPoolExecutor(1) as pool:
        store.stage_write("a", b"1")
        reading = pool.submit(store.stage_read, "never", 10 * PATIENCE_S)
        if victim == "starter":
            starter.kill()
        else:
            os.killpg(group, signal.SIGKILL)
        with pytest.raises(
            ServerGoneError, match=rf"^stage_read: key 'never': .*|^wait: the Dragon dictionary at {info['address']}"
        ):
            reading.result(PATIENCE_S)
        with pytest.raises(ServerGoneError, match=f"the Dragon dictionary at {info['address']} does not answer"):
            store.poll_staged_data("a")
    starter.communicate("\n" if victim == "run-time" else None)
    wait_gone(group, [Path(segment) for segment in segments])
    directories.Namespace(tmp_path, "next", 0).remove()
    assert list(tmp_path.iterdir()) == []


def test_a_dragon_that_does_not_start_says_why(tmp_path, monkeypatch):
    program = tmp_path / "dragon"
    program.write_text("#!/bin/sh\necho no cave here >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(dragon, "_launcher", lambda: str(program))
    monkeypatch.setattr(DragonBackend, "available", classmethod(lambda cls: None))
    with pytest.raises(ServerGoneError, match=r"^ServerManager: dragon: it did not start: no cave here$"):
        ServerManager("s", "dragon").start_server()


def test_a_dragon_that_is_not_installed_names_the_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingLibraryError, match=r"dragonhpc is not installed .*; pip install 'thalweg\[dragon\]'"):
        ServerManager("s", "dragon").start_server()


def test_a_wrong_dragon_configuration_is_refused():
    with pytest.raises(ConfigError, match="memory_limit_bytes"):
        ServerManager("s", {"type": "dragon", "memory_limit_bytes": 1000})
