"""A line on the terminal that says how far simulations are; silence anywhere else."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.simulator.several import TellOf


@contextlib.contextmanager
def telling() -> Iterator[TellOf]:
    """Give a function that hears of each run, from any thread."""
    begin = time.monotonic()
    terminal = sys.stderr.isatty()
    lock = threading.Lock()
    running: dict[str, tuple[float, float, int]] = {}

    def tell(name: str, simulated_s: float, packets: int) -> None:
        if not terminal:
            return
        with lock:
            now = time.monotonic()
            running[name] = (now, simulated_s, packets)
            for ended in [other for other, (heard, _, _) in running.items() if now - heard > 10]:
                del running[ended]
            parts = [
                f"{name}: {s * 1e3:.3f} ms simulated, {count:,} packets" for name, (_, s, count) in running.items()
            ]
            rate = sum(count for _, _, count in running.values()) / max(now - begin, 1e-9)
            sys.stderr.write(f"\r\x1b[K{' · '.join(parts)}, {rate / 1e6:.2f} M/s")
            sys.stderr.flush()

    try:
        yield tell
    finally:
        if terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
