"""Every backend that is shipped passes the shipped suite, in each way in which its servers can be set up."""

from __future__ import annotations

import importlib.util
import shutil
import uuid
from typing import ClassVar

import pytest

from thalweg import ServerManager
from thalweg.testing import DataStoreTests

needs_redis = pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")


class _Shipped(DataStoreTests):
    """A server for each test; or, where `shared`, one for all tests that do not stop it, in a namespace each."""

    config: ClassVar[dict] = {}
    shared: ClassVar[bool] = False

    @pytest.fixture(scope="class")
    @classmethod
    def shared_server(cls):
        with ServerManager("conformance", cls.config) as server:
            yield server

    @pytest.fixture
    def server(self, request, tmp_path):
        if self.shared and "stop_server" not in request.fixturenames:
            yield request.getfixturevalue("shared_server")
            return
        config = dict(self.config)
        if config["type"] == "filesystem":
            config["path"] = str(tmp_path)
        with ServerManager("conformance", config) as server:
            yield server

    @pytest.fixture
    def server_info(self, server):
        info = server.get_server_info()
        return {**info, "namespace": uuid.uuid4().hex} if self.shared else info

    @pytest.fixture
    def stop_server(self, server):
        return server.stop_server


class TestNodeLocal(_Shipped):
    config: ClassVar[dict] = {"type": "node-local"}


class TestFilesystem(_Shipped):
    config: ClassVar[dict] = {"type": "filesystem"}


@needs_redis
class TestRedis(_Shipped):
    config: ClassVar[dict] = {"type": "redis"}


@needs_redis
class TestRedisInstances(_Shipped):
    config: ClassVar[dict] = {"type": "redis", "instances": 3}
    shared = True


@needs_redis
class TestRedisCluster(_Shipped):
    config: ClassVar[dict] = {"type": "redis", "instances": 3, "cluster": True}
    shared = True  # a cluster takes two seconds to agree


class TestThalweg(_Shipped):
    config: ClassVar[dict] = {"type": "thalweg"}

    @pytest.fixture(autouse=True)
    def _built(self):
        pytest.importorskip("thalweg.staging")


class TestThalwegOverTCP(TestThalweg):
    config: ClassVar[dict] = {"type": "thalweg", "listen": "127.0.0.1:0", "token": "a-token-for-tests"}

    @pytest.fixture
    def server_info(self, server):
        return {**server.get_server_info(), "host": "as seen from another node"}


@pytest.mark.skipif(importlib.util.find_spec("dragon") is None, reason="dragonhpc is not installed")
class TestDragon(_Shipped):
    config: ClassVar[dict] = {"type": "dragon"}
    shared = True  # a Dragon run-time takes seconds to start
