"""The native driver where the suite of all drivers does not look: killed servers, forked clients, interruptions."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from thalweg import stream
from thalweg.errors import InvalidError, ServerGoneError, ThalwegError, WaitTimeoutError
from thalweg.staging import Server

PATIENCE_S = 60.0
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def socket() -> str:
    return f"@streams-{secrets.token_hex(6)}"


@pytest.fixture
def places() -> list[str]:
    """Return where the servers of this test can be reached, as they said."""
    return []


@pytest.fixture
def start(tmp_path: Path, socket: str, places: list[str]) -> Iterator[Start]:
    """Yield a function that starts a server process over one folder and returns when it answers."""
    started: list[subprocess.Popen[str]] = []

    def begin(*more: str) -> subprocess.Popen[str]:
        command = ["serve", "--socket", socket, "--streams", str(tmp_path / "topics"), "--memory-limit", "16MiB", *more]
        server = subprocess.Popen(
            [sys.executable, "-m", "thalweg.cli", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        started.append(server)
        assert server.stdout is not None
        said = server.stdout.readline()
        assert "serving at" in said
        places.extend(said.split()[2::2])
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
        assert driver.list_topics() == ["log"]  # by the connection that was made before all that
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


def test_who_joins_gets_nothing_that_was_acknowledged(start: Start, socket: str) -> None:
    start()
    with stream.connect(f"unix:{socket}") as driver:
        driver.create_topic("shared", partitions=4)
        topic = driver.open_topic("shared")
        with topic.producer("writer") as producer:
            producer.push_many([{"n": number} for number in range(8000)], [b"x" * 100] * 8000)
        seen: list[tuple[int, int]] = []

        def read(more: int) -> None:
            with stream.connect(f"unix:{socket}") as own, own.open_topic("shared").consumer("team") as member:
                for count, event in enumerate(member.events(idle_s=2.0)):
                    event.acknowledge()
                    seen.append((event.partition, event.offset))
                    if count % 10 == 0:
                        time.sleep(0.001)
                    if count == 500 and more:
                        members.append(pool.submit(read, more - 1))

        with ThreadPoolExecutor(3) as pool:
            members = [pool.submit(read, 2)]
            while not all(member.done() for member in members):
                time.sleep(0.05)
        for member in members:
            member.result()
        assert len(members) == 3
        assert sorted(seen) == sorted((p, n) for p in range(4) for n in range(2000))  # each once


def test_events_in_memory_that_ended_with_their_server_are_told_from_those_after(start: Start, socket: str) -> None:
    server = start()
    with stream.connect(f"unix:{socket}") as driver:
        driver.create_topic("fleeting", rest="memory")
        topic = driver.open_topic("fleeting")
        producer, consumer = topic.producer("writer"), topic.consumer("reader")
        producer.push_many([{"n": number} for number in range(100)])
        producer.flush()
        for event in (consumer.pull().result(PATIENCE_S) for _ in range(100)):
            event.acknowledge()
        server.kill()
        server.wait()
        start()
        for number in range(200):  # more than there were
            producer.push({"n": -number})
        producer.flush()
        assert [consumer.pull().result(PATIENCE_S).metadata["n"] for _ in range(200)] == [-n for n in range(200)]
        assert consumer.lag() == {0: 200}
        consumer.close()
        producer.close()


def test_topics_rest_in_files_where_the_server_has_a_folder(start: Start, socket: str) -> None:
    start()
    with stream.connect(f"unix:{socket}") as driver:
        driver.create_topic("kept")
        assert driver.describe_topic("kept").partitions[0].rest == "files"
    with stream.connect() as driver:
        driver.create_topic("fleeting")
        assert driver.describe_topic("fleeting").partitions[0].rest == "memory"


@pytest.mark.parametrize("scheme", ["unix", "tcp"])
def test_nobody_waits_longer_than_asked_for_a_server_that_stands_still(
    start: Start, places: list[str], scheme: str
) -> None:
    server = start("--listen", "127.0.0.1:0", "--token", "standing still")
    address = next(place for place in places if place.startswith(scheme))
    with stream.connect(address, token="standing still", timeout_s=2.0) as driver:
        driver.create_topic("still", rest="files")
        topic = driver.open_topic("still")
        producer = topic.producer("writer", timeout_s=2.0)
        consumer = topic.consumer("reader", timeout_s=2.0)
        producer.push({"n": -1})
        producer.flush(PATIENCE_S)
        event = consumer.pull().result(PATIENCE_S)
        server.send_signal(signal.SIGSTOP)
        began, taken = time.monotonic(), []
        with pytest.raises(WaitTimeoutError):
            for number in range(1000):
                taken.append(producer.push({"n": number}, bytes(1 << 20)))
        with pytest.raises(WaitTimeoutError):
            producer.flush(1.0)
        event.acknowledge()
        with pytest.raises(WaitTimeoutError):
            consumer.pull().result(1.0)
        assert time.monotonic() - began < 15
        server.send_signal(signal.SIGCONT)
        producer.flush(PATIENCE_S)
        numbers = [consumer.pull().result(PATIENCE_S).metadata["n"] for _ in taken]
        assert numbers == list(range(len(taken)))
        producer.close()
        consumer.close()


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
