"""Killed writers and servers, and exhausted memory: a typed error within the deadline, and the others go on."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thalweg.errors import FullError, NotFoundError, ServerGoneError, WaitTimeoutError
from thalweg.staging import Client, Server, Variable

from .conftest import SERVE, Process, meanwhile

Start = Callable[..., Process]

WRITER = """
import sys, numpy as np
from thalweg.staging import Client
client = Client(sys.argv[1], namespace="t", name="victim", token="correct horse")
u = client.open("u")
u.put(np.zeros((4, 6)), version=0)
u.put(np.ones((2, 6)), version=1)
with u.loan(version=1, region=np.s_[2:4, :]) as array:
    array[...] = 7
    print("half-way", flush=True)
    sys.stdin.read()
"""

KEEPER = """
import sys, numpy as np
from thalweg.staging import Client
client = Client(sys.argv[1], namespace="t", name="keeper", token="correct horse")
u = client.open("u")
for version in range(3):
    u.put(np.full((4, 6), 1.0 * version), version=version, local=True)
print("kept", flush=True)
sys.stdin.read()
"""


def until(condition: Callable[[], bool]) -> None:
    """Waits for what the server does on its own."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def of_victim(client: Client, others: int) -> bool:
    """Whether the server has noticed a death."""
    return client.stats()["clients"] == others


@pytest.mark.parametrize("link", [1, 2], ids=["shared-memory", "tcp"])
def test_a_writer_killed_half_way_through_a_version_leaves_nothing_half_written(
    outside: tuple[Process, str, str], start: Start, link: int
) -> None:
    with Client(outside[1], namespace="t", name="reader") as client:
        u = client.define("u", (4, 6), "f8")
        victim = start(WRITER, outside[link])
        assert victim.line() == "half-way"
        with meanwhile(victim.kill), pytest.raises(WaitTimeoutError) as caught:
            u.get(version=1, timeout_s=2)
        message = str(caught.value)
        assert "cells [2:4, 0:6] are missing; put by victim" in message
        until(lambda: of_victim(client, 1))
        with pytest.raises(WaitTimeoutError, match=r"gone since they put part of it: victim.*; connected: nobody else"):
            u.get(version=1, timeout_s=0)
        assert (u.get() == 0).all() and (u.get(version=0) == 0).all()
        assert (u.get(np.s_[0:2, :], version=1) == 1).all()
        u.put(np.full((2, 6), 5.0), version=1, lower=(2, 0))
        assert u.get(version=1)[:, 0].tolist() == [1, 1, 5, 5], "another writer completes it"


def test_what_a_killed_writer_kept_is_lost_with_a_typed_error_and_the_others_go_on(
    outside: tuple[Process, str, str], start: Start
) -> None:
    with Client(outside[1], namespace="t") as client:
        u = client.define("u", (4, 6), "f8")
        victim = start(KEEPER, outside[1])
        assert victim.line() == "kept"
        view = u.get(version=0)
        victim.kill()
        with pytest.raises((WaitTimeoutError, NotFoundError, ServerGoneError), match="keeper"):
            u.get(version=1, timeout_s=2)
        u.put(np.full((4, 6), 9.0), version=3)
        assert (u.get(timeout_s=5) == 9).all()
        assert (view == 0).all(), "a view outlives the writer"


def test_who_waits_for_what_a_killed_writer_kept_finds_another_copy(
    outside: tuple[Process, str, str], start: Start
) -> None:
    with Client(outside[1], namespace="t") as client:
        u = client.define("u", (4, 6), "f8")
        victim = start(KEEPER, outside[1])
        assert victim.line() == "kept"
        victim.kill()
        with meanwhile(lambda: u.put(np.full((4, 6), 5.0), version=1)):
            until(lambda: of_victim(client, 1))
            assert (u.get(version=1, timeout_s=30) == 5).all()


@contextlib.contextmanager
def stopped(process: Process) -> Iterator[None]:
    """Stops a process for the time of the block."""
    process.popen.send_signal(signal.SIGSTOP)
    os.waitpid(process.popen.pid, os.WUNTRACED)  # until it has stopped
    try:
        yield
    finally:
        process.popen.send_signal(signal.SIGCONT)


def test_a_writer_that_hangs_is_waited_for_until_the_deadline(outside: tuple[Process, str, str], start: Start) -> None:
    with Client(outside[1], namespace="t") as client:
        u = client.define("u", (4, 6), "f8")
        keeper = start(KEEPER, outside[1])
        assert keeper.line() == "kept"
        with stopped(keeper), pytest.raises(WaitTimeoutError):
            u.get(version=1, timeout_s=0.5)
        assert (u.get(version=1, timeout_s=60) == 1).all()


@pytest.mark.parametrize("link", [1, 2], ids=["shared-memory", "tcp"])
def test_a_server_that_hangs_is_waited_for_until_the_deadline(outside: tuple[Process, str, str], link: int) -> None:
    with Client(outside[link], namespace="t", token="correct horse") as client:
        u = client.define("u", (4, 6), "f8")
        u.put(np.ones((4, 6)), version=0)
        with stopped(outside[0]):
            with pytest.raises((WaitTimeoutError, ServerGoneError)) as get:
                u.get(np.s_[0:2, :], version=0, layout="left", timeout_s=0.5)
            with pytest.raises((WaitTimeoutError, ServerGoneError)) as put:
                u.put(np.ones((4, 6)), version=1, timeout_s=0.5)
            assert outside[link] in str(get.value) and outside[link] in str(put.value)
        assert (u.get(version=0, timeout_s=60) == 1).all()
        u.put(np.ones((4, 6)), version=2)


@pytest.mark.parametrize("link", [0, 1], ids=["unix", "tcp"])
def test_one_of_two_servers_killed_is_named_and_the_other_serves_on(start: Start, link: int) -> None:
    servers = [start(SERVE, "127.0.0.1:0") for _ in range(2)]
    addresses = [server.line().split()[link] for server in servers]
    with Client(",".join(addresses), namespace="t", token="correct horse") as client:
        u = client.define("u", (4, 6), "f8")
        u.put(np.ones((4, 6)), version=0)
        view = u.get(np.s_[:, 3:6], version=0)
        with meanwhile(servers[1].kill), pytest.raises(ServerGoneError) as caught:
            u.get(np.s_[:, 3:6], version=1, timeout_s=60)
        assert addresses[1] in str(caught.value)
        for region in (None, np.s_[0:1, 2:4]):
            with pytest.raises(ServerGoneError, match=addresses[1].replace(".", r"\.")):
                u.get(region, version=0, timeout_s=60)
        with pytest.raises(ServerGoneError):
            u.put(np.ones((4, 6)), version=1, timeout_s=60)
        assert (u.get(np.s_[:, 0:3], version=0) == 1).all() and (view == 1).all()
        u.put(np.full((4, 3), 2.0), version=2)
        assert (u.get(np.s_[:, 0:3], version=2) == 2).all()


LIMIT = 8 << 20
CELLS = (1 << 20) // 8


def values(version: int) -> np.ndarray:
    return np.arange(CELLS, dtype="f8") + version


def fill(u: Variable) -> int:
    """Puts versions of one MiB until there is no room."""
    for version in range(100):
        try:
            u.put(values(version), version=version, timeout_s=0)
        except (FullError, WaitTimeoutError):
            return version
    raise AssertionError("the limit does not hold")


def test_a_put_without_room_fails_at_once_where_the_policy_is_to_fail() -> None:
    with Server(memory_limit_bytes=LIMIT, when_full="fail") as server, Client(server.address) as client:
        u = client.define("u", CELLS, "f8")
        n = fill(u)
        assert n == 8
        with pytest.raises(FullError, match="hold 8 MiB"):
            u.put(values(n), version=n, timeout_s=600)
        assert all((u.get(version=v) == values(v)).all() for v in range(n))
        u.release(0)
        u.put(values(n), version=n)
        assert server.stats()["memory_bytes"] <= LIMIT


def test_a_put_without_room_waits_where_the_policy_is_to_block() -> None:
    with Server(memory_limit_bytes=LIMIT) as server, Client(server.address) as client:
        u = client.define("u", CELLS, "f8")
        n = fill(u)
        with pytest.raises(WaitTimeoutError):
            u.put(values(n), version=n, timeout_s=0.05)
        with meanwhile(lambda: u.release(3)):
            u.put(values(n), version=n, timeout_s=30)
        assert (u.get(version=n) == values(n)).all() and server.stats()["memory_bytes"] <= LIMIT


def test_the_oldest_versions_make_room_where_the_policy_is_to_drop_them() -> None:
    with Server(memory_limit_bytes=LIMIT, when_full="drop_oldest") as server, Client(server.address) as client:
        u = client.define("u", CELLS, "f8")
        for version in range(20):
            u.put(values(version), version=version)
        kept = [state.version for state in u.versions()]
        assert kept == list(range(20 - len(kept), 20)) and len(kept) >= 7
        assert all((u.get(version=v) == values(v)).all() for v in kept)
        with pytest.raises(NotFoundError, match="is past"):
            u.get(version=0)
        assert server.stats()["memory_bytes"] <= LIMIT


def test_replicas_make_room_for_what_is_put() -> None:
    with Server(memory_limit_bytes=LIMIT, when_full="fail") as server, Client(server.address) as client:
        u = client.define("u", (CELLS // 512, 512), "f8", strategy="rasar")
        for version in range(8):
            u.put(values(version).reshape(u.shape), version=version)
            assert (u.get(version=version, layout="left") == values(version).reshape(u.shape)).all()
        assert server.stats()["memory_bytes"] <= LIMIT
        for version in range(8):
            assert (u.get(version=version, layout="left") == values(version).reshape(u.shape)).all()


def test_a_writer_that_is_ahead_is_not_stopped_by_replicas_of_what_is_unfinished(
    outside: tuple[object, str, str],
) -> None:
    half = np.ones((1, 1 << 18))
    with Client(outside[1]) as client, Client(outside[1]) as reader:
        u = client.define("u", (2, 1 << 18), "f8", keep_last=2)
        for row in (0, 1):
            u.put(half, version=0, lower=(row, 0))
        reader.open("u").get(version=0, layout="left")
        for row in (0, 1):
            for version in range(1, 17):
                u.put(half, version=version, lower=(row, 0), timeout_s=30)
        assert (u.get(version=16, layout="left") == 1).all()


@pytest.mark.parametrize("kind", ["arrays", "versions"])
def test_what_a_full_file_cannot_take_is_dropped_where_the_policy_is_so(tmp_path: Path, kind: str) -> None:
    with (
        Server(memory_limit_bytes=LIMIT, when_full="drop_oldest", spill=(tmp_path, 2 << 20)) as server,
        Client(server.address) as client,
    ):
        u = client.define("u", CELLS, "f8")
        for version in range(20):
            if kind == "arrays":
                client.put("a", values(version), version=version, timeout_s=30)
            else:
                u.put(values(version), version=version, timeout_s=30)
        stats = server.stats()
        assert stats["dropped"] >= 10 and stats["entries"] >= 8
        newest = client.get("a", version=19) if kind == "arrays" else u.get(version=19)
        assert (newest == values(19)).all()


def open_files(folder: Path) -> list[str]:
    """Files below `folder` that this process has open, by the kernel's names."""
    names = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            names.append(os.readlink(entry))
    return [name for name in names if name.startswith(str(folder))]


@pytest.mark.parametrize("strategy", ["rad", "rasar", "rasia", "sahr"])
def test_what_finds_no_room_moves_to_the_file_and_stays_readable(tmp_path: Path, strategy: str) -> None:
    with (
        Server(memory_limit_bytes=LIMIT, spill=(tmp_path, 64 << 20)) as server,
        Client(server.address) as client,
    ):
        u = client.define("u", (CELLS // 512, 512), "f8", strategy=strategy)
        for version in range(40):
            u.put(values(version).reshape(u.shape), version=version, timeout_s=60)
        assert list(tmp_path.iterdir()) == [], "the file has no name"
        assert all(name.endswith("(deleted)") for name in open_files(tmp_path)) and open_files(tmp_path)
        stats = server.stats()
        assert stats["spilled"] >= 32 and stats["memory_bytes"] <= LIMIT
        for version in range(40):
            expected = values(version).reshape(u.shape)
            assert (u.get(version=version) == expected).all()
            assert (u.get(np.s_[3:9, 5:70], version=version, layout="left") == expected[3:9, 5:70]).all()
        assert u.reduce(version=0).sum == values(0).sum()
    assert list(tmp_path.iterdir()) == [] and open_files(tmp_path) == []


def test_arrays_of_their_own_spill_too(tmp_path: Path) -> None:
    with Server(memory_limit_bytes=LIMIT, spill=(tmp_path, 64 << 20)) as server, Client(server.address) as client:
        for version in range(30):
            client.put("u", values(version), version=version)
        assert all((client.get("u", version=v) == values(v)).all() for v in range(30))
        assert server.stats()["spilled"] >= 22


def test_what_was_spilled_is_read_over_tcp(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"listen": "127.0.0.1:0", "token": "correct horse", "spill": (tmp_path, 64 << 20)}
    with (
        Server(memory_limit_bytes=LIMIT, **settings) as server,
        Client(server.tcp_address, token="correct horse") as client,
    ):
        u = client.define("u", CELLS, "f8")
        for version in range(20):
            u.put(values(version), version=version)
        assert all((u.get(version=v) == values(v)).all() for v in range(20))
        assert server.stats()["spilled"] >= 12


def test_the_room_of_released_versions_in_the_file_is_used_again(tmp_path: Path) -> None:
    with Server(memory_limit_bytes=LIMIT, spill=(tmp_path, 4 << 20)) as server, Client(server.address) as client:
        u = client.define("u", CELLS, "f8", keep_last=10)
        for version in range(60):
            u.put(values(version), version=version, timeout_s=30)
        assert all((u.get(version=v) == values(v)).all() for v in range(50, 60))
        assert server.stats()["spilled"] >= 8


def test_a_full_file_and_full_memory_are_a_typed_error_within_the_deadline(tmp_path: Path) -> None:
    with Server(memory_limit_bytes=LIMIT, spill=(tmp_path, 4 << 20)) as server, Client(server.address) as client:
        u = client.define("u", CELLS, "f8")
        put = 0
        with pytest.raises(WaitTimeoutError):
            for put in range(100):
                u.put(values(put), version=put, timeout_s=1)
        assert 11 <= put <= 12, "4 MiB in the file, 8 in memory"
        assert all((u.get(version=v) == values(v)).all() for v in range(put))
        u.release(0)
        u.put(values(put), version=put, timeout_s=30)
        assert (u.get(version=put) == values(put)).all()
    with (
        Server(memory_limit_bytes=LIMIT, spill=(tmp_path, 4 << 20), when_full="fail") as server,
        Client(server.address) as client,
    ):
        u = client.define("u", CELLS, "f8")
        with pytest.raises(FullError):
            for put in range(100):
                u.put(values(put), version=put, timeout_s=30)
        assert 11 <= put <= 12


def test_a_folder_for_the_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="spill") as caught:
        Server(memory_limit_bytes=LIMIT, spill=(tmp_path / "none", 4 << 20))
    assert str(tmp_path / "none") in str(caught.value)
