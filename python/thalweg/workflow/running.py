"""A component while it runs, however it is run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

from thalweg.workflow.line import Message


class Outcome(NamedTuple):
    """How a component ended; `exit_status` as in docs/formats/result-folder.md."""

    done: bool
    exit_status: int | None
    result: Any = None
    error: str | None = None
    last_lines: str = ""


class Running(ABC):
    """One started component. The launcher sleeps on its `interests` and calls `advance` when one of them is ready."""

    @abstractmethod
    def interests(self) -> list[tuple[int, int]]:
        """Return descriptors, and what to wait for on each (``selectors.EVENT_READ`` and ``EVENT_WRITE``)."""

    @abstractmethod
    def advance(self) -> tuple[list[Message], Outcome | None]:
        """Take in what is there, without blocking: what the component told, and the outcome when it has ended."""

    def wakes_s(self) -> float | None:
        """Return the time (``time.monotonic()``) at which it wants `advance` to be called, whatever happens."""
        return None

    def new_lines(self, ended: bool = False) -> Iterable[str]:
        """Return the lines that were logged since the last call."""
        return []

    @abstractmethod
    def deliver(self, kind: str, content: Any) -> None:
        """Tell the component something, without blocking."""

    @abstractmethod
    def ask_to_stop(self) -> None:
        """Ask it to end soon."""

    @abstractmethod
    def kill(self) -> bool:
        """End it now; tell whether that was possible."""

    @abstractmethod
    def close(self) -> None:
        """Give back descriptors, after the end."""
