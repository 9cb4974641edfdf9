"""Servers that share the domain of each variable behave as one."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

import numpy as np
import pytest

from thalweg.errors import InvalidError, NotFoundError, ServerGoneError, WaitTimeoutError
from thalweg.staging import Client, Server

from .conftest import meanwhile


@pytest.fixture
def addresses() -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Server(memory_limit_bytes=16 << 20)) for _ in range(2)]
        yield ",".join(server.address for server in servers)


@pytest.fixture
def client(addresses: str) -> Iterator[Client]:
    with Client(addresses, namespace="t", name="reader") as client:
        yield client


def test_latest_is_complete_on_all_servers(client: Client) -> None:
    u = client.define("u", (4, 6), "f8")
    u.put(np.zeros((4, 6)), version=0)
    u.put(np.ones((4, 3)), version=1)
    assert (u.get(timeout_s=5) == 0).all(), "version 1 lacks what the second server holds"
    u.put(np.ones((4, 3)), version=1, lower=(0, 3))
    assert (u.get(timeout_s=5) == 1).all()


def test_next_is_complete_on_all_servers(client: Client) -> None:
    u = client.define("u", (4, 6), "f8")
    u.put(np.zeros((4, 3)), version=0)
    u.put(np.ones((4, 6)), version=1)
    assert u.next(timeout_s=5)[0] == 1, "version 0 lacks what the second server holds"


def test_a_version_is_kept_until_a_newer_one_is_complete_on_all_servers(client: Client) -> None:
    u = client.define("u", (4, 6), "f8", keep_last=1)
    u.put(np.zeros((4, 6)), version=0)
    u.put(np.ones((4, 3)), version=1)
    assert (u.get(version=0, timeout_s=5) == 0).all()


def test_seals_count_on_all_servers(client: Client) -> None:
    u = client.define("u", (4, 6), "f8", writers=2)
    u.put(np.ones((4, 6)), version=0)
    u.seal(0, writer=0)
    with pytest.raises(WaitTimeoutError, match="1 of 2 writers have sealed it"):
        u.get(version=0, timeout_s=0.05)
    with meanwhile(lambda: u.seal(0, writer=1)):
        assert (u.get(version=0, timeout_s=30) == 1).all()
    state = u.versions()[0]
    assert (state.version, state.cells, state.complete, state.seals) == (0, 24, True, 2)


def test_a_released_version_is_past_on_all_servers(client: Client) -> None:
    u = client.define("u", (4, 6), "f8")
    u.put(np.ones((4, 6)), version=0)
    assert u.release(0) and u.versions() == []
    with pytest.raises(NotFoundError, match='version 0 of "u" is past'):
        u.get(np.s_[:, 4:6], version=0, timeout_s=5)


def test_the_same_servers_in_the_same_order_are_named(client: Client, addresses: str) -> None:
    client.define("u", (4, 6), "f8")
    swapped = ",".join(reversed(addresses.split(",")))
    with Client(swapped, namespace="t") as other, pytest.raises(InvalidError) as caught:
        other.open("u", timeout_s=5)
    assert str(caught.value) == (
        'stage.open: variable "u" was defined over other services than the 2 given here, or in another order'
    )
    one = addresses.split(",")[0]
    with pytest.raises(InvalidError, match="is named twice in"):
        Client(f"{one},{one}")


def test_a_domain_smaller_than_the_servers_is_refused(client: Client) -> None:
    with pytest.raises(InvalidError) as caught:
        client.define("u", 1, "f8")
    assert str(caught.value) == ("stage.define: a domain of (1,) over 2 services leaves some without a cell; use fewer")


def test_a_loan_lies_with_one_server(client: Client) -> None:
    u = client.define("u", (4, 6), "f8")
    with pytest.raises(InvalidError) as caught:
        u.loan(version=0)
    assert str(caught.value) == (
        "stage.put: region [0:4, 0:6] lies with 2 services; lend [0:4, 0:3], [0:4, 3:6] one by one"
    )
    for half in (np.s_[:, 0:3], np.s_[:, 3:6]):
        with u.loan(version=0, region=half) as array:
            array[...] = half[1].start
    assert (u.get(version=0) == np.repeat([0, 3], 3)).all()


def test_attributes_and_names_are_seen_by_all_clients(client: Client, addresses: str) -> None:
    client.define("u", (4, 6), "f8", units="m/s")
    client.define("t", 8, "f4")
    with Client(addresses, namespace="t") as other:
        assert other.variables() == ["t", "u"]
        assert other.open("u").attributes == {"units": "m/s"}


#: Cells of a region that is large enough to be moved by several threads: 16 MiB of f8.
LARGE = (128, 128, 128)


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    """Three, with room for large regions."""
    with contextlib.ExitStack() as stack:
        start = functools.partial(Server, memory_limit_bytes=96 << 20, listen="127.0.0.1:0", token="correct horse")
        yield [stack.enter_context(start()) for _ in range(3)]


@pytest.fixture(params=["shared-memory", "tcp"])
def large(request: pytest.FixtureRequest, servers: list[Server]) -> Iterator[Client]:
    links = [server.address if request.param == "shared-memory" else str(server.tcp_address) for server in servers]
    with Client(",".join(links), namespace="t", token="correct horse") as client:
        yield client


@pytest.mark.parametrize("layout", [None, "left", (1, 2, 0)])
def test_large_regions_move_side_by_side(large: Client, layout: object) -> None:
    u = large.define("u", LARGE, "f8", keep_last=2)
    for version in range(3):
        values = np.random.default_rng(version).random(LARGE)
        u.put(values if version != 1 else np.asfortranarray(values), version=version)
        assert (u.get(version=version, layout=layout) == values).all()  # type: ignore[arg-type]
        into = np.zeros((130, 128, 126))[1:-1, ::-1]
        assert u.get(np.s_[:, :, 1:127], into=into) is into and (into == values[:, :, 1:127]).all()
        found = u.reduce(version=version, bins=(0.0, 1.0, 4))
        assert (found.min, found.max, found.cells) == (values.min(), values.max(), values.size)
        assert found.sum == pytest.approx(values.sum(), rel=1e-12) and found.histogram is not None
        assert found.histogram.tolist() == np.histogram(values, 4, (0.0, 1.0))[0].tolist()


def test_the_first_error_of_a_large_region_ends_the_others(large: Client, servers: list[Server]) -> None:
    u = large.define("u", LARGE, "f8")
    u.put(np.ones((128, 128, 64)), version=0)
    with meanwhile(servers[2].close), pytest.raises(ServerGoneError):
        u.get(version=0, timeout_s=600)
