"""A real redis-server process: loopback, password, no persistence."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import time
from typing import Any

from pydantic import Field

from thalweg.errors import AccessError, ConfigError, MissingLibraryError, ServerGoneError
from thalweg.servers.child_process import start
from thalweg.servers.server import Server, ServerConfig, new_namespace

_ATTEMPTS = 5
_STOP_S = 5.0
_LAST_BYTES = 16384


class RedisConfig(ServerConfig):
    """Configuration of `redis`."""

    host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(0, ge=0, le=65535)
    password: str | None = Field(None, min_length=1, pattern=r"^\S+$")
    memory_limit_bytes: int | None = Field(None, ge=1 << 20)
    executable: str = Field("redis-server", min_length=1)
    start_timeout_s: float = Field(10.0, gt=0)


class RedisServer(Server):
    """Starts and stops one redis-server; it has no directory, its password goes in by standard input."""

    Config = RedisConfig

    def __init__(self, name: str, config: RedisConfig) -> None:
        self._name, self._config = name, config
        self._process: subprocess.Popen[bytes] | None = None
        self._log_fd = -1

    def start(self) -> dict[str, Any]:
        program = shutil.which(self._config.executable)
        if program is None:
            raise MissingLibraryError(
                f"ServerManager: redis: there is no program {self._config.executable!r}; "
                "install it (Debian: apt-get install redis-server) or set executable"
            )
        from thalweg.datastore.redis import RedisBackend

        missing = RedisBackend.available()
        if missing is not None:
            raise MissingLibraryError(f"ServerManager: redis: {missing}")
        self._log_fd = os.memfd_create("thalweg-redis-log", os.MFD_CLOEXEC)  # nothing to remove after a SIGKILL
        try:
            return self._start(program)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
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

    def _start(self, program: str) -> dict[str, Any]:
        config = self._config
        password = config.password or secrets.token_urlsafe(24)
        for attempt in range(_ATTEMPTS):
            port = config.port or _free_port(config.host)
            self._launch(program, port, password)
            problem = self._answer(port, password)
            if problem is None:
                return {
                    "backend": "redis",
                    "host": config.host,
                    "port": port,
                    "password": password,
                    "namespace": new_namespace(self._name),
                }
            if "Address already in use" not in problem:
                raise ServerGoneError(f"ServerManager: redis: {program} did not start: {problem}")
            if config.port:
                raise ConfigError(
                    f"ServerManager: port: {config.port} on {config.host} is taken by another program; "
                    "give another one, or 0 for a free one"
                )
            if attempt == _ATTEMPTS - 1:
                break
        raise ServerGoneError(
            f"ServerManager: redis: {_ATTEMPTS} free ports in a row were taken before redis-server was up"
        )

    def _launch(self, program: str, port: int, password: str) -> None:
        config = self._config
        settings = [
            f"bind {config.host}",
            f"port {port}",
            f"requirepass {password}",
            "protected-mode yes",
            'save ""',
            "appendonly no",
            "dir /proc",  # must be there, and cannot be written: not even SAVE leaves a file
            "daemonize no",
            "enable-debug-command no",
            "maxmemory-policy noeviction",
            "client-output-buffer-limit normal 0 0 0",
        ]
        if config.memory_limit_bytes is not None:
            settings.append(f"maxmemory {config.memory_limit_bytes}")
        os.ftruncate(self._log_fd, 0)
        os.lseek(self._log_fd, 0, os.SEEK_SET)
        self._process = start([program, "-"], stdin=subprocess.PIPE, stdout=self._log_fd, stderr=subprocess.STDOUT)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write("\n".join(settings).encode())
            self._process.stdin.close()

    def _answer(self, port: int, password: str) -> str | None:
        """Wait until the server answers with this password; return None, or why it does not."""
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        once = Retry(NoBackoff(), 0)

        assert self._process is not None
        until = time.monotonic() + self._config.start_timeout_s
        pause_s = 0.002
        while True:
            if self._process.poll() is not None:
                return _last_lines(self._log_fd)
            client = redis.Redis(host=self._config.host, port=port, password=password, socket_timeout=0.5, retry=once)
            try:
                client.ping()
                pid = client.info("server")["process_id"]  # another program may answer on this port
                if pid == self._process.pid:
                    return None
                return "Address already in use"
            except redis.AuthenticationError as error:
                if self._process.poll() is None:
                    raise AccessError(f"ServerManager: redis: a server on port {port} refused the password") from error
            except (redis.ConnectionError, redis.TimeoutError):
                pass
            finally:
                client.close()
            if time.monotonic() > until:
                return f"no answer within {self._config.start_timeout_s} s: {_last_lines(self._log_fd)}"
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, 0.05)


def _free_port(host: str) -> int:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
            return int(probe.getsockname()[1])
    except OSError as error:
        raise ConfigError(f"ServerManager: host: {host!r} is not an address of this machine: {error}") from error


def _last_lines(log_fd: int) -> str:
    start = max(0, os.fstat(log_fd).st_size - _LAST_BYTES)
    log = os.pread(log_fd, _LAST_BYTES, start).decode(errors="replace")
    lines = [line for line in log.splitlines() if line.strip()]
    return " | ".join(lines[-6:]) or "it ended without a word"
