"""Any region from any pieces in any layout has NumPy's bytes, whatever the strategy, the link and the servers."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thalweg.errors import ExistsError
from thalweg.staging import Client, Server

from .conftest import SERVE, Process

TOKEN = "correct horse"
STRATEGIES = ("rad", "rasar", "rasia", "sahr")
DTYPES = [
    *(np.dtype(name) for name in ("?", "i1", "u2", "f4", "f8", "c16", "V3")),
    np.dtype([("rho", "f4"), ("id", "i8")]),
    np.dtype([("flag", "u1"), ("velocity", "f8"), ("species", "i2")], align=True),
]
Array = npt.NDArray[Any]
Box = tuple[slice, ...]


class Lying(NamedTuple):
    """How an array lies: its axes from the slowest on, and the step along each, backwards when negative."""

    axes: Sequence[int]
    steps: Sequence[int]

    def empty(self, extent: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """An array of `extent` that lies so, full of other bytes."""
        cells = [extent[axis] * abs(step) for axis, step in zip(self.axes, self.steps, strict=True)]
        memory = np.frombuffer(bytearray(b"\x01" * (int(np.prod(cells)) * dtype.itemsize)), dtype).reshape(cells)
        return memory[tuple(slice(None, None, step) for step in self.steps)].transpose(np.argsort(self.axes))


class Read(NamedTuple):
    """One get."""

    region: Box
    layout: str | Sequence[int] | None
    fields: str
    strategy: str | None
    into: Lying | None


class Case(NamedTuple):
    """A variable, the pieces it comes in, and how it is read."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strategy: str
    pieces: Sequence[tuple[Box, Lying, int]]
    reads: Sequence[Read]

    def values(self, version: int) -> Array:
        """What the domain holds: bytes in which two cells hardly ever agree."""
        cells = int(np.prod(self.shape))
        if self.dtype == np.dtype("?"):
            return np.random.default_rng(version).integers(0, 2, self.shape).astype("?")
        values = np.random.default_rng(version).bytes(cells * self.dtype.itemsize)
        return np.frombuffer(values, self.dtype).reshape(self.shape)


def lyings(dims: int) -> st.SearchStrategy[Lying]:
    steps = st.lists(st.sampled_from([1, 1, 1, -1, 2, -3]), min_size=dims, max_size=dims)
    return st.builds(Lying, st.permutations(range(dims)), steps)


def boxes(shape: Sequence[int]) -> st.SearchStrategy[Box]:
    def ends(cells: int) -> st.SearchStrategy[slice]:
        pairs = st.tuples(st.integers(0, cells - 1), st.integers(0, cells - 1))
        return pairs.map(lambda pair: slice(min(pair), max(pair) + 1))

    return st.tuples(*(ends(cells) for cells in shape))


@st.composite
def decompositions(draw: st.DrawFn, shape: Sequence[int]) -> list[Box]:
    """Boxes that together hold every cell, some of them more than once, in any order."""
    cuts = []
    for cells in shape:
        inner = draw(st.sets(st.integers(1, cells - 1), max_size=2)) if cells > 1 else set()
        edges = [0, *sorted(inner), cells]
        overlap = draw(st.integers(0, 2))
        cuts.append([slice(max(0, a - overlap), b) for a, b in itertools.pairwise(edges)])
    blocks = list(itertools.product(*cuts))
    blocks += draw(st.lists(boxes(shape), max_size=2))
    return draw(st.permutations(blocks))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    shape = (max(shape[0], 3), *shape[1:])  # a cell for each of three servers
    dtype, dims = draw(st.sampled_from(DTYPES)), len(shape)
    pieces = [(box, draw(lyings(dims)), draw(st.integers(0, 1))) for box in draw(decompositions(shape))]
    reads = []
    for _ in range(draw(st.integers(1, 3))):
        into = draw(st.none() | lyings(dims))
        layouts = st.sampled_from([None, "right", "left", "C", "F"]) | st.permutations(range(dims))
        fields = draw(st.sampled_from(["structs", "arrays"])) if dtype.names and into is None else "structs"
        layout = draw(layouts) if into is None else None
        reads.append(Read(draw(boxes(shape)), layout, fields, draw(st.sampled_from([None, *STRATEGIES])), into))
    return Case(shape, dtype, draw(st.sampled_from(STRATEGIES)), pieces, reads)


def same(got: Array, expected: Array) -> bool:
    """Bit for bit; what lies between the fields of records does not count."""
    if expected.dtype.names:
        return all(same(got[name], expected[name]) for name in expected.dtype.names)
    return got.dtype == expected.dtype and got.shape == expected.shape and got.tobytes() == expected.tobytes()


@contextlib.contextmanager
def services(link: str, count: int) -> Iterator[str]:
    """The addresses of servers in this process, or each in one of its own, over the Unix socket or TCP."""
    with contextlib.ExitStack() as stack:
        if link == "in-process":
            yield ",".join(stack.enter_context(Server(memory_limit_bytes=64 << 20)).address for _ in range(count))
            return
        addresses = []
        for _ in range(count):
            process = Process(SERVE, "127.0.0.1:0")
            stack.callback(process.kill)
            addresses.append(process.line().split()[link == "tcp"])
        yield ",".join(addresses)


@pytest.fixture(scope="module", params=itertools.product(["in-process", "unix", "tcp"], [1, 2, 3]), ids=str)
def addresses(request: pytest.FixtureRequest) -> Iterator[str]:
    with services(*request.param) as there:
        yield there


COUNT = itertools.count()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases())
def test_a_region_has_the_bytes_that_numpy_gives(addresses: str, case: Case) -> None:
    namespace = f"assembly {next(COUNT)}"
    with contextlib.ExitStack() as stack:
        first, second = (
            stack.enter_context(Client(addresses, namespace=namespace, token=TOKEN, name=name)) for name in "ab"
        )
        stack.callback(first.drop_namespace)
        first.define("u", case.shape, case.dtype, strategy=case.strategy, layouts=["left"])
        writers = first.open("u"), second.open("u")
        # What was read of a version is prepared when the next one comes.
        for version in range(3):
            values, came = case.values(version), []
            for box, lying, who in case.pieces:
                piece = lying.empty(values[box].shape, case.dtype)
                piece[...] = values[box]
                try:
                    writers[who].put(piece, version=version, lower=[part.start for part in box])
                except ExistsError:
                    assert box in came, "only the very same region is refused"
                came.append(box)
            for read in case.reads:
                check(writers[1], read, version, values[read.region])


def check(variable: Any, read: Read, version: int, expected: Array) -> None:
    """Do one get and compare."""
    if read.into is not None:
        into = read.into.empty(expected.shape, expected.dtype)
        assert variable.get(read.region, version=version, strategy=read.strategy, into=into) is into
        assert same(into, expected)
        return
    got = variable.get(
        read.region, version=version, layout=read.layout, fields=read.fields, strategy=read.strategy, timeout_s=30
    )
    if read.fields == "arrays":
        assert list(got) == list(expected.dtype.names or ())
        assert all(same(got[name], expected[name]) for name in got)
        return
    assert same(got, expected) and not got.flags.writeable
    if read.layout is not None:
        named = {"right": range(expected.ndim), "C": range(expected.ndim)}
        axes = read.layout if not isinstance(read.layout, str) else named.get(read.layout, range(expected.ndim)[::-1])
        steps = [got.strides[axis] for axis in axes if got.shape[axis] > 1]
        assert steps == sorted(steps, reverse=True), "the axes lie in another order"
