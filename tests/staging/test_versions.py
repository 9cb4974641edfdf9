"""When a version can be read, what a wait says, and how versions end."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from thalweg.errors import ExistsError, InvalidError, NotFoundError, ServerGoneError, WaitTimeoutError
from thalweg.staging import Client, Server, Variable

from .conftest import meanwhile

STRATEGIES = ("rad", "rasar", "rasia", "sahr")


@contextlib.contextmanager
def as_other(client: Client, name: str) -> Iterator[Client]:
    """Another connection to the same service."""
    with Client(client.address, namespace="t", token="correct horse", name=name) as other:
        yield other


def refusal(variable: Variable, kind: type[Exception], **how: object) -> str:
    with pytest.raises(kind) as caught:
        variable.get(**{"timeout_s": 0.05, **how})  # type: ignore[arg-type]
    return str(caught.value)


def test_a_region_is_readable_as_soon_as_it_is_complete_and_not_before(client: Client) -> None:
    u = client.define("u", (4, 6), "f8")
    u.put(np.ones((2, 6)), version=0)
    assert (u.get(np.s_[1:2, 2:5], version=0) == 1).all()
    message = refusal(u, WaitTimeoutError, version=0)
    assert message.startswith(
        'stage.get: version 0 of "u" was not complete within 50 ms: cells [2:4, 0:6] are missing; put by '
    )
    assert message.endswith("; connected: nobody else")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_get_wakes_when_the_last_piece_comes(client: Client, strategy: str) -> None:
    u = client.define("u", (4, 6), "f8", strategy=strategy)
    u.put(np.ones((3, 6)), version=0)
    with meanwhile(lambda: u.put(np.full((1, 6), 2.0), version=0, lower=(3, 0))):
        got = u.get(version=0, layout="left", timeout_s=30)
    assert (got == np.concatenate([np.ones((3, 6)), np.full((1, 6), 2.0)])).all()


def test_a_wait_names_who_put_what_is_there_and_who_could_put_the_rest(client: Client) -> None:
    u = client.define("u", (4, 6), "f8")
    with as_other(client, "rank 1") as other:
        other.open("u").put(np.ones((1, 6)), version=3, lower=(1, 0))
        message = refusal(u, WaitTimeoutError, version=3)
        assert "cells [0:1, 0:6], [2:4, 0:6] are missing; put by rank 1" in message
        assert "; connected: rank 1" in message
        message = refusal(u, WaitTimeoutError, version=9)
        assert message.startswith('stage.get: nothing of version 9 of "u" was put within 50 ms; connected: rank 1')
    message = refusal(u, WaitTimeoutError, version="latest")
    assert 'no version of "u" had all cells of' in message and "1 versions are there" in message


def test_a_version_is_read_only_when_all_writers_have_sealed_it(client: Client) -> None:
    u = client.define("u", (4, 6), "f8", writers=2)
    u.put(np.ones((4, 6)), version=0)
    assert "0 of 2 writers have sealed it" in refusal(u, WaitTimeoutError, version=0)
    u.seal(0, writer=1)
    u.seal(0, writer=1)
    assert "1 of 2 writers have sealed it" in refusal(u, WaitTimeoutError, version=0)
    with pytest.raises(WaitTimeoutError):
        u.get(version="latest", timeout_s=0.05)
    with meanwhile(lambda: u.seal(0, writer=0)):
        assert (u.get(version=0, timeout_s=30) == 1).all()
    with pytest.raises(ExistsError, match='"u" version 0 is sealed already; put a new version'):
        u.put(np.zeros((4, 6)), version=0)


@pytest.mark.parametrize("writers", [0, 1])
def test_who_waits_for_cells_that_were_never_put_is_told_when_the_version_is_sealed(
    client: Client, writers: int
) -> None:
    u = client.define("u", (4, 6), "f8", writers=writers)
    u.put(np.ones((2, 6)), version=0)
    with meanwhile(lambda: u.seal(0)), pytest.raises(NotFoundError) as caught:
        u.get(version=0, timeout_s=600)
    expected = 'stage.get: version 0 of "u" is sealed, and cells [2:4, 0:6] were never put'
    assert str(caught.value) == expected
    assert refusal(u, NotFoundError, version=0, timeout_s=0.0) == expected
    assert (u.get(np.s_[0:2, :], version=0) == 1).all()


@pytest.mark.parametrize("layouts", [(), ("left", "right")], ids=["on demand", "registered"])
def test_of_pieces_that_overlap_the_first_counts_for_every_strategy(client: Client, layouts: tuple[str, ...]) -> None:
    for strategy in STRATEGIES:
        u = client.define(f"u {strategy}", (6, 8), "i4", strategy=strategy, layouts=layouts)
        for version in range(2):
            expected = np.zeros((6, 8), "i4")
            fresh = np.ones((6, 8), "?")
            pieces = [(np.s_[1:4, 2:7], "C"), (np.s_[0:3, 0:5], "F"), (np.s_[2:6, 3:8], "C"), (np.s_[0:6, 0:8], "F")]
            for n, (box, order) in enumerate(pieces, start=1):
                values = np.full(expected[box].shape, n, "i4", order=order)  # type: ignore[call-overload]
                u.put(values, version=version, lower=[part.start for part in box])
                expected[box][fresh[box]] = n
                fresh[box] = False
            for asked in (None, *STRATEGIES):
                for layout in (None, "left", "right"):
                    assert (u.get(version=version, layout=layout, strategy=asked) == expected).all()


def test_only_the_newest_versions_are_kept(client: Client) -> None:
    u = client.define("u", 4, "f8", keep_last=2)
    for version in range(5):
        u.put(np.full(4, float(version)), version=version)
    assert [state.version for state in u.versions()] == [3, 4]
    expected = 'version 1 of "u" is past: it was released or dropped, keep_last is 2, the newest complete one is 4'
    assert expected in refusal(u, NotFoundError, version=1)
    with pytest.raises(NotFoundError, match='"u" version 1 is past: it was released, dropped or is not kept'):
        u.put(np.zeros(4), version=1)
    with pytest.raises(NotFoundError, match='"u" version 1 is past'):
        u.seal(1)


def test_who_waits_for_a_version_that_is_dropped_is_told(client: Client) -> None:
    u = client.define("u", 4, "f8", keep_last=1)
    u.put(np.zeros(2), version=0)
    with meanwhile(lambda: u.put(np.ones(4), version=1)), pytest.raises(NotFoundError, match="is past"):
        u.get(version=0, timeout_s=600)


def test_an_incomplete_version_does_not_push_out_a_complete_one(client: Client) -> None:
    u = client.define("u", 4, "f8", keep_last=1)
    u.put(np.zeros(4), version=0)
    u.put(np.ones(3), version=1)
    assert (u.get(version="latest") == 0).all()
    u.put(np.ones(1), version=1, lower=[3])
    assert (u.get(version="latest") == 1).all()
    assert [state.version for state in u.versions()] == [1]


def test_a_released_version_is_gone_and_its_views_are_not(client: Client) -> None:
    u = client.define("u", (50, 40), "f8")
    u.put(np.ones((50, 40)), version=0)
    views = [u.get(version=0), u.get(np.s_[3:20, 7:9], version=0), u.get(version=0, layout="left", strategy="rasar")]
    assert u.release(0) and not u.release(0)
    for version in range(1, 9):
        u.put(np.full((50, 40), 9.0), version=version)
        u.release(version)
    assert all((view == 1).all() for view in views)
    assert "is past" in refusal(u, NotFoundError, version=0)


def test_views_outlive_the_connection_and_the_server() -> None:
    with Server(memory_limit_bytes=8 << 20) as server, Client(server.address) as client:
        u = client.define("u", (50, 40), "f8")
        u.put(np.ones((50, 40)), version=0)
        views = [u.get(version=0), u.get(version=0, layout="left")]
    assert all((view == 1).all() for view in views)
    with pytest.raises((InvalidError, ServerGoneError)):
        u.get(version=0)


def test_latest_is_the_newest_version_in_which_the_region_is_complete(client: Client) -> None:
    u = client.define("u", 4, "f8")
    for version in (2, 0):
        u.put(np.full(4, float(version)), version=version)
    u.put(np.full(2, 5.0), version=5)
    assert (u.get() == 2).all() and (u.get(np.s_[0:2]) == 5).all()


def test_next_and_each_go_through_the_versions_in_order(client: Client) -> None:
    u = client.define("u", 4, "f8")
    for version in (7, 1, 3):
        u.put(np.full(4, float(version)), version=version)
    u.put(np.zeros(3), version=2)
    assert u.next(after=1)[0] == 3
    seen = []
    with pytest.raises(WaitTimeoutError, match="from 8 on"):
        for version, array in u.each(timeout_s=0.05):
            seen.append(version)
            assert (array == version).all()
    assert seen == [1, 3, 7]


class Calls:
    """What a subscription's function was called with."""

    def __init__(self, until: int) -> None:
        self.seen: list[tuple[int, float]] = []
        self._until, self._enough = until, threading.Event()

    def __call__(self, version: int, array: np.ndarray) -> None:
        assert (array == array.flat[0]).all()
        self.seen.append((version, float(array.flat[0])))
        if version == self._until:
            self._enough.set()

    def wait(self) -> None:
        assert self._enough.wait(60)


def test_a_subscription_is_called_for_each_version_in_order(client: Client) -> None:
    u = client.define("u", (4, 6), "f8")
    u.put(np.zeros((4, 6)), version=0)
    calls = Calls(until=9)
    with u.subscribe(calls, np.s_[1:3, :], layout="left") as subscription:
        for version in range(1, 10):
            u.put(np.full((4, 6), 1.0 * version), version=version)
        calls.wait()
    assert calls.seen == [(version, float(version)) for version in range(10)]
    u.put(np.zeros((4, 6)), version=10)
    subscription.cancel()
    assert len(calls.seen) == 10


def test_a_subscription_passes_over_versions_that_are_gone(client: Client) -> None:
    u = client.define("u", 4, "f8")
    for version in range(6):
        u.put(np.full(4, 1.0 * version), version=version)
    for version in (0, 3, 4):
        u.release(version)
    calls = Calls(until=5)
    with u.subscribe(calls, after=0):
        calls.wait()
    assert [version for version, _ in calls.seen] == [1, 2, 5]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_subscription_whose_function_raises_ends_and_says_so(client: Client) -> None:
    u = client.define("u", 4, "f8")
    called = threading.Event()

    def fails(version: int, array: np.ndarray) -> None:
        called.set()
        raise ZeroDivisionError(f"at version {version}")

    subscription = u.subscribe(fails)
    u.put(np.zeros(4), version=0)
    u.put(np.zeros(4), version=1)
    assert called.wait(60)
    with pytest.raises(ZeroDivisionError, match="at version 0"):
        subscription.cancel()


def test_a_subscription_may_be_cancelled_by_its_own_function(client: Client) -> None:
    u = client.define("u", 4, "f8")
    there, seen, ended = threading.Event(), [], threading.Event()

    def once(version: int, array: np.ndarray) -> None:
        assert there.wait(60)
        seen.append(version)
        subscription.cancel()
        ended.set()

    subscription = u.subscribe(once)
    there.set()
    u.put(np.zeros(4), version=0)
    u.put(np.zeros(4), version=1)
    assert ended.wait(60)
    subscription.cancel()
    assert seen == [0]


def test_puts_and_gets_beside_the_caller(client: Client) -> None:
    u = client.define("u", 4, "f8")
    got = u.get_beside(version=0, timeout_s=30)
    put = u.put_beside(np.arange(4.0), version=0)
    put.result(30)
    assert (got.result(30) == np.arange(4.0)).all()
