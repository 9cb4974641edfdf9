"""The contenders: Thalweg's own staging, every DataStore backend, and peers from files outside the package."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from thalweg.bench.contender import Contender
from thalweg.errors import InvalidError, NotFoundError


def own() -> dict[str, Contender]:
    """Thalweg's native operations and every DataStore backend, by name, in the order in which they are measured."""
    from thalweg.bench.contenders.datastore import datastores
    from thalweg.bench.contenders.staging import Embedded, Served

    return {contender.name: contender for contender in (Embedded(), Served(), *datastores())}


def peers(folder: Path) -> dict[str, str]:
    """Locators, by name, of the peers in a folder: one file each, which defines ``CONTENDERS``.

    Raises
    ------
    NotFoundError
        When there is no such folder.
    """
    if not folder.is_dir():
        raise NotFoundError(f"bench: no folder {folder}; peers stand in benchmarks/peers of the source tree")
    found = {}
    for path in sorted(folder.glob("[!_]*.py")):
        for contender in _load(path):
            found[contender.name] = f"{path.resolve()}::{contender.name}"
    return found


def find(locator: str) -> Contender:
    """The contender that a locator means: a name, or ``FILE::NAME`` for a peer.

    Raises
    ------
    InvalidError
        When there is none of that name.
    """
    path, _, name = locator.rpartition("::")
    known = {contender.name: contender for contender in _load(Path(path))} if path else own()
    if name not in known:
        raise InvalidError(f"bench: no contender {name!r}; there are {', '.join(known)}")
    return known[name]


def _load(path: Path) -> tuple[Contender, ...]:
    spec = importlib.util.spec_from_file_location(f"thalweg_peer_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InvalidError(f"bench: {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return tuple(kind() for kind in module.CONTENDERS)
