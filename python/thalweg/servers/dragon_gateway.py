"""The program inside a Dragon run-time that owns the dictionary and serves the processes outside.

Components are not started by Dragon. A process from outside can attach to a Dragon dictionary by taking over the
environment of one inside, but only to one run-time in its life, and it may be killed at any moment, also in the middle
of a message to the dictionary's manager. So the dictionary's clients are threads of this program.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import psutil

from thalweg.datastore.dragon_wire import (
    Answer,
    Buffer,
    Operation,
    Request,
    receive_buffer,
    receive_request,
    send_answer,
)

DICTIONARY_TIMEOUT_S = 30.0
_LOWEST_PRIORITY = 19
_READ_ALL = 1 << 40
_ASK_FOR_ALL_KEYS_FROM = 32


class RawValues:
    """Passes values to and from the dictionary as they stand in a connection's buffer; Dragon's word is pickler."""

    def __init__(self, buffer: Buffer | None) -> None:
        self._buffer = buffer

    def dump(self, value: memoryview, file: Any) -> None:
        """Send a value."""
        file.write(value)

    def load(self, file: Any) -> int:
        """Receive a value into the buffer, or nowhere; returns its bytes."""
        done = 0
        while True:
            try:
                piece = file.read(_READ_ALL)
            except EOFError:
                return done
            if not piece:
                return done
            end = done + len(piece)
            if self._buffer is not None:
                self._buffer.view(end)[done:] = piece
            done = end


class RawKeys:
    """Keys are bytes already."""

    def dumps(self, key: bytes) -> bytes:
        """Return the key."""
        return key

    def loads(self, key: Any) -> bytes:
        """Return the key."""
        return bytes(key)


class NoRoomError(Exception):
    """The memory limit is reached."""


class Room:
    """Holds the memory limit, because Dragon does not: a pool that is nearly full stores long values cut off.

    So the dictionary's pool is made `POOL_FACTOR` times as large as the limit, and values that go beyond the limit do
    not get that far. The pool's pages are taken when they are first written. Thread-safe.
    """

    POOL_FACTOR = 4  # Dragon rounds each value up to a power of two; while one is replaced both are there

    def __init__(self, limit_bytes: int) -> None:
        self._lock = threading.Lock()
        self._limit_bytes, self._used_bytes = limit_bytes, 0
        self._size_of: dict[bytes, int] = {}

    @contextlib.contextmanager
    def taken(self, key: bytes, size_bytes: int) -> Iterator[None]:
        """Take room for a value that replaces the one of `key`, unless writing it fails."""
        with self._lock:
            if self._used_bytes + size_bytes > self._limit_bytes:
                raise NoRoomError
            self._used_bytes += size_bytes
        try:
            yield
        except BaseException:
            with self._lock:
                self._used_bytes -= size_bytes
            raise
        with self._lock:
            self._used_bytes -= self._size_of.pop(key, 0)
            self._size_of[key] = size_bytes

    def leave(self, key: bytes) -> None:
        """Give back the room of a value that was deleted."""
        with self._lock:
            self._used_bytes -= self._size_of.pop(key, 0)


class Writes:
    """Tells those who wait for keys that one of them was written. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[bytes, set[int]] = {}

    def announce(self, key: bytes) -> None:
        """Wake who waits for `key`."""
        with self._lock:
            for event in self._waiting.get(key, ()):
                os.eventfd_write(event, 1)

    @contextlib.contextmanager
    def watched(self, keys: Sequence[bytes]) -> Iterator[int]:
        """Yield a descriptor that can be read when one of `keys` was written since."""
        event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        with self._lock:
            for key in keys:
                self._waiting.setdefault(key, set()).add(event)
        try:
            yield event
        finally:
            with self._lock:
                for key in keys:
                    self._waiting[key].discard(event)
                    if not self._waiting[key]:
                        del self._waiting[key]
            os.close(event)


class Client:
    """One connection, served by one thread with a handle of its own on the dictionary."""

    def __init__(self, connection: socket.socket, dictionary: str, writes: Writes, room: Room) -> None:
        self._connection, self._writes, self._room = connection, writes, room
        from dragon.data.ddict import DDict

        self._buffer = receive_buffer(connection)
        self._handle = DDict.attach(dictionary, timeout=DICTIONARY_TIMEOUT_S)
        self._values = self._handle.pickler(RawKeys(), RawValues(self._buffer))
        self._discarding = self._handle.pickler(RawKeys(), RawValues(None))

    def serve(self) -> bool:
        """Answer requests until the client goes; tell whether it asked for the end of the server."""
        try:
            while True:
                request = receive_request(self._connection)
                if request.operation == Operation.STOP:
                    send_answer(self._connection, Answer.DONE)
                    return True
                send_answer(self._connection, *self._answer(request))
        except (EOFError, OSError):
            return False
        finally:
            self._connection.close()
            self._buffer.close()
            self._handle.detach()

    def _answer(self, request: Request) -> tuple[Answer, int, bytes]:
        from dragon.data.ddict.ddict import DDictFullError

        try:
            return self._perform(request)
        except (NoRoomError, DDictFullError):
            return Answer.FULL, 0, b""
        except KeyError:
            return Answer.MISSING, 0, b""
        except (EOFError, OSError):
            raise
        except Exception as error:
            return Answer.FAILED, 0, f"{type(error).__name__}: {error}".splitlines()[0].encode()

    def _perform(self, request: Request) -> tuple[Answer, int, bytes]:
        keys = request.keys
        if request.operation == Operation.WRITE:
            with self._room.taken(keys[0], request.size_bytes):
                self._values[keys[0]] = self._buffer.view(request.size_bytes)
            self._writes.announce(keys[0])
        elif request.operation == Operation.READ:
            return Answer.DONE, self._values[keys[0]], b""
        elif request.operation == Operation.DELETE:
            self._discarding.pop(keys[0])
            self._room.leave(keys[0])
        elif request.operation == Operation.EXISTS:
            return Answer.DONE, 0, bytes(self._there(keys))
        else:
            return Answer.DONE, 0, self._wait(request)
        return Answer.DONE, 0, b""

    def _there(self, keys: Sequence[bytes]) -> list[bool]:
        if len(keys) < _ASK_FOR_ALL_KEYS_FROM:
            return [key in self._values for key in keys]
        everything = set(self._values.keys())
        return [key in everything for key in keys]

    def _wait(self, request: Request) -> bytes:
        until = time.monotonic() + request.timeout_s
        enough = all if request.operation == Operation.WAIT_ALL else any
        with self._writes.watched(request.keys) as event:
            poll = select.poll()
            poll.register(event, select.POLLIN)
            poll.register(self._connection, select.POLLIN)  # readable in the middle of a request: the client has gone
            while True:
                there = self._there(request.keys)
                left_s = until - time.monotonic()
                if enough(there) or left_s <= 0:
                    return bytes(there)
                for descriptor, _ in poll.poll(left_s * 1000):
                    if descriptor != event:
                        raise EOFError("the client has gone")
                    os.eventfd_read(event)


class Gateway:
    """Accepts clients until the starter of the server asks for its end, or ends itself."""

    def __init__(self, address: str, starter: int) -> None:
        self._starter = os.pidfd_open(starter)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(address)
        self._stop = os.eventfd(0, os.EFD_CLOEXEC)

    def serve(self, dictionary: str, room: Room) -> None:
        """Serve each client in a thread."""
        self._listening.listen(128)
        writes = Writes()
        poll = select.poll()
        for awaited in (self._starter, self._listening, self._stop):
            poll.register(awaited, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._starter in ready or self._stop in ready:
                return
            connection, _ = self._listening.accept()
            threading.Thread(target=self._serve, args=(connection, dictionary, writes, room), daemon=True).start()

    def _serve(self, connection: socket.socket, dictionary: str, writes: Writes, room: Room) -> None:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        if struct.unpack("3i", credentials)[1] != os.getuid():
            connection.close()
        elif Client(connection, dictionary, writes, room).serve():
            os.eventfd_write(self._stop, 1)


def calm_orchestrator() -> None:
    """Let the idle thread of the dictionary's orchestrator run only when nothing else wants to.

    It watches for errors of the managers, but polls without a pause (Dragon 0.15, `ProcessGroup._exq_monitor`) and
    would take a core from the components. Dragon does not tell the orchestrator's process id; it is the first process
    that this program starts, beside it under the launcher.
    """
    me = psutil.Process()
    beside = [
        process for process in psutil.Process(os.getppid()).children() if process.create_time() > me.create_time()
    ]
    if beside:
        eldest = min(beside, key=lambda process: (process.create_time(), process.pid))
        for thread in eldest.threads():
            if thread.id != eldest.pid:  # the main thread serves clients that attach
                os.setpriority(os.PRIO_PROCESS, thread.id, _LOWEST_PRIORITY)


def main() -> None:
    """Run as ``dragon python -m thalweg.servers.dragon_gateway <address> <pid of the starter> <managers> <limit>``."""
    from dragon.data.ddict import DDict

    address, starter, managers, limit_bytes = sys.argv[1], *map(int, sys.argv[2:5])
    gateway = Gateway("\0" + address, starter)
    dictionary = DDict(managers, 1, Room.POOL_FACTOR * limit_bytes, timeout=DICTIONARY_TIMEOUT_S)
    calm_orchestrator()
    try:
        gateway.serve(dictionary.serialize(), Room(limit_bytes))
    finally:
        dictionary.destroy()


if __name__ == "__main__":
    main()
