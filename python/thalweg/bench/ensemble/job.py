"""One job: both components through all cycles by one transport, in a folder that is gone afterwards."""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from thalweg.bench.ensemble import minder
from thalweg.bench.ensemble.mpi import MPI
from thalweg.bench.ensemble.plan import TIMEOUT_S, Plan
from thalweg.bench.ensemble.transports import Transport
from thalweg.bench.ensemble.transports.transport import Case
from thalweg.errors import ComponentFailedError, InvalidError, WaitTimeoutError
from thalweg.servers.directories import Namespace
from thalweg.workflow.uninterrupted import uninterrupted

COMPONENTS = ("scale", "letkf")
#: Lines of a failed job that its error has.
_COMPLAINTS = 3


@dataclass(frozen=True)
class Seen:
    """Seconds of each counted cycle, by component: what its slowest process took.

    Attributes
    ----------
    transfer_s : dict of list of float
        In put, get and wait calls.
    io_s : dict of list of float
        From opening to closing, of all its sessions.
    cycle_s : list of float
        From SCALE's first call to its last, with what LETKF does between them.
    """

    transfer_s: dict[str, list[float]]
    io_s: dict[str, list[float]]
    cycle_s: list[float]


def run(
    transport: Transport, case: Case, cycles: int, replay: bool | None, mpi: MPI, program: Path, disk: Path
) -> Seen:
    """Run one job, and leave nothing of it.

    Raises
    ------
    ComponentFailedError
        When a component fails, also when a value that it read is not what was written, with its words.
    WaitTimeoutError
        When the job is not done in time.
    """
    label = f"{transport.name}, {case.ensembles} × {case.domain.processes} processes a component"
    with owned_folder(transport.base(disk)) as root, transport.served(case) as address:
        files, scratch = root / "files", root / "job"
        files.mkdir()
        scratch.mkdir()
        plan = Plan(case.domain, case.ensembles, cycles, transport.joint, files, scratch, transport.meet, address)
        written = str(plan.write())
        components = [[str(program), component, written] for component in COMPONENTS]
        command = transport.launch(mpi.command(case.processes, *components), scratch, replay)
        with _minded(command, root, program.parent, mpi.environment(case.processes)) as minded:
            _finish(minded, root, TIMEOUT_S * (1 + cycles), label)
            seconds = {name: json.loads(plan.result.with_suffix(f".{name}").read_text()) for name in COMPONENTS}
    return Seen(
        {name: seconds[name]["transfer_s"][1:] for name in COMPONENTS},
        {name: seconds[name]["io_s"][1:] for name in COMPONENTS},
        seconds["scale"]["cycle_s"][1:],
    )


@contextlib.contextmanager
def owned_folder(base: Path) -> Iterator[Path]:
    """A folder that names its owner; those of owners that were killed are removed first."""
    try:
        namespace = Namespace(base, "bench-ensemble", 0)
    except OSError as error:
        raise InvalidError(
            f"bench ensemble: {base} cannot be written: {error.strerror}; give another folder"
        ) from error
    try:
        yield namespace.root
    finally:
        namespace.remove()


@contextlib.contextmanager
def _minded(
    command: list[str], root: Path, programs: Path, environment: dict[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """The process that runs the job and removes its folder; both are gone when the block is left.

    When it is left by an exception, or this process is killed in it, the folder of programs is gone too.
    """
    with uninterrupted():  # an interruption inside Popen would lose a process that has started
        minded = subprocess.Popen(
            [sys.executable, "-I", "-S", minder.__file__, str(root), str(programs), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            start_new_session=True,
        )
    try:
        yield minded
        assert minded.stdin
        minded.stdin.write("done\n")
    finally:
        with uninterrupted():
            assert minded.stdin and minded.stdout
            with contextlib.suppress(BrokenPipeError):  # somebody killed it; the folder's owner removes it then
                minded.stdin.close()
            minded.wait()
            minded.stdout.close()


def _finish(minded: subprocess.Popen[str], root: Path, within_s: float, label: str) -> None:
    """Wait for the job's end, and raise for what it failed of."""
    assert minded.stdout
    if not select.select([minded.stdout], [], [], within_s)[0]:
        raise WaitTimeoutError(f"bench ensemble: {label}: the components were not done within {within_s:.0f} s")
    status = minded.stdout.readline().strip()
    if status != "0":
        complaints = (root / minder.COMPLAINTS).read_text(errors="replace").strip().splitlines()
        own = [line for line in complaints if line.startswith(tuple(f"{name}: " for name in COMPONENTS))]
        words = " / ".join((own or complaints)[:_COMPLAINTS]) or f"exit status {status or 'unknown'}"
        raise ComponentFailedError(f"bench ensemble: {label}: {words}")
