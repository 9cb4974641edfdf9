"""What the server of a backend must do."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


class ServerConfig(BaseModel):
    """Base of every server's configuration: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    type: str


class Server(ABC):
    """Runs the server that one backend needs; made from its checked configuration."""

    Config: ClassVar[type[ServerConfig]]

    @abstractmethod
    def __init__(self, name: str, config: Any) -> None: ...

    @abstractmethod
    def start(self) -> dict[str, Any]:
        """Start, wait until it answers, and return plain server info (JSON) that has at least ``backend``."""

    @abstractmethod
    def stop(self) -> None:
        """Stop, and remove everything that was staged. Does nothing when not started."""


def new_namespace(name: str) -> str:
    """Return a name that no other run has."""
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in name)[:40]
    return f"{safe or 'run'}-{uuid.uuid4().hex[:12]}"
