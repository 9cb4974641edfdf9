"""``thalweg.relayout`` gives the same elements in the layout that was asked for, and refuses what it cannot copy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from thalweg import relayout
from thalweg.errors import AccessError, DTypeError, InvalidError, ShapeError

FIELD = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_axes_lie_in_memory_as_asked(order: tuple[int, ...]) -> None:
    found = relayout(FIELD, order=order)
    assert np.array_equal(found, FIELD)
    assert found.transpose(order).flags.c_contiguous


@given(
    arrays.arrays(
        st.sampled_from(["u1", "i2", "f4", "f8", "c16", ">i4"]),
        arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9),
        elements=st.integers(0, 100),
    ),
    st.randoms(use_true_random=False),
    st.integers(1, 4),
)
def test_any_view_can_be_copied_into_any_other(array: np.ndarray[Any, Any], chance: Any, threads: int) -> None:
    axes = chance.sample(range(array.ndim), array.ndim)
    steps = tuple(slice(None, None, chance.choice([1, 2, -1])) for _ in axes)
    view = array.transpose(axes)[(*steps, ...)]
    out = np.zeros([2 * extent for extent in view.shape], array.dtype)[(*(slice(None, None, 2) for _ in axes), ...)]
    assert relayout(view, out, threads=threads) is out
    assert np.array_equal(out, view)
    assert np.array_equal(relayout(view, order="F", threads=threads), view)


def test_records_and_dates_are_copied_too() -> None:
    record = np.dtype([("id", "u1"), ("at", "M8[s]"), ("value", "f8")])
    records = np.zeros((3, 5), record)
    records["value"] = np.arange(15).reshape(3, 5)
    records["at"] = np.datetime64("2001-02-03")
    assert np.array_equal(relayout(records, order="F"), records)


def test_many_threads_copy_a_large_array() -> None:
    array = np.arange(3_000_000, dtype=np.int32).reshape(200, 150, 100)
    assert np.array_equal(relayout(array, order="F", threads=7), array)


def overlapping() -> np.ndarray[Any, Any]:
    return np.lib.stride_tricks.as_strided(np.zeros(8), (2, 3), (8, 8), writeable=True)


def read_only() -> np.ndarray[Any, Any]:
    array = np.zeros((2, 3, 4))
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: relayout(FIELD, np.zeros((2, 4, 3))),
            ShapeError,
            "source of shape [2, 3, 4] and target of shape [2, 4, 3]",
        ),
        (lambda: relayout(FIELD, np.zeros((2, 3, 4), "f4")), DTypeError, "source of float64 and target of float32"),
        (lambda: relayout(FIELD, FIELD.astype(">f8")), DTypeError, "source of float64 and target of >f8"),
        (lambda: relayout(np.array([object()])), DTypeError, "are Python objects"),
        (lambda: relayout(FIELD, read_only()), AccessError, "the target is read-only"),
        (lambda: relayout(FIELD, FIELD), InvalidError, "source and target overlap in memory"),
        (lambda: relayout(FIELD[0], FIELD[0, ::-1]), InvalidError, "source and target overlap in memory"),
        (lambda: relayout(np.zeros((2, 3)), overlapping()), InvalidError, "elements of the target"),
        (lambda: relayout(FIELD, order=(0, 1)), InvalidError, "order is (0, 1)"),
        (lambda: relayout(FIELD, order=(0, 1, 1)), InvalidError, "each once"),
        (lambda: relayout(FIELD, order="K"), InvalidError, "order is 'K'"),
        (lambda: relayout(FIELD, np.zeros_like(FIELD), order="C"), InvalidError, "out and order are both given"),
        (lambda: relayout(FIELD, [1.0]), InvalidError, "out is a list"),  # type: ignore[arg-type]
        (lambda: relayout(FIELD, threads=0), InvalidError, "threads is 0"),
        (lambda: relayout(FIELD, threads=2000), InvalidError, "2000 threads; accepted are 1 to 1024"),
        (lambda: relayout(FIELD, threads="two"), InvalidError, "threads is 'two'"),  # type: ignore[arg-type]
        (lambda: relayout(np.zeros([1] * 9)), ShapeError, "9 dimensions; accepted are at most 8"),
    ],
)
def test_what_cannot_be_copied_is_refused(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as refused:
        call()
    assert str(refused.value).startswith(("relayout: ", "shape: ")) and message in str(refused.value)
