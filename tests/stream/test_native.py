"""The native driver where the suite of all drivers does not look: killed servers, forked clients, interruptions."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from thalweg import stream
from thalweg.errors import InvalidError, ServerGoneError, ThalwegError
from thalweg.staging import Server

PATIENCE_S = 60.0
Start = Callable[[], subprocess.Popen[str]]


@pytest.fixture
def socket() -> str:
    return f"@streams-{secrets.token_hex(6)}"


@pytest.fixture
def start(tmp_path: Path, socket: str) -> Iterator[Start]:
    """Yield a function that starts a server process over one folder and returns when it answers."""
    started: list[subprocess.Popen[str]] = []

    def begin() -> subprocess.Popen[str]:
        command = ["serve", "--socket", socket, "--streams", str(tmp_path / "topics"), "--memory-limit", "16MiB"]
        server = subprocess.Popen(
            [sys.executable, "-m", "thalweg.cli", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        started.append(server)
        assert server.stdout is not None
        assert "serving at" in server.stdout.readline()
        return server

    yield begin
    for server in started:
        server.kill()
        server.communicate()


def test_nothing_acknowledged_is_lost_when_the_server_is_killed_and_clients_go_on(start: Start, socket: str) -> None:
    server = start()
    with stream.connect(f"unix:{socket}") as driver:
        driver.create_topic("log", rest="files", durability="always")
        topic = driver.open_topic("log")
        consumer = topic.consumer("reader", timeout_s=PATIENCE_S)
        seen: list[int] = []
        with topic.producer("writer", timeout_s=PATIENCE_S) as producer:
            pushed = []
            for number in range(1500):
                pushed.append(producer.push({"n": number}, number.to_bytes(8, "little")))
                if number % 400 == 399:
                    seen.append(consumer.pull().result(PATIENCE_S).metadata["n"])
                    server.kill()
                    server.wait()
                    server = start()
            ids = [future.result(PATIENCE_S).offset for future in pushed]
        assert ids == list(range(1500))  # each once, in order
        while len(seen) < 1500:
            event = consumer.pull().result(PATIENCE_S)
            assert int.from_bytes(event.data, "little") == event.metadata["n"]
            seen.append(event.metadata["n"])
        assert seen == list(range(1500))
        event.acknowledge()
        consumer.close()
    server.kill()
    server.wait()
    start()
    with stream.connect(f"unix:{socket}") as driver, driver.open_topic("log").consumer("reader") as again:
        assert again.lag() == {0: 0}


def test_a_server_that_does_not_come_back_is_an_error_within_seconds(start: Start, socket: str) -> None:
    server = start()
    with stream.connect(f"unix:{socket}", timeout_s=2.0) as driver:
        driver.create_topic("lost")
        topic = driver.open_topic("lost")
        producer, consumer = topic.producer("writer", timeout_s=2.0), topic.consumer("reader")
        server.kill()
        server.wait()
        began = time.monotonic()
        with pytest.raises(ServerGoneError):
            consumer.pull().result(PATIENCE_S)
        with pytest.raises(ThalwegError):
            producer.push({}).result(PATIENCE_S)
        with pytest.raises(ThalwegError):
            producer.close()
        consumer.close()
        assert time.monotonic() - began < 30


def test_a_forked_child_is_told_to_make_its_own(tmp_path: Path) -> None:
    with Server(memory_limit_bytes=1 << 20) as server, stream.connect(server.address) as driver:
        driver.create_topic("forked")
        topic = driver.open_topic("forked")
        with topic.producer("writer") as producer, topic.consumer("reader") as consumer:
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    for call in (lambda: producer.push({}), lambda: consumer.pull().result(1.0), driver.list_topics):
                        with pytest.raises(InvalidError, match="forked from it; make a new one"):
                            call()
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert producer.push({"n": 1}).result(PATIENCE_S).offset == 0
            assert consumer.pull().result(PATIENCE_S).metadata == {"n": 1}


def test_interrupted_clients_leave_nothing_and_say_so(start: Start, socket: str) -> None:
    start()
    program = (
        "from thalweg import stream\n"
        f"driver = stream.connect('unix:{socket}')\n"
        "driver.create_topic('idle')\n"
        "consumer = driver.open_topic('idle').consumer('reader')\n"
        "print('waiting', flush=True)\n"
        "consumer.pull().result(100)\n"
    )
    waiting = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "waiting\n"
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=20)
    assert "KeyboardInterrupt" in said
    with stream.connect(f"unix:{socket}") as driver, driver.open_topic("idle").consumer("reader") as consumer:
        deadline = time.monotonic() + 20
        while consumer.lag() != {0: 0} and time.monotonic() < deadline:  # the partition is free again
            time.sleep(0.05)
        assert consumer.lag() == {0: 0}
