"""What a rank of a real run waits for, told when the run's time is over."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: The file of a rank, in the folder of the run.
WAITS = "waits-{}.json"


class Waiting:
    """What a rank does at the moment: `operation` is set before each."""

    def __init__(self) -> None:
        self.operation: tuple[Any, ...] | None = None
        #: Requests that are not waited for yet, with the operations that began them.
        self.begun: dict[int, tuple[Any, ...]] = {}

    def words(self) -> str:
        """Return it in words."""
        match self.operation:
            case None:
                return "has ended, or not begun"
            case ("send" | "isend" | "recv" | "irecv", *_):
                return _message(self.operation)
            case ("wait", request) if request in self.begun:
                return _message(self.begun[request])
            case ("waitall", *_) if self.begun:
                receives_first = sorted(self.begun.values(), key=lambda operation: operation[0] == "isend")
                begun = [_message(operation) for operation in receives_first]
                return ", ".join(begun[:3]) + (f" and {len(begun) - 3} more" if len(begun) > 3 else "")
            case ("compute", seconds):
                return f"computes for {seconds:g} s"
            case (kind, *_):
                return f"is in {kind}"
        return "does nothing"

    @contextlib.contextmanager
    def told(self, folder: Path, rank: int, ranks: int, until: float) -> Iterator[None]:
        """Within it a file says what the rank does, once `until` has come (seconds since the epoch)."""
        done = threading.Event()

        def tell() -> None:
            if not done.wait(max(0.0, until - time.time())):
                path = folder / WAITS.format(rank)
                part = path.with_suffix(".part")
                with contextlib.suppress(OSError):  # the folder goes when nobody waits for an answer
                    part.write_text(json.dumps([rank, ranks, self.words()]), encoding="utf-8")
                    os.replace(part, path)

        threading.Thread(target=tell, daemon=True).start()
        try:
            yield
        finally:
            done.set()


def _message(operation: tuple[Any, ...]) -> str:
    kind, other, size, *_ = operation
    if kind in ("send", "isend"):
        return f"sends {size} B to rank {other}"
    return f"waits for {size} B from {'any rank' if other is None else f'rank {other}'}"
