"""The server of a pattern's run, from the name of its backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thalweg.servers import ServerManager


def server_for(backend: str, name: str, folder: Path) -> ServerManager:
    """Return a server manager, not started; the file system backend keeps its data inside the result folder."""
    config: dict[str, Any] = {"type": backend}
    if backend == "filesystem":
        config["path"] = str(folder.resolve() / "staging")
    return ServerManager(name, config)
