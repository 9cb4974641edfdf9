"""What a forked child inherits it can read, and nothing that it does with it touches its parent."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHILD = """
import os, sys, numpy as np
from thalweg.staging import Client, Server

def in_child(work):
    pid = os.fork()
    if pid == 0:
        work()
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0

server = Server(memory_limit_bytes=8 << 20)
address = sys.argv[1] if len(sys.argv) > 1 else server.address
c = Client(address, namespace="t")
other = Client(address, namespace="t")
"""


def run(code: str, *args: str) -> str:
    done = subprocess.run([sys.executable, "-c", CHILD + code, *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.strip()


@pytest.fixture(params=["in-process", "shared-memory"])
def where(request: pytest.FixtureRequest, outside: tuple[object, str, str]) -> list[str]:
    return [] if request.param == "in-process" else [outside[1]]


def test_a_view_that_a_child_drops_stays_as_it_is_in_its_parent(where: list[str]) -> None:
    code = """
c.put("a", np.full(1000, 7.0))
views = [c.get("a")]
in_child(lambda: views.clear())
other.delete("a")
for n in range(50):
    other.put("b", np.full(1000, 100.0 + n), version=n)
print((views[0] == 7.0).all())
"""
    assert run(code, *where) == "True"


def test_a_loan_that_a_child_drops_can_still_be_committed(where: list[str]) -> None:
    code = """
loans = [c.loan("a", 1000, "f8")]
loans[0].array[...] = 3
in_child(lambda: loans.clear())
other.put("b", np.zeros(1000))
loans[0].commit()
print((c.get("a") == 3).all(), c.stats()["entries"])
"""
    assert run(code, *where) == "True 2"


def test_a_client_that_a_child_drops_stays_connected_in_its_parent(where: list[str]) -> None:
    code = """
clients = [c]
del c
in_child(lambda: (clients[0].close(), clients.clear()))
clients[0].put("a", b"1")
print(bytes(other.get("a")))
"""
    assert run(code, *where) == "b'1'"


def test_a_child_that_ends_as_python_does_leaves_its_parents_server_alone() -> None:
    code = """
tcp = Server(listen="127.0.0.1:0", token="correct horse")
if os.fork() == 0:
    sys.exit(0)
assert os.wait()[1] == 0
remote = Client(tcp.tcp_address, token="correct horse")
remote.put("a", b"1")
c.put("a", b"2")
print(bytes(remote.get("a")), bytes(c.get("a")))
"""
    assert run(code) == "b'1' b'2'"
