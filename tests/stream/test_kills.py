"""Servers that are killed while consumers read, damaged folders: nothing is skipped, hidden or deleted."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from stream_server import StreamServer
from thalweg import stream
from thalweg.errors import CorruptDataError, ServerGoneError, WaitTimeoutError

PATIENCE_S = 60.0
DATA_BYTES = 300_000
#: Kills while the events are read; THALWEG_KILLS raises it for a long run.
KILLS = int(os.environ.get("THALWEG_KILLS", "2"))


@pytest.mark.parametrize("link", ["unix", "tcp"])
@pytest.mark.parametrize("members", [1, 2])
def test_no_event_is_skipped_by_a_reader_of_external_data_whose_server_is_killed(
    tmp_path: Path, link: str, members: int
) -> None:
    """The loop is the guide's: who meets a server that is gone enters it again."""
    events = 100 * KILLS
    with StreamServer(tmp_path / "topics") as server:
        address = server.address(link)
        with stream.connect(address, token=server.token) as driver:
            driver.create_topic("frames", partitions=members, rest="files", durability="always")
            with driver.open_topic("frames").producer("detector", timeout_s=PATIENCE_S) as producer:
                for number in range(events):
                    producer.push(
                        {"n": number}, number.to_bytes(4, "little") * (DATA_BYTES // 4), partition=number % members
                    )
        seen: list[list[int]] = [[] for _ in range(members)]
        errors: list[BaseException] = []
        done = threading.Event()

        def read(member: int) -> None:
            try:
                with (
                    stream.connect(address, token=server.token, timeout_s=0.5) as driver,
                    driver.open_topic("frames").consumer("reconstruction") as consumer,
                ):
                    while not done.is_set():
                        try:
                            for event in consumer.events(idle_s=0.5):
                                assert bytes(event.data[:4]) == event.metadata["n"].to_bytes(4, "little")
                                seen[member].append(event.metadata["n"])
                        except (ServerGoneError, WaitTimeoutError):
                            continue
            except BaseException as error:
                errors.append(error)

        readers = [threading.Thread(target=read, args=(member,)) for member in range(members)]
        for reader in readers:
            reader.start()
        until = time.monotonic() + PATIENCE_S + 10 * KILLS
        for kill in range(KILLS):
            while sum(map(len, seen)) < (kill + 1) * events // (KILLS + 2) and not errors:
                assert time.monotonic() < until, f"{[len(s) for s in seen]} events after {kill} kills"
                time.sleep(0.001)
            server.kill()
            time.sleep([6.0, 0.0, 0.3, 1.0][kill % 4])  # shorter and longer than a client tries to connect again
            server.start()
        while set(itertools.chain(*seen)) != set(range(events)) and not errors and time.monotonic() < until:
            time.sleep(0.02)
        done.set()
        for reader in readers:
            reader.join()
        assert not errors, errors
        missing = sorted(set(range(events)) - set(itertools.chain(*seen)))
        assert not missing, f"{len(missing)} of {events} events skipped, the first {missing[:10]}"


@pytest.mark.parametrize("link", ["unix", "tcp"])
def test_what_was_acknowledged_and_waited_for_does_not_come_again_after_a_kill(tmp_path: Path, link: str) -> None:
    with StreamServer(tmp_path / "topics") as server:
        address = server.address(link)
        with stream.connect(address, token=server.token) as driver:
            driver.create_topic("log", rest="files")
            topic = driver.open_topic("log")
            with topic.producer("writer") as producer:
                producer.push_many([{"n": number} for number in range(100)]).result(PATIENCE_S)
            expected = 0
            for _ in range(3):
                consumer = topic.consumer("reader", timeout_s=PATIENCE_S)
                events = [consumer.pull().result(PATIENCE_S) for _ in range(20)]
                assert [event.offset for event in events] == list(range(expected, expected + 20))
                for event in events[:7]:
                    event.acknowledge()
                consumer.acknowledge(events[9], wait=True)
                server.kill()
                server.start()
                expected += 10
                consumer.close()


def test_a_damaged_folder_is_checked_and_mended_by_commands(tmp_path: Path) -> None:
    folder = tmp_path / "topics"
    with StreamServer(folder) as server, stream.connect(server.address("unix")) as driver:
        driver.create_topic("log", rest="files", durability="always")
        with driver.open_topic("log").producer("writer", batch_size=2) as producer:
            for number in range(6):
                producer.push({"n": number}, b"x" * 1000)
        busy = run_thalweg("topic", "check", str(folder))
        assert busy.returncode == 1 and "is in use" in busy.stderr, busy
    assert run_thalweg("topic", "check", str(folder)).returncode == 0
    [log] = (folder / "partitions").glob("*/*.log")
    flip(log, 20)  # of the head, which the index has too
    flip(log, 64 + 96 + 60)  # of the first batch
    flip(next((folder / "facts").glob("*.log")), 64 + 96 + 10)
    stray = folder / "partitions/9-0"
    stray.mkdir()
    checked = run_thalweg("topic", "check", str(folder))
    assert checked.returncode == 1
    for line in ("the head is damaged", 'events 0 to 1 of partition 0 of topic "log"', "does not know this partition"):
        assert line in checked.stdout, checked.stdout
    assert f"thalweg topic repair {folder}" in checked.stdout
    before = sorted(path.name for path in folder.rglob("*"))
    assert sorted(path.name for path in folder.rglob("*")) == before  # looking changes nothing
    mended = run_thalweg("topic", "repair", str(folder))
    assert mended.returncode == 1 and "the head is damaged: mended" in mended.stdout, mended
    assert (folder / "aside/9-0").is_dir()
    left = run_thalweg("topic", "check", str(folder), "--json", "-")
    assert [row["cost"] for row in json.loads(left.stdout)["rows"]] == [
        'events 0 to 1 of partition 0 of topic "log"',
        "the events in it; it does not tell of which topic",
    ]
    with (
        StreamServer(folder) as server,
        stream.connect(server.address("unix")) as driver,
        driver.open_topic("log").consumer("reader") as consumer,
    ):
        with pytest.raises(CorruptDataError, match="records 0 to 1 cannot be read"):
            consumer.pull().result(PATIENCE_S)
        assert [consumer.pull().result(PATIENCE_S).metadata["n"] for _ in range(4)] == [2, 3, 4, 5]


def flip(path: Path, at: int) -> None:
    """Change one bit of a file."""
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def run_thalweg(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    command = [sys.executable, "-m", "thalweg.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
