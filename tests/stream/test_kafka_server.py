"""A broker is real, answers when started, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import psutil
import pytest

from left_behind import nothing_left
from thalweg import ServerManager
from thalweg.errors import ConfigError, InvalidError, MissingLibraryError, ServerGoneError
from thalweg.servers import kafka_jars
from thalweg.servers.kafka_probe import cluster_of

_missing = kafka_jars.missing()
needs_kafka = pytest.mark.skipif(_missing is not None, reason=str(_missing))
PATIENCE_S = 30.0
STARTS_ONE = """
import sys, time
from thalweg import ServerManager
info = ServerManager("k", {"type": "kafka", "path": sys.argv[1]}).start_server()
print(info["port"], flush=True)
time.sleep(1000)
"""


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children(recursive=True) if child.name() == "java"]


@needs_kafka
def test_a_broker_keeps_events_and_goes_with_all_its_files(tmp_path: Path) -> None:
    confluent = pytest.importorskip("confluent_kafka")
    with ServerManager("k", {"type": "kafka", "path": str(tmp_path), "settings": {"num.partitions": "3"}}) as server:
        address = "{host}:{port}".format(**server.get_server_info())
        assert server.get_server_info()["address"] == f"kafka:{address}"
        assert len(children()) == 1
        producer = confluent.Producer({"bootstrap.servers": address, "log_level": 0})
        until = time.monotonic() + PATIENCE_S
        while [part.leader for part in producer.list_topics("t", PATIENCE_S).topics["t"].partitions.values()] != [
            1
        ] * 3:
            assert time.monotonic() < until, "the topic has no leaders"
            time.sleep(0.01)
        refused: list[Any] = []
        for number in range(10):
            producer.produce("t", b"%d" % number, partition=2, on_delivery=lambda why, _: refused.append(why))
        assert (producer.flush(PATIENCE_S), refused) == (0, [None] * 10)
        consumer = confluent.Consumer({"bootstrap.servers": address, "group.id": "g", "log_level": 0})
        try:
            consumer.assign([confluent.TopicPartition("t", 2, 0)])
            seen: list[bytes] = []
            while len(seen) < 10 and time.monotonic() < until:
                seen += [message.value() for message in consumer.consume(10, 1.0) if message.error() is None]
        finally:
            consumer.close()
        assert seen == [b"%d" % number for number in range(10)]
    assert children() == []
    assert list(tmp_path.iterdir()) == []


@needs_kafka
def test_a_broker_dies_with_its_killed_starter_and_the_next_start_removes_its_log(tmp_path: Path) -> None:
    with nothing_left() as mark:
        command = [sys.executable, "-c", STARTS_ONE, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=mark.env) as starter:
            assert starter.stdout is not None
            port = int(starter.stdout.readline())
            assert cluster_of("127.0.0.1", port, PATIENCE_S) is not None
            starter.send_signal(signal.SIGKILL)
    with ServerManager("next", {"type": "kafka", "path": str(tmp_path)}) as server:
        assert [entry.name for entry in tmp_path.iterdir()] == [server.get_server_info()["namespace"]]
    assert list(tmp_path.iterdir()) == []


@needs_kafka
@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ({"settings": {"num.partitions": "none"}}, ServerGoneError, "storage cannot be made.*num.partitions"),
        ({"settings": {"num.io.threads": "0"}}, ServerGoneError, "kafka: .*num.io.threads"),
        ({"start_timeout_s": 0.1}, ServerGoneError, "was not ready within 0.1 s"),
        ({"host": "no.such.host.invalid"}, ConfigError, "'no.such.host.invalid' is not an address of this machine"),
        ({"jars": "."}, ConfigError, "has no kafka_2"),
        ({"heap_bytes": 1}, ConfigError, "heap_bytes"),
    ],
)
def test_a_broker_that_cannot_start_says_why_and_leaves_nothing(
    config: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        ServerManager("k", {"type": "kafka", "path": str(tmp_path), **config}).start_server()
    assert children() == []
    assert list(tmp_path.iterdir()) == []


@needs_kafka
def test_a_cluster_whose_id_begins_with_a_dash_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg.servers.kafka.uuid.uuid4", lambda: uuid.UUID(bytes=b"\xfb" * 16))
    with ServerManager("k", {"type": "kafka", "path": str(tmp_path)}) as server:
        cluster = cluster_of("127.0.0.1", server.get_server_info()["port"], PATIENCE_S)
    assert cluster is not None and cluster.startswith("-")


@needs_kafka
def test_a_port_that_is_taken_is_a_clear_error(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"port: {port} on 127.0.0.1 is taken by another program; give another"):
            ServerManager("k", {"type": "kafka", "port": port, "path": str(tmp_path)}).start_server()
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_named_with_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(MissingLibraryError, match=r"no program 'java'; install Java 17 or newer .*default-jre"):
        ServerManager("k", "kafka").start_server()
    program(programs / "java", "exit 0")
    with pytest.raises(MissingLibraryError, match=r"no program 'mvn' to fetch them; install Maven .*or set jars"):
        ServerManager("k", "kafka").start_server()
    program(programs / "mvn", "echo no route; exit 1")
    with pytest.raises(MissingLibraryError, match=r"Maven cannot fetch Kafka .*: no route; check its network settings"):
        ServerManager("k", "kafka").start_server()
    assert [entry.name for entry in (tmp_path / "thalweg").iterdir() if entry.is_dir()] == []


def test_two_processes_fetch_the_jars_once(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    program(programs / "java", "exit 0")
    program(programs / "mvn", f"echo fetched >> {tmp_path}/count; /bin/sleep 0.2; /bin/mkdir libs; : > libs/a.jar")
    env = {**os.environ, "PATH": str(programs), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ask = [sys.executable, "-c", "from thalweg.servers import kafka_jars; print(kafka_jars.jars())"]
    asking = [subprocess.Popen(ask, env=env, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = {process.communicate(timeout=PATIENCE_S)[0].strip() for process in asking}
    assert said == {str(tmp_path / "cache" / "thalweg" / f"kafka-{kafka_jars.VERSION}")}
    assert [process.returncode for process in asking] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "fetched\n"


def test_who_is_no_broker_is_not_taken_for_one() -> None:
    begin = time.monotonic()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        assert cluster_of("127.0.0.1", silent.getsockname()[1], 0.2) is None
    assert time.monotonic() - begin < PATIENCE_S


def test_a_broker_is_no_backend_of_a_data_store() -> None:
    from thalweg import DataStore

    with pytest.raises(ConfigError, match="backend 'kafka' is unknown"):
        DataStore("d", {"backend": "kafka", "host": "127.0.0.1", "port": 1})
    with pytest.raises(InvalidError, match="does not run"):
        ServerManager("k", "kafka").get_server_info()


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
