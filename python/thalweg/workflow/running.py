"""A component while it runs, however it is run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from thalweg.workflow.progress import Progress


class Outcome(NamedTuple):
    """How a component ended; `exit_status` as in docs/formats/result-folder.md."""

    done: bool
    exit_status: int | None
    result: Any = None
    error: str | None = None
    last_lines: str = ""


class Running(ABC):
    """One started component. The launcher sleeps on `filenos` and calls `advance` when one of them is readable."""

    @abstractmethod
    def filenos(self) -> list[int]:
        """Return descriptors that become readable when there is something to `advance`."""

    @abstractmethod
    def advance(self) -> tuple[list[Progress], Outcome | None]:
        """Take in what is there, without blocking: progress, and the outcome when it has ended."""

    @abstractmethod
    def ask_to_stop(self) -> None:
        """Ask it to end soon."""

    @abstractmethod
    def kill(self) -> bool:
        """End it now; tell whether that was possible."""

    @abstractmethod
    def close(self) -> None:
        """Give back descriptors, after the end."""
