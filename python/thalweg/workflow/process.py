"""A component that is a process of this node: its log, its end, and the end of all that it started."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from thalweg.ranks import without_place
from thalweg.servers.child_process import start_here
from thalweg.workflow.guard import Guard
from thalweg.workflow.line import Message
from thalweg.workflow.running import Outcome, Running

_LAST_LINES = 20
_LAST_BYTES = 16384


class ComponentProcess(Running):
    """Starts `command` as the leader of a process group, which is ended as a whole.

    When this process dies, the kernel kills the command, and `guard` what the command had started.
    """

    def __init__(
        self,
        command: Sequence[str],
        guard: Guard,
        *,
        log: Path | None,
        env: Mapping[str, str],
        pass_fds: Sequence[int] = (),
    ) -> None:
        self._guard = guard
        self._log: IO[bytes] = log.open("a+b") if log is not None else tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process: subprocess.Popen[bytes] = start_here(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=tuple(pass_fds),
                start_new_session=True,
                env={**without_place(os.environ), **env},
            )
        except BaseException:
            self._log.close()
            raise
        self._shown = self._log.seek(0, os.SEEK_END) if log is not None else 0
        guard.watch(self._process.pid)
        self._pidfd = os.pidfd_open(self._process.pid)

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def interests(self) -> list[tuple[int, int]]:
        return [(self._pidfd, selectors.EVENT_READ)]

    def advance(self) -> tuple[list[Message], Outcome | None]:
        told = self._receive()
        if not self._ended():
            return told, None
        self._signal_group(signal.SIGKILL)  # what the component left running
        self._guard.forget(self._process.pid)
        status = self._process.wait()
        told += self._receive()
        return told, self._outcome(status)

    def deliver(self, kind: str, content: Any) -> None:
        return

    def ask_to_stop(self) -> None:
        self._signal_group(signal.SIGTERM)

    def kill(self) -> bool:
        self._signal_group(signal.SIGKILL)
        return True

    def close(self) -> None:
        os.close(self._pidfd)
        self._log.close()

    def _receive(self) -> list[Message]:
        """Take in what the process told."""
        return []

    def _outcome(self, status: int) -> Outcome:
        """Return the outcome of a process that has ended."""
        return Outcome(True, 0) if status == 0 else self._failure(status, None)

    def _failure(self, status: int, told: str | None) -> Outcome:
        if status < 0:
            why = f"killed by signal {signal.Signals(-status).name} ({-status})"
        elif status == 0 and told:
            why = told
        else:
            why = f"exit status {status}" + (f": {told}" if told else "")
        return Outcome(False, status, None, why, self.last_lines())

    def log_bytes(self) -> int:
        """Return how long the log is by now."""
        return self._log.seek(0, os.SEEK_END)

    def new_lines(self, ended: bool = False) -> list[str]:
        """Return the lines that the log got since the last call; one that is not complete yet when it has `ended`."""
        size = self._log.seek(0, os.SEEK_END)
        if size <= self._shown:
            return []
        self._log.seek(self._shown)
        data = self._log.read(size - self._shown)
        if not ended:
            data = data[: data.rfind(b"\n") + 1]
        self._shown += len(data)
        return data.decode("utf-8", "replace").splitlines()

    def last_lines(self, start: int = 0) -> str:
        """Return the last lines of the log, from byte `start` on."""
        self._log.flush()
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(start, size - _LAST_BYTES))
        lines = self._log.read().decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-_LAST_LINES:])

    def _ended(self) -> bool:
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _signal_group(self, number: signal.Signals) -> None:
        if self._process.returncode is not None:
            return  # reaped: the number may be another's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
