"""A component in a fresh process of this node."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from thalweg.errors import ConfigError
from thalweg.servers.child_process import start_here
from thalweg.workflow.component import Component
from thalweg.workflow.guard import Guard
from thalweg.workflow.progress import Progress
from thalweg.workflow.running import Outcome, Running

_LAST_LINES = 20
_LAST_BYTES = 16384
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[4]); from thalweg.workflow.worker import main; "
    "main(*map(int, sys.argv[1:4]))"
)


def pack_call(component: Component) -> bytes:
    """Pickle function and arguments, so that a fresh process can run them.

    Raises
    ------
    ConfigError
        When they cannot be.
    """
    import cloudpickle

    try:
        packed: bytes = cloudpickle.dumps((component.function, dict(component.args)))
    except Exception as error:
        raise ConfigError(
            f"Workflow: component {component.name!r} cannot be sent to a process of its own: {error}; "
            "give plain data (such as server info) in args and open connections in the function, or use type 'thread'"
        ) from error
    return packed


class LocalProcess(Running):
    """Runs the function in a new interpreter: no fork, nothing imported from the caller's main program.

    The process leads a process group that is ended as a whole. When this process dies, the kernel kills the component,
    and `guard` what the component had started.
    """

    def __init__(
        self,
        component: Component,
        call: bytes,
        guard: Guard,
        *,
        log: Path | None,
        traces: Path | None,
        run_start_ns: int,
    ) -> None:
        import json

        payload = {
            "name": component.name,
            "call": call,
            "traces": str(traces) if traces is not None else None,
            "run_start_ns": run_start_ns,
        }
        self._name, self._guard = component.name, guard
        self._log: IO[bytes] = log.open("a+b") if log is not None else tempfile.TemporaryFile()  # noqa: SIM115
        payload_fd = os.memfd_create(f"thalweg-{component.name[:64]}", os.MFD_CLOEXEC)
        self._messages, child_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._messages, False)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._messages, 1031, 1 << 20)  # F_SETPIPE_SZ: a component should not wait for the launcher
        try:
            with os.fdopen(os.dup(payload_fd), "wb") as file:
                pickle.dump(payload, file)
            os.lseek(payload_fd, 0, os.SEEK_SET)
            arguments = [str(payload_fd), str(child_end), str(os.getpid()), json.dumps(sys.path)]
            self._process: subprocess.Popen[bytes] = start_here(
                [sys.executable, "-c", _START, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(payload_fd, child_end),
                start_new_session=True,
                env={**os.environ, **component.env},
            )
        finally:
            os.close(payload_fd)
            os.close(child_end)
        guard.watch(self._process.pid)
        self._pidfd = os.pidfd_open(self._process.pid)
        self._buffer = bytearray()
        self._message: tuple[str, Any] | None = None
        self._open = True

    def filenos(self) -> list[int]:
        return [self._pidfd, self._messages] if self._open else [self._pidfd]

    def advance(self) -> tuple[list[Progress], Outcome | None]:
        progress = self._receive()
        if not self._ended():
            return progress, None
        self._signal_group(signal.SIGKILL)  # what the component left running
        self._guard.forget(self._process.pid)
        status = self._process.wait()
        progress += self._receive()
        if status == 0 and self._message is not None and self._message[0] == "result":
            return progress, Outcome(True, 0, self._message[1])
        return progress, Outcome(False, status, None, self._why(status), self._last_lines())

    def ask_to_stop(self) -> None:
        self._signal_group(signal.SIGTERM)

    def kill(self) -> bool:
        self._signal_group(signal.SIGKILL)
        return True

    def close(self) -> None:
        for fd in (self._pidfd, self._messages):
            os.close(fd)
        self._log.close()

    def _ended(self) -> bool:
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _receive(self) -> list[Progress]:
        with contextlib.suppress(BlockingIOError):
            while self._open:
                data = os.read(self._messages, 1 << 20)
                if not data:
                    self._open = False
                self._buffer += data
        progress = []
        while len(self._buffer) >= 8:
            (length,) = struct.unpack_from("<Q", self._buffer)
            if len(self._buffer) < 8 + length:
                break
            kind, content = pickle.loads(self._buffer[8 : 8 + length])
            del self._buffer[: 8 + length]
            if kind == "progress":
                progress.append(Progress(*content))
            else:
                self._message = (kind, content)
        return progress

    def _why(self, status: int) -> str:
        if status < 0:
            return f"killed by signal {signal.Signals(-status).name} ({-status})"
        told = self._message[1] if self._message is not None and self._message[0] == "error" else None
        return f"exit status {status}" + (f": {told}" if told else "")

    def _last_lines(self) -> str:
        self._log.flush()
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _LAST_BYTES))
        lines = self._log.read().decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-_LAST_LINES:])
