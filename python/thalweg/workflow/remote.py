"""A component whose ranks an MPI launcher starts, on this node or on others."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from thalweg.workflow.arrivals import Arrivals
from thalweg.workflow.component import Component
from thalweg.workflow.guard import Guard
from thalweg.workflow.launchers import Job, find_launcher
from thalweg.workflow.line import LauncherEnd, Message
from thalweg.workflow.local import settled
from thalweg.workflow.process import ComponentProcess
from thalweg.workflow.rank_groups import RankGroups
from thalweg.workflow.resources import NODE_VARIABLES, Grant
from thalweg.workflow.running import Outcome

ADDRESS_VARIABLE, TOKEN_VARIABLE = "THALWEG_LAUNCH_ADDRESS", "THALWEG_LAUNCH_TOKEN"
_ABORT_S = 2.0  # how long a launcher has to end the other ranks of a job when one has failed; then, when it was asked
_RENDEZVOUS_S = 600.0  # how long ranks have to call back: a batch system may have to start daemons on the nodes
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from thalweg.workflow.worker import main_of_rank; "
    "main_of_rank()"
)


def launcher_command(
    component: Component, grant: Grant, environment: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Return the launcher's command line up to the program, and its environment.

    Raises
    ------
    MissingLibraryError
        When there is no launcher.
    """
    launcher, program = find_launcher(component.launcher, component.name)
    named = not _is_here(grant) or any(variable in os.environ for variable in NODE_VARIABLES)
    job = Job(grant.nodes if named else (), component.processes_per_node, environment)
    return launcher.command(program, job), launcher.environment(job)


def _is_here(grant: Grant) -> bool:
    """Tell whether all ranks run on this node; a batch system may name it with or without its domain."""
    names = {name.partition(".")[0] for name in grant.nodes}
    return len(grant.nodes) == 1 and names <= {"localhost", socket.gethostname().partition(".")[0]}


class RemoteCommand(ComponentProcess):
    """Runs a program under the launcher; its exit status is all that it tells."""

    def __init__(self, component: Component, grant: Grant, guard: Guard, log: Path | None) -> None:
        command, environment = launcher_command(component, grant, dict(component.env))
        super().__init__([*command, *settled(component.command, grant, alone=False)], guard, log=log, env=environment)


class RemoteFunction(ComponentProcess):
    """Runs the function on every rank; each rank calls back over TCP for what to do, and tells its result.

    A rank must show a secret that only the job's environment has. Results are a list, by rank.
    """

    def __init__(
        self, component: Component, payload: dict[str, Any], grant: Grant, guard: Guard, log: Path | None
    ) -> None:
        self._payload, self._size = payload, component.processes
        here = _is_here(grant)
        self._arrivals = Arrivals("127.0.0.1" if here else "", self._size)
        host = "127.0.0.1" if here else socket.gethostname()
        environment = {
            **component.env,
            ADDRESS_VARIABLE: f"{host}:{self._arrivals.port}",
            TOKEN_VARIABLE: self._arrivals.token.hex(),
        }
        try:
            command, env = launcher_command(component, grant, environment)
            program = settled((sys.executable, "-c", _START, json.dumps(sys.path)), Grant(()), alone=False)
            super().__init__([*command, *program], guard, log=log, env=env)
        except BaseException:
            self._arrivals.close()
            raise
        self._lines: dict[int, LauncherEnd] = {}
        self._groups = RankGroups(guard)
        self._results: dict[int, Any] = {}
        self._errors: dict[int, str] = {}
        self._gone: list[int] | None = None
        self._missing: list[int] = []
        self._called_by_s = time.monotonic() + _RENDEZVOUS_S
        self._ending_s: list[float] = []  # when a job that has failed is asked to stop, then killed

    def wakes_s(self) -> float | None:
        waits = [] if len(self._lines) == self._size or self._gone is not None else [self._called_by_s]
        return min([*waits, *self._ending_s], default=None)

    def interests(self) -> list[tuple[int, int]]:
        return [
            *super().interests(),
            *self._arrivals.interests(),
            *self._groups.interests(),
            *(line.interest() for line in self._lines.values() if line.open),
        ]

    def deliver(self, kind: str, content: Any) -> None:
        self._lines[content["origin"]].send(kind, content)

    def advance(self) -> tuple[list[Message], Outcome | None]:
        told, outcome = super().advance()
        if outcome is not None:
            self._groups.close()
        else:
            self._groups.reap()
            self._end_after_a_failure()
        return told, outcome

    def ask_to_stop(self) -> None:
        super().ask_to_stop()
        self._groups.signal(signal.SIGTERM)

    def kill(self) -> bool:
        self._groups.signal(signal.SIGKILL)
        return super().kill()

    def close(self) -> None:
        super().close()
        self._groups.close()
        self._arrivals.close()
        for line in self._lines.values():
            line.close()

    def _receive(self) -> list[Message]:
        for connection, rank, group in self._arrivals.take():
            self._groups.add(group)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # a node that died closes nothing
            self._lines[rank] = LauncherEnd(connection)
            self._lines[rank].send("payload", self._payload)
        passed_on: list[Message] = []
        for rank, line in self._lines.items():
            line.flush()
            for kind, content in line.receive():
                if kind == "result":
                    self._results[rank] = content
                elif kind == "error":
                    self._errors[rank] = content
                else:
                    passed_on.append((kind, content))
        return passed_on

    def _end_after_a_failure(self) -> None:
        """Stop the job when a rank has failed or does not call, and the launcher does not by itself.

        MPICH lets the other ranks of a job that made no call of MPI run on.
        """
        now = time.monotonic()
        if self._gone is None:
            told = {*self._results, *self._errors}
            gone = [rank for rank, line in self._lines.items() if not line.open and rank not in told]
            self._missing = [rank for rank in range(self._size) if rank not in self._lines]
            if gone or self._errors:
                self._gone, self._ending_s = gone, [now + _ABORT_S, now + 2 * _ABORT_S]
            elif self._missing and now >= self._called_by_s:
                self._gone, self._ending_s = [], [now, now + _ABORT_S]
        while self._ending_s and now >= self._ending_s[0]:
            self._ending_s.pop(0)
            if self._ending_s:
                self.ask_to_stop()
            else:
                self.kill()

    def _outcome(self, status: int) -> Outcome:
        if self._errors:
            rank = next(iter(self._errors))  # the first: others may fail because of it
            return self._failure(1, f"rank {rank}: {self._errors[rank]}")
        if self._gone is not None and self._missing and not self._gone:
            names = ", ".join(map(str, self._missing))
            return self._failure(1, f"of {self._size} ranks, {names} did not call within {_RENDEZVOUS_S:g} s")
        if self._gone:
            names = ", ".join(map(str, self._gone))
            return self._failure(1, f"of {self._size} ranks, {names} ended without a result")
        silent = [rank for rank in range(self._size) if rank not in self._results]
        if status == 0 and not silent:
            return Outcome(True, 0, [self._results[rank] for rank in range(self._size)])
        if silent and status >= 0:
            names = ", ".join(map(str, silent))
            return self._failure(status or 1, f"of {self._size} ranks, {names} ended without a result")
        return self._failure(status, None)
