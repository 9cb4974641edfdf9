"""The AI component: trains a model on samples that come from the DataStore."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thalweg.ai.config import AIConfig
from thalweg.ai.feed import Feed
from thalweg.ai.inference import InferenceRecord, serve
from thalweg.ai.learner import Learner
from thalweg.ai.replay_buffer import Array, ReplayBuffer
from thalweg.configuration import checked, load
from thalweg.errors import ConfigError, InvalidError, ShapeError
from thalweg.kernels import make_kernel
from thalweg.ranks import current_ranks
from thalweg.simulation.even_draws import EvenDraws
from thalweg.simulation.pacing import Measured, Pacer
from thalweg.simulation.simulation import STOP_KEY

if TYPE_CHECKING:
    import torch

    from thalweg.datastore import DataStore
    from thalweg.datastore.store import HasServerInfo
    from thalweg.results.tracer import Tracer

ToSamples = Callable[[str, Array], tuple[Array, Array]]
_FILLER_EXTENT = 2000


class TrainRecord(NamedTuple):
    """What `AI.train` did: iterations, seconds, the loss of each iteration, values read."""

    iterations: int
    elapsed_s: float
    losses: list[float]
    values_read: int

    def __repr__(self) -> str:
        losses = f"[{self.losses[0]:.4g}, ..., {self.losses[-1]:.4g}]" if len(self.losses) > 3 else repr(self.losses)
        return (
            f"TrainRecord(iterations={self.iterations}, elapsed_s={self.elapsed_s:.4g}, losses={losses}, "
            f"values_read={self.values_read})"
        )


class AI:
    """Trains a model, reads its data from a DataStore while the simulation runs, and tells the simulation to stop.

    Parameters
    ----------
    name : str
        Name of the component.
    config : mapping, str or Path
        model (a table with type ``mlp``, ``cnn``, ``fno`` or ``gnn`` and its sizes; left out when `model` is given),
        loss (mse, relative_l2), learning_rate, weight_decay, batch_size, iteration_time_s (a number or a distribution,
        as for Simulation), replay_bytes, threads, device; or a JSON or TOML file.
    server_info : mapping or ServerManager, optional
        Where data comes from (`ServerManager.get_server_info`).
    tracer : Tracer, optional
        Records each iteration. Default: that of the running workflow component.
    comm : mpi4py.MPI.Comm, optional
        The ranks that train one model together, each on its own data, with torch's DistributedDataParallel. Default:
        those that the MPI launcher started; without one, this process alone.
    seed : int
        The same seed and rank give the same model and the same batches from the same data.
    model : torch.nn.Module, optional
        A model of one's own, in place of the configuration's.
    to_samples : callable, optional
        Makes (inputs, targets), with the samples along the first axis, from a key and its array.
        Default, for an mlp: the rows of the array, of as many numbers as the model takes, are both.

    Raises
    ------
    MissingLibraryError
        When torch is not installed.
    ConfigError
        For a wrong configuration, with the path of the key and the fix.

    Notes
    -----
    With several ranks every gradient step waits for all of them: each must train for as many iterations, and have data.
    The gradients are averaged over the ranks (gloo on CPUs, NCCL on GPUs).

    Uses `threads` of torch, by default all usable cores but one, so that a solver beside it has one. Sets torch's
    number of threads for the whole process.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import AI
    >>> ai = AI("trainer", {"model": {"type": "mlp", "inputs": 4, "outputs": 4, "hidden": [8]}, "threads": 1})
    >>> ai.replay.add(np.zeros((10, 4), np.float32), np.zeros((10, 4), np.float32))
    >>> ai.train(num_iters=5).iterations
    5
    """

    def __init__(
        self,
        name: str,
        config: Mapping[str, Any] | str | Path,
        server_info: Mapping[str, Any] | HasServerInfo | None = None,
        *,
        tracer: Tracer | None = None,
        comm: Any = None,
        seed: int = 0,
        model: torch.nn.Module | None = None,
        to_samples: ToSamples | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"AI: name is {name!r}; give text that is not empty")
        start = time.monotonic_ns()
        self.config = checked(AIConfig, load(config, "AI"), "AI")
        if (self.config.model is None) == (model is None):
            fix = (
                "is missing; add it, or give the argument model"
                if model is None
                else "remove it, the argument model is given too"
            )
            raise ConfigError(f"AI: model: {fix}")
        if tracer is None:
            from thalweg.results.tracer import current_tracer

            tracer = current_tracer()
        self.name, self.iteration = name, 0
        self._tracer = tracer
        self.ranks = current_ranks(comm)
        self._learner = Learner(name, self.config, self.ranks, seed, model)
        self._generator = np.random.default_rng(seed + 1009 * self.ranks.rank)
        self._draws = EvenDraws(seed)
        self.replay = ReplayBuffer(self.config.replay_bytes)
        self._to_samples = to_samples or self._rows
        self._feeds: list[Feed] = []
        self._pacers: dict[str, Pacer] = {}
        self._store: DataStore | None = None
        if server_info is not None:
            from thalweg.datastore import DataStore

            try:
                self._store = DataStore(name, server_info, tracer=tracer)
            except BaseException:
                self._learner.close()  # the other ranks would wait in the process group
                raise
        if tracer is not None:
            tracer.record("init", name, start, time.monotonic_ns())

    @property
    def model(self) -> torch.nn.Module:
        """The model that is trained."""
        return self._learner.model

    @property
    def store(self) -> DataStore:
        """The DataStore of `server_info`.

        Raises
        ------
        InvalidError
            When no `server_info` was given.
        """
        if self._store is None:
            raise InvalidError(f"AI {self.name!r}: has no DataStore; give server_info when making it")
        return self._store

    def follow(self, pattern: str, *, first: int = 0, step: int = 1, clean: bool = False) -> None:
        """Read the keys ``pattern.format(first)``, ``pattern.format(first + step)``, ... as they appear.

        Parameters
        ----------
        pattern : str
            Has one ``{}``, for the number.
        clean : bool
            Remove each value from the DataStore after reading it.

        Raises
        ------
        InvalidError
            When the pattern gives the same key for different numbers.
        """
        self._feeds.append(Feed(pattern, first, step, clean, "AI.follow"))

    def refresh(self, timeout_s: float = 0.0) -> int:
        """Read all followed values that are there into the replay buffer; return how many.

        With a `timeout_s`, blocks until at least one of them is there.

        Raises
        ------
        WaitTimeoutError
            When `timeout_s` is not 0 and none came.
        """
        if timeout_s > 0:
            self.store.wait([feed.key() for feed in self._feeds], timeout_s, "any")
        count = 0
        for feed in self._feeds:
            while self.store.poll_staged_data(feed.key()):
                key = feed.key()
                self.replay.add(*self._to_samples(key, self.store.stage_read(key)))
                if feed.clean:
                    self.store.clean_staged_data(key)
                feed.next += feed.step
                count += 1
        return count

    def train(
        self,
        num_iters: int | None = None,
        run_time: float | None = None,
        *,
        read_every: int = 10,
        first_data_timeout_s: float = 60.0,
        on_iteration: Callable[[int, float], None] | None = None,
    ) -> TrainRecord:
        """Train for a number of iterations or for a time.

        Parameters
        ----------
        num_iters : int
            Iterations; give either this or `run_time`.
        run_time : float
            Seconds.
        read_every : int
            Refresh the replay buffer before each so many iterations; 0 never reads.
        first_data_timeout_s : float
            Seconds to wait for the first data, when the replay buffer is empty.
        on_iteration : callable, optional
            Called after each iteration with its number and its loss.

        Raises
        ------
        InvalidError
            When both or neither of `num_iters` and `run_time` are given, or there is no data to train on.
        WaitTimeoutError
            When no data came in time.
        """
        _check_length("AI.train", num_iters, run_time)
        start = time.monotonic()
        losses: list[float] = []
        read = 0
        while self._goes_on(len(losses), start, num_iters, run_time):
            if self._store is not None:
                self._store.iteration = self.iteration
            if read_every and self._feeds and self.iteration % read_every == 0:
                read += self.refresh()
            if not len(self.replay):
                if not self._feeds:
                    raise InvalidError("AI.train: no data; call follow(), or add samples to `replay`")
                read += self.refresh(first_data_timeout_s)
            losses.append(self._paced("train", self._step))
            if on_iteration is not None:
                on_iteration(self.iteration, losses[-1])
            self.iteration += 1
        return TrainRecord(len(losses), time.monotonic() - start, losses, read)

    def predict(self, inputs: Array) -> Array:
        """Return the model's output for `inputs`, samples along the first axis; float32."""
        start = time.monotonic_ns()
        output = self._learner.predict(inputs)
        if self._tracer is not None:
            self._tracer.record("infer", self.name, start, time.monotonic_ns(), iteration=self.iteration)
        return output

    def infer(self, num_iters: int | None = None, run_time: float | None = None) -> InferenceRecord:
        """Run inference on batches drawn from the replay buffer, for a number of iterations or for a time.

        Each iteration lasts as long as `iteration_time_s` says, as in training. Its events are of the kind ``infer``.

        Raises
        ------
        InvalidError
            When both or neither of `num_iters` and `run_time` (seconds) are given, or the replay buffer is empty.
        """
        _check_length("AI.infer", num_iters, run_time)
        start, done = time.monotonic(), 0
        while self._goes_on(done, start, num_iters, run_time):
            self._paced("infer", self._forward)
            self.iteration += 1
            done += 1
        return InferenceRecord(done * self.config.batch_size, done, time.monotonic() - start)

    def serve(
        self,
        requests: Sequence[str],
        answer: str = "answer/{key}",
        *,
        stop_key: str = STOP_KEY,
        num_requests: int | None = None,
        timeout_s: float = 60.0,
    ) -> InferenceRecord:
        """Answer staged requests with the model's predictions, until told to stop; blocks meanwhile.

        Parameters
        ----------
        requests : sequence of str
            One pattern for each client, such as ``"request/0/{}"``: its requests are numbered from 0. A request is an
            array, shape (samples, ...); what several clients ask for at once is predicted in one batch. Requests are
            removed.
        answer : str
            Key of the answer, shape (samples, ...), float32; ``{key}`` stands for the key of the request.
        stop_key : str
            Ends the loop when it is there and no request is (`stop_simulation` stages the default).
        num_requests : int, optional
            Return after so many answers.
        timeout_s : float
            Seconds to wait for the next request.

        Raises
        ------
        WaitTimeoutError
            When none came in time; it names the keys.
        ShapeError
            When requests of one batch are not alike.
        """
        return serve(self, requests, answer, stop_key, num_requests, timeout_s)

    def set_learning_rate(self, learning_rate: float) -> None:
        """Change the learning rate, for a schedule."""
        self._learner.set_learning_rate(learning_rate)

    def stage_model(self, key: str) -> None:
        """Stage the model's parameters as one vector, shape (parameters,), for `read_model` of an equal model."""
        self.store.stage_write(key, self._learner.parameters())

    def read_model(self, key: str, timeout_s: float = 60.0) -> None:
        """Take over the parameters that `stage_model` staged; blocks until they are there.

        Raises
        ------
        ShapeError
            When they are of another model.
        WaitTimeoutError
            When they did not come in time.
        """
        self._learner.set_parameters(self.store.stage_read(key, timeout_s), f"AI.read_model: key {key!r}")

    def stop_simulation(self, key: str = STOP_KEY) -> None:
        """Tell the simulation to stop (`Simulation.stop_requested`)."""
        self.store.stage_write(key, b"stop")

    def close(self) -> None:
        """Close the DataStore, and leave the process group of the ranks."""
        if self._store is not None:
            self._store.close()
        self._learner.close()

    def __enter__(self) -> AI:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _goes_on(self, done: int, start: float, num_iters: int | None, run_time: float | None) -> bool:
        """Tell whether there is another iteration; with several ranks rank 0 decides, or some would wait for ever."""
        if num_iters is not None:
            return done < num_iters
        return bool(self.ranks.broadcast(time.monotonic() - start < (run_time or 0)))

    def _paced(self, kind: str, work: Callable[[], float]) -> float:
        """Do `work` as one iteration that lasts as long as configured, and record it."""
        start = time.monotonic_ns()
        wanted = self.config.iteration_time_s
        if wanted is None:
            result = work()
        else:
            if kind not in self._pacers:
                self._pacers[kind] = self._calibrated(wanted.mean, work)
                start = time.monotonic_ns()
            begin = time.perf_counter()
            result = work()
            self._pacers[kind].spend(wanted.quantile(self._draws.next()), begin)
        if self._tracer is not None:
            self._tracer.record(kind, self.name, start, time.monotonic_ns(), iteration=self.iteration)
        return result

    def _calibrated(self, mean_s: float, work: Callable[[], float]) -> Pacer:
        filler = Measured(make_kernel("AXPY", data_size=_FILLER_EXTENT))
        if self.ranks.size > 1:  # a step waits for all ranks, so none may make more of them than the others
            return Pacer([filler], mean_s)
        step = Measured(work)
        if step.cost_s > mean_s:
            warnings.warn(
                f"AI {self.name!r}: one step takes {step.cost_s:.4g} s, more than iteration_time_s ({mean_s:.4g} s); "
                "make the model or the batch smaller",
                stacklevel=4,
            )
        return Pacer([step, filler], mean_s)

    def _forward(self) -> float:
        inputs, _ = self.replay.sample(self.config.batch_size, self._generator)
        return float(self._learner.predict(inputs).sum())

    def _step(self) -> float:
        return self._learner.step(*self.replay.sample(self.config.batch_size, self._generator))

    def _rows(self, key: str, value: Array) -> tuple[Array, Array]:
        config = self.config.model
        if config is None or config.type != "mlp":
            raise InvalidError(f"AI {self.name!r}: does not know how to make samples of key {key!r}; give to_samples")
        if config.inputs != config.outputs:
            raise InvalidError(
                f"AI {self.name!r}: the model has {config.inputs} inputs and {config.outputs} outputs; give "
                "to_samples, which tells what of a staged value is input and what is target"
            )
        array = np.asarray(value, np.float32)
        if array.ndim == 0 or array.shape[-1] != config.inputs:
            raise ShapeError(
                f"AI {self.name!r}: key {key!r} has shape {array.shape}, the model takes rows of {config.inputs}; "
                "stage such rows, or give to_samples"
            )
        rows = array.reshape(-1, config.inputs)
        return rows, rows


def _check_length(operation: str, num_iters: object, run_time: object) -> None:
    if (num_iters is None) == (run_time is None):
        raise InvalidError(f"{operation}: give either num_iters or run_time")
    if num_iters is not None and (isinstance(num_iters, bool) or not isinstance(num_iters, int) or num_iters < 1):
        raise InvalidError(f"{operation}: num_iters is {num_iters!r}; give an integer of 1 or more")
    if run_time is not None and (
        isinstance(run_time, bool) or not isinstance(run_time, (int, float)) or not 0 < run_time < float("inf")
    ):
        raise InvalidError(f"{operation}: run_time is {run_time!r}; give seconds, more than 0")
