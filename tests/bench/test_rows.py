"""Rows and limits of a result, against figures worked out by hand."""

from __future__ import annotations

import pytest

from thalweg.bench.rounds import Measured, Sample
from thalweg.bench.rows import limits_of, percentile, rows

SIZE = 1000


def example() -> Measured:
    """Two rounds; in the second everything, the limits too, is twice slower."""
    return Measured(
        samples=[
            Sample(0, "ours", "put", SIZE, (1e-6, 2e-6, 3e-6)),
            Sample(1, "ours", "put", SIZE, (2e-6, 4e-6, 6e-6)),
            Sample(0, "iceoryx2", "put", SIZE, (4e-6,)),
            Sample(1, "iceoryx2", "put", SIZE, (8e-6,)),
            Sample(0, "ours", "get_view", SIZE, (1e-6,)),
        ],
        memcpy_s={(0, SIZE): 1e-6, (1, SIZE): 2e-6},
        round_trip_s={(0, SIZE): 4e-6, (1, SIZE): 8e-6},
    )


def test_medians_are_over_rounds_and_ratios_within_them() -> None:
    put, view, peer = rows(example())
    assert (put["backend"], put["operation"], put["size_bytes"]) == ("ours", "put", SIZE)
    assert put["median_s"] == pytest.approx(3e-6)  # rounds: 2, 4 µs
    assert put["p99_s"] == pytest.approx(6e-6)
    assert put["bytes_per_s"] == pytest.approx(SIZE / 3e-6)
    assert put["of_memcpy"] == pytest.approx(0.5)  # 1/2 and 2/4
    assert put["round_trips"] == pytest.approx(0.5)  # 2/4 and 4/8
    assert put["of_iceoryx2"] == pytest.approx(2.0)  # 4/2 and 8/4
    assert (put["rounds"], put["items"]) == (2, 6)
    assert (view["operation"], view["of_iceoryx2"]) == ("get_view", None)
    assert (peer["backend"], peer["of_iceoryx2"]) == ("iceoryx2", pytest.approx(1.0))


def test_rows_have_the_same_fields() -> None:
    assert len({frozenset(row) for row in rows(example())}) == 1


def test_limits_are_of_the_same_run() -> None:
    limits = limits_of(example())
    assert limits["memcpy_bytes_per_s"] == pytest.approx(SIZE / 1.5e-6)
    assert limits["unix_round_trip_s"] == pytest.approx(6e-6)
    assert limits["memcpy"] == [{"size_bytes": SIZE, "bytes_per_s": pytest.approx(SIZE / 1.5e-6)}]


@pytest.mark.parametrize(
    ("count", "fraction", "expected"), [(100, 0.99, 99), (100, 0.5, 50), (1, 0.99, 1), (4, 0.99, 4), (200, 0.99, 198)]
)
def test_percentile_is_the_nearest_rank(count: int, fraction: float, expected: int) -> None:
    assert percentile([float(value) for value in range(count, 0, -1)], fraction) == expected
