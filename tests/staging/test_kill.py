"""A killed client or server hangs nobody and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from thalweg.errors import InvalidError, ServerGoneError
from thalweg.staging import Client

from .conftest import Process

HOLD = """
import sys, numpy as np
from thalweg.staging import Client
client = Client(sys.argv[1], namespace="t", name="victim")
view = client.get("u")
loan = client.loan("half", 20 << 20, "u1")
loan.array[: 1 << 20] = 7
client.put("mine", np.arange(10))
print("holding", flush=True)
client.get("never", timeout_s=600)
"""


def files() -> set[str]:
    return {str(p) for top in ("/dev/shm", "/tmp") for p in Path(top).glob("*thalweg*")}


def until(condition: Callable[[], bool]) -> None:
    """Waits for what another process does on its own."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def test_what_a_killed_client_held_is_free_again(
    outside: tuple[Process, str, str], start: Callable[..., Process]
) -> None:
    _, address, _ = outside
    with Client(address, namespace="t") as client:
        client.put("u", np.ones(30 << 20, "u1"))
        victim = start(HOLD, address)
        assert victim.line() == "holding"
        client.delete("u")
        assert client.stats()["retired_bytes"] == 30 << 20
        victim.kill()
        # Needs the memory of its view and of its loan: blocks until the server has noticed the death.
        client.put("big", np.ones(45 << 20, "u1"), timeout_s=30)
        stats = client.stats()
        assert stats["clients"] == 1 and stats["waiting_now"] == 0 and stats["retired_bytes"] == 0
        assert not client.exists("half"), "a half-written array must not be seen"
        assert (client.get("mine") == np.arange(10)).all(), "what it had put stays"


def test_a_killed_client_over_tcp_is_forgotten(
    outside: tuple[Process, str, str], start: Callable[..., Process]
) -> None:
    _, address, tcp_address = outside
    waits = (
        "import sys; from thalweg.staging import Client\n"
        "c = Client(sys.argv[1], namespace='t', token='correct horse'); print('in', flush=True)\n"
        "c.get('never', timeout_s=600)"
    )
    victim = start(waits, tcp_address)
    assert victim.line() == "in"
    with Client(address, namespace="t") as client:
        until(lambda: client.stats()["waiting_now"] == 1)
        victim.kill()
        until(lambda: client.stats()["waiting_now"] == 0 and client.stats()["clients"] == 1)


def test_a_killed_writer_that_waited_for_room_over_tcp_holds_nobody_up(
    outside: tuple[Process, str, str], start: Callable[..., Process]
) -> None:
    _, address, tcp_address = outside
    writes = (
        "import sys, numpy as np; from thalweg.staging import Client\n"
        "c = Client(sys.argv[1], namespace='t', token='correct horse'); print('in', flush=True)\n"
        "c.put('big', np.zeros(20 << 20, 'u1'), timeout_s=3600)"
    )
    with Client(address, namespace="t") as client:
        client.put("u", np.zeros(60 << 20, "u1"))
        victim = start(writes, tcp_address)
        assert victim.line() == "in"
        until(lambda: client.stats()["blocked_now"] == 1)
        victim.kill()
        client.put("small", np.zeros(1000, "u1"), timeout_s=30)
        until(lambda: client.stats()["blocked_now"] == 0)
        assert not client.exists("big")


def test_a_view_is_dropped_at_once_while_the_server_is_stopped(outside: tuple[Process, str, str]) -> None:
    process, address, _ = outside
    keys = [("x" * 240 + str(n), 0) for n in range(512)]
    with Client(address, namespace="t") as client:
        client.put("u", np.zeros(1000))
        views = [client.get("u")]
        client.put("u", np.ones(1000), replace=True)
        process.popen.send_signal(signal.SIGSTOP)
        failures: list[BaseException] = []

        def wait() -> None:
            try:
                client.wait(keys, timeout_s=1)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=wait) for _ in range(8)]  # more than the ring holds
        [thread.start() for thread in threads]
        views.clear()
        [thread.join(60) for thread in threads]
        process.popen.send_signal(signal.SIGCONT)
        assert len(failures) == 8 and {type(f) for f in failures} == {ServerGoneError}
        assert "did not answer in time" in str(failures[0])
        until(lambda: client.stats()["retired_bytes"] == 0)


@pytest.mark.parametrize("link", [1, 2], ids=["shared-memory", "tcp"])
def test_a_killed_server_fails_everybody_and_hangs_nobody(outside: tuple[Process, str, str], link: int) -> None:
    before = files()
    process, *addresses = outside
    client = Client(addresses[link - 1], namespace="t", token="correct horse")
    client.put("u", np.arange(5))
    view = client.get("u")
    failures: list[BaseException] = []

    def wait() -> None:
        try:
            client.get("never", timeout_s=600)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: client.stats()["waiting_now"] == 1)
    process.kill()
    thread.join(30)
    assert not thread.is_alive()
    assert isinstance(failures[0], ServerGoneError) and "is gone" in str(failures[0])
    with pytest.raises(ServerGoneError):
        client.put("v", np.zeros(3))
    assert (view == np.arange(5)).all(), "a view stays valid"
    assert files() == before
    with pytest.raises(ServerGoneError, match="no server"):
        Client(addresses[link - 1], token="correct horse", timeout_s=5)


def test_a_child_that_inherits_the_socket_does_not_keep_the_dead_alive(
    outside: tuple[Process, str, str], start: Callable[..., Process]
) -> None:
    _, address, _ = outside
    forks = (
        "import os, sys, time; from thalweg.staging import Client\n"
        "c = Client(sys.argv[1], namespace='t'); c.loan('half', 1000, 'f8')\n"
        "child = os.fork()\n"
        "if child == 0: time.sleep(600)\n"
        "print(child, flush=True); sys.stdin.read()"
    )
    victim = start(forks, address)
    child = int(victim.line())
    try:
        with Client(address, namespace="t") as client:
            assert client.stats()["clients"] == 2
            victim.kill()
            until(lambda: client.stats()["clients"] == 1)
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_forked_child_is_told_to_make_its_own_client() -> None:
    code = (
        "import os; from thalweg.staging import Client\n"
        "c = Client(); c.put('u', b'1')\n"
        "if os.fork() == 0:\n"
        "    try: c.get('u')\n"
        "    except Exception as e: print(type(e).__name__, flush=True); os._exit(0)\n"
        "    os._exit(1)\n"
        "assert os.wait()[1] == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, InvalidError.__name__), done.stderr


def test_ctrl_c_ends_a_wait(outside: tuple[Process, str, str], start: Callable[..., Process]) -> None:
    _, address, _ = outside
    waits = (
        "import sys; from thalweg.staging import Client\n"
        "c = Client(sys.argv[1], namespace='t')\n"
        "try: print('in', flush=True); c.get('never', timeout_s=600)\n"
        "except KeyboardInterrupt: print('interrupted', c.stats()['waiting_now'], flush=True)"
    )
    process = start(waits, address)
    assert process.line() == "in"
    with Client(address, namespace="t") as client:
        until(lambda: client.stats()["waiting_now"] == 1)
    process.popen.send_signal(signal.SIGINT)
    assert process.line() == "interrupted 0"


def test_a_reader_cannot_write_into_shared_memory(outside: tuple[Process, str, str]) -> None:
    _, address, _ = outside
    writes = (
        "import sys, ctypes; from thalweg.staging import Client\n"
        "c = Client(sys.argv[1], namespace='t'); v = c.get('u')\n"
        "ctypes.memset(v.ctypes.data, 1, 8)"
    )
    with Client(address, namespace="t") as client:
        client.put("u", np.zeros(8))
        done = subprocess.run([sys.executable, "-c", writes, address], timeout=60)
        assert done.returncode == -signal.SIGSEGV
        assert (client.get("u") == 0).all()
