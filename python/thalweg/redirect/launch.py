"""Components, started together and watched: when one fails, the others hear of it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from thalweg import _native
from thalweg.errors import ConfigError, ThalwegError
from thalweg.redirect import preload, worlds
from thalweg.redirect.coupling import Coupling
from thalweg.staging import Server
from thalweg.workflow.guard import Guard

#: How long a component has after SIGTERM.
GRACE_S = 5.0
#: The name of a component that only looks, and of who starts components.
_LOOKER, _LAUNCHER = "-look", "-launcher"


@dataclass(frozen=True)
class Outcome:
    """How a component ended.

    Attributes
    ----------
    component : str
        Its name.
    status : int
        Its exit status; negative: the signal that killed it.
    wall_s : float
        How long it ran, in seconds.
    """

    component: str
    status: int
    wall_s: float

    @property
    def failure(self) -> str | None:
        """What went wrong, if anything."""
        if self.status == 0:
            return None
        if self.status > 0:
            return f"exit status {self.status}"
        return f"killed by {signal.Signals(-self.status).name}"


def launch(
    coupling: Coupling,
    command: Sequence[str],
    *,
    service: str | None = None,
    name: str = "default",
    look: bool = False,
    split: bool = True,
    vol: bool = False,
) -> list[Outcome]:
    """Run `command` with its files redirected. Blocks until all its components have ended.

    Parameters
    ----------
    coupling : Coupling
        The components and the files that they exchange.
    command : sequence of str
        A command; with single colons between, several that run at the same time.
    service : str, optional
        The address of a running server. Default: one of this call's own, which ends with it.
    name : str
        What the coupling is called at that server; those of other names never meet.
    look : bool
        The command only looks at what is there.
    split : bool
        Whether each part of the command of an MPI launcher has its own ``MPI_COMM_WORLD``.
    vol : bool
        Only HDF5's files are redirected, by a plugin of HDF5; nothing is loaded into programs beforehand.

    Raises
    ------
    ConfigError
        For a command that cannot be started, or components that cannot be told apart.
    ThalwegError
        When files could not be written behind memory.
    """
    parts = worlds.split(command) if split else [list(command)]
    names = worlds.names(parts, coupling) if len(parts) > 1 else [""]
    environment = {
        **os.environ,
        **(preload.plugin() if vol else preload.environment()),
        **coupling.environment(),
        "THALWEG_REDIRECT_COUPLING": name,
    }
    for inherited in ("COMPONENT", "LOOK", "ALONE"):
        environment.pop(f"THALWEG_REDIRECT_{inherited}", None)
    if service is None and len(parts) == len(coupling.components) == 1:
        environment["THALWEG_REDIRECT_ALONE"] = "1"
    if look:
        environment |= {"THALWEG_REDIRECT_LOOK": "1", "THALWEG_REDIRECT_COMPONENT": _LOOKER}
    if service is not None:
        return _run(parts, names, {**environment, "THALWEG_REDIRECT": service}, coupling, service, name)
    server = Server(file_memory_bytes=coupling.memory_limit_bytes)
    unsaved: list[str] = []
    try:
        outcomes = _run(
            parts, names, {**environment, "THALWEG_REDIRECT": server.address}, coupling, server.address, name
        )
    finally:
        unsaved = server.close()
    if unsaved:
        raise ThalwegError(f"redirect: files could not be written: {'; '.join(unsaved)}")
    return outcomes


@dataclass
class _Running:
    name: str
    process: subprocess.Popen[bytes]
    began: float


def _run(
    parts: Sequence[Sequence[str]],
    names: Sequence[str],
    environment: Mapping[str, str],
    coupling: Coupling,
    service: str,
    name: str,
) -> list[Outcome]:
    told = _native.Redirect(service, name, _LAUNCHER)
    running: list[_Running] = []
    outcomes: list[Outcome] = []
    guard = Guard()
    apart = len(parts) > 1
    sessions = tempfile.TemporaryDirectory(prefix="thalweg-", ignore_cleanup_errors=True)
    try:
        for number, (part, component) in enumerate(zip(parts, names, strict=True)):
            own = {**environment, "THALWEG_REDIRECT_COMPONENT": component} if component else dict(environment)
            if apart:
                own |= worlds.session_folder(Path(sessions.name), number)
            try:
                process = subprocess.Popen(
                    part, env=own, start_new_session=apart, stdin=subprocess.DEVNULL if running else None
                )
            except OSError as error:
                raise ConfigError(f"redirect: {part[0]!r} cannot be started: {error.strerror}") from None
            if apart:
                guard.watch(process.pid)
            running.append(_Running(component, process, time.monotonic()))
        until: float | None = None
        while running:
            ended = _next(running, until)
            if ended is None:  # the others have had the time to hear of the failure
                _stop(running, apart)
                until = None
                continue
            running.remove(ended)
            if apart:
                guard.forget(ended.process.pid)
            outcome = Outcome(ended.name, ended.process.returncode, time.monotonic() - ended.began)
            outcomes.append(outcome)
            if ended.name:
                told.ended(ended.name, [other.name for other in running], outcome.failure)
            if outcome.failure and until is None:
                until = time.monotonic() + coupling.deadline_s
    finally:
        _stop(running, apart)
        guard.close()
        sessions.cleanup()
    return outcomes


def _next(running: Sequence[_Running], until: float | None) -> _Running | None:
    """The next that has ended; None when `until` has passed."""
    while until is None or time.monotonic() < until:
        for one in running:
            if one.process.poll() is not None:
                return one
        with contextlib.suppress(subprocess.TimeoutExpired):
            running[0].process.wait(0.02 if len(running) > 1 or until is not None else None)
    return None


def _stop(running: Sequence[_Running], apart: bool) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        for one in running:
            if one.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(one.process.pid, number) if apart else one.process.send_signal(number)
        until = time.monotonic() + GRACE_S
        for one in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.process.wait(max(0.0, until - time.monotonic()))
