"""A ServerManager's server keeps topics in the folder that its configuration names."""

from __future__ import annotations

from pathlib import Path

import pytest

from thalweg import ServerManager, stream
from thalweg.errors import ConfigError


def test_topics_in_files_are_there_again(tmp_path: Path) -> None:
    config = {"type": "thalweg", "stream_folder": str(tmp_path), "stream_memory_bytes": 1 << 20}
    with ServerManager("first", config) as server, stream.connect(server.get_server_info()["address"]) as driver:
        driver.create_topic("frames", rest="files")
        with driver.open_topic("frames").producer("writer") as producer:
            producer.push({"n": 1}).result(timeout_s=30.0)
    with ServerManager("second", config) as server, stream.connect(server.get_server_info()["address"]) as driver:
        assert driver.list_topics() == ["frames"]
        assert driver.describe_topic("frames").partitions[0].next == 1


def test_less_memory_than_a_server_needs_is_refused() -> None:
    with pytest.raises(ConfigError, match="stream_memory_bytes: is 1000; should be greater than or equal to 1048576"):
        ServerManager("s", {"type": "thalweg", "stream_memory_bytes": 1000})
