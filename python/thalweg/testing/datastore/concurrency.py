"""Batches, futures, threads, processes."""

from __future__ import annotations

import json
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from thalweg.datastore import DataStore
from thalweg.errors import (
    WaitTimeoutError,
)
from thalweg.testing.datastore.promises import PATIENCE_S, Promises


def _write_in_process(info: dict[str, Any], key: str, count: int, go: Any) -> None:
    with DataStore("writer", info) as store:
        go.wait(PATIENCE_S)
        for number in range(count):
            store.stage_write(f"{key}/{number}", np.full(1000, number, np.float32))


def _overwrite_in_process(info: dict[str, Any], key: str, until: Any) -> None:
    with DataStore("writer", info) as store:
        number = 0
        while not until.is_set():
            store.stage_write(key, np.full(50_000 + number % 7, number, np.int64))
            number += 1


class ConcurrencyPromises(Promises):
    """Whoever reads while others write sees whole values."""

    def test_batches_keep_the_order_of_the_keys_asked_for(self, store: DataStore) -> None:
        store.stage_write_many({f"k/{number}": np.array(number) for number in range(10)})
        asked = ["k/7", "k/2", "k/9"]
        assert [(key, int(value)) for key, value in store.stage_read_many(asked).items()] == [
            ("k/7", 7), ("k/2", 2), ("k/9", 9)
        ]  # fmt: skip

    def test_a_batch_has_one_deadline(self, store: DataStore) -> None:
        store.stage_write("a", b"")
        with pytest.raises(WaitTimeoutError, match="'b'"):
            store.stage_read_many(["a", "b", "c"], timeout_s=0.05)

    def test_futures_carry_values_and_errors(self, store: DataStore) -> None:
        reading = store.stage_read_async("f", PATIENCE_S)
        store.stage_write_async("f", np.arange(4)).result(PATIENCE_S)
        assert reading.result(PATIENCE_S).tolist() == [0, 1, 2, 3]
        assert store.wait_async(["f"]).result(PATIENCE_S) == ["f"]
        assert isinstance(store.stage_read_async("never", 0).exception(PATIENCE_S), WaitTimeoutError)

    def test_concurrent_threads_see_only_whole_values(self, store: DataStore) -> None:
        stop = threading.Event()
        store.stage_write("a", np.full(20_000, -1))

        def write(number: int) -> None:
            while not stop.is_set():
                store.stage_write("a", np.full(20_000 + number, number))

        with ThreadPoolExecutor(3) as pool:
            writers = [pool.submit(write, number) for number in range(2)]
            try:
                for _ in range(100):
                    value = store.stage_read("a")
                    assert value.min() == value.max()
                    assert len(value) == 20_000 + max(0, int(value[0]))
            finally:
                stop.set()
            for writer in writers:
                writer.result(PATIENCE_S)

    def test_another_process_reads_what_this_one_writes(self, server_info: dict[str, Any]) -> None:
        with DataStore("reader", json.loads(json.dumps(server_info))) as store:
            if not store.capabilities.between_processes:
                pytest.skip("the backend declares that it works within one process")
            context = multiprocessing.get_context("spawn")
            go = context.Event()
            process = context.Process(target=_write_in_process, args=(server_info, "p", 5, go))
            process.start()
            try:
                go.set()
                values = store.stage_read_many([f"p/{number}" for number in range(5)], PATIENCE_S)
                assert [float(value.max()) for value in values.values()] == [0.0, 1.0, 2.0, 3.0, 4.0]
            finally:
                process.join(PATIENCE_S)
            assert process.exitcode == 0

    def test_a_value_that_another_process_overwrites_is_never_torn(self, server_info: dict[str, Any]) -> None:
        with DataStore("reader", server_info) as store:
            if not store.capabilities.between_processes:
                pytest.skip("the backend declares that it works within one process")
            context = multiprocessing.get_context("spawn")
            stop = context.Event()
            process = context.Process(target=_overwrite_in_process, args=(server_info, "a", stop))
            process.start()
            try:
                for _ in range(200):
                    value = store.stage_read("a", PATIENCE_S)
                    assert value[0] == value[-1] == value.max() == value.min()
                    assert len(value) == 50_000 + value[0] % 7
            finally:
                stop.set()
                process.join(PATIENCE_S)
            assert process.exitcode == 0

    def test_a_killed_writer_leaves_the_last_whole_value(self, server_info: dict[str, Any]) -> None:
        with DataStore("reader", server_info) as store:
            if not store.capabilities.between_processes:
                pytest.skip("the backend declares that it works within one process")
            context = multiprocessing.get_context("spawn")
            never = context.Event()
            process = context.Process(target=_overwrite_in_process, args=(server_info, "a", never))
            process.start()
            store.stage_read("a", PATIENCE_S)
            process.kill()
            process.join(PATIENCE_S)
            value = store.stage_read("a", timeout_s=0)
            assert value.min() == value.max()
            store.stage_write("a", b"next")
            assert bytes(store.stage_read("a")) == b"next"
