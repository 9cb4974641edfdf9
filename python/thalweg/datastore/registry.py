"""The DataStore backends by name; a backend's file is imported when it is first used."""

from __future__ import annotations

from thalweg.datastore.backend import Backend
from thalweg.errors import ConfigError
from thalweg.homes import Homes

DEFAULT = "thalweg"
BACKENDS: Homes[Backend] = Homes(
    "register_backend",
    "name",
    {
        "thalweg": "thalweg.datastore.thalweg:ThalwegBackend",
        "node-local": "thalweg.datastore.node_local:NodeLocalBackend",
        "filesystem": "thalweg.datastore.filesystem:FilesystemBackend",
        "redis": "thalweg.datastore.redis:RedisBackend",
        "dragon": "thalweg.datastore.dragon:DragonBackend",
    },
)


def register_backend(name: str, home: str) -> None:
    """Make a backend of one's own known; `home` is ``"package.module:Class"``.

    Raises
    ------
    ConfigError
        When the name is taken or `home` is not of that form.
    """
    BACKENDS.register(name, home)


def backend_class(name: object, operation: str) -> type[Backend]:
    """Return the class of a backend.

    Raises
    ------
    ConfigError
        When there is no such backend.
    """
    if not isinstance(name, str) or name not in BACKENDS:
        raise ConfigError(f"{operation}: backend {name!r} is unknown; accepted are {', '.join(BACKENDS)}")
    return BACKENDS[name]
