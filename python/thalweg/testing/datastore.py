"""The promises of a DataStore backend, as a test class to inherit from."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thalweg.datastore import DataStore
from thalweg.errors import (
    AccessError,
    CorruptDataError,
    DTypeError,
    InvalidError,
    ServerGoneError,
    ShapeError,
    ThalwegError,
    WaitTimeoutError,
)

PATIENCE_S = 30.0
RECORD = np.dtype([("id", "<i4"), ("velocity", "<f8", (3,)), ("inner", [("flag", "?"), ("name", "S5")])])


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    """Return one array for each thing that can be special about an array, by name."""
    rng = np.random.default_rng(7)
    base = rng.standard_normal((6, 8, 10))
    record = np.zeros(5, RECORD)
    record["id"], record["velocity"], record["inner"]["name"] = np.arange(5), rng.random((5, 3)), b"abc"
    return {
        "float64": base,
        "float32": base.astype(np.float32),
        "float16": base.astype(np.float16),
        "int8": rng.integers(-128, 127, 100, np.int8),
        "uint64": rng.integers(0, 2**63, 100, np.uint64),
        "bool": base > 0,
        "complex128": base + 1j * base,
        "complex64": (base + 1j * base).astype(np.complex64),
        "big_endian": base.astype(">f8"),
        "big_endian_int": np.arange(10, dtype=">i2"),
        "datetime": np.arange(5).astype("M8[ns]"),
        "timedelta": np.arange(5).astype("m8[s]"),
        "bytes_text": np.array([b"ab", b"cde"]),
        "unicode_text": np.array(["für", "日本"]),
        "structured": record,
        "void": np.zeros(3, "V5"),
        "strided": base[::2, 1::3, ::-1],
        "transposed": base.T,
        "fortran": np.asfortranarray(base),
        "broadcast": np.broadcast_to(np.arange(4.0), (3, 4)),
        "zero_dimensional": np.array(3.25),
        "zero_dimensional_big_endian": np.array(7, ">i4"),
        "empty": np.zeros((0,)),
        "empty_inside": np.zeros((3, 0, 2), np.int32),
        "one_element": np.ones((1, 1, 1)),
        "eight_dimensions": rng.random((1, 2, 1, 2, 1, 2, 1, 2)),
        "large": rng.random(300_000),
    }


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


class DataStoreTests:
    """Inherit, and give a fixture `server_info` that starts a server of the backend and yields its info.

    Optionally override `stop_server` (a fixture that yields a callable which stops that server), to have the promise
    about a server that
    is gone tested too, and `damage` for backends whose capabilities say ``stores_bytes_at_rest`` but which do not
    store files.

    Examples
    --------
    ::

        class TestMine(DataStoreTests):
            @pytest.fixture
            def server_info(self):
                with ServerManager("conformance", {"type": "mine"}) as server:
                    yield server.get_server_info()
    """

    @pytest.fixture
    def server_info(self) -> Iterator[dict[str, Any]]:
        """Yield the info of a running server."""
        raise NotImplementedError("give a fixture `server_info` that yields the info of a running server")

    @pytest.fixture
    def stop_server(self) -> Callable[[], None] | None:
        """Return a callable that stops the server, or None."""
        return None

    @pytest.fixture
    def store(self, server_info: dict[str, Any]) -> Iterator[DataStore]:
        """Yield a DataStore over the server."""
        with DataStore("conformance", server_info) as store:
            yield store

    def damage(self, info: dict[str, Any], change: Callable[[bytes], bytes]) -> None:
        """Apply `change` to the stored bytes of the only value there is."""
        (path,) = [path for path in Path(info["path"]).rglob("*.v") if path.is_file()]
        path.write_bytes(change(path.read_bytes()))

    # What goes in comes out

    @pytest.mark.parametrize("name", list(arrays()))
    def test_an_array_comes_back_with_its_values_shape_and_type(self, store: DataStore, name: str) -> None:
        array = arrays()[name]
        store.stage_write("a", array)
        back = store.stage_read("a", timeout_s=0)
        assert isinstance(back, np.ndarray)
        assert (back.shape, back.dtype) == (array.shape, array.dtype)
        assert back.tobytes() == array.tobytes()

    @pytest.mark.parametrize("name", list(arrays()))
    def test_an_array_can_be_read_into_a_given_one(self, store: DataStore, name: str) -> None:
        array = arrays()[name]
        store.stage_write("a", array)
        target = np.zeros(array.shape, array.dtype)
        assert store.stage_read("a", timeout_s=0, into=target) is target
        assert target.tobytes() == array.tobytes()

    @pytest.mark.parametrize("order", ["F", "strided"])
    def test_an_array_can_be_read_into_one_of_other_strides(self, store: DataStore, order: str) -> None:
        array = arrays()["float64"]
        store.stage_write("a", array)
        target = np.zeros(array.shape, order="F") if order == "F" else np.zeros((6, 8, 20))[:, :, ::2]
        store.stage_read("a", timeout_s=0, into=target)
        assert np.array_equal(target, array)

    @pytest.mark.parametrize("value", [b"", b"x", bytes(range(256)) * 999, b"THWV" + b"\0" * 90])
    def test_bytes_come_back_as_equal_read_only_bytes(self, store: DataStore, value: bytes) -> None:
        store.stage_write("b", value)
        back = store.stage_read("b", timeout_s=0)
        assert isinstance(back, memoryview)
        assert back.readonly
        assert bytes(back) == value

    def test_bytearrays_and_memoryviews_travel_as_bytes(self, store: DataStore) -> None:
        store.stage_write("a", bytearray(b"abc"))
        store.stage_write("m", memoryview(b"abcdef")[1:4])
        assert (bytes(store.stage_read("a")), bytes(store.stage_read("m"))) == (b"abc", b"bcd")

    def test_typed_buffers_and_scalars_travel_as_arrays(self, store: DataStore) -> None:
        import array

        store.stage_write("buffer", array.array("d", [1.0, 2.0]))
        store.stage_write("scalar", np.float32(2.5))
        assert store.stage_read("buffer").tolist() == [1.0, 2.0]
        scalar = store.stage_read("scalar")
        assert (scalar.shape, scalar.dtype, float(scalar)) == ((), np.dtype(np.float32), 2.5)

    def test_a_dlpack_object_travels_as_an_array(self, store: DataStore) -> None:
        class Foreign:
            def __init__(self) -> None:
                self.array = np.arange(6.0).reshape(2, 3)

            def __dlpack__(self, **options: Any) -> Any:
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self) -> Any:
                return self.array.__dlpack_device__()

        store.stage_write("d", Foreign())
        assert store.stage_read("d").tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]

    def test_a_torch_tensor_travels_as_an_array(self, store: DataStore) -> None:
        torch = pytest.importorskip("torch")
        store.stage_write("t", torch.arange(6.0, requires_grad=True).reshape(2, 3).T)
        assert store.stage_read("t").tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]

    def test_a_reader_cannot_write_into_what_it_read(self, store: DataStore) -> None:
        for name in ("float64", "large", "zero_dimensional", "structured"):
            store.stage_write(name, arrays()[name])
            back = store.stage_read(name)
            with pytest.raises(ValueError, match="read-only"):
                back[...] = back[...]

    def test_changing_the_source_after_writing_changes_nothing(self, store: DataStore) -> None:
        source = np.ones(100_000)
        store.stage_write("a", source)
        source[:] = 2
        assert float(store.stage_read("a").max()) == 1.0

    def test_what_was_read_stays_valid_after_overwriting_cleaning_and_closing(
        self, server_info: dict[str, Any]
    ) -> None:
        with DataStore("reader", server_info) as store:
            store.stage_write("a", np.ones(100_000))
            first = store.stage_read("a")
            store.stage_write("a", np.zeros(100_000))
            store.clean_staged_data("a")
            for number in range(8):
                store.stage_write(f"fill/{number}", np.full(100_000, 9.0))
        assert first.min() == first.max() == 1.0

    # Keys

    @pytest.mark.parametrize(
        "key",
        [
            "a",
            "a/b/c",
            "../x",
            ".",
            "..",
            ".hidden",
            "with space",
            "ümläut/日本",
            "%2F",
            "a:b{c}*?",
            "k" * 1024,
            "a\nb",
        ],
    )
    def test_any_text_is_a_key_of_its_own(self, store: DataStore, key: str) -> None:
        store.stage_write(key, b"mine")
        store.stage_write(key[:-1] + "~", b"other")
        assert bytes(store.stage_read(key, timeout_s=0)) == b"mine"
        assert store.poll_staged_data(key)
        assert store.clean_staged_data(key)
        assert not store.poll_staged_data(key)

    def test_long_keys_that_differ_only_at_their_end_are_different(self, store: DataStore) -> None:
        store.stage_write("k" * 1000 + "a", b"a")
        store.stage_write("k" * 1000 + "b", b"b")
        assert bytes(store.stage_read("k" * 1000 + "a")) == b"a"

    @pytest.mark.parametrize("key", ["", "a\0b", "k" * 1025, "\ud800", None, 3, b"bytes"])
    def test_a_wrong_key_is_refused_by_every_operation(self, store: DataStore, key: Any) -> None:
        operations: list[Callable[[], Any]] = [
            lambda: store.stage_write(key, b""),
            lambda: store.stage_read(key, timeout_s=0),
            lambda: store.poll_staged_data(key),
            lambda: store.clean_staged_data(key),
            lambda: store.wait([key], timeout_s=0),
            lambda: store.stage_write_many({"fine": b"", key: b""}),
            lambda: store.stage_read_many([key], timeout_s=0),
        ]
        for operation in operations:
            with pytest.raises(InvalidError):
                operation()
        assert not store.poll_staged_data("fine")

    # Presence and waiting

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

    # Many at once

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

    # Between processes

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

    # Refusals

    @pytest.mark.parametrize("value", [{"a": 1}, "text", 3, None, [1, 2], object(), np.array([{}, 1], dtype=object)])
    def test_a_python_object_is_refused_unless_allowed(self, store: DataStore, value: Any) -> None:
        with pytest.raises(DTypeError):
            store.stage_write("o", value)
        assert not store.poll_staged_data("o")

    def test_a_masked_array_is_refused_rather_than_losing_its_mask(self, store: DataStore) -> None:
        with pytest.raises(DTypeError, match="masked"):
            store.stage_write("o", np.ma.masked_array([1, 2], mask=[True, False]))

    def test_a_pickled_object_needs_permission_on_both_sides(
        self, store: DataStore, server_info: dict[str, Any]
    ) -> None:
        value = {"step": 3, "names": ["a", "b"]}
        with DataStore("trusting", server_info, allow_pickle=True) as trusting:
            trusting.stage_write("o", value)
            assert trusting.stage_read("o") == value
        with pytest.raises(AccessError, match="allow_pickle=True"):
            store.stage_read("o", timeout_s=0)

    def test_a_destination_that_does_not_fit_is_refused_and_untouched(self, store: DataStore) -> None:
        store.stage_write("a", np.ones((3, 4)))
        store.stage_write("b", b"bytes")
        wrong_shape, wrong_type, frozen = np.zeros((4, 3)), np.zeros((3, 4), np.float32), np.zeros((3, 4))
        frozen.flags.writeable = False
        cases: list[tuple[str, Any, type[ThalwegError]]] = [
            ("a", wrong_shape, ShapeError),
            ("a", wrong_type, DTypeError),
            ("a", frozen, InvalidError),
            ("a", [0.0] * 12, InvalidError),
            ("b", np.zeros(5, np.uint8), DTypeError),
        ]
        for key, into, error in cases:
            with pytest.raises(error):
                store.stage_read(key, timeout_s=0, into=into)
        assert not (wrong_shape.any() or wrong_type.any() or frozen.any())

    # Damage and loss

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

    # Accounts

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
