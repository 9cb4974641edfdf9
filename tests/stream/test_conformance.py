"""Every stream driver that is shipped passes the shipped suite."""

from __future__ import annotations

import importlib.util
import os
import shutil

import pytest

from thalweg import ServerManager
from thalweg.staging import Server
from thalweg.testing import StreamTests

TOKEN = "a-secret-for-tests"


class TestNative(StreamTests):
    """A server on this node, over shared memory."""

    @pytest.fixture
    def server(self, tmp_path):
        folder = tmp_path / "topics"
        limits = {"memory_limit_bytes": 1 << 20, "stream_memory_bytes": 1 << 30}
        with Server(listen="127.0.0.1:0", token=TOKEN, stream_folder=folder, **limits) as server:
            yield server

    @pytest.fixture
    def address(self, server):
        return server.address

    @pytest.fixture
    def stop_server(self, server):
        return server.close


class TestNativeOverTcp(TestNative):
    """The same server, as other nodes reach it."""

    @pytest.fixture
    def address(self, server, monkeypatch):
        monkeypatch.setenv("THALWEG_TOKEN", TOKEN)
        return server.tcp_address


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
