"""Presence, replacement, waiting."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thalweg.datastore import DataStore
from thalweg.errors import (
    InvalidError,
    WaitTimeoutError,
)
from thalweg.testing.datastore.promises import PATIENCE_S, Promises


class WaitingPromises(Promises):
    """A wait ends when the keys are there, by its deadline, and never early."""

    def test_writing_again_replaces_also_with_another_type_and_size(self, store: DataStore) -> None:
        for value in (np.arange(10), b"bytes", np.zeros((2, 2), ">f4"), b"", np.arange(100_000.0)):
            store.stage_write("a", value)
            back = store.stage_read("a", timeout_s=0)
            assert bytes(back) == (value if isinstance(value, bytes) else value.tobytes())

    def test_cleaning_tells_whether_something_was_there(self, store: DataStore) -> None:
        assert store.clean_staged_data("a") is False
        store.stage_write("a", b"")
        assert store.clean_staged_data("a") is True
        assert store.clean_staged_data("a") is False
        with pytest.raises(WaitTimeoutError):
            store.stage_read("a", timeout_s=0)

    def test_a_read_that_is_not_served_in_time_names_the_key(self, store: DataStore) -> None:
        for timeout_s in (0, 0.05):
            with pytest.raises(WaitTimeoutError, match="key 'never' was not written within"):
                store.stage_read("never", timeout_s=timeout_s)

    @pytest.mark.parametrize("timeout_s", [-1, float("nan"), float("inf"), "1", None, True])
    def test_a_wrong_timeout_is_refused(self, store: DataStore, timeout_s: Any) -> None:
        store.stage_write("a", b"")
        for operation in (lambda: store.stage_read("a", timeout_s), lambda: store.wait(["a"], timeout_s)):
            with pytest.raises(InvalidError, match="timeout_s"):
                operation()

    def test_a_blocked_read_wakes_up_when_the_key_is_written(
        self, store: DataStore, server_info: dict[str, Any]
    ) -> None:
        with ThreadPoolExecutor() as pool:
            readers = [pool.submit(store.stage_read, "late", PATIENCE_S) for _ in range(3)]
            with DataStore("writer", server_info) as writer:
                writer.stage_write("other", b"")
                writer.stage_write("late", np.arange(3))
            assert [reader.result(PATIENCE_S).tolist() for reader in readers] == [[0, 1, 2]] * 3

    def test_wait_for_all_returns_when_the_last_key_is_there(self, store: DataStore) -> None:
        keys = [f"k/{number}" for number in range(20)]
        store.stage_write(keys[3], b"")
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(store.wait, keys, PATIENCE_S, "all")
            for key in keys:
                assert not waiting.done() or key == keys[0]
                store.stage_write(key, b"")
            assert waiting.result(PATIENCE_S) == keys

    def test_wait_for_any_returns_the_keys_that_are_there(self, store: DataStore) -> None:
        store.stage_write("b", b"")
        assert store.wait(["a", "b", "c"], timeout_s=0, how="any") == ["b"]
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(store.wait, ["x", "y"], PATIENCE_S, "any")
            store.stage_write("y", b"")
            assert waiting.result(PATIENCE_S) == ["y"]

    def test_a_wait_that_times_out_names_what_is_missing(self, store: DataStore) -> None:
        store.stage_write("a", b"")
        with pytest.raises(WaitTimeoutError, match=r"wait: 1 of 2 keys were not written within 0.05 s: 'b'"):
            store.wait(["a", "b"], timeout_s=0.05)
        with pytest.raises(WaitTimeoutError):
            store.wait(["c"], timeout_s=0, how="any")

    def test_wait_refuses_wrong_arguments(self, store: DataStore) -> None:
        wrongs: list[Any] = [[], "text", b"bytes"]
        for wrong in wrongs:
            with pytest.raises(InvalidError):
                store.wait(wrong, timeout_s=0)
        with pytest.raises(InvalidError, match="how is 'some'; accepted are 'all' and 'any'"):
            store.wait(["a"], 0, "some")  # type: ignore[arg-type]

    @pytest.mark.parametrize("operation", ["stage_read", "wait"])
    def test_a_value_that_is_taken_again_at_once_never_ends_a_wait_early(
        self, store: DataStore, server_info: dict[str, Any], operation: str
    ) -> None:
        def wait_for(key: str) -> Any:
            return store.stage_read(key, PATIENCE_S) if operation == "stage_read" else store.wait([key], PATIENCE_S)

        with ThreadPoolExecutor(4) as pool, DataStore("writer", server_info) as writer:
            for key in (f"flicker/{number}" for number in range(10)):
                waiting = [pool.submit(wait_for, key) for _ in range(4)]
                for _ in range(100):
                    writer.stage_write(key, b"taken")
                    writer.clean_staged_data(key)
                writer.stage_write(key, b"left")
                for found in (future.result(PATIENCE_S) for future in waiting):
                    assert found == [key] if operation == "wait" else bytes(found) in (b"taken", b"left")

    @pytest.mark.parametrize("how", ["any", "all"])
    def test_a_wait_may_be_for_very_many_keys(self, store: DataStore, how: Any) -> None:
        keys = [f"many/{number}" for number in range(1100)]
        with pytest.raises(WaitTimeoutError, match=r"1100 of 1100 keys were not written within 0\.02 s"):
            store.wait(keys, timeout_s=0.02, how=how)
        asked = keys[-2:] if how == "any" else keys
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(store.wait, keys, PATIENCE_S, how)
            for key in asked:
                store.stage_write(key, b"")
            ready = waiting.result(PATIENCE_S)
        assert ready
        assert ready == [key for key in asked if key in set(ready)]
        assert how == "any" or ready == keys

    def test_waiting_does_not_poll_where_the_backend_notifies(self, store: DataStore) -> None:
        if not store.capabilities.notifies:
            pytest.skip("the backend declares no notification")
        store.poll_staged_data("warm")
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(_context_switches_of_wait, store, 0.5)
            assert waiting.result(PATIENCE_S) < 40


def _context_switches_of_wait(store: DataStore, seconds: float) -> int:
    """Return how often this thread went to sleep while it waited in vain."""
    status = f"/proc/self/task/{threading.get_native_id()}/status"

    def switches() -> int:
        for line in Path(status).read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                return int(line.split()[1])
        return 0

    before, start = switches(), time.monotonic()
    with pytest.raises(WaitTimeoutError):
        store.wait(["never"], timeout_s=seconds)
    assert time.monotonic() - start >= seconds * 0.9
    assert os.path.exists(status)
    return switches() - before
