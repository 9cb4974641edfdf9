"""Folders that commands are given to read: which hold a run, which a sweep, and what to give in place of others."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from thalweg.errors import InvalidError


def kind_of(folder: Path, command: str) -> Literal["run", "sweep"]:
    """Return what a folder holds.

    Raises
    ------
    InvalidError
        When there is no such folder, neither a run nor a sweep in it, or a run whose events are not merged yet.
    """
    wanted = "give the folder of a run or of a sweep, such as runs/demo"
    if not folder.exists():
        raise InvalidError(f"{command}: {folder} does not exist; {wanted}")
    if not folder.is_dir():
        raise InvalidError(f"{command}: {folder} is a file; {wanted}")
    if (folder / "sweep.json").exists():
        return "sweep"
    if not (folder / "run.json").exists():
        raise InvalidError(f"{command}: {folder} holds neither run.json nor sweep.json; {wanted}")
    if not (folder / "events.parquet").exists():
        raise InvalidError(
            f"{command}: {folder} holds a run that goes on, or was killed before it was merged (no events.parquet); "
            "wait for its end, or run it again"
        )
    return "run"
