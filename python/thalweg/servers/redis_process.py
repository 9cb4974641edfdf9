"""A real redis-server process: loopback or a named host, password, no persistence."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import secrets
import socket
import subprocess
import time
from pathlib import Path

from thalweg.errors import AccessError, ConfigError, ServerGoneError
from thalweg.servers.child_process import start
from thalweg.servers.log_tail import last_lines

BUS_OFFSET = 10_000  # a member of a cluster listens on its port plus this, too, unless it is told another one
_ATTEMPTS = 5
_STOP_S = 5.0
_TAKEN = re.compile(r":(\d+): bind: Address already in use")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a redis-server is started with.

    Attributes
    ----------
    port : int
        0: a free one, and a free one for the cluster's bus.
    directory : Path or None
        Where a member of a Redis Cluster keeps its description of the cluster; None: it is no member.
    more : tuple of str
        Lines of its configuration that come last, and so replace others.
    """

    program: str
    host: str
    port: int
    password: str
    memory_limit_bytes: int | None
    start_timeout_s: float
    directory: Path | None = None
    more: tuple[str, ...] = ()


class RedisProcess:
    """Starts and stops one redis-server; its password goes in by standard input."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._log_fd = -1
        self.port = self.bus_port = 0

    @property
    def address(self) -> str:
        """Host and port."""
        return f"{self._settings.host}:{self.port}"

    def start(self) -> None:
        """Start, and wait until it answers.

        Raises
        ------
        ConfigError
            When the port that was asked for is taken.
        ServerGoneError
            When it does not start; the message has its last lines.
        """
        self._log_fd = os.memfd_create("thalweg-redis-log", os.MFD_CLOEXEC)  # nothing to remove after a SIGKILL
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End it; does nothing when it does not run."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._log_fd >= 0:
            os.close(self._log_fd)
            self._log_fd = -1

    def _start(self) -> None:
        settings = self._settings
        for _ in range(_ATTEMPTS):
            self.port = settings.port or _free_port(settings.host)
            self.bus_port = settings.port + BUS_OFFSET if settings.port else _free_port(settings.host)
            self._launch()
            problem = self._answer()
            if problem is None:
                return
            if "Address already in use" not in problem:
                raise ServerGoneError(f"ServerManager: redis: {settings.program} did not start: {problem}")
            if settings.port:
                self._refuse_taken(problem)
        raise ServerGoneError(
            f"ServerManager: redis: {_ATTEMPTS} free ports in a row were taken before redis-server was up"
        )

    def _refuse_taken(self, problem: str) -> None:
        taken = _TAKEN.search(problem)
        port = int(taken[1]) if taken else self.port
        whose = f" (the cluster bus of port {self.port}, that is {BUS_OFFSET} more)" if port == self.bus_port else ""
        raise ConfigError(
            f"ServerManager: port: {port}{whose} on {self._settings.host} is taken by another program; "
            "give another one, or 0 for a free one"
        )

    def _launch(self) -> None:
        settings = self._settings
        lines = [
            f"bind {settings.host}",
            f"port {self.port}",
            f"requirepass {settings.password}",
            "protected-mode yes",
            'save ""',
            "appendonly no",
            f"dir {settings.directory or '/proc'}",  # /proc cannot be written: not even SAVE leaves a file
            "daemonize no",
            "enable-debug-command no",
            "maxmemory-policy noeviction",
            "client-output-buffer-limit normal 0 0 0",
        ]
        if settings.directory is not None:
            lines += [
                "cluster-enabled yes",
                f"cluster-port {self.bus_port}",
                f"cluster-config-file nodes-{self.port}.conf",
                f"cluster-announce-ip {ip_address(settings.host)}",
                "cluster-require-full-coverage no",  # the other members serve on when one is gone
            ]
        if settings.memory_limit_bytes is not None:
            lines.append(f"maxmemory {settings.memory_limit_bytes}")
        lines += settings.more
        os.ftruncate(self._log_fd, 0)
        os.lseek(self._log_fd, 0, os.SEEK_SET)
        self._process = start(
            [settings.program, "-"], stdin=subprocess.PIPE, stdout=self._log_fd, stderr=subprocess.STDOUT
        )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write("\n".join(lines).encode())
            self._process.stdin.close()

    def _answer(self) -> str | None:
        """Wait until the server answers with this password; return None, or why it does not."""
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        settings, once = self._settings, Retry(NoBackoff(), 0)
        assert self._process is not None
        until = time.monotonic() + settings.start_timeout_s
        pause_s = 0.002
        while True:
            if self._process.poll() is not None:
                return last_lines(self._log_fd)
            client = redis.Redis(
                host=settings.host, port=self.port, password=settings.password, socket_timeout=0.5, retry=once
            )
            try:
                client.ping()
                pid = client.info("server")["process_id"]  # another program may answer on this port
                if pid == self._process.pid:
                    return None
                return "Address already in use"
            except redis.AuthenticationError as error:
                if self._process.poll() is None:
                    raise AccessError(
                        f"ServerManager: redis: a server on port {self.port} refused the password"
                    ) from error
            except (redis.ConnectionError, redis.TimeoutError):
                pass
            finally:
                client.close()
            if time.monotonic() > until:
                return f"no answer within {settings.start_timeout_s} s: {last_lines(self._log_fd)}"
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, 0.05)


def new_password() -> str:
    """Return a password that nobody knows."""
    return secrets.token_urlsafe(24)


def ip_address(host: str) -> str:
    """Return the address of `host`, as the members of a cluster tell it to each other."""
    try:
        return str(socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise ConfigError(f"ServerManager: host: {host!r} is not an address of this machine: {error}") from error


def _free_port(host: str) -> int:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
            return int(probe.getsockname()[1])
    except OSError as error:
        raise ConfigError(f"ServerManager: host: {host!r} is not an address of this machine: {error}") from error
