"""The servers of the backend `redis`: one process, several, or the masters of a Redis Cluster."""

from __future__ import annotations

import shutil
from typing import Any

from pydantic import Field, model_validator

from thalweg.errors import MissingLibraryError
from thalweg.servers.directories import Namespace, default_base
from thalweg.servers.redis_cluster import FEWEST_MASTERS, join
from thalweg.servers.redis_process import BUS_OFFSET, RedisProcess, Settings, new_password
from thalweg.servers.server import Server, ServerConfig, new_namespace

_LAST_PORT = 65535
_LEAST_MEMORY_BYTES = 1 << 20


class RedisConfig(ServerConfig):
    """Configuration of `redis`."""

    host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(0, ge=0, le=_LAST_PORT)
    password: str | None = Field(None, min_length=1)
    memory_limit_bytes: int | None = Field(None, ge=_LEAST_MEMORY_BYTES)
    instances: int = Field(1, ge=1, le=1000)
    cluster: bool = False
    executable: str = Field("redis-server", min_length=1)
    start_timeout_s: float = Field(10.0, gt=0)

    @model_validator(mode="after")
    def _fits(self) -> RedisConfig:
        if self.password is not None and any(character.isspace() for character in self.password):
            raise ValueError("password has a space in it; give one without, or leave it out for a random one")
        if self.cluster and self.instances < FEWEST_MASTERS:
            raise ValueError(
                f"cluster needs {FEWEST_MASTERS} instances or more, instances is {self.instances}; "
                f"set instances to {FEWEST_MASTERS}, or leave cluster out"
            )
        highest = _LAST_PORT - self.instances + 1 - (BUS_OFFSET if self.cluster else 0)
        if self.port > highest:
            raise ValueError(
                f"port is {self.port}, too high for {self.instances} instances in a row"
                f"{' with a bus port each' if self.cluster else ''}; give at most {highest}, or 0 for free ones"
            )
        if self.memory_limit_bytes is not None and self.memory_limit_bytes // self.instances < _LEAST_MEMORY_BYTES:
            raise ValueError(
                f"memory_limit_bytes is {self.memory_limit_bytes}, shared by {self.instances} instances; "
                f"give at least {self.instances * _LEAST_MEMORY_BYTES}"
            )
        return self


class RedisServer(Server):
    """Starts `instances` processes, on ports in a row when the first is named; one memory limit is split among them."""

    Config = RedisConfig

    def __init__(self, name: str, config: RedisConfig) -> None:
        self._name, self._config = name, config
        self._processes: list[RedisProcess] = []
        self._namespace: Namespace | None = None  # of files that the members of a cluster insist on

    def start(self) -> dict[str, Any]:
        program = shutil.which(self._config.executable)
        if program is None:
            raise MissingLibraryError(
                f"ServerManager: redis: there is no program {self._config.executable!r}; "
                "install it (Debian: apt-get install redis-server) or set executable"
            )
        from thalweg.datastore.redis import RedisBackend

        missing = RedisBackend.available()
        if missing is not None:
            raise MissingLibraryError(f"ServerManager: redis: {missing}")
        try:
            return self._start(program)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        processes, self._processes = self._processes, []
        for process in processes:
            process.stop()
        if self._namespace is not None:
            self._namespace.remove()
            self._namespace = None

    def _start(self, program: str) -> dict[str, Any]:
        config = self._config
        if config.cluster:
            self._namespace = Namespace(default_base(), self._name, 0)
        limit_bytes = config.memory_limit_bytes
        shared_password = config.password or (new_password() if config.cluster else None)
        instances = []
        for number in range(config.instances):
            settings = Settings(
                program,
                config.host,
                config.port + number if config.port else 0,
                shared_password or new_password(),
                None if limit_bytes is None else limit_bytes // config.instances,
                config.start_timeout_s,
                self._namespace.root if self._namespace is not None else None,
            )
            process = RedisProcess(settings)
            self._processes.append(process)
            process.start()
            instances.append({"host": config.host, "port": process.port, "password": settings.password})
        if config.cluster:
            assert shared_password is not None
            join(config.host, shared_password, self._processes, config.start_timeout_s)
        return {
            "backend": "redis",
            "cluster": config.cluster,
            "instances": instances,
            "namespace": new_namespace(self._name),
        }
