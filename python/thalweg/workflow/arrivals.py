"""The listener that ranks call back: who shows the secret of the job is let in."""

from __future__ import annotations

import contextlib
import dataclasses
import hmac
import os
import secrets
import selectors
import socket
import time
from pathlib import Path
from typing import NamedTuple

_GREETING_BYTES = 32 + 4 + 4 + 8
_PATIENCE_S = 10.0  # how long one that connected has to greet


class Arrival(NamedTuple):
    """A rank that has called: its connection, rank and process group; group 0: it runs on another node."""

    connection: socket.socket
    rank: int
    group: int


@dataclasses.dataclass
class _Stranger:
    connection: socket.socket
    until_s: float
    greeting: bytearray = dataclasses.field(default_factory=bytearray)


class Arrivals:
    """Listens for `size` ranks, each of which is let in once.

    A greeting is the token, rank, process group and `boot_mark`: 32 + 4 + 4 + 8 bytes. Connections that do not greet
    are few and short-lived: the oldest gives way to the next.

    Attributes
    ----------
    token : bytes
        The secret, 32 bytes.
    port : int
        Where it listens.
    """

    def __init__(self, host: str, size: int) -> None:
        self.token = secrets.token_bytes(32)
        self._awaited = set(range(size))
        self._most = 4 * size + 16
        self._listener = socket.create_server((host, 0), backlog=min(self._most, socket.SOMAXCONN))
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._strangers: list[_Stranger] = []

    def interests(self) -> list[tuple[int, int]]:
        """Return descriptors to wait for; none when all ranks are here."""
        if not self._awaited:
            return []
        sockets = [self._listener, *(stranger.connection for stranger in self._strangers)]
        return [(connection.fileno(), selectors.EVENT_READ) for connection in sockets]

    def take(self) -> list[Arrival]:
        """Return the ranks that have greeted since the last call, without blocking."""
        if not self._awaited:
            return []
        arrived = []
        with contextlib.suppress(BlockingIOError):
            while self._awaited:
                connection, _ = self._listener.accept()
                connection.setblocking(False)
                self._strangers.append(_Stranger(connection, time.monotonic() + _PATIENCE_S))
                if len(self._strangers) > self._most:
                    arrived += self._heard()
                    self._drop(len(self._strangers) - self._most)
        arrived += self._heard()
        if not self._awaited:
            self.close()
        return arrived

    def close(self) -> None:
        """Listen no more."""
        self._awaited.clear()
        self._listener.close()
        self._drop(len(self._strangers))

    def _drop(self, count: int) -> None:
        """Send the oldest strangers away."""
        while count > 0:
            self._strangers.pop(0).connection.close()
            count -= 1

    def _heard(self) -> list[Arrival]:
        """Read greetings; return those who gave a right one, and keep those who may still do so."""
        arrived, waiting = [], []
        for stranger in self._strangers:
            told = self._greeting(stranger)
            if isinstance(told, Arrival):
                arrived.append(told)
            elif told is None:
                waiting.append(stranger)
            else:
                stranger.connection.close()
        self._strangers = waiting
        return arrived

    def _greeting(self, stranger: _Stranger) -> Arrival | bool | None:
        """Return who it is, False for no rank of this job, None when that is not known yet."""
        try:
            data = stranger.connection.recv(_GREETING_BYTES - len(stranger.greeting))
        except BlockingIOError:
            return None if time.monotonic() < stranger.until_s else False
        except OSError:
            return False
        stranger.greeting += data
        greeting = bytes(stranger.greeting)
        if len(greeting) < _GREETING_BYTES:
            return None if data else False
        rank, group = int.from_bytes(greeting[32:36], "little"), int.from_bytes(greeting[36:40], "little")
        if not hmac.compare_digest(greeting[:32], self.token) or rank not in self._awaited:
            return False
        self._awaited.discard(rank)
        return Arrival(stranger.connection, rank, group if greeting[40:] == boot_mark() else 0)


def boot_mark() -> bytes:
    """Return 8 bytes that two processes share when they see the same processes: one node, boot and pid namespace."""
    boot = int(Path("/proc/sys/kernel/random/boot_id").read_text().replace("-", "")[:16], 16)
    namespace = os.stat("/proc/self/ns/pid").st_ino
    return (boot ^ namespace).to_bytes(8, "little")
