"""Asking a Kafka broker, in its own protocol, which cluster it is of."""

from __future__ import annotations

import socket
import struct

_METADATA, _VERSION, _MARK = 3, 2, 0x7468
_LARGEST_ANSWER = 1 << 20


def cluster_of(host: str, port: int, timeout_s: float) -> str | None:
    """Return the id of the cluster whose broker listens there and is ready; None when none is yet.

    A broker is ready when it tells of itself and of a controller: then topics can be made.
    """
    client = b"thalweg"
    body = struct.pack(">hhih", _METADATA, _VERSION, _MARK, len(client)) + client + struct.pack(">i", 0)
    try:
        with socket.create_connection((host, port), timeout_s) as line:
            line.sendall(struct.pack(">i", len(body)) + body)
            (size,) = struct.unpack(">i", _exactly(line, 4))
            if not 0 < size <= _LARGEST_ANSWER:
                return None
            return _read(_exactly(line, size))
    except (OSError, EOFError, struct.error, UnicodeDecodeError):
        return None


def _exactly(line: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        more = line.recv(size - len(got))
        if not more:
            raise EOFError
        got += more
    return got


def _read(answer: bytes) -> str | None:
    """The cluster in a Metadata answer of version 2: mark, brokers (id, host, port, rack), cluster, controller."""
    mark, brokers = struct.unpack_from(">ii", answer)
    at = 8
    for _ in range(brokers):
        _, at = _text(answer, at + 4)
        _, at = _text(answer, at + 4)
    cluster, at = _text(answer, at)
    (controller,) = struct.unpack_from(">i", answer, at)
    return cluster if mark == _MARK and brokers > 0 and controller >= 0 else None


def _text(answer: bytes, at: int) -> tuple[str | None, int]:
    (size,) = struct.unpack_from(">h", answer, at)
    at += 2
    return (None, at) if size < 0 else (answer[at : at + size].decode(), at + size)
