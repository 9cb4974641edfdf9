"""What servers, writers and readers of the synthetic workflow do, and which part of it is timed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Literal, NamedTuple

from thalweg.bench.staging.domain import Block, check, values

if TYPE_CHECKING:
    from thalweg.staging import Client, Variable

Layout = Literal["left", "right"]
#: Says what others must know, and returns when all are ready.
Ready = Callable[..., None]

#: No wait of a rank is longer, on top of two cycles' pauses.
TIMEOUT_S = 60.0


class Step(NamedTuple):
    """What one rank saw in one time step."""

    #: A reader's wait until the writers had put the step; its transfer is timed from then on.
    wait_s: float
    #: The put or get itself.
    transfer_s: float


@dataclass(frozen=True)
class Coupling:
    """The variable that all ranks of a case share, and their cycle."""

    addresses: str
    namespace: str
    domain: tuple[int, ...]
    strategy: str
    writers: int
    steps: int
    #: Pause in every cycle, between computation and data movement.
    delay_s: float

    @property
    def patience_s(self) -> float:
        """How long a rank waits for what another one does in a step."""
        return TIMEOUT_S + 2 * self.delay_s

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[tuple[Client, Variable]]:
        """A client of one's own, and the variable."""
        from thalweg.staging import Client

        with Client(self.addresses, namespace=self.namespace, name=name, timeout_s=TIMEOUT_S) as client:
            yield client, client.define("field", self.domain, "f8", strategy=self.strategy, layouts=["left"])


@dataclass(frozen=True)
class Serving:
    """A server, alone in its process."""

    memory_bytes: int
    replica_bytes: int
    workers: int

    def run(self, ready: Ready) -> None:
        """Serve until told to stop; the address is what others must know."""
        from thalweg.staging import Server

        with Server(
            memory_limit_bytes=self.memory_bytes, replica_limit_bytes=self.replica_bytes, workers=self.workers
        ) as server:
            ready(server.address)


@dataclass(frozen=True)
class Writing:
    """A writer: puts its block row-major, one version a step."""

    coupling: Coupling
    rank: int
    block: Block

    def run(self, ready: Ready) -> list[Step]:
        """Compute, pause, put; then tell the readers that this rank's part of the step is there, which is not timed."""
        seen = []
        array = values(self.coupling.domain, self.block)
        with self.coupling.open(f"writer {self.rank}") as (client, variable):
            ready()
            for step in range(self.coupling.steps):
                if step:
                    array += 0.5
                sleep(self.coupling.delay_s)
                begin = perf_counter()
                variable.put(array, version=step, lower=self.block.lower, timeout_s=self.coupling.patience_s)
                seen.append(Step(0.0, perf_counter() - begin))
                client.put(written(self.rank), b"", version=step)
        return seen


@dataclass(frozen=True)
class Reading:
    """A reader: gets its block of every version in its own layout."""

    coupling: Coupling
    rank: int
    block: Block
    layout: Layout
    #: A pause after the first step, so that reader and writer do not stay in lockstep.
    lag_s: float
    #: Get into an array of the reader's own, which is used again, instead of what costs no copy.
    into: bool

    def run(self, ready: Ready) -> list[Step]:
        """Pause, wait until the step was written, get; then look into the cells, which is not timed."""
        import numpy as np

        seen = []
        what = f"reader {self.rank}"
        own = None
        if self.into:
            own = np.zeros(self.block.extent, order="F" if self.layout == "left" else "C")
            own.fill(1.0)
        with self.coupling.open(what) as (client, variable):
            ready()
            for step in range(self.coupling.steps):
                sleep(self.coupling.delay_s + (self.lag_s if step == 1 else 0.0))
                begin = perf_counter()
                client.wait(
                    [(written(rank), step) for rank in range(self.coupling.writers)],
                    timeout_s=self.coupling.patience_s,
                )
                there = perf_counter()
                got = variable.get(
                    self.block.slices,
                    version=step,
                    layout=self.layout,
                    into=own,
                    timeout_s=self.coupling.patience_s,
                )
                seen.append(Step(there - begin, perf_counter() - there))
                check(self.coupling.domain, self.block, step, got, self.layout, what)
                del got
        return seen


def written(rank: int) -> str:
    """The name under which a writer says that it has put its part of a step."""
    return f"written by {rank}"
