"""Who reads the provenance after the work is done: everything there, and which parameters were best."""

from __future__ import annotations

from typing import Any

from kit.parts import TIMEOUT_S

from thalweg import stream


def read(place: dict[str, Any], events: int) -> dict[str, Any]:
    """Read so many events of a stream; return what they tell.

    Raises
    ------
    WaitTimeoutError
        When there are fewer.
    """
    steps: dict[int, set[int]] = {}
    last: dict[int, tuple[int, float, float]] = {}
    data_bytes, seen = 0, 0
    with (
        stream.connect(place["address"], name="record") as driver,
        driver.open_topic(place["topic"]).consumer("record") as consumer,
    ):
        while seen < events:
            batch = consumer.pull_many().result(TIMEOUT_S)
            for event in batch:
                data_bytes += len(event.data or b"")
                for unit in event.metadata:
                    steps.setdefault(unit["producer"], set()).add(unit["step"])
                    told = (unit["step"], unit["loss"], unit["rate"])
                    last[unit["producer"]] = max(last.get(unit["producer"], told), told)
            seen += len(batch)
            batch.acknowledge()
    best = min(last, key=lambda producer: last[producer][1])
    return {
        "events": seen,
        "data_bytes": data_bytes,
        "steps": {producer: len(found) for producer, found in sorted(steps.items())},
        "best_rate": last[best][2],
        "best_loss": last[best][1],
    }
