"""``thalweg serve``: tells its address, serves, and ends cleanly when it is interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from command_line import DEADLINE_S, PROGRAM

staging = pytest.importorskip("thalweg.staging", reason="needs the native library: make setup")


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_serve_prints_its_address_serves_and_stops(end: signal.Signals) -> None:
    command = [*PROGRAM, "serve", "--memory-limit", "64MiB", "--when-full", "fail", "--json", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            row = json.loads(server.stdout.readline())["rows"][0]
            assert (row["memory_limit_bytes"], row["when_full"], row["tcp_address"]) == (64 << 20, "fail", None)
            with staging.Client(row["address"]) as client:
                client.put("x", np.arange(5))
                assert client.get("x", timeout_s=DEADLINE_S).tolist() == [0, 1, 2, 3, 4]
            server.send_signal(end)
            _, errors = server.communicate(timeout=DEADLINE_S)
        finally:
            server.kill()
    assert server.returncode == 0
    assert "Traceback" not in errors


def test_a_relative_socket_is_told_as_clients_in_other_folders_need_it(tmp_path: Path) -> None:
    command = [*PROGRAM, "serve", "--socket", "here.sock", "--json", "told.json"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            address = f"unix:{tmp_path / 'here.sock'}"
            assert [server.stdout.readline(), server.stdout.readline()] == [
                f"serving at {address}\n",
                f"clients here:        export THALWEG_ADDRESS='{address}'\n",
            ]
            with staging.Client(address) as client:
                client.put("x", b"bytes")
        finally:
            server.terminate()
            server.communicate(timeout=DEADLINE_S)
    assert json.loads((tmp_path / "told.json").read_text())["rows"][0]["address"] == address


def test_serve_listens_for_other_nodes_with_a_token() -> None:
    command = [*PROGRAM, "serve", "--listen", "127.0.0.1:0", "--token", "long-enough-secret", "--json", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            address = json.loads(server.stdout.readline())["rows"][0]["tcp_address"]
            with staging.Client(address, token="long-enough-secret") as client:
                client.put("x", b"bytes")
                assert bytes(client.get("x", timeout_s=DEADLINE_S)) == b"bytes"
            with pytest.raises(PermissionError):
                staging.Client(address, token="another-wrong-secret")
        finally:
            server.terminate()
            server.wait(DEADLINE_S)


def test_serve_moves_what_finds_no_room_to_its_file(tmp_path: Path) -> None:
    limits = ["--memory-limit", "8MiB", "--replica-limit", "2MiB", "--spill", str(tmp_path), "--spill-limit", "64MiB"]
    command = [*PROGRAM, "serve", *limits, "--workers", "2", "--json", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            row = json.loads(server.stdout.readline())["rows"][0]
            assert (row["spill_folder"], row["spill_limit_bytes"]) == (str(tmp_path), 64 << 20)
            assert (row["replica_limit_bytes"], row["workers"]) == (2 << 20, 2)
            with staging.Client(row["address"]) as client:
                u = client.define("u", 1 << 17, "f8")
                for version in range(20):
                    u.put(np.full(1 << 17, float(version)), version=version, timeout_s=DEADLINE_S)
                assert all((u.get(version=version) == version).all() for version in range(20))
                assert client.stats()["spilled"] >= 12 and list(tmp_path.iterdir()) == []
        finally:
            server.terminate()
            server.wait(DEADLINE_S)
    assert server.returncode == 0 and list(tmp_path.iterdir()) == []
