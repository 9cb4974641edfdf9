"""The simulation component: runs the configured kernels, iteration after iteration, and stages data."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from thalweg.configuration import checked, load
from thalweg.errors import ConfigError, InvalidError, MissingLibraryError
from thalweg.kernels import Cost, Kernel, kernel_class, make_kernel
from thalweg.kernels.kernel import check_data_size
from thalweg.ranks import Ranks, current_ranks
from thalweg.simulation.config import KernelConfig, SimulationConfig
from thalweg.simulation.distribution import Distribution
from thalweg.simulation.even_draws import EvenDraws
from thalweg.simulation.timed_kernel import TimedKernel

if TYPE_CHECKING:
    from thalweg.datastore import DataStore
    from thalweg.datastore.store import HasServerInfo
    from thalweg.results.tracer import Tracer

STOP_KEY = "thalweg/stop"


class RunRecord(NamedTuple):
    """What `Simulation.run` did: iterations, and over all of them seconds, bytes and floating-point operations."""

    iterations: int
    elapsed_s: float
    size_bytes: int
    flops: int


class _Entry(NamedTuple):
    name: str
    kernel: type[Kernel]
    quantity: Distribution
    by_time: bool
    draws: EvenDraws
    timed: TimedKernel


class Simulation:
    """Emulates a solver: each iteration runs its kernels for times or counts drawn from what is configured.

    Parameters
    ----------
    name : str
        Name of the component; events are recorded under the tracer's own.
    config : mapping, str or Path
        ``{"kernels": [{"name", "mini_app_kernel", "device", "data_size", "run_time" | "run_count", "options"}]}``, or a
        JSON or TOML file. `run_time` is in seconds. Both measures take a number, a named distribution
        (``{"distribution": "gamma", "mean": 0.03, "std": 0.02}``) or a discrete one (``values`` and
        ``probabilities``, or ``csv``).
    server_info : mapping or ServerManager, optional
        Where `stage_read` and `stage_write` go (`ServerManager.get_server_info`).
    comm : mpi4py.MPI.Comm or Ranks, optional
        The processes that are this simulation together; each makes it with the same configuration. Default: those that
        an MPI launcher started, or this one alone.
    tracer : Tracer, optional
        Records each kernel of each iteration. Default: that of the running workflow component.
    rank : int, optional
        What tells this process's random numbers from those of others. Default: its rank in `comm`.
    seed : int
        The same seed and rank give the same draws and the same arrays.

    Attributes
    ----------
    iteration : int
        Iterations that have run.
    ranks : Ranks
        The processes that are this simulation: ``ranks.rank`` of ``ranks.size``.

    Raises
    ------
    ConfigError
        For a wrong configuration, with the path of the key and the fix; nothing has run then.
    MissingLibraryError
        When a device is not there.

    Notes
    -----
    The mean of the iteration times is that of the configuration, because every deviation is carried over to the next
    iteration; the draws cover the distribution evenly (`EvenDraws`), so that already some hundred iterations have
    its mean and spread. Making a Simulation calibrates its kernels, which takes some calls of each.

    Kernels whose ranks wait for each other (collectives, files that are written together) are called as often on every
    rank: rank 0 draws the time or count and measures, the others follow. Then every rank must run as many iterations.

    Examples
    --------
    >>> from thalweg import Simulation
    >>> step = {"name": "step", "mini_app_kernel": "AXPY", "data_size": 1000, "run_count": 3}
    >>> sim = Simulation("solver", {"kernels": [step]})
    >>> sim.run(10).iterations
    10
    """

    def __init__(
        self,
        name: str,
        config: Mapping[str, Any] | str | Path,
        server_info: Mapping[str, Any] | HasServerInfo | None = None,
        comm: Any = None,
        *,
        tracer: Tracer | None = None,
        rank: int | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"Simulation: name is {name!r}; give text that is not empty")
        content = load(config, "Simulation")
        folder = Path(config).parent if isinstance(config, (str, Path)) else None
        self.config = checked(SimulationConfig, content, "Simulation", context={"folder": folder})
        if tracer is None:
            from thalweg.results.tracer import current_tracer

            tracer = current_tracer()
        self.ranks = current_ranks(comm)
        self.name, self.rank, self.iteration = name, self.ranks.rank if rank is None else rank, 0
        self._tracer = tracer
        self._store: DataStore | None = None
        self._entries: list[_Entry] = []
        start = time.monotonic_ns()
        try:
            for number, kernel in enumerate(self.config.kernels):
                try:
                    self._entries.append(_entry(kernel, seed * 1_000_003 + self.rank * 1009 + number, self.ranks))
                except MemoryError as error:
                    raise ConfigError(
                        f"Simulation: kernels[{number}].data_size: is {kernel.data_size}, which this machine's memory "
                        f"has no room for: {error}"
                    ) from error
                except (ConfigError, MissingLibraryError) as error:
                    told = str(error).removeprefix("kernels: ")
                    raise type(error)(f"Simulation: kernels[{number}]: {told}") from error
            if server_info is not None:
                from thalweg.datastore import DataStore

                self._store = DataStore(name, server_info, tracer=tracer)
        except BaseException:
            self.close()
            raise
        if tracer is not None:
            tracer.record("init", name, start, time.monotonic_ns())

    @property
    def store(self) -> DataStore:
        """The DataStore of `server_info`.

        Raises
        ------
        InvalidError
            When no `server_info` was given.
        """
        if self._store is None:
            raise InvalidError(f"Simulation {self.name!r}: has no DataStore; give server_info when making it")
        return self._store

    def run(self, nsteps: int = 1) -> RunRecord:
        """Run `nsteps` iterations; blocks for about their configured times.

        Raises
        ------
        InvalidError
            When `nsteps` is not an integer of 0 or more.
        """
        if isinstance(nsteps, bool) or not isinstance(nsteps, int) or nsteps < 0:
            raise InvalidError(f"Simulation.run: nsteps is {nsteps!r}; give an integer of 0 or more")
        elapsed, size_bytes, flops = 0.0, 0, 0
        for _ in range(nsteps):
            for entry in self._entries:
                cost = self._run_entry(entry)
                elapsed += cost.elapsed_s
                size_bytes += cost.size_bytes
                flops += cost.flops
            self.iteration += 1
            if self._store is not None:
                self._store.iteration = self.iteration
        return RunRecord(nsteps, elapsed, size_bytes, flops)

    def stage_write(self, key: str, value: Any) -> None:
        """Stage a value; see `DataStore.stage_write`."""
        self.store.stage_write(key, value)

    def stage_read(self, key: str, timeout_s: float = 60.0, into: Any = None) -> Any:
        """Read a staged value; see `DataStore.stage_read`."""
        return self.store.stage_read(key, timeout_s, into)

    def stop_requested(self, key: str = STOP_KEY) -> bool:
        """Tell whether a trainer asked the simulation to stop (`AI.stop_simulation`).

        Ranks whose kernels communicate are told what rank 0 sees, all of them in the same iteration; each must ask.
        """
        if not any(entry.kernel.communicates for entry in self._entries):
            return self.store.poll_staged_data(key)
        agreed: bool = self.ranks.broadcast(self.ranks.rank == 0 and self.store.poll_staged_data(key))
        return agreed

    def close(self) -> None:
        """Close the kernels, which removes their files, and the DataStore."""
        for entry in self._entries:
            entry.timed.close()
        if self._store is not None:
            self._store.close()

    def __enter__(self) -> Simulation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run_entry(self, entry: _Entry) -> Cost:
        wanted = entry.quantity.quantile(entry.draws.next())
        start = time.monotonic_ns()
        cost = entry.timed.run_for(wanted) if entry.by_time else entry.timed.run_count(wanted)
        if self._tracer is not None:
            self._tracer.record(
                entry.kernel.kind,
                entry.name,
                start,
                time.monotonic_ns(),
                iteration=self.iteration,
                size_bytes=cost.size_bytes,
                backend=entry.kernel.backend,
            )
        return cost


def _entry(config: KernelConfig, seed: int, ranks: Ranks) -> _Entry:
    by_time = config.run_time is not None
    quantity = config.run_time if config.run_time is not None else config.run_count
    assert quantity is not None
    kernel = kernel_class(config.mini_app_kernel)
    extents = check_data_size(config.data_size, kernel.axes, "data_size")

    def make(data_size: tuple[int, ...]) -> Kernel:
        return make_kernel(
            config.mini_app_kernel,
            data_size=data_size,
            device=config.device,
            seed=seed,
            options=config.options,
            ranks=ranks,
        )

    timed = TimedKernel(make, extents, quantity.mean if by_time else 0.0, ranks if kernel.communicates else None)
    return _Entry(config.name, kernel, quantity, by_time, EvenDraws(seed), timed)
