"""The backend of a pattern's run: the option that names it, the server that it gets."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import psutil
from pydantic import AfterValidator

from thalweg.errors import ConfigError
from thalweg.servers import SERVERS, ServerManager
from thalweg.sizes import format_size


def _known(name: str) -> str:
    if name not in SERVERS:
        raise ValueError(f"{name!r} is not a backend; accepted are {', '.join(SERVERS)}")
    return name


#: Name of a backend that is registered.
BackendName = Annotated[str, AfterValidator(_known)]
#: The names for help texts.
BACKENDS = ", ".join(SERVERS)


class Staged(NamedTuple):
    """What a pattern has in its DataStore at once: arrays of one size, as many as the `counts` multiplied."""

    size_bytes: int
    counts: Mapping[str, int]

    @property
    def total_bytes(self) -> int:
        """Bytes of all of them."""
        return self.size_bytes * math.prod(self.counts.values())

    def check(self, pattern: str, backend: str, folder: Path) -> None:
        """Refuse what the node's memory, or the file system of `folder`, has no room for.

        Raises
        ------
        ConfigError
            With the numbers.
        """
        if backend == "filesystem":
            there = next(place for place in (folder, *folder.resolve().parents) if place.exists())
            available, where = shutil.disk_usage(there).free, f"the file system of {folder}"
        else:
            available, where = psutil.virtual_memory().available, "the memory of this machine"
        if self.total_bytes > available:
            factors = " × ".join(f"{count} {what}" for what, count in self.counts.items())
            raise ConfigError(
                f"{pattern}: {factors} × {format_size(self.size_bytes)} = {format_size(self.total_bytes)} would be "
                f"staged at once; {where} has {available / 1e9:.3g} GB available: make one of them smaller"
            )


_ROOM = 1.5  # of what is staged at once: for what is being replaced, and for what memory in pieces loses
_LEAST_BYTES = 1 << 30
_LIMITED = ("thalweg", "redis", "dragon")


def server_for(backend: str, name: str, folder: Path, staged: Staged | None = None) -> ServerManager:
    """Return a server manager, not started; the file system backend keeps its data inside the result folder.

    Memory is limited to what is `staged` at once and some room, at least 1 GiB.

    Raises
    ------
    ConfigError
        When there is no room for it.
    """
    if staged is not None:
        staged.check(name, backend, folder)
    config: dict[str, Any] = {"type": backend}
    if backend in _LIMITED:
        config["memory_limit_bytes"] = max(_LEAST_BYTES, int(_ROOM * (staged.total_bytes if staged else 0)))
    if backend == "filesystem":
        config["path"] = str(folder.resolve() / "staging")
    return ServerManager(name, config)
