"""Statistics and traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thalweg.datastore import DataStore
from thalweg.errors import (
    InvalidError,
    WaitTimeoutError,
)
from thalweg.testing.datastore.promises import Promises


class AccountPromises(Promises):
    """What was done is counted and traced; a closed store does nothing."""

    def test_statistics_count_what_was_done(self, store: DataStore) -> None:
        store.stage_write("a", np.zeros(1000))
        store.stage_write("b", b"12345")
        store.stage_read("a")
        store.poll_staged_data("a")
        with pytest.raises(WaitTimeoutError):
            store.stage_read("never", timeout_s=0)
        counts = store.statistics()
        assert (counts["stage_write"]["count"], counts["stage_write"]["bytes"]) == (2, 8005)
        assert (counts["stage_read"]["count"], counts["stage_read"]["bytes"]) == (1, 8000)
        assert counts["poll_staged_data"]["count"] == 1
        assert counts["stage_write"]["bytes_per_s"] > 0

    def test_events_are_traced_with_key_size_and_backend(self, server_info: dict[str, Any], tmp_path: Path) -> None:
        from thalweg.results import RunFolder

        folder = RunFolder(tmp_path / "run")
        with folder.tracer("c") as tracer, DataStore("traced", server_info, tracer=tracer) as store:
            store.iteration = 4
            store.stage_write("a", np.zeros(1000))
            store.stage_read("a")
        folder.finish()
        rows = folder.events().to_pylist()
        assert [(row["kind"], row["key"], row["size_bytes"], row["iteration"], row["backend"]) for row in rows] == [
            ("write", "a", 8000, 4, store.backend),
            ("read", "a", 8000, 4, store.backend),
        ]

    def test_a_closed_store_refuses_everything_and_closes_twice(self, server_info: dict[str, Any]) -> None:
        store = DataStore("c", server_info)
        store.stage_write("a", b"")
        store.close()
        store.close()
        for operation in (lambda: store.stage_write("a", b""), lambda: store.poll_staged_data("a")):
            with pytest.raises(InvalidError, match="closed"):
                operation()
