"""Servers that are killed while consumers read: no event is skipped, whichever link they read over."""

from __future__ import annotations

import itertools
import os
import threading
import time
from pathlib import Path

import pytest

from stream_server import StreamServer
from thalweg import stream
from thalweg.errors import ServerGoneError, WaitTimeoutError

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
                    producer.push({"n": number}, number.to_bytes(4, "little") * (DATA_BYTES // 4), partition=number % members)
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
