"""What a backend refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thalweg.datastore import DataStore
from thalweg.errors import (
    AccessError,
    DTypeError,
    InvalidError,
    ShapeError,
    ThalwegError,
)
from thalweg.testing.datastore.promises import Promises


class RefusalPromises(Promises):
    """What has no raw bytes, and what does not fit, is refused and leaves nothing behind."""

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
