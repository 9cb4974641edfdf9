"""The command line that every example has, and how its result leaves it."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from thalweg.errors import ThalwegError

_INTERRUPTED = 130
_TERMINATED = 143


def parser(name: str, description: str, examples: Sequence[str], scale: str) -> argparse.ArgumentParser:
    """Return a parser with the options that all have."""
    program = f"python examples/streams/{name}"
    lines = "\n".join(f"  {program} {words}".rstrip() for words in examples)
    made = argparse.ArgumentParser(
        program, description=description, epilog=f"examples:\n{lines}", formatter_class=argparse.RawTextHelpFormatter
    )
    made.add_argument(
        "--address",
        default=os.environ.get("THALWEG_ADDRESS") or None,
        help="unix:..., tcp:..., kafka:HOST:PORT or files:/FOLDER\n(default: $THALWEG_ADDRESS, else a server)",
    )
    made.add_argument("--scale", type=positive, default=1.0, help=f"{scale} (default: 1)")
    made.add_argument("--output", type=Path, default=Path("runs/streams") / name, help="folder of the pictures")
    made.add_argument("--json", metavar="PATH|-", help="write the result as JSON; -: to standard output, alone")
    return made


def positive(text: str) -> float:
    """Return a number above 0."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not accepted; give a number above 0")
    return value


def count(text: str) -> int:
    """Return a whole number from 1 on."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not accepted; give a whole number from 1 on")
    return value


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table: first column to the left, numbers to the right."""
    lines = [list(map(str, row)) for row in (header, *rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(header))]

    def joined(line: Sequence[str]) -> str:
        cells = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        return f"| {' | '.join([line[0].ljust(widths[0]), *cells])} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([joined(lines[0]), joined(rule), *map(joined, lines[1:])])


def main(
    options: argparse.Namespace,
    run: Callable[[argparse.Namespace], tuple[dict[str, Any], Sequence[str]]],
) -> int:
    """Run an example: its result goes to ``--json``, what it says to standard output; return the exit status."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(_TERMINATED))
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        result, said = run(options)
        print("\n\n".join(said), file=sys.stderr if options.json == "-" else sys.stdout)
        if options.json == "-":
            print(json.dumps(result, indent=1))
        elif options.json:
            Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    except (ThalwegError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
