"""A component in a fresh process of this node."""

from __future__ import annotations

import json
import os
import pickle
import socket
import sys
from pathlib import Path
from typing import Any

from thalweg.workflow.component import Component
from thalweg.workflow.guard import Guard
from thalweg.workflow.line import LauncherEnd, Message
from thalweg.workflow.process import ComponentProcess
from thalweg.workflow.resources import Grant
from thalweg.workflow.running import Outcome

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[4]); from thalweg.workflow.worker import main; "
    "main(*map(int, sys.argv[1:4]))"
)
_SETTLE = Path(__file__).with_name("settle.py")


class LocalFunction(ComponentProcess):
    """Runs the function in a new interpreter: no fork, nothing imported from the caller's main program."""

    def __init__(self, component: Component, payload: dict[str, Any], guard: Guard, log: Path | None) -> None:
        payload_fd = os.memfd_create("thalweg-payload", os.MFD_CLOEXEC)
        mine, theirs = socket.socketpair()
        try:
            with os.fdopen(os.dup(payload_fd), "wb") as file:
                pickle.dump(payload, file)
            os.lseek(payload_fd, 0, os.SEEK_SET)
            arguments = [str(payload_fd), str(theirs.fileno()), str(os.getpid()), json.dumps(sys.path)]
            super().__init__(
                [sys.executable, "-c", _START, *arguments],
                guard,
                log=log,
                env=component.env,
                pass_fds=(payload_fd, theirs.fileno()),
            )
        except BaseException:
            mine.close()
            raise
        finally:
            os.close(payload_fd)
            theirs.close()
        self._line = LauncherEnd(mine)
        self._told: Message | None = None

    def interests(self) -> list[tuple[int, int]]:
        return [*super().interests(), self._line.interest()] if self._line.open else super().interests()

    def deliver(self, kind: str, content: Any) -> None:
        self._line.send(kind, content)

    def close(self) -> None:
        super().close()
        self._line.close()

    def _receive(self) -> list[Message]:
        self._line.flush()
        messages = self._line.receive()
        for message in messages:
            if message[0] in ("result", "error"):
                self._told = message
        return messages

    def _outcome(self, status: int) -> Outcome:
        kind, content = self._told or (None, None)
        if status == 0 and kind == "result":
            return Outcome(True, 0, content)
        return self._failure(status, content if kind == "error" else None)


class LocalCommand(ComponentProcess):
    """Runs a program; its exit status is all that it tells."""

    def __init__(self, component: Component, grant: Grant, guard: Guard, log: Path | None) -> None:
        super().__init__(settled(component.command, grant, alone=True), guard, log=log, env=component.env)


def settled(command: tuple[str, ...], grant: Grant, *, alone: bool) -> list[str]:
    """Return a command line that pins itself to what was granted and then becomes `command`."""
    words = [json.dumps(grant.cpus), json.dumps(grant.gpus), json.dumps(alone)]
    return [sys.executable, "-I", "-S", str(_SETTLE), *words, *command]
