"""Where a command's findings go: a table for people, one JSON object for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thalweg.errors import InvalidError

if TYPE_CHECKING:
    from rich.console import Console

JsonOption = Annotated[
    str | None,
    typer.Option("--json", metavar="PATH|-", help="Also write one JSON object to a file, or to standard output (-)."),
]


#: Columns of a table that no terminal shows: wide enough not to break a row.
_PIPED_WIDTH = 200


def counted(count: int, word: str) -> str:
    """Return a number and what is counted, such as ``1 event`` or ``2 events``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


class Output:
    """The two audiences of one command.

    Parameters
    ----------
    json_path : str or None
        Where the JSON object goes; with ``-`` standard output holds nothing else and tables go to standard error.

    Raises
    ------
    InvalidError
        When the file's folder does not exist or the file is a folder, before any work is done.
    """

    def __init__(self, json_path: str | None) -> None:
        from rich.console import Console

        if json_path not in (None, "-") and not Path(str(json_path)).absolute().parent.is_dir():
            raise InvalidError(f"--json: no folder {Path(str(json_path)).absolute().parent}; make it first")
        if json_path not in (None, "-") and Path(str(json_path)).is_dir():
            raise InvalidError(f"--json: {json_path} is a folder; name a file")
        self._json_path = json_path
        self.console: Console = Console(stderr=json_path == "-", markup=False)
        if not self.console.is_terminal:
            self.console.width = _PIPED_WIDTH

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Print a table; numbers stand on the right."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        numeric = [all(_is_number(row[place]) for row in rows) for place in range(len(columns))]
        table = Table(title=title, title_justify="left", title_style="bold", header_style="dim", box=SIMPLE_HEAD)
        for name, right in zip(columns, numeric, strict=True):
            table.add_column(name, justify="right" if right else "left", overflow="fold")
        for row in rows:
            table.add_row(*(text(value) for value in row))
        self.console.print(table)

    def line(self, words: str) -> None:
        """Print one line as it is."""
        self.console.print(words, markup=False, highlight=False, soft_wrap=True)

    def write(
        self, rows: Sequence[Mapping[str, Any]], limits: Mapping[str, Any] | None = None, *, one_line: bool = False
    ) -> None:
        """Write the JSON object, when it was asked for.

        Parameters
        ----------
        rows : sequence of mapping
            The command's rows, all with the same fields.
        limits : mapping, optional
            Limits measured in the same run; default: memcpy and Unix round trip are measured now.
        one_line : bool
            For a command that goes on running after it.
        """
        if self._json_path is None:
            return
        import thalweg
        from thalweg.bench.limits import quick
        from thalweg.results.machine import machine

        content = {
            "command": ["thalweg", *sys.argv[1:]],
            "machine": machine(),
            "version": thalweg.__version__,
            "limits": dict(limits) if limits is not None else quick(),
            "rows": [_finite(row) for row in rows],
        }
        encoded = json.dumps(content, indent=None if one_line else 2, allow_nan=False, default=str) + "\n"
        if self._json_path == "-":
            sys.stdout.write(encoded)
            sys.stdout.flush()
        else:
            Path(self._json_path).write_text(encoded)


def text(value: object) -> str:
    """A cell as people read it: four significant digits, commas between thousands, a dash for None."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "–"
        return f"{value:,.0f}" if abs(value) >= 9999.5 else f"{value:.4g}"
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}"
    return str(value)


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _finite(row: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no infinities and no NaN: they become null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }
