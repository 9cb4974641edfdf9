"""The libraries that are loaded into unmodified programs."""

from __future__ import annotations

import os
from pathlib import Path

from thalweg.errors import MissingLibraryError

_FOLDER = Path(__file__).parent / "lib"


def environment() -> dict[str, str]:
    """Return what makes the system load ``libthalweg-redirect.so``, with what is to be loaded anyway.

    Raises
    ------
    MissingLibraryError
        When it has not been built.
    """
    library = _built(_FOLDER / "libthalweg-redirect.so", " :")
    return {"LD_PRELOAD": _first(library, "LD_PRELOAD")}


def plugin() -> dict[str, str]:
    """Return what makes HDF5 load ``libthalweg-hdf5.so``, its connector, with the plugins that it is to load anyway.

    Raises
    ------
    MissingLibraryError
        When it has not been built.
    """
    library = _built(_FOLDER / "hdf5" / "libthalweg-hdf5.so", ":")
    return {"HDF5_PLUGIN_PATH": _first(library.parent, "HDF5_PLUGIN_PATH"), "HDF5_VOL_CONNECTOR": "thalweg"}


def _built(library: Path, dividers: str) -> Path:
    """Return `library`, which must be there, and whose path the system can tell from others that such dividers part."""
    if not library.exists():
        raise MissingLibraryError(f"redirect: {library} is missing; make setup builds it (a C compiler is needed)")
    if any(c in str(library) for c in dividers):
        raise MissingLibraryError(f"redirect: {library} cannot be loaded, as its path holds a blank or a colon")
    return library


def _first(path: Path, variable: str) -> str:
    return ":".join(filter(None, [str(path), os.environ.get(variable)]))
