"""Every stream driver that is shipped passes the shipped suite."""

from __future__ import annotations

import os
import shutil

import pytest

from thalweg.testing import StreamTests


class TestFiles(StreamTests):
    @pytest.fixture
    def address(self, tmp_path):
        return f"files:{tmp_path}/events"

    @pytest.fixture
    def stop_server(self, tmp_path):
        return lambda: shutil.rmtree(tmp_path / "events")


class TestKafka(StreamTests):
    @pytest.fixture
    def address(self):
        pytest.importorskip("confluent_kafka")
        broker = os.environ.get("THALWEG_TEST_KAFKA")
        if broker is None:
            pytest.skip("no broker: set THALWEG_TEST_KAFKA to HOST:PORT")
        return f"kafka:{broker}"
