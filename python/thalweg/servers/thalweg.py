"""The staging service in this process."""

from __future__ import annotations

import socket
from typing import Any, Literal

from pydantic import Field, model_validator

from thalweg.errors import MissingLibraryError
from thalweg.servers.server import Server, ServerConfig, new_namespace


class ThalwegConfig(ServerConfig):
    """Configuration of `thalweg`."""

    memory_limit_bytes: int | None = Field(None, ge=1 << 20)
    when_full: Literal["block", "fail", "drop_oldest"] = "block"
    listen: str | None = Field(None, pattern=r"^.+:\d+$")
    token: str | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _token_for_network(self) -> ThalwegConfig:
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
        self._server = StagingServer(
            memory_limit_bytes=config.memory_limit_bytes,
            when_full=config.when_full,
            listen=config.listen,
            token=config.token,
        )
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
