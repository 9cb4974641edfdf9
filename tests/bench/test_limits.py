"""The machine's limits, native or not."""

from __future__ import annotations

import pytest

from thalweg.bench import limits


@pytest.fixture(params=["native", "fallback"], autouse=True)
def implementation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "fallback":
        monkeypatch.setattr(limits, "_native", lambda name: None)


def test_each_copy_is_timed() -> None:
    seconds = limits.memcpy_s(1 << 20, 5)
    assert len(seconds) == 5
    assert all(value > 0 for value in seconds)


def test_a_larger_copy_takes_longer() -> None:
    assert min(limits.memcpy_s(32 << 20, 5)) > min(limits.memcpy_s(32 << 10, 5))


def test_each_round_trip_is_timed() -> None:
    seconds = limits.unix_round_trip_s(20)
    assert len(seconds) == 20
    assert all(value > 0 for value in seconds)


def test_quick_limits_have_the_names_of_a_result() -> None:
    assert set(limits.quick()) == {"memcpy_bytes_per_s", "unix_round_trip_s"}
