"""What a client and the gateway of a Dragon dictionary say to each other: small messages, and memory for the values.

A request is ``<operation u8> <keys: bytes u32> <value: bytes u64> <timeout: seconds f64>`` and the keys, each with its
length (u32) before it; an answer is ``<answer u8> <size: bytes u64> <text: bytes u32>`` and the text. Little endian.
Values pass through one memfd a connection, which the client makes and sends first; both sides map it, either makes it
longer, nobody makes it shorter.
"""

from __future__ import annotations

import array
import enum
import mmap
import os
import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

_REQUEST = struct.Struct("<BIQd")
_ANSWER = struct.Struct("<BQI")
_LENGTH = struct.Struct("<I")
_GRAIN_BYTES = 2 << 20


class Operation(enum.IntEnum):
    """What a client asks for."""

    WRITE = 1
    READ = 2
    EXISTS = 3
    DELETE = 4
    WAIT_ALL = 5
    WAIT_ANY = 6
    STOP = 7


class Answer(enum.IntEnum):
    """What the gateway says."""

    DONE = 1
    MISSING = 2
    FULL = 3
    FAILED = 4


class Request(NamedTuple):
    """A request, as the gateway reads it."""

    operation: Operation
    keys: list[bytes]
    size_bytes: int
    timeout_s: float


class Buffer:
    """The memory through which one connection's values pass; it stays as long as the longest value so far."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None

    @classmethod
    def new(cls) -> Buffer:
        """Make one that has no name, so that nothing is left of it after a SIGKILL."""
        return cls(os.memfd_create("thalweg-dragon-values", os.MFD_CLOEXEC))

    def view(self, size_bytes: int) -> memoryview:
        """Return the first `size_bytes` of it, to read and write."""
        if self._map is None or len(self._map) < size_bytes:
            length = max(1, -(-size_bytes // _GRAIN_BYTES)) * _GRAIN_BYTES
            if os.fstat(self.descriptor).st_size < length:
                os.ftruncate(self.descriptor, length)
            self._map = mmap.mmap(self.descriptor, length)  # the old one ends with its last view
        return memoryview(self._map)[:size_bytes]

    def close(self) -> None:
        """Give the memory back when its last view is gone."""
        self._map = None
        os.close(self.descriptor)


def send_buffer(connection: socket.socket, buffer: Buffer) -> None:
    """Hand the buffer over: the first thing that a client sends."""
    descriptors = array.array("i", [buffer.descriptor])
    connection.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])


def receive_buffer(connection: socket.socket) -> Buffer:
    """Take the buffer over."""
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    if not descriptors:
        raise EOFError("no buffer was sent")
    return Buffer(descriptors[0])


def send_request(
    connection: socket.socket, operation: Operation, keys: Sequence[bytes], size_bytes: int, timeout_s: float
) -> None:
    """Send a request; its value is in the buffer already."""
    block = b"".join(_LENGTH.pack(len(key)) + key for key in keys)
    connection.sendall(_REQUEST.pack(operation, len(block), size_bytes, timeout_s) + block)


def receive_request(connection: socket.socket) -> Request:
    """Wait for a request; `EOFError` when the client has gone."""
    operation, length, size_bytes, timeout_s = _REQUEST.unpack(_receive(connection, _REQUEST.size))
    block = _receive(connection, length)
    keys, position = [], 0
    while position < length:
        start = position + _LENGTH.size
        position = start + _LENGTH.unpack_from(block, position)[0]
        keys.append(block[start:position])
    return Request(Operation(operation), keys, size_bytes, timeout_s)


def send_answer(connection: socket.socket, answer: Answer, size_bytes: int = 0, text: bytes = b"") -> None:
    """Send an answer; its value is in the buffer already."""
    connection.sendall(_ANSWER.pack(answer, size_bytes, len(text)) + text)


def receive_answer(connection: socket.socket) -> tuple[Answer, int, bytes]:
    """Wait for an answer; `EOFError` when the gateway has gone."""
    answer, size_bytes, length = _ANSWER.unpack(_receive(connection, _ANSWER.size))
    return Answer(answer), size_bytes, _receive(connection, length)


def _receive(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            raise EOFError("the other side has closed the connection")
        parts += part
    return bytes(parts)
