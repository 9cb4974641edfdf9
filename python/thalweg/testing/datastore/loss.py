"""Damaged values and servers that are gone."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from thalweg.datastore import DataStore
from thalweg.errors import (
    CorruptDataError,
    ServerGoneError,
)
from thalweg.testing.datastore.promises import PATIENCE_S, Promises


class LossPromises(Promises):
    """Damage is found before it is used; a server that is gone is reported by every operation."""

    @pytest.mark.parametrize("cut", [0, 3, 11, 20, 63, 64, 100, -1])
    def test_a_value_that_was_cut_off_is_reported(
        self, store: DataStore, server_info: dict[str, Any], cut: int
    ) -> None:
        if not store.capabilities.stores_bytes_at_rest:
            pytest.skip("the backend stores no bytes that can be damaged from outside")
        store.stage_write("a", np.arange(50_000.0))
        self.damage(server_info, lambda data: data[:cut])
        with pytest.raises(CorruptDataError, match="key 'a'"):
            store.stage_read("a", timeout_s=0)
        with pytest.raises(CorruptDataError, match="key 'a'"):
            store.stage_read("a", timeout_s=0, into=np.zeros(50_000))

    @pytest.mark.parametrize("position", [0, 4, 5, 6, 7, 8, 13, 16, 24, 28, 30, 33, 40, 41])
    def test_a_damaged_header_is_reported(self, store: DataStore, server_info: dict[str, Any], position: int) -> None:
        if not store.capabilities.stores_bytes_at_rest:
            pytest.skip("the backend stores no bytes that can be damaged from outside")
        store.stage_write("a", np.arange(50_000.0))
        self.damage(server_info, lambda data: data[:position] + bytes([data[position] ^ 0x41]) + data[position + 1 :])
        with pytest.raises(CorruptDataError, match="key 'a'"):
            store.stage_read("a", timeout_s=0)

    def test_damage_inside_a_value_with_a_checksum_is_reported(
        self, store: DataStore, server_info: dict[str, Any]
    ) -> None:
        with DataStore("careful", server_info, checksum=True) as careful:
            careful.stage_write("a", np.arange(50_000.0))
        assert store.stage_read("a").sum() == np.arange(50_000.0).sum()
        if not store.capabilities.stores_bytes_at_rest:
            return
        self.damage(server_info, lambda data: data[:-9] + b"\xff" + data[-8:])
        for into in (None, np.zeros(50_000)):
            with pytest.raises(CorruptDataError, match="checksum"):
                store.stage_read("a", timeout_s=0, into=into)

    def test_every_operation_that_needs_the_server_reports_that_it_is_gone(
        self, store: DataStore, stop_server: Callable[[], None] | None
    ) -> None:
        if stop_server is None:
            pytest.skip("no way given to stop the server")
        stop_server()
        operations: list[Callable[[], Any]] = [
            lambda: store.stage_write("b", np.ones(100_000)),
            lambda: store.stage_read("a", timeout_s=0.2),
            lambda: store.poll_staged_data("a"),
            lambda: store.wait(["never"], timeout_s=PATIENCE_S),
            lambda: store.clean_staged_data("a"),
        ]
        for operation in operations:
            with pytest.raises(ServerGoneError):
                operation()

    def test_a_value_is_read_whole_or_not_at_all_once_the_server_is_gone(
        self, store: DataStore, stop_server: Callable[[], None] | None
    ) -> None:
        if stop_server is None:
            pytest.skip("no way given to stop the server")
        store.stage_write("a", np.ones(100_000))
        stop_server()
        try:
            value = store.stage_read("a", timeout_s=0.2)
        except ServerGoneError:
            return
        assert value.shape == (100_000,)
        assert value.min() == value.max() == 1.0

    def test_a_blocked_read_ends_when_the_server_goes(
        self, store: DataStore, stop_server: Callable[[], None] | None
    ) -> None:
        if stop_server is None:
            pytest.skip("no way given to stop the server")
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(store.stage_read, "never", 10 * PATIENCE_S)
            stop_server()
            assert isinstance(reading.exception(PATIENCE_S), ServerGoneError)
