"""The backend `dragon`: a DragonHPC distributed dictionary."""

from __future__ import annotations

import contextlib
import importlib.util
import socket
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from thalweg.datastore.backend import MISSING, Backend, Capabilities, How
from thalweg.datastore.dragon_wire import (
    Answer,
    Buffer,
    Operation,
    receive_answer,
    send_buffer,
    send_request,
)
from thalweg.datastore.staged_value import Array, Header, Packed, destination, unpack, writable_bytes
from thalweg.errors import FullError, ServerGoneError

_ANSWER_S = 60.0  # beyond the time that a wait may take
_IDLE_CONNECTIONS = 4


class DragonBackend(Backend):
    """Header and payload as one value of the dictionary, raw; the gateway in the Dragon run-time puts and gets it.

    Components need not be started by Dragon. Each operation has a connection for itself, so threads do not wait for
    each other.
    """

    name: ClassVar[str] = "dragon"
    capabilities = Capabilities(notifies=True, between_processes=True, between_nodes=False, zero_copy_reads=False)

    @classmethod
    def available(cls) -> str | None:
        if importlib.util.find_spec("dragon") is None:
            return (
                "the library dragonhpc is not installed (Linux on x86-64, Python 3.11 to 3.13); "
                "pip install 'thalweg[dragon]'"
            )
        return None

    def __init__(self, server_info: Mapping[str, Any]) -> None:
        self._address = server_info["address"]
        self._prefix: bytes = server_info["namespace"].encode() + b"\0"
        self._idle: deque[_Connection] = deque()
        self.exists("")  # the server answers

    def write(self, key: str, value: Packed, *, checksum: bool) -> None:
        header, payload = value.encode(checksum)
        described = header.encode()
        size_bytes = len(described) + payload.nbytes
        operation = f"stage_write: key {key!r}"
        with self._connection(operation) as connection:
            whole = connection.buffer.view(size_bytes)
            whole[: len(described)] = described
            whole[len(described) :] = payload
            answer, _, _ = connection.ask(Operation.WRITE, [self._name(key)], size_bytes)
        if answer == Answer.FULL:
            raise FullError(
                f"{operation}: {payload.nbytes} bytes: the Dragon dictionary has reached its memory limit; "
                "raise memory_limit_bytes or clean staged data that is not needed any more"
            )

    def read(self, key: str, *, into: Array | None, allow_pickle: bool) -> Any:
        source = f"stage_read: key {key!r}"
        with self._connection(source) as connection:
            answer, size_bytes, _ = connection.ask(Operation.READ, [self._name(key)])
            if answer == Answer.MISSING:
                return MISSING
            whole = connection.buffer.view(size_bytes)
            header = Header.decode(whole, source)
            payload = whole[Header.length(whole, source) :]
            if into is not None:
                destination(into, header, source)
                np.copyto(into, unpack(header, payload, source=source, allow_pickle=allow_pickle), casting="no")
                return into
            mine = writable_bytes(payload.nbytes)
            if payload.nbytes:
                mine[:] = payload
        return unpack(header, mine, source=source, allow_pickle=allow_pickle)

    def exists(self, key: str) -> bool:
        with self._connection("poll_staged_data") as connection:
            _, _, there = connection.ask(Operation.EXISTS, [self._name(key)])
        return bool(there[0])

    def delete(self, key: str) -> bool:
        with self._connection("clean_staged_data") as connection:
            answer, _, _ = connection.ask(Operation.DELETE, [self._name(key)])
        return answer == Answer.DONE

    def wait(self, keys: Sequence[str], timeout_s: float, how: How) -> list[str]:
        operation = Operation.WAIT_ALL if how == "all" else Operation.WAIT_ANY
        with self._connection("wait") as connection:
            _, _, there = connection.ask(operation, [self._name(key) for key in keys], timeout_s=timeout_s)
        return [key for key, found in zip(keys, there, strict=True) if found]

    def close(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _name(self, key: str) -> bytes:
        return self._prefix + key.encode()

    @contextlib.contextmanager
    def _connection(self, operation: str) -> Iterator[_Connection]:
        """A connection for this operation alone, kept for the next one unless something went wrong."""
        try:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = _Connection(self._address)
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
        except (EOFError, OSError) as error:
            raise ServerGoneError(
                f"{operation}: the Dragon dictionary at {self._address} does not answer: {error}; its server was "
                "stopped or has failed"
            ) from error
        if len(self._idle) < _IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.close()


def stop_gateway(address: str) -> None:
    """Ask the gateway to end, and with it the Dragon run-time; `OSError` when it does not answer."""
    connection = _Connection(address)
    try:
        connection.ask(Operation.STOP, [])
    finally:
        connection.close()


class _Connection:
    def __init__(self, address: str) -> None:
        self.buffer = Buffer.new()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(_ANSWER_S)
            self._socket.connect("\0" + address)
            send_buffer(self._socket, self.buffer)
        except BaseException:
            self.close()
            raise

    def ask(
        self, operation: Operation, keys: Sequence[bytes], size_bytes: int = 0, timeout_s: float = 0.0
    ) -> tuple[Answer, int, bytes]:
        """Ask the gateway and wait for its answer; `OSError` when there is none, or when it tells of a failure."""
        self._socket.settimeout(_ANSWER_S + timeout_s)
        send_request(self._socket, operation, keys, size_bytes, timeout_s)
        answer, size_bytes, text = receive_answer(self._socket)
        if answer == Answer.FAILED:
            raise OSError(text.decode(errors="replace"))
        return answer, size_bytes, text

    def close(self) -> None:
        self._socket.close()
        self.buffer.close()
