"""What goes in comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thalweg.datastore import DataStore
from thalweg.testing.datastore.promises import Promises
from thalweg.testing.datastore.sample_arrays import arrays


class ValuePromises(Promises):
    """Arrays, bytes, tensors and buffers come back equal, typed and read-only."""

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
