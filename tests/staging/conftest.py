"""Servers, clients and processes for the staging tests."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from thalweg.staging import Client, Server

SERVE = """
import sys
from thalweg.staging import Server
server = Server(memory_limit_bytes=64 << 20, listen=sys.argv[1] or None, token="correct horse")
print(server.address, server.tcp_address, flush=True)
sys.stdin.read()
"""


class Process:
    """A Python program of its own, which ends with the test."""

    def __init__(self, code: str, *args: str) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-c", code, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        """The next line that it prints."""
        assert self.popen.stdout is not None
        text = self.popen.stdout.readline()
        assert text, f"the program ended with status {self.popen.wait(10)}"
        return text.strip()

    def kill(self) -> None:
        """Kill it as the kernel would when memory is short."""
        self.popen.kill()
        self.popen.wait(10)

    def finish(self) -> None:
        """Close its input and wait for its end."""
        assert self.popen.stdin is not None
        self.popen.stdin.close()
        assert self.popen.wait(30) == 0


@contextlib.contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Does `work` in another thread while the block waits for its effect; both have ended afterwards."""
    timer = threading.Timer(0.05, work)
    timer.start()
    try:
        yield
    finally:
        timer.join(60)


def together(*work: Callable[[], object]) -> None:
    """Does all of it at the same time; raises what any of it raised."""
    with ThreadPoolExecutor(len(work)) as pool:
        for future in [pool.submit(one) for one in work]:
            future.result(280)


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def run(code: str, *args: str) -> Process:
        started.append(Process(code, *args))
        return started[-1]

    yield run
    for process in started:
        process.kill()


@pytest.fixture
def outside(start: Callable[..., Process]) -> tuple[Process, str, str]:
    """A server in a process of its own: the process, its address, its TCP address."""
    process = start(SERVE, "127.0.0.1:0")
    address, tcp_address = process.line().split()
    return process, address, tcp_address


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(memory_limit_bytes=64 << 20, listen="127.0.0.1:0", token="correct horse") as server:
        yield server


@pytest.fixture(params=["in-process", "shared-memory", "tcp"])
def client(request: pytest.FixtureRequest, outside: tuple[Process, str, str]) -> Iterator[Client]:
    """A client over each link."""
    if request.param == "in-process":
        with Server(memory_limit_bytes=64 << 20) as server, Client(server.address, namespace="t") as client:
            yield client
        return
    address = outside[1 if request.param == "shared-memory" else 2]
    with Client(address, namespace="t", token="correct horse") as client:
        yield client
