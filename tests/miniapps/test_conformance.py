"""Every backend that is shipped passes the shipped suite."""

from __future__ import annotations

import shutil
from typing import ClassVar

import pytest

from thalweg import ServerManager
from thalweg.testing import DataStoreTests


class _Shipped(DataStoreTests):
    config: ClassVar[dict] = {}

    @pytest.fixture
    def server(self, tmp_path):
        config = dict(self.config)
        if config["type"] == "filesystem":
            config["path"] = str(tmp_path)
        with ServerManager("conformance", config) as server:
            yield server

    @pytest.fixture
    def server_info(self, server):
        return server.get_server_info()

    @pytest.fixture
    def stop_server(self, server):
        return server.stop_server


class TestNodeLocal(_Shipped):
    config: ClassVar[dict] = {"type": "node-local"}


class TestFilesystem(_Shipped):
    config: ClassVar[dict] = {"type": "filesystem"}


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
class TestRedis(_Shipped):
    config: ClassVar[dict] = {"type": "redis"}


class TestThalweg(_Shipped):
    config: ClassVar[dict] = {"type": "thalweg"}

    @pytest.fixture(autouse=True)
    def _built(self):
        pytest.importorskip("thalweg.staging")
