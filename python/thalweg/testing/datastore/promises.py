"""What the promises of a backend are tested with: a server, a way to stop it, a way to damage what it stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from thalweg.datastore import DataStore

PATIENCE_S = 120.0


class Promises:
    """Base of the groups of promises; its fixtures are what an implementation gives."""

    @pytest.fixture
    def server_info(self) -> Iterator[dict[str, Any]]:
        """Yield the info of a running server."""
        raise NotImplementedError("give a fixture `server_info` that yields the info of a running server")

    @pytest.fixture
    def stop_server(self) -> Callable[[], None] | None:
        """Return a callable that stops the server, or None."""
        return None

    @pytest.fixture
    def store(self, server_info: dict[str, Any]) -> Iterator[DataStore]:
        """Yield a DataStore over the server."""
        with DataStore("conformance", server_info) as store:
            yield store

    def damage(self, info: dict[str, Any], change: Callable[[bytes], bytes]) -> None:
        """Apply `change` to the stored bytes of the only value there is."""
        (path,) = [path for path in Path(info["path"]).rglob("*.v") if path.is_file()]
        path.write_bytes(change(path.read_bytes()))
