"""What the simulator's queue of events alone can do: the limit that simulations are measured against."""

from __future__ import annotations

import time


def queue_events_per_cpu_s(events: int = 5_000_000, pending: int = 4096) -> float:
    """Take an event and add one in its place, `events` times, with `pending` of them waiting; events a CPU second."""
    from thalweg import _native

    begin = time.thread_time()
    _native.simulate_hold(events, pending)
    return events / (time.thread_time() - begin)
