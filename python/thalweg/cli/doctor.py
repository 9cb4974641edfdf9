"""``thalweg doctor``: what is installed, what each thing is for, how to get it."""

from __future__ import annotations

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption

#: The width of a usual terminal.
_MOST_COLUMNS = 98


@command
def doctor(json_path: JsonOption = None) -> None:
    """Look at this machine: libraries, servers, kernel settings and limits.

    Example:

        thalweg doctor --json -
    """
    from thalweg.cli.examination import examine
    from thalweg.cli.output import Output

    output = Output(json_path)
    output.console.width = min(output.console.width, _MOST_COLUMNS)  # long cells wrap
    found = examine()
    output.table(
        "This machine",
        ["item", "", "version", "needed for", "how to get it"],
        [
            [
                item.item,
                "✓" if item.found else "✗",
                item.version,
                item.needed_for,
                "" if item.found else item.how_to_get,
            ]
            for item in found
        ],
    )
    output.write([item._asdict() for item in found])
