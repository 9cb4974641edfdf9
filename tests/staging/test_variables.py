"""Loans, arrays that their writer keeps, reductions, attributes and patterns of variables."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from thalweg.errors import DTypeError, InvalidError, WaitTimeoutError
from thalweg.staging import Client, Pattern, Server

from .conftest import Process

PARTICLE = np.dtype([("mass", "f4"), ("position", "f8"), ("id", "i8")])


@contextlib.contextmanager
def as_other(client: Client, name: str = "other") -> Iterator[Client]:
    """Another connection to the same service."""
    with Client(client.address, namespace="t", token="correct horse", name=name) as other:
        yield other


@pytest.mark.parametrize("layout", ["right", "left", (1, 2, 0)], ids=str)
def test_a_loan_lies_as_asked_and_is_seen_when_it_is_committed(client: Client, layout: str) -> None:
    u = client.define("u", (3, 4, 5), "f8")
    values = np.arange(24.0).reshape(2, 3, 4)
    loan = u.loan(version=0, region=np.s_[1:3, 0:3, 1:5], layout=layout)
    axes = {"right": (0, 1, 2), "left": (2, 1, 0)}.get(layout, layout)
    assert loan.array.transpose(axes).flags.c_contiguous and loan.array.shape == (2, 3, 4)
    loan.array[...] = values
    with pytest.raises(WaitTimeoutError):
        u.get(np.s_[1:3, 0:3, 1:5], version=0, timeout_s=0.05)
    loan.commit()
    assert (u.get(np.s_[1:3, 0:3, 1:5], version=0) == values).all()
    with pytest.raises(ValueError, match="read-only"):
        loan.array[0, 0, 0] = 1
    with pytest.raises(InvalidError, match="ended"):
        loan.commit()


def test_a_loan_whose_block_raised_publishes_nothing(client: Client) -> None:
    u = client.define("u", 4, "f8")
    with pytest.raises(ZeroDivisionError), u.loan(version=0):
        raise ZeroDivisionError
    assert u.versions() == []


def test_a_loan_of_records_may_hold_each_field_apart(client: Client) -> None:
    u = client.define("particles", (3, 4), PARTICLE)
    expected = np.zeros((3, 4), PARTICLE)
    for n, name in enumerate(PARTICLE.names or ()):
        expected[name] = np.arange(12).reshape(3, 4) + 100 * n
    with u.loan(version=0, fields="arrays") as arrays:
        assert list(arrays) == ["mass", "position", "id"]
        assert all(array.flags.c_contiguous for array in arrays.values())
        for name, array in arrays.items():
            array[...] = expected[name]
    with u.loan(version=1, layout="left") as array:
        array[...] = expected
    for version, strategy in itertools.product((0, 1), ("rad", "rasar", "rasia", "sahr")):
        assert (u.get(version=version, strategy=strategy) == expected).all()
        assert (u.get(version=version, strategy=strategy, layout="right") == expected).all()
        apart = u.get(version=version, strategy=strategy, fields="arrays", layout="left")
        assert all((apart[name] == expected[name]).all() for name in apart)
        assert all(array.flags.f_contiguous for array in apart.values())


def test_a_matching_get_shows_the_memory_of_the_service(server: Server) -> None:
    with Client(server.address, namespace="t") as client:
        u = client.define("u", (8, 6), "f8")
        u.put(np.asfortranarray(np.arange(48.0).reshape(8, 6)), version=0)
        whole, part = u.get(version=0, layout="left"), u.get(np.s_[2:5, 1:4], version=0)
        assert np.shares_memory(whole, u.get(version=0)) and np.shares_memory(whole, part)
        assert (part == np.arange(48.0).reshape(8, 6)[2:5, 1:4]).all()


@pytest.fixture
def near(outside: tuple[Process, str, str]) -> Iterator[Client]:
    """A client of a server on this node."""
    with Client(outside[1], namespace="t") as client:
        yield client


def test_what_a_writer_keeps_is_read_by_others_and_freed_when_it_is_past(near: Client) -> None:
    own = Client()  # the service of this process, which keeps what is put locally
    own_before = own.stats()["entry_bytes"]
    u = near.define("u", (40, 50), "f8", keep_last=1)
    before = near.stats()["entry_bytes"]
    values = np.arange(2000.0).reshape(40, 50)
    u.put(values[:20], version=0, local=True)
    u.put(np.asfortranarray(values[20:]), version=0, lower=(20, 0), local=True)
    assert near.stats()["entry_bytes"] == before, "the bytes stay with the writer"
    with as_other(near) as other:
        v = other.open("u")
        for strategy in ("rad", "rasar", "rasia", "sahr"):
            assert (v.get(version=0, layout="left", strategy=strategy) == values).all()
        view = v.get(np.s_[3:9, 2:7], version=0)
        u.put(values + 1, version=1, local=True)
        assert (v.get() == values + 1).all()
        assert (view == values[3:9, 2:7]).all()
        assert own.stats()["entry_bytes"] > own_before
        u.release(1)
        assert own.stats()["entry_bytes"] == own_before
    own.close()


def test_what_a_writer_keeps_is_not_reduced_at_the_server(near: Client) -> None:
    u = near.define("u", 4, "f8")
    u.put(np.ones(4), version=0, local=True)
    with pytest.raises(InvalidError) as caught:
        u.reduce(version=0)
    assert str(caught.value) == (
        'stage.reduce: cells [0:4] of version 0 of "u" are kept by their writer; get them and reduce them here'
    )


def test_over_tcp_a_writer_keeps_nothing(outside: tuple[Process, str, str]) -> None:
    with Client(outside[2], namespace="t", token="correct horse") as client:
        u = client.define("u", 4, "f8")
        with pytest.raises(InvalidError) as caught:
            u.put(np.ones(4), version=0, local=True)
        assert str(caught.value) == (
            f'stage.put: the service at "{outside[2]}" is reached over TCP, and its readers may not be on this node; '
            "put without local"
        )
        u.put(np.ones(4), version=0)
        assert (u.get() == 1).all()


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8"])
@pytest.mark.parametrize("count", [1, 3])
def test_a_reduction_is_numpys(dtype: str, count: int) -> None:
    random, kind = np.random.default_rng(5), np.dtype(dtype)
    if kind.kind == "f":
        values = random.normal(size=(7, 9, 5)).astype(dtype)
    else:
        limits = np.iinfo(kind)
        values = random.integers(limits.min, limits.max, (7, 9, 5), dtype=dtype, endpoint=True)
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Server(memory_limit_bytes=8 << 20)) for _ in range(count)]
        client = stack.enter_context(Client(",".join(server.address for server in servers)))
        u = client.define("u", values.shape, dtype)
        u.put(np.asfortranarray(values[:4]), version=0)
        u.put(values[2:], version=0, lower=(2, 0, 0))
        region = np.s_[1:6, 2:9, 0:5]
        part = values[region]
        low, high = float(part.min()) / 2, float(part.max()) / 2
        found = u.reduce(region, bins=(low, high, 7))
        assert (found.version, found.cells, found.min, found.max) == (0, part.size, part.min(), part.max())
        if kind.kind == "f":
            assert found.sum == pytest.approx(float(part.sum(dtype="f8")), rel=1e-12, abs=1e-12)
        else:
            assert found.sum == sum(int(n) for n in part.flat) and isinstance(found.sum, int)
        assert found.mean == pytest.approx(float(part.mean(dtype="f8")), rel=1e-12, abs=1e-12)
        assert found.histogram is not None
        assert found.histogram.tolist() == np.histogram(part.astype("f8"), 7, (low, high))[0].tolist()


def test_a_nan_makes_what_is_found_nan(client: Client) -> None:
    u = client.define("u", 6, "f8")
    values = np.array([1.0, 2, np.nan, 4, 5, 6])
    u.put(values, version=0)
    found = u.reduce()
    assert found.cells == 6 and all(np.isnan(n) for n in (found.min, found.max, found.sum, found.mean))
    assert u.reduce(np.s_[3:6])[:5] == (0, 3, 4.0, 6.0, 15.0)
    infinite = client.define("infinite", 3, "f8")
    infinite.put(np.array([-np.inf, 0, 1]), version=0)
    assert infinite.reduce().min == -np.inf and infinite.reduce().sum == -np.inf


def test_records_are_not_reduced(client: Client) -> None:
    u = client.define("u", 3, PARTICLE)
    u.put(np.zeros(3, PARTICLE), version=0)
    with pytest.raises(DTypeError, match=r"^stage\.reduce: "):
        u.reduce()


def test_attributes_are_noted_for_everybody_and_removed(client: Client) -> None:
    u = client.define("u", (2, 3), "f8", units="m/s", dims=["y", "x"])
    with as_other(client) as other:
        v = other.open("u")
        assert v.attributes == {"units": "m/s", "dims": ["y", "x"]}
        v.annotate(units="km/h", scale=0.5, flags={"wet": True})
        v.annotate(dims=None)
    assert u.attributes == {"units": "km/h", "scale": 0.5, "flags": {"wet": True}}


def test_variables_are_listed_beside_arrays_of_their_own(client: Client) -> None:
    for name in ("v", "u", "w"):
        client.define(name, 3, "f8")
    client.put("alone", np.zeros(3))
    with as_other(client) as other:
        assert other.variables() == ["u", "v", "w"]
        assert [entry.name for entry in other.list()] == ["alone"]
    client.drop_namespace()
    assert client.variables() == []


def test_an_opened_variable_is_what_was_defined(client: Client) -> None:
    client.define("particles", (3, 4), PARTICLE, strategy="rasia", layouts=["left"], keep_last=3, writers=2)
    with as_other(client) as other:
        v = other.open("particles")
        assert (v.name, v.shape, v.dtype) == ("particles", (3, 4), PARTICLE)
        assert (v.strategy, v.keep_last, v.writers) == ("rasia", 3, 2)


def test_open_waits_until_somebody_defines(client: Client) -> None:
    with as_other(client, "late writer") as other:
        with pytest.raises(WaitTimeoutError) as caught:
            client.open("u", timeout_s=0.05)
        assert str(caught.value) == (
            'stage.open: variable "u" in namespace "t" was not defined within 50 ms; connected: '
            + str(caught.value).rpartition("connected: ")[2]
        )
        assert "late writer" in str(caught.value)
        other.define("u", 3, "f8")
        assert client.open("u").shape == (3,)


def read(client: Client, name: str, *regions: tuple[slice, slice]) -> list[Pattern]:
    """Read regions column-major; the patterns that came of it."""
    u = client.open(name)
    for region in regions:
        u.get(region, version=0, layout="left")
    return u.patterns()


def test_gets_that_meet_widen_a_pattern_and_others_stay_apart(client: Client) -> None:
    u = client.define("u", (20, 20), "f8")
    u.put(np.zeros((20, 20)), version=0)
    assert read(client, "u", np.s_[0:4, 0:4]) == [Pattern((0, 0), (4, 4), (1, 0), 1)]
    widened = read(client, "u", np.s_[2:8, 1:4])
    assert [(p.lower, p.extent, p.gets) for p in widened] == [((0, 0), (8, 4), 2)]
    apart = read(client, "u", np.s_[15:20, 15:20])
    assert {(p.lower, p.extent) for p in apart} == {((0, 0), (8, 4)), ((15, 15), (5, 5))}


def test_what_was_read_before_is_ready_when_the_next_version_comes(server: Server) -> None:
    with Client(server.address, namespace="t") as client:
        u = client.define("u", (64, 64), "f8")
        u.put(np.zeros((64, 64)), version=0)
        u.get(np.s_[0:32, :], version=0, layout="left")
        assert client.stats()["replica_hits"] == 0
        u.put(np.ones((64, 64)), version=1)
        # A get that asks for the replica waits for the one that the pattern began.
        u.get(np.s_[0:32, :], version=1, layout="left", strategy="rasar")
        hits = client.stats()["replica_hits"]
        view = u.get(np.s_[4:32, :], version=1, layout="left")
        assert client.stats()["replica_hits"] == hits + 1 and (view == 1).all()
        assert u.versions()[1].replicas == 1 and u.versions()[0].replicas == 0
