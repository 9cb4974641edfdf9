"""Every stream driver that is shipped passes the shipped suite."""

from __future__ import annotations

import importlib.util
import os
import shutil

import pytest

from thalweg import ServerManager
from thalweg.testing import StreamTests


class TestFiles(StreamTests):
    @pytest.fixture
    def address(self, tmp_path):
        return f"files:{tmp_path}/events"

    @pytest.fixture
    def stop_server(self, tmp_path):
        return lambda: shutil.rmtree(tmp_path / "events")


@pytest.mark.skipif(importlib.util.find_spec("confluent_kafka") is None, reason="confluent-kafka is not installed")
class TestKafka(StreamTests):
    """With the broker at $THALWEG_TEST_KAFKA (HOST:PORT), else one that is started for all tests."""

    @pytest.fixture(scope="class")
    @classmethod
    def address(cls):
        if broker := os.environ.get("THALWEG_TEST_KAFKA"):
            yield f"kafka:{broker}"
            return
        kafka_jars = pytest.importorskip("thalweg.servers.kafka_jars")
        if problem := kafka_jars.missing():
            pytest.skip(problem)
        with ServerManager("conformance", {"type": "kafka", "heap_bytes": 512 << 20}) as server:
            info = server.get_server_info()
            yield f"kafka:{info['host']}:{info['port']}"
