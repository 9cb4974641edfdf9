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


_ROOM = 1.5  # of what is staged at once: for what is being replaced, and for what memory in pieces loses
_LEAST_BYTES = 1 << 30
_LIMITED = ("thalweg", "redis", "dragon")


def server_for(backend: str, name: str, folder: Path, staged_bytes: int = 0) -> ServerManager:
    """Return a server manager, not started; the file system backend keeps its data inside the result folder.

    `staged_bytes` is what will be staged at once; memory is limited to that and some room, at least 1 GiB.
    """
    config: dict[str, Any] = {"type": backend}
    if backend in _LIMITED:
        config["memory_limit_bytes"] = max(_LEAST_BYTES, int(_ROOM * staged_bytes))
    if backend == "filesystem":
        config["path"] = str(folder.resolve() / "staging")
    return ServerManager(name, config)
