"""The server of a run, from its configuration to its end."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from thalweg.configuration import checked, load, suggestion
from thalweg.errors import ConfigError, InvalidError

if TYPE_CHECKING:
    from thalweg.servers.server import Server

SERVERS: dict[str, str] = {
    "thalweg": "thalweg.servers.thalweg:ThalwegServer",
    "node-local": "thalweg.servers.directories:NodeLocalServer",
    "filesystem": "thalweg.servers.directories:FilesystemServer",
    "redis": "thalweg.servers.redis:RedisServer",
    "dragon": "thalweg.servers.dragon:DragonServer",
}

#: Servers of streams: a ServerManager starts them as it does the others, but no DataStore connects to them.
BROKERS: dict[str, str] = {"kafka": "thalweg.servers.kafka:KafkaServer"}


def register_server(backend: str, home: str) -> None:
    """Make the server of a backend of one's own known; `home` is ``"package.module:Class"``.

    Raises
    ------
    ConfigError
        When that backend has a server, or `home` is not of that form.
    """
    if backend in SERVERS | BROKERS:
        raise ConfigError(f"register_server: backend {backend!r} has a server already")
    if home.count(":") != 1:
        raise ConfigError(f"register_server: home {home!r} is not of the form 'package.module:Class'")
    SERVERS[backend] = home


class ServerManager:
    """Starts the real server of a backend, waits until it answers, and leaves nothing behind when stopped.

    Parameters
    ----------
    name : str
        Names the run; part of the namespace that its data is in.
    config : mapping, str or Path
        ``{"type": backend, ...}``, the name of a backend alone, or a JSON or TOML file. Keys by backend:

        - ``thalweg``: memory_limit_bytes, when_full (block, fail, drop_oldest), listen ("host:port"), token,
          stream_folder (of topics in files), stream_memory_bytes (of topics in memory)
        - ``node-local``: path (default /dev/shm), shards (16)
        - ``filesystem``: path (needed), shards (default 16 a node)
        - ``redis``: instances (1), cluster (false; true: they are the masters of one Redis Cluster), host (127.0.0.1),
          port (0: free ones; else of the first, the others in a row), password (default: random), memory_limit_bytes
          (of all together), executable (redis-server), start_timeout_s (10)
        - ``dragon``: memory_limit_bytes (1 GiB), managers (1), start_timeout_s (60)
        - ``kafka`` (a broker of streams): host (127.0.0.1), port (0: a free one), path (of the folder that its log is
          in; default: the system's for temporary files), heap_bytes (1 GiB), settings (of the broker, by Kafka's
          names), jars (a folder; default: fetched once with Maven into the user's cache), start_timeout_s (60)

    Raises
    ------
    ConfigError
        For a wrong configuration, with the path of the key and the fix; nothing was started then.

    Notes
    -----
    Every start has a namespace of its own, so a run never sees what another run staged. A server process dies with
    the process that started it, also when that is killed; directories of killed runs are removed by the next start
    on that node.

    Examples
    --------
    >>> with ServerManager("demo", {"type": "node-local"}) as server:
    ...     print(server.get_server_info()["backend"])
    node-local
    """

    def __init__(self, name: str, config: Mapping[str, Any] | str | Path) -> None:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"ServerManager: name is {name!r}; give text that is not empty")
        word = isinstance(config, str) and not config.endswith((".json", ".toml"))
        content = {"type": config} if word else load(config, "ServerManager")
        kind = content.get("type")
        known = SERVERS | BROKERS
        if kind is None:
            raise ConfigError(f"ServerManager: type: is missing; add it, accepted are {', '.join(known)}")
        if not isinstance(kind, str) or kind not in known:
            raise ConfigError(f"ServerManager: type: is {kind!r}; {suggestion(kind, list(known))}")
        module, _, attribute = known[kind].partition(":")
        chosen: type[Server] = getattr(importlib.import_module(module), attribute)
        self.name = name
        self.config = checked(chosen.Config, content, "ServerManager")
        self._server = chosen(name, self.config)
        self._backend = kind
        self._info: dict[str, Any] | None = None

    def start_server(self) -> dict[str, Any]:
        """Start the server; returns its info when it answers.

        Raises
        ------
        InvalidError
            When it runs already.
        ServerGoneError
            When it does not start; the message has its last lines.
        MissingLibraryError
            When its program or library is not installed.
        """
        if self._info is not None:
            raise InvalidError(f"ServerManager.start_server: {self.name!r} runs already; stop it first")
        self._info = self._server.start()
        return dict(self._info)

    def get_server_info(self) -> dict[str, Any]:
        """Return what a `DataStore` needs to connect: a plain dict that JSON can hold.

        Raises
        ------
        InvalidError
            When the server does not run.
        """
        if self._info is None:
            raise InvalidError(
                f"ServerManager.get_server_info: {self.name!r} does not run; call start_server() first, or give the "
                "ServerManager itself in a component's args and in Workflow(servers=[...]), which starts it"
            )
        return dict(self._info)

    def stop_server(self) -> None:
        """Stop the server and remove what was staged. Does nothing when it does not run."""
        if self._info is not None:
            self._info = None
            self._server.stop()

    @property
    def backend(self) -> str:
        """Name of the backend that it serves."""
        return self._backend

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._info is not None

    def __getstate__(self) -> dict[str, Any]:
        raise InvalidError(
            f"ServerManager {self.name!r} stays in the process that made it; send get_server_info() instead, or give "
            "the ServerManager itself in a component's args"
        )

    def __enter__(self) -> ServerManager:
        if self._info is None:
            self.start_server()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_server()
