"""Running totals of a DataStore's operations."""

from __future__ import annotations

import threading
from typing import Any


class OperationCounts:
    """Counts, bytes and seconds by operation. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals: dict[str, list[int]] = {}

    def add(self, operation: str, size_bytes: int, elapsed_ns: int) -> None:
        """Count one operation."""
        with self._lock:
            total = self._totals.get(operation)
            if total is None:
                total = self._totals[operation] = [0, 0, 0, 0]
            total[0] += 1
            total[1] += size_bytes
            total[2] += elapsed_ns
            total[3] = max(total[3], elapsed_ns)

    def summary(self) -> dict[str, dict[str, Any]]:
        """Return for each operation: count, bytes, total_s, mean_s, max_s, bytes_per_s."""
        with self._lock:
            totals = {operation: list(total) for operation, total in self._totals.items()}
        return {
            operation: {
                "count": count,
                "bytes": size,
                "total_s": spent / 1e9,
                "mean_s": spent / 1e9 / count,
                "max_s": longest / 1e9,
                "bytes_per_s": size / (spent / 1e9) if spent else 0.0,
            }
            for operation, (count, size, spent, longest) in totals.items()
        }
