"""Calls that all ranks make together, of which rank 0 alone decides how many."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from thalweg.ranks import Ranks

Decided = TypeVar("Decided")
_END = -1


class Together:
    """The same calls in the same order on every rank.

    Each rank has its own clock. If each decided by it whether one more call fits into a time, one would now and then
    wait in a collective operation that the others have left. So rank 0 decides, and tells the others before each call
    which it is: one small broadcast, beside a call that makes the ranks wait for each other anyway. Deciding the number
    of calls beforehand would need no broadcast, but could not react to what the calls turn out to cost.
    """

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._calls: list[Callable[[], object]] = []
        self._deciding = False

    def add(self, call: Callable[[], object]) -> Callable[[], None]:
        """Return the call to make in place of `call`; every rank adds the same calls in the same order.

        Outside of `decide` it is just that call, which every rank then makes by itself.
        """
        number = len(self._calls)
        self._calls.append(call)

        def announced() -> None:
            if self._deciding:
                self._ranks.broadcast(number)
            call()

        return announced

    def decide(self, what: Callable[[], Decided]) -> Decided | None:
        """Do `what` on rank 0, and on the others the calls that rank 0 makes in it; they return None.

        Blocks the others until rank 0 is done.
        """
        if self._ranks.rank == 0:
            self._deciding = True
            try:
                return what()
            finally:
                self._deciding = False
                self._ranks.broadcast(_END)
        while (number := self._ranks.broadcast(None)) != _END:
            self._calls[number]()
        return None

    def agree(self, value: Decided) -> Decided:
        """Return rank 0's value, on every rank."""
        agreed: Decided = self._ranks.broadcast(value)
        return agreed
