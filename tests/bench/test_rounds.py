"""The measurement itself: turns, checks of what arrives, contenders that fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from thalweg.bench.contenders import find, peers
from thalweg.bench.exchange import payload
from thalweg.bench.rounds import Measured, measure, repeats_of
from thalweg.errors import InvalidError, NotFoundError

HERE = Path(__file__).parent
SIZES = [4096, 65536]


def measured(*names: str, rounds: int = 2) -> Measured:
    locators = {name: f"{HERE / 'loopback_peer.py'}::{name}" for name in names}
    return measure([(find(locator), locator) for locator in locators.values()], SIZES, rounds)


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_every_round_measures_every_size_and_operation_and_the_limits() -> None:
    before = children()
    found = measured("loopback", rounds=2)
    assert found.failures == {}
    assert [(sample.round, sample.size_bytes, sample.operation) for sample in found.samples] == [
        (turn, size, operation)
        for turn in (0, 1)
        for size in SIZES
        for operation in ("put", "loan", "get_into", "latency")
    ]
    assert all(len(sample.seconds) == repeats_of(sample.size_bytes) for sample in found.samples)
    assert all(seconds > 0 for sample in found.samples for seconds in sample.seconds)
    assert set(found.memcpy_s) == set(found.round_trip_s) == {(turn, size) for turn in (0, 1) for size in SIZES}
    assert children() == before, "a worker was left behind"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("corrupting", "CorruptError: bench: item 1 arrived with checksum"),
        ("stale", "CorruptError: bench: item 1 arrived with the stamp 2; expected its own index"),
        ("dying", "the consumer ended without an answer"),
    ],
)
def test_a_failing_contender_is_named_and_the_others_go_on(name: str, message: str) -> None:
    before = children()
    found = measured(name, "loopback", rounds=1)
    assert list(found.failures) == [name]
    assert message in found.failures[name]
    assert {sample.contender for sample in found.samples} == {"loopback"}
    assert children() == before, "a worker was left behind"


def test_items_of_a_batch_grow_fewer_with_size() -> None:
    assert [repeats_of(size) for size in (4096, 8_000_000, 128_000_000)] == [100, 32, 4]


def test_payload_is_random_and_of_its_seed() -> None:
    import zlib

    data = payload(1 << 20, seed=3)
    assert len(zlib.compress(data.tobytes(), 1)) > 0.99 * data.nbytes
    assert (payload(1 << 20, seed=3) == data).all()
    assert (payload(1 << 20, seed=4) != data).any()


def test_a_size_of_no_whole_elements_is_refused() -> None:
    with pytest.raises(InvalidError, match="size 1001 bytes is not a multiple of 8"):
        payload(1001, seed=1)


def test_an_unknown_contender_is_refused() -> None:
    with pytest.raises(InvalidError, match="no contender 'absent'; there are loopback, corrupting, stale, dying"):
        find(f"{HERE / 'loopback_peer.py'}::absent")


def test_a_missing_folder_of_peers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no folder"):
        peers(tmp_path / "none")
