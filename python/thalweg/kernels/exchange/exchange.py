"""What the collectives need of a library that moves arrays between ranks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

Reduction = Literal["sum", "max", "min"]


class Exchange(ABC):
    """Collective operations on arrays of one device; every rank of the component takes part in each."""

    @abstractmethod
    def all_reduce(self, mine: Any, result: Any, operation: Reduction) -> None:
        """result = the reduction over all ranks' `mine`, element by element; same shapes."""

    @abstractmethod
    def all_gather(self, mine: Any, result: Any) -> None:
        """result[rank] = that rank's `mine`, for all ranks."""

    def close(self) -> None:
        """Give back communicators."""
        return
