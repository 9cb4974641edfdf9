"""The program as a user starts it: a process with its own standard streams."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

PROGRAM = [sys.executable, "-m", "thalweg.cli"]
DEADLINE_S = 120


def thalweg(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``thalweg`` to its end, its streams piped."""
    return subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, timeout=DEADLINE_S, cwd=cwd, stdin=subprocess.DEVNULL
    )


def descendants(pid: int) -> set[int]:
    """Processes below one, as the kernel knows them now."""
    found: set[int] = set()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a process or thread that has just ended
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                for child in map(int, (task / "children").read_text().split()):
                    found |= {child} | descendants(child)
    return found
