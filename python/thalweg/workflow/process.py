"""A component that is a process of this node: its log, its end, and the end of all that it started."""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from thalweg.ranks import without_place
from thalweg.servers.child_process import start_here
from thalweg.workflow.guard import Guard
from thalweg.workflow.line import Message
from thalweg.workflow.running import Outcome, Running

_LAST_LINES = 20
_LAST_BYTES = 16384
_PART_BYTES = 65536


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
        # read by position only: the offset is the component's too
        self._log = _opened(log)
        self._shown = self.log_bytes()  # another attempt may have written before
        self._inside_line = False
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
            os.close(self._log)
            raise
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
        os.close(self._log)

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
        return os.fstat(self._log).st_size

    def new_lines(self, ended: bool = False) -> Iterator[str]:
        """Yield the lines that the log got since the last call; one that is not complete yet when it has `ended`.

        A line longer than 64 KiB comes in parts, so that no program can fill our memory.
        """
        size = self.log_bytes()
        while data := os.pread(self._log, max(0, min(_PART_BYTES, size - self._shown)), self._shown):
            end = data.rfind(b"\n") + 1
            complete = end > 0
            if not complete and len(data) == _PART_BYTES:
                end = _between_characters(data)
            elif not complete:
                if not ended:
                    return
                end = len(data)
            start = 1 if self._inside_line and data[:1] == b"\n" else 0  # the end of a line whose parts were all passed
            self._shown += end
            self._inside_line = not complete
            yield from data[start:end].decode("utf-8", "replace").splitlines()

    def last_lines(self, start: int = 0) -> str:
        """Return the last lines of the log, from byte `start` on."""
        size = self.log_bytes()
        lines = os.pread(self._log, _LAST_BYTES, max(start, size - _LAST_BYTES)).decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-_LAST_LINES:])

    def _ended(self) -> bool:
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _signal_group(self, number: signal.Signals) -> None:
        if self._process.returncode is not None:
            return  # reaped: the number may be another's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _opened(log: Path | None) -> int:
    """Return a descriptor that appends, whoever writes to it."""
    if log is not None:
        return os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with tempfile.TemporaryFile(buffering=0) as file:
        fd = os.dup(file.fileno())
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
    return fd


def _between_characters(data: bytes) -> int:
    """Return where `data` can be cut near its end without cutting a character of UTF-8."""
    end = len(data) - 1
    while end > len(data) - 4 and data[end] & 0xC0 == 0x80:
        end -= 1
    return end
