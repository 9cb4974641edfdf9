"""The DataStore backends by name; a backend's file is imported when it is first used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from thalweg.datastore.backend import Backend
from thalweg.errors import ConfigError

DEFAULT = "thalweg"
_HOME: dict[str, str] = {
    "thalweg": "thalweg.datastore.thalweg:ThalwegBackend",
    "node-local": "thalweg.datastore.node_local:NodeLocalBackend",
    "filesystem": "thalweg.datastore.filesystem:FilesystemBackend",
    "redis": "thalweg.datastore.redis:RedisBackend",
    "dragon": "thalweg.datastore.dragon:DragonBackend",
}


class _Registry(Mapping[str, type[Backend]]):
    def __getitem__(self, name: str) -> type[Backend]:
        module, _, attribute = _HOME[name].partition(":")
        backend: type[Backend] = getattr(importlib.import_module(module), attribute)
        return backend

    def __contains__(self, name: object) -> bool:
        return name in _HOME

    def __iter__(self) -> Iterator[str]:
        return iter(_HOME)

    def __len__(self) -> int:
        return len(_HOME)


BACKENDS: Mapping[str, type[Backend]] = _Registry()


def register_backend(name: str, home: str) -> None:
    """Make a backend of one's own known; `home` is ``"package.module:Class"``.

    Raises
    ------
    ConfigError
        When the name is taken or `home` is not of that form.
    """
    if name in _HOME:
        raise ConfigError(f"register_backend: {name!r} is taken; choose another name than {', '.join(_HOME)}")
    if home.count(":") != 1:
        raise ConfigError(f"register_backend: home {home!r} is not of the form 'package.module:Class'")
    _HOME[name] = home


def backend_class(name: object, operation: str) -> type[Backend]:
    """Return the class of a backend.

    Raises
    ------
    ConfigError
        When there is no such backend.
    """
    if not isinstance(name, str) or name not in _HOME:
        raise ConfigError(f"{operation}: backend {name!r} is unknown; accepted are {', '.join(_HOME)}")
    return BACKENDS[name]
