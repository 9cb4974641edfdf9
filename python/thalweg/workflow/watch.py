"""Sleeping until something happens to what runs."""

from __future__ import annotations

import selectors
from collections.abc import Callable

from thalweg.workflow.running import Running


class Watch:
    """Calls a handler for each `Running` that has something to `advance`."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._watched: dict[Running, tuple[Callable[[], None], list[tuple[int, int]]]] = {}

    def add(self, running: Running, handler: Callable[[], None]) -> None:
        """Call `handler` from now on."""
        interests = running.interests()
        for fd, events in interests:
            self._selector.register(fd, events, running)
        self._watched[running] = (handler, interests)

    def remove(self, running: Running) -> None:
        """Leave `running` alone, before it is closed."""
        _, interests = self._watched.pop(running, (None, []))
        for fd, _ in interests:
            self._selector.unregister(fd)

    def refresh(self, running: Running) -> None:
        """Follow a change of what `running` waits for."""
        if running in self._watched and running.interests() != self._watched[running][1]:
            handler = self._watched[running][0]
            self.remove(running)
            self.add(running, handler)

    def step(self, timeout_s: float | None) -> None:
        """Sleep until something happens or the time has passed, and call the handlers."""
        for running in {key.data for key, _ in self._selector.select(timeout_s)}:
            watched = self._watched.get(running)
            if watched is not None:  # an earlier handler may have removed it
                watched[0]()
                self.refresh(running)

    def close(self) -> None:
        """Give back the descriptor."""
        self._selector.close()
