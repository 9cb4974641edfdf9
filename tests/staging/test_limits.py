"""Memory is bounded, and what happens at the limit is the stated policy."""

from __future__ import annotations

import gc
import time

import numpy as np
import pytest

from thalweg.errors import FullError, WaitTimeoutError
from thalweg.staging import Client, Server

from .conftest import meanwhile

LIMIT = 8 << 20
MIB = np.zeros(1 << 20, "u1")


def fill(client: Client) -> int:
    """Puts MiB arrays until the server says no."""
    for n in range(100):
        try:
            client.put("u", MIB, version=n, timeout_s=0)
        except (FullError, WaitTimeoutError):
            return n
    raise AssertionError("the limit does not hold")


def test_fail_refuses_and_keeps_what_is_there() -> None:
    with Server(memory_limit_bytes=LIMIT, when_full="fail") as server, Client(server.address) as client:
        n = fill(client)
        assert n == 8 and len(client.list()) == n
        with pytest.raises(FullError, match="8 of 32768 places are taken, 0 by replicas, arrays and pieces hold 8 MiB"):
            client.put("more", MIB)
        client.delete("u")
        client.put("more", MIB)
        assert server.stats()["memory_bytes"] <= LIMIT


def test_block_waits_until_there_is_room() -> None:
    with Server(memory_limit_bytes=LIMIT) as server, Client(server.address) as client:
        fill(client)
        with meanwhile(lambda: client.delete("u", version=3)):
            client.put("more", MIB, timeout_s=30)
        assert client.exists("more") and server.stats()["blocked"] == 2


def test_block_waits_for_a_reader_to_let_go() -> None:
    with Server(memory_limit_bytes=LIMIT) as server, Client(server.address) as client:
        fill(client)
        held = [client.get("u", version=3)]
        client.delete("u", version=3)
        with pytest.raises(WaitTimeoutError, match="readers keep 1 MiB of withdrawn versions"):
            client.put("more", MIB, timeout_s=0.05)

        def let_go() -> None:
            held.clear()
            gc.collect()

        with meanwhile(let_go):
            client.put("more", MIB, timeout_s=30)


def test_who_waits_behind_a_put_that_gave_up_is_served() -> None:
    with Server(memory_limit_bytes=LIMIT) as server, Client(server.address) as client:
        for n in range(7):
            client.put("u", MIB, version=n)

        def give_up() -> None:
            with pytest.raises(WaitTimeoutError):
                client.put("big", np.zeros(6 << 20, "u1"), timeout_s=0.5)

        with meanwhile(give_up):
            while client.stats()["blocked_now"] == 0:
                time.sleep(0.005)
            client.put("small", MIB, timeout_s=20)  # there is room for it all the time
        assert client.exists("small") and not client.exists("big")


def test_drop_oldest_makes_room_and_spares_what_is_read() -> None:
    with Server(memory_limit_bytes=LIMIT, when_full="drop_oldest") as server, Client(server.address) as client:
        client.put("u", MIB, version=0)
        view = client.get("u", version=0)
        for n in range(1, 20):
            client.put("u", MIB, version=n)
        versions = [entry.version for entry in client.list()]
        assert versions == [0, *range(13, 20)] and (view == 0).all()
        assert server.stats()["dropped"] == 12


def test_an_array_larger_than_the_limit_is_refused_at_once() -> None:
    refusal = "an array of 9 MiB is larger than the memory limit of 8 MiB; raise the limit"
    with (
        Server(memory_limit_bytes=LIMIT) as server,
        Client(server.address) as client,
        pytest.raises(FullError, match=refusal),
    ):
        client.put("u", np.zeros(9 << 20, "u1"))


def test_a_writer_that_gives_up_takes_nothing_with_it() -> None:
    with Server(memory_limit_bytes=LIMIT) as server, Client(server.address) as client:
        fill(client)
        for _ in range(5):
            with pytest.raises(WaitTimeoutError):
                client.put("more", MIB, timeout_s=0.02)
        client.drop_namespace()
        assert fill(client) == 8
        stats = server.stats()
        assert stats["blocked_now"] == 0 and stats["granted_bytes"] == 0


def test_memory_of_other_sizes_is_found_again() -> None:
    with Server(memory_limit_bytes=LIMIT) as server, Client(server.address) as client:
        for size in (1 << 20, 3 << 20, 100, 7 << 20, 5000, 8 << 20):
            for n in range(10):
                client.put("u", np.full(size, n, "u1"), version=n, timeout_s=5)
                client.delete("u", version=n)
        assert server.stats()["memory_bytes"] <= LIMIT


def test_a_writer_of_another_process_gets_the_spare_memory_of_an_idle_one(outside: tuple[object, str, str]) -> None:
    _, address, _ = outside
    with Client(address, namespace="t") as idle, Client(address, namespace="t") as busy:
        for _ in range(3):
            idle.put("mine", MIB, replace=True)
        assert idle.stats()["granted_bytes"] == 1 << 20
        busy.put("all", np.zeros(125 << 19, "u1"), timeout_s=10)  # 62.5 of 64 MiB
        idle.put("mine", np.zeros(10, "u1"), replace=True)


VERSIONS = 1 << 15


@pytest.fixture(scope="module")
def crowd() -> list[int]:
    return list(range(VERSIONS))


def test_a_full_directory_is_met_by_the_same_policies(crowd: list[int]) -> None:
    with Server(memory_limit_bytes=64 << 20, when_full="drop_oldest") as server, Client(server.address) as client:
        for n in crowd:
            client.put("u", b"x", version=n)
        client.put("one more", b"x")
        assert not client.exists("u", version=0) and client.exists("u", version=1)
        assert server.stats()["dropped"] == 1
    with Server(memory_limit_bytes=64 << 20) as server, Client(server.address) as client:
        for n in crowd:
            client.put("u", b"x", version=n)
        with pytest.raises(WaitTimeoutError, match="32768 of 32768 places are taken"):
            client.put("one more", b"x", timeout_s=0.05)
        with meanwhile(lambda: client.delete("u", version=3)):
            client.put("one more", b"x", timeout_s=30)


def test_many_views_of_withdrawn_versions_slow_nobody_down() -> None:
    # Not a time: the work. With a look at all leases for each put this would take minutes.
    with Server(memory_limit_bytes=64 << 20) as server, Client(server.address) as client:
        for n in range(4000):
            client.put("u", b"x" * 64, version=n)
        views = [client.get("u", version=n) for n in range(4000)]
        client.drop_namespace()
        with Client(server.address) as other:
            for _ in range(2000):
                other.put("v", b"x", replace=True)
        views.clear()
        assert client.stats()["retired_bytes"] == 0


def test_an_impossible_array_over_tcp_is_an_error_and_no_abort(outside: tuple[object, str, str]) -> None:
    with (
        Client(outside[2], token="correct horse") as client,
        pytest.raises(FullError, match=r"stage.put: no memory for 4294967296 GiB in this process; .* are available"),
    ):
        client.loan("u", (1 << 62,), "u1")


def test_memory_of_a_discarded_loan_is_not_reused_while_an_array_shows_it() -> None:
    with Server(memory_limit_bytes=8 << 20) as server, Client(server.address) as client:
        loan = client.loan("a", 1000, "u1")
        alias = loan.array[10:20]
        loan.discard()
        client.put("b", np.full(1000, 5, "u1"))
        alias[:] = 77
        assert (client.get("b") == 5).all() and client.stats()["granted_bytes"] == 1024
        del alias
        assert client.stats()["granted_bytes"] == 0
