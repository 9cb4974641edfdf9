"""The systems: one file each."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

from thalweg.bench.stream.system import System
from thalweg.errors import InvalidError

#: Where each is, in the order in which they are measured and shown.
SYSTEMS = {
    "thalweg": "thalweg.bench.stream.contenders.thalweg",
    "thalweg-memory": "thalweg.bench.stream.contenders.thalweg",
    "thalweg-files": "thalweg.bench.stream.contenders.thalweg",
    "kafka": "thalweg.bench.stream.contenders.kafka",
    "redis": "thalweg.bench.stream.contenders.redis",
    "zeromq": "thalweg.bench.stream.contenders.zeromq",
}


def find(locator: str) -> System:
    """The system that a locator means: a name, or ``FILE::NAME`` for one of a file that defines ``SYSTEMS``.

    Raises
    ------
    InvalidError
        When there is none of that name.
    """
    path, _, name = locator.rpartition("::")
    if not path and name not in SYSTEMS:
        raise InvalidError(f"bench stream: no system {name!r}; there are {', '.join(SYSTEMS)}")
    if path:
        spec = importlib.util.spec_from_file_location(f"thalweg_stream_{Path(path).stem}", path)
        if spec is None or spec.loader is None:
            raise InvalidError(f"bench stream: {path} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(SYSTEMS[name])
    known: dict[str, type[System]] = {system.name: system for system in module.SYSTEMS}
    if name not in known:
        raise InvalidError(f"bench stream: no system {name!r}; {path or SYSTEMS[name]} has {', '.join(known)}")
    return known[name]()
