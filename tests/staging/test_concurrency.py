"""Writers, readers and memory pressure at the same time: a get shows one whole version, whatever goes on meanwhile."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thalweg.errors import WaitTimeoutError
from thalweg.staging import Client, Server

from .conftest import Process, together

TOKEN = "correct horse"
SHAPE = (48, 32, 16)
VERSIONS = 30
WRITERS = 4
LAYOUTS = (None, "right", "left", (1, 2, 0))
STRATEGIES = ("rad", "rasar", "rasia", "sahr")


@contextlib.contextmanager
def stage(count: int, **settings: Any) -> Iterator[str]:
    """The addresses of servers in this process."""
    with contextlib.ExitStack() as stack:
        yield ",".join(stack.enter_context(Server(**settings)).address for _ in range(count))


def write(addresses: str, rank: int, sealed: bool, timeout_s: float = 60.0) -> None:
    """One rank of the writers: its slab of every version."""
    slab = SHAPE[0] // WRITERS
    with Client(addresses, namespace="t", name=f"writer {rank}", token=TOKEN) as client:
        u = client.open("u")
        for version in range(VERSIONS):
            values = np.full((slab, *SHAPE[1:]), float(version), order="CF"[rank % 2])  # type: ignore[call-overload]
            u.put(values, version=version, lower=(slab * rank, 0, 0), timeout_s=timeout_s)
            if sealed:
                u.seal(version, writer=rank)


def follow(addresses: str, layout: Any) -> list[int]:
    """Reads each version that is there in its turn; they must be whole."""
    seen, after = [], -1
    with Client(addresses, namespace="t", name=f"reader of {layout}", token=TOKEN) as client:
        u = client.open("u")
        while after < VERSIONS - 1:
            after, array = u.next(after=after, layout=layout, timeout_s=60)
            assert array.shape == SHAPE and (array == after).all(), f"version {after} has cells of others"
            seen.append(after)
    assert seen == sorted(set(seen))
    return seen


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "unsealed"])
@pytest.mark.parametrize("count", [1, 2])
def test_readers_see_every_version_whole_and_in_order(strategy: str, sealed: bool, count: int) -> None:
    with stage(count, memory_limit_bytes=256 << 20) as addresses, Client(addresses, namespace="t") as client:
        client.define("u", SHAPE, "f8", strategy=strategy, writers=WRITERS if sealed else 0)
        seen: list[list[int]] = []
        together(
            *(lambda rank=rank: write(addresses, rank, sealed) for rank in range(WRITERS)),  # type: ignore[misc]
            *(lambda layout=layout: seen.append(follow(addresses, layout)) for layout in LAYOUTS),  # type: ignore[misc]
        )
        assert seen == [list(range(VERSIONS))] * len(LAYOUTS)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_readers_see_whole_versions_while_old_ones_are_dropped(strategy: str) -> None:
    with stage(1, memory_limit_bytes=16 << 20) as addresses, Client(addresses, namespace="t") as client:
        client.define("u", SHAPE, "f8", strategy=strategy, writers=WRITERS, keep_last=2)
        seen: list[list[int]] = []
        together(
            *(lambda rank=rank: write(addresses, rank, True) for rank in range(WRITERS)),  # type: ignore[misc]
            *(lambda layout=layout: seen.append(follow(addresses, layout)) for layout in LAYOUTS),  # type: ignore[misc]
        )
        assert all(versions[-1] == VERSIONS - 1 for versions in seen)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_readers_see_whole_versions_while_data_move_to_the_file(strategy: str, tmp_path: Path) -> None:
    limits: dict[str, Any] = {"memory_limit_bytes": 1 << 20, "spill": (tmp_path, 64 << 20)}
    with stage(1, **limits) as addresses, Client(addresses, namespace="t") as client:
        u = client.define("u", SHAPE, "f8", strategy=strategy, writers=WRITERS)
        together(
            *(lambda rank=rank: write(addresses, rank, True) for rank in range(WRITERS)),  # type: ignore[misc]
            *(lambda layout=layout: follow(addresses, layout) for layout in LAYOUTS),  # type: ignore[misc]
        )
        assert client.stats()["spilled"] > 0
        for version in range(VERSIONS):
            assert (u.get(version=version, layout="left") == version).all()


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("count", [1, 2])
def test_the_latest_version_is_whole_while_old_ones_are_dropped(strategy: str, count: int) -> None:
    with stage(count, memory_limit_bytes=16 << 20) as addresses, Client(addresses, namespace="t") as client:
        client.define("u", SHAPE, "f8", strategy=strategy, keep_last=1)
        ended = threading.Event()

        def latest(layout: Any) -> None:
            newest = -1.0
            with Client(addresses, namespace="t") as other:
                v = other.open("u")
                while not ended.is_set():
                    array = v.get(layout=layout, timeout_s=60)
                    assert (array == array[0, 0, 0]).all(), "cells of several versions"
                    assert array[0, 0, 0] >= newest, "an older version after a newer one"
                    newest = float(array[0, 0, 0])

        def all_writers() -> None:
            try:
                together(*(lambda rank=rank: write(addresses, rank, False) for rank in range(WRITERS)))  # type: ignore[misc]
            finally:
                ended.set()

        together(all_writers, *(lambda layout=layout: latest(layout) for layout in LAYOUTS))  # type: ignore[misc]


@pytest.mark.parametrize("link", [1, 2], ids=["shared-memory", "tcp"])
def test_readers_of_another_process_see_every_version_whole(outside: tuple[Process, str, str], link: int) -> None:
    with Client(outside[1], namespace="t") as client:
        client.define("u", SHAPE, "f8", writers=WRITERS)
        together(
            *(lambda rank=rank: write(outside[link], rank, True) for rank in range(WRITERS)),  # type: ignore[misc]
            *(lambda layout=layout: follow(outside[link], layout) for layout in LAYOUTS),  # type: ignore[misc]
        )


def test_many_readers_of_one_replica_wait_for_one_reorganisation() -> None:
    with stage(1, memory_limit_bytes=64 << 20) as addresses, Client(addresses, namespace="t") as client:
        u = client.define("u", SHAPE, "f8", strategy="rasar")
        values = np.arange(float(np.prod(SHAPE))).reshape(SHAPE)
        u.put(values, version=0)
        start = threading.Barrier(8)

        def read() -> None:
            with Client(addresses, namespace="t") as other:
                v = other.open("u")
                start.wait(60)
                assert (v.get(version=0, layout="left") == values).all()

        together(*[read] * 8)
        assert u.versions()[0].replicas == 1 and client.stats()["replica_hits"] == 8


def test_a_get_that_times_out_leaves_the_others_waiting(client: Client) -> None:
    u = client.define("u", 4, "f8")
    waiting = u.get_beside(version=0, timeout_s=60)
    for _ in range(5):
        with pytest.raises(WaitTimeoutError):
            u.get(version=0, timeout_s=0.01)
    u.put(np.ones(4), version=0)
    assert (waiting.result(60) == 1).all()
