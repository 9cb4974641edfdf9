"""The backend of a pattern's run: the option that names it, the server that it gets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from thalweg.servers import SERVERS, ServerManager


def _known(name: str) -> str:
    if name not in SERVERS:
        raise ValueError(f"{name!r} is not a backend; accepted are {', '.join(SERVERS)}")
    return name


#: Name of a backend that is registered.
BackendName = Annotated[str, AfterValidator(_known)]
#: The names for help texts.
BACKENDS = ", ".join(SERVERS)


def server_for(backend: str, name: str, folder: Path) -> ServerManager:
    """Return a server manager, not started; the file system backend keeps its data inside the result folder."""
    config: dict[str, Any] = {"type": backend}
    if backend == "filesystem":
        config["path"] = str(folder.resolve() / "staging")
    return ServerManager(name, config)
