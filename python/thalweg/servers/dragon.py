"""The server of the backend `dragon`: a Dragon run-time on this node with a distributed dictionary in it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
from pydantic import Field

import thalweg
from thalweg.errors import MissingLibraryError, ServerGoneError
from thalweg.servers.directories import Namespace, default_base
from thalweg.servers.log_tail import last_lines
from thalweg.servers.server import Server, ServerConfig, new_namespace

_GATEWAY = "thalweg.servers.dragon_gateway"
_STOP_S = 30.0
_MEMORY = Path("/dev/shm")


class DragonConfig(ServerConfig):
    """Configuration of `dragon`."""

    memory_limit_bytes: int = Field(1 << 30, ge=64 << 20)
    managers: int = Field(1, ge=1, le=64)
    start_timeout_s: float = Field(60.0, gt=0)


class DragonServer(Server):
    """Starts Dragon's launcher with the gateway as its program.

    The launcher is told to stop, and only killed when it does not: killed, it leaves busy processes and segments. It
    must not lead a session (it would hang), but leads a process group, so that Ctrl-C reaches this process first. When
    this process ends in any way, the gateway sees it and ends, and with it the run-time.
    """

    Config = DragonConfig

    def __init__(self, name: str, config: DragonConfig) -> None:
        self._name, self._config = name, config
        self._launcher: subprocess.Popen[bytes] | None = None
        self._directory: Namespace | None = None  # Dragon writes files where it is started
        self._segments: set[Path] = set()
        self._address = ""
        self._log_fd = -1

    def start(self) -> dict[str, Any]:
        from thalweg.datastore.dragon import DragonBackend

        missing = DragonBackend.available()
        program = _launcher()
        if missing is not None or program is None:
            raise MissingLibraryError(
                f"ServerManager: dragon: {missing or 'its program dragon is not beside this Python'}"
            )
        self._log_fd = os.memfd_create("thalweg-dragon-log", os.MFD_CLOEXEC)
        self._address = f"thalweg-dragon-{secrets.token_hex(12)}"
        try:
            self._directory = Namespace(default_base(), self._name, 0)
            self._launch(program, self._directory.root)
            self._await_answer()
            self._segments = self._mapped_segments()
        except BaseException:
            self.stop()
            raise
        return {
            "backend": "dragon",
            "host": socket.gethostname(),
            "address": self._address,
            "namespace": new_namespace(self._name),
        }

    def stop(self) -> None:
        launcher, self._launcher = self._launcher, None
        if launcher is not None:
            self._end(launcher)
        for segment in self._segments:
            with contextlib.suppress(FileNotFoundError):
                segment.unlink()
        self._segments = set()
        if self._directory is not None:
            self._directory.remove()
            self._directory = None
        if self._log_fd >= 0:
            os.close(self._log_fd)
            self._log_fd = -1

    def _launch(self, program: str, directory: Path) -> None:
        config = self._config
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DRAGON_")}
        packages = str(Path(thalweg.__file__).parents[1])
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (packages, environment.get("PYTHONPATH"))))
        environment["PATH"] = os.pathsep.join((str(Path(program).parent), environment.get("PATH", os.defpath)))
        arguments = [self._address, os.getpid(), config.managers, config.memory_limit_bytes]
        self._launcher = subprocess.Popen(
            [program, "--single-node-override", sys.executable, "-m", _GATEWAY, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=self._log_fd,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=environment,
            preexec_fn=os.setpgrp,
        )

    def _await_answer(self) -> None:
        assert self._launcher is not None
        until = time.monotonic() + self._config.start_timeout_s
        while True:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, contextlib.suppress(OSError):
                connection.connect("\0" + self._address)
                return
            if self._launcher.poll() is not None:
                raise ServerGoneError(f"ServerManager: dragon: it did not start: {last_lines(self._log_fd)}")
            if time.monotonic() > until:
                raise ServerGoneError(
                    f"ServerManager: dragon: no answer within {self._config.start_timeout_s} s: "
                    f"{last_lines(self._log_fd)}"
                )
            time.sleep(0.02)

    def _end(self, launcher: subprocess.Popen[bytes]) -> None:
        from thalweg.datastore.dragon import stop_gateway

        self._segments |= self._mapped_segments(launcher.pid)
        with contextlib.suppress(OSError, EOFError):
            stop_gateway(self._address)
        for ending in (None, signal.SIGTERM, signal.SIGKILL):
            if ending is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(launcher.pid, ending)
            with contextlib.suppress(subprocess.TimeoutExpired):
                launcher.wait(_STOP_S)
                break

    def _mapped_segments(self, group: int | None = None) -> set[Path]:
        """Segments that the run-time's processes have: what it leaves of them when it fails must be removed here."""
        leader = group if group is not None else self._launcher.pid if self._launcher is not None else 0
        found = set()
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, ProcessLookupError, PermissionError):
                if os.getpgid(process.pid) == leader:
                    found |= {Path(part.path) for part in process.memory_maps() if part.path.startswith(f"{_MEMORY}/")}
        return found


def _launcher() -> str | None:
    beside = Path(sys.executable).with_name("dragon")
    return str(beside) if beside.exists() else shutil.which("dragon")
