"""The last words of a server that did not start."""

from __future__ import annotations

import os

_LAST_BYTES = 16384
_LINES = 6


def last_lines(log_fd: int, *, without: str = "\0") -> str:
    """Return the last lines of an open log that are not empty and do not begin with `without`, in one line."""
    start = max(0, os.fstat(log_fd).st_size - _LAST_BYTES)
    log = os.pread(log_fd, _LAST_BYTES, start).decode(errors="replace")
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith(without)]
    return " | ".join(lines[-_LINES:]) or "it ended without a word"
