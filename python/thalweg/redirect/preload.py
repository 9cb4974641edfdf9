"""The library that is loaded into unmodified programs."""

from __future__ import annotations

import os
from pathlib import Path

from thalweg.errors import MissingLibraryError

_FOLDER = Path(__file__).parent / "lib"


def environment() -> dict[str, str]:
    """Return what makes the system load it, with what is to be loaded anyway.

    Raises
    ------
    MissingLibraryError
        When it has not been built.
    """
    library = _FOLDER / "libthalweg-redirect.so"
    if not library.exists():
        raise MissingLibraryError(f"redirect: {library} is missing; make setup builds it (a C compiler is needed)")
    # Names are divided by blanks or colons: a path with one cannot be given.
    if any(c in str(library) for c in " :"):
        raise MissingLibraryError(f"redirect: {library} cannot be loaded, as its path holds a blank or a colon")
    return {"LD_PRELOAD": ":".join(filter(None, [str(library), os.environ.get("LD_PRELOAD")]))}
