"""Every DataStore backend, through the interface that a component uses."""

from __future__ import annotations

import contextlib
import tempfile
from typing import TYPE_CHECKING, Any, cast

from thalweg.bench.contender import TIMEOUT_S, Array, Consumer, Contender, Producer

if TYPE_CHECKING:
    from thalweg.datastore import DataStore


class _Writer(Producer):
    def __init__(self, store: DataStore) -> None:
        self._store = store

    def put(self, index: int, array: Array) -> None:
        self._store.stage_write(f"item-{index}", array)

    def close(self) -> None:
        self._store.close()


class _Reader(Consumer):
    def __init__(self, store: DataStore) -> None:
        self._store = store

    def get(self, index: int) -> Array:
        return cast("Array", self._store.stage_read(f"item-{index}", timeout_s=TIMEOUT_S))

    def get_into(self, index: int, into: Array) -> None:
        self._store.stage_read(f"item-{index}", timeout_s=TIMEOUT_S, into=into)

    def release(self, index: int) -> None:
        self._store.clean_staged_data(f"item-{index}")

    def close(self) -> None:
        self._store.close()


class Backend(Contender):
    """One DataStore backend with the server that its ServerManager starts."""

    operations = ("put", "get_view", "get_into", "latency")

    def __init__(self, name: str, backend: str, **settings: Any) -> None:
        self._settings = settings
        self.name = name  # type: ignore[misc]  # one class stands for every registered backend
        self._backend = backend
        self._started = contextlib.ExitStack()

    def available(self) -> str | None:
        from thalweg.datastore import BACKENDS

        return BACKENDS[self._backend].available()

    def start(self) -> Any:
        from thalweg.servers import ServerManager

        config: dict[str, Any] = {"type": self._backend, **self._settings}
        if self._backend == "filesystem":
            config["path"] = self._started.enter_context(tempfile.TemporaryDirectory(prefix="thalweg-bench-"))
        manager = self._started.enter_context(ServerManager(f"bench-{self._backend}", config))
        return manager.get_server_info()

    def stop(self) -> None:
        self._started.close()

    def producer(self, place: Any) -> Producer:
        from thalweg.datastore import DataStore

        return _Writer(DataStore("producer", place))

    def consumer(self, place: Any) -> Consumer:
        from thalweg.datastore import DataStore

        return _Reader(DataStore("consumer", place))


def datastores() -> list[Backend]:
    """One contender a backend, Redis also as several servers; Thalweg's own has another name than its operations."""
    from thalweg.datastore import BACKENDS

    several = [
        Backend("redis-instances", "redis", instances=3),
        Backend("redis-cluster", "redis", instances=3, cluster=True),
    ]
    return several + [Backend("thalweg-datastore" if name == "thalweg" else name, name) for name in BACKENDS]
