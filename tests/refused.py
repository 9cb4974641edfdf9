"""The tables of what is refused (tests/refusals/*.toml): what is wrong, in which file or command, the whole message."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from command_line import PROGRAM
from left_behind import Mark
from thalweg.configuration import load

TABLES = Path(__file__).with_name("refusals")


class Refusal(NamedTuple):
    """One line of a table.

    Attributes
    ----------
    file : str
        Name of the file that is refused, in the current folder; empty for a command.
    what : str
        Its text, or the command.
    beside : mapping
        Text of other files, by name.
    options : list of str
        Further words of the command.
    """

    file: str
    what: str
    message: str
    beside: Mapping[str, str]
    options: Sequence[str] = ()

    def written(self, folder: Path, port: int) -> Refusal:
        """Write its files into `folder`; `port` is in the place of TAKEN, and `folder` of HERE."""
        for name, text in {**self.beside, **({self.file: self.what} if self.file else {})}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text.replace("TAKEN", str(port)))
        return self._replace(message=self.message.replace("TAKEN", str(port)).replace("HERE", str(folder)))


def table(name: str) -> list[Any]:
    """Return the lines of ``refusals/NAME.toml`` as parameters of a test, named by what is wrong.

    One that needs a library (``with``), its absence (``without``), a program (``programs``) or its absence
    (``no_programs``) is skipped where that is not so.
    """
    return [
        pytest.param(_refusal(name, entry), id=entry["wrong"].replace(" ", "_"), marks=_marks(entry))
        for entry in load(TABLES / f"{name}.toml", "table")["refusals"]
    ]


def _refusal(name: str, entry: Mapping[str, Any]) -> Refusal:
    beside = entry.get("beside", {})
    if "command" in entry:
        return Refusal("", entry["command"], entry["message"], beside)
    ending = "json" if "json" in entry else "toml"
    return Refusal(f"{name}.{ending}", entry[ending], entry["message"], beside, entry.get("options", "").split())


def _marks(entry: Mapping[str, Any]) -> list[pytest.MarkDecorator]:
    missing = [library for library in entry.get("with", ()) if importlib.util.find_spec(library) is None]
    missing += [program for program in entry.get("programs", ()) if shutil.which(program) is None]
    there = [library for library in entry.get("without", ()) if importlib.util.find_spec(library) is not None]
    there += [program for program in entry.get("no_programs", ()) if shutil.which(program) is not None]
    return [
        *(pytest.mark.skip(reason=f"{what} is not installed") for what in missing),
        *(pytest.mark.skip(reason=f"{what} is installed") for what in there),
    ]


def start(folder: Path, mark: Mark, *options: str) -> subprocess.Popen[str]:
    """Run the workflow file in `folder`."""
    shutil.copy(TABLES / "failing.py", folder)
    return subprocess.Popen(
        [*PROGRAM, "run", "workflow.toml", "--folder", "run", *options],
        cwd=folder,
        env=mark.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
