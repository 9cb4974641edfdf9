"""Programs of the workload language as real MPI programs, beside what the simulator counts for them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from thalweg.errors import InvalidError, ThalwegError, WaitTimeoutError
from thalweg.simulator.program import Program, Tally
from thalweg.simulator.recorded import writable
from thalweg.simulator.waiting import WAITS

#: How long a launcher that was told to end may take to do so, and ranks to say what they wait for.
_GRACE_S = 5.0
_TELLING_S = 2.0
#: How many ranks a message names.
_NAMED = 8


@dataclass(frozen=True)
class RankResult:
    """What one rank did."""

    rank: int
    elapsed_s: float
    communication_s: float
    io_s: float
    compute_s: float
    #: Operations by kind: how many, and their bytes.
    operations: dict[str, tuple[int, int]]
    #: Messages that it handed to MPI, and their bytes.
    sent: tuple[int, int]
    received: tuple[int, int]


@dataclass(frozen=True)
class Execution:
    """What a real run did, and what the simulator counts for the same program."""

    ranks: list[RankResult]
    expected: Tally
    #: Task, label, value.
    logged: list[tuple[int, str, float]]
    outputs: list[tuple[int, str]]

    @property
    def elapsed_s(self) -> float:
        """How long the last rank took."""
        return max(rank.elapsed_s for rank in self.ranks)

    @property
    def operations(self) -> dict[str, tuple[int, int]]:
        """Operations of all ranks by kind: how many, and their bytes."""
        kinds = sorted({kind for rank in self.ranks for kind in rank.operations})
        return {kind: _sum(rank.operations.get(kind, (0, 0)) for rank in self.ranks) for kind in kinds}

    @property
    def sent(self) -> tuple[int, int]:
        """Messages that all ranks handed to MPI, and their bytes."""
        return _sum(rank.sent for rank in self.ranks)


def execute(
    program: Program,
    launcher: Sequence[str],
    given: Mapping[str, int | str] | None = None,
    *,
    collectives: Literal["mpi", "messages"] = "mpi",
    seed: int = 1,
    timeout_s: float = 600.0,
    keep: Path | None = None,
) -> Execution:
    """Run a program as real MPI processes, with real files; blocks until all have ended.

    Parameters
    ----------
    program : Program
    launcher : sequence of str
        What starts the ranks, such as ``["mpirun", "-n", "8"]``; nothing for one process.
    given : mapping, optional
        Values of the program's parameters, by their names or options.
    collectives : {"mpi", "messages"}
        Whether collectives are those of MPI, or made of messages as the simulator makes them.
    timeout_s : float
        After so long all ranks are stopped.
    keep : Path, optional
        The folder of the program's files, which stays; without it they are in a temporary one.

    Raises
    ------
    InvalidError
        When the program goes wrong with the launcher's ranks, the launcher is not there, or nothing can be written to
        `keep`.
    WaitTimeoutError
        When it was not done in time: with what each rank waited for.
    ThalwegError
        When a rank failed; what it said stands on standard error.
    """
    if launcher and shutil.which(launcher[0]) is None:
        raise InvalidError(f"sim exec: there is no program {launcher[0]!r}; expected a launcher such as mpirun -n 8")
    if keep is not None:
        writable(keep)
    with tempfile.TemporaryDirectory(prefix="thalweg-exec-") as folder:
        files = keep if keep is not None else Path(folder) / "files"
        files.mkdir(parents=True, exist_ok=True)
        job, result = Path(folder) / "job.json", Path(folder) / "result.json"
        content = {
            "name": program.name,
            "text": program.text,
            "given": {name: str(value) for name, value in (given or {}).items()},
            "seed": seed,
            "folder": str(files.absolute()),
            "collectives": collectives,
            "result": str(result),
            "until": time.time() + timeout_s,
        }
        job.write_text(json.dumps(content), encoding="utf-8")
        command = [*launcher, sys.executable, "-m", "thalweg.simulator.worker", str(job)]
        status = _finished(command, timeout_s, Path(folder))
        if status != 0 or not result.is_file():
            raise ThalwegError(f"sim exec: {' '.join(launcher) or 'the program'} ended with status {status}")
        told: list[dict[str, Any]] = json.loads(result.read_text(encoding="utf-8"))
    fields = ("rank", "elapsed_s", "communication_s", "io_s", "compute_s")
    ranks = [
        RankResult(
            **{field: one[field] for field in fields},
            operations={kind: (count, size) for kind, (count, size) in one["operations"].items()},
            sent=tuple(one["sent"]),
            received=tuple(one["received"]),
        )
        for one in told
    ]
    return Execution(
        ranks,
        program.tally(len(ranks), given, seed=seed, laps=told[0]["laps"]),
        [(task, label, value) for one in told for task, label, value in one["logged"]],
        [(task, text) for one in told for task, text in one["outputs"]],
    )


def _finished(command: list[str], timeout_s: float, folder: Path) -> int:
    """The exit status of a command; nothing that it started is left, however this ends."""
    with _own_group(command) as launched:
        try:
            return launched.wait(timeout_s)
        except subprocess.TimeoutExpired:
            waits = _waits(folder)
            said = "; ".join(waits[:_NAMED] + ([f"and {len(waits) - _NAMED} more"] if len(waits) > _NAMED else []))
            raise WaitTimeoutError(
                f"sim exec: not done in {timeout_s:g} s{': ' if said else ''}{said}; give it longer with --timeout, or "
                "see with `thalweg sim run` whether ranks wait for each other"
            ) from None


def _waits(folder: Path) -> list[str]:
    """What each rank that can still say so waits for, in the order of ranks."""
    told: dict[int, str] = {}
    until = time.monotonic() + _TELLING_S
    while time.monotonic() < until:
        for path in folder.glob(WAITS.format("*")):
            rank, ranks, words = json.loads(path.read_text(encoding="utf-8"))
            told[rank] = words
            if len(told) == ranks:
                until = 0
        time.sleep(0.02)
    return [f"rank {rank} {words}" for rank, words in sorted(told.items())]


@contextlib.contextmanager
def _own_group(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    launched = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        yield launched
    finally:
        # Ranks die with the launcher; told nicely, it takes them along itself.
        for sign in (signal.SIGTERM, signal.SIGKILL):
            if launched.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(launched.pid, sign)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    launched.wait(_GRACE_S)


def _sum(pairs: Iterator[tuple[int, int]] | Any) -> tuple[int, int]:
    counts, sizes = zip(*pairs, strict=True)
    return sum(counts), sum(sizes)
