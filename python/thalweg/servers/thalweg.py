"""The staging and stream services in this process."""

from __future__ import annotations

import re
import socket
from typing import Any, Literal

from pydantic import Field, model_validator

from thalweg.errors import ConfigError, MissingLibraryError, ThalwegError
from thalweg.servers.server import Server, ServerConfig, new_namespace


class ThalwegConfig(ServerConfig):
    """Configuration of `thalweg`."""

    memory_limit_bytes: int | None = Field(None, ge=1 << 20)
    when_full: Literal["block", "fail", "drop_oldest"] = "block"
    listen: str | None = None
    token: str | None = Field(None, min_length=8)
    stream_folder: str | None = None
    stream_memory_bytes: int | None = Field(None, ge=1 << 20)

    @model_validator(mode="after")
    def _token_for_network(self) -> ThalwegConfig:
        if self.listen is not None and re.fullmatch(r".+:\d+", self.listen) is None:
            raise ValueError(f"listen is {self.listen!r}; give host:port, with port 0 for a free one")
        if self.listen is not None and self.token is None:
            raise ValueError("listen needs a token; add token")
        return self


class ThalwegServer(Server):
    """Hosts `thalweg.staging.Server`; its threads run beside Python, not in it."""

    Config = ThalwegConfig

    def __init__(self, name: str, config: ThalwegConfig) -> None:
        self._name, self._config = name, config
        self._server: Any = None

    def start(self) -> dict[str, Any]:
        try:
            from thalweg.staging import Server as StagingServer
        except ImportError as error:
            raise MissingLibraryError(
                f"ServerManager: thalweg: the staging service is not built ({error}); run make setup"
            ) from error
        config = self._config
        try:
            self._server = StagingServer(
                memory_limit_bytes=config.memory_limit_bytes,
                when_full=config.when_full,
                listen=config.listen,
                token=config.token,
                stream_folder=config.stream_folder,
                stream_memory_bytes=config.stream_memory_bytes,
            )
        except ThalwegError as error:
            if config.listen is None:
                raise
            raise ConfigError(
                f"ServerManager: listen: {error}; give another address, or port 0 for a free one"
            ) from error
        return {
            "backend": "thalweg",
            "host": socket.gethostname(),
            "address": self._server.address,
            "tcp_address": self._server.tcp_address,
            "namespace": new_namespace(self._name),
            "token": config.token,
        }

    def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
