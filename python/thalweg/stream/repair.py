"""Folders of streams that no server has open: what is damaged in them, and mending it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from thalweg import _native


@dataclasses.dataclass(frozen=True)
class Problem:
    """Something wrong in a folder of streams.

    Attributes
    ----------
    path : Path
        The file or folder.
    what : str
        What is wrong.
    cost : str
        What that costs: the events that cannot be read, or ``"nothing"``.
    mending : str or None
        How `repair` mends it; None when nothing can.
    """

    path: Path
    what: str
    cost: str
    mending: str | None


def check(folder: str | os.PathLike[str]) -> list[Problem]:
    """Read every file of a folder of streams and return what is damaged; change nothing.

    Blocks until all is read.

    Raises
    ------
    NotFoundError
        When it is no folder of streams.
    AccessError
        While a server has it open.
    """
    return _problems(_native.check_streams(os.fspath(folder)))


def repair(folder: str | os.PathLike[str]) -> tuple[list[str], list[Problem]]:
    """Mend what can be mended; return what was done, and what is damaged still. Nothing is deleted.

    Raises
    ------
    NotFoundError, AccessError
        As `check`.
    """
    done, left = _native.repair_streams(os.fspath(folder))
    return done, _problems(left)


def _problems(rows: list[_native.ProblemTuple]) -> list[Problem]:
    return [Problem(Path(path), what, cost, mending) for path, what, cost, mending in rows]
