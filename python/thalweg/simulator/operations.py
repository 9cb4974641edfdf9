"""What a rank does, for applications whose operations a function gives: `simulate` asks for one after the other.

Ranks are those of the application, sizes are bytes (up to 1 TiB in one operation), a request is a number that the
program gives, and file 0 is the application's own. Numbers are not negative, requests and tags below 2^31; computing
lasts up to 1e6 s at once; members of a collective are given once each. Anything else is refused with the rank, the
operation and the value.

Examples
--------
>>> from thalweg.simulator import operations as op
>>> from thalweg.simulator import simulate
>>> def ring(rank, ranks):
...     for _ in range(3):
...         yield op.irecv((rank - 1) % ranks, 4096, request=1)
...         yield op.send((rank + 1) % ranks, 4096)
...         yield op.wait(1)
...         yield op.compute(1e-6)
...     yield op.allreduce(8)
>>> (found,) = simulate({"application": [{"operations": ring, "ranks": 8}]}).applications
>>> found.name, found.messages_sent, found.bytes_sent
('ring', 48, 98496)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Operation = tuple[Any, ...]


def send(to: int, size_bytes: int, tag: int = 0) -> Operation:
    """Send a message; blocks until its last packet has left the network interface."""
    return ("send", to, size_bytes, tag)


def isend(to: int, size_bytes: int, request: int, tag: int = 0) -> Operation:
    """Begin to send a message."""
    return ("isend", to, size_bytes, tag, request)


def recv(source: int | None, size_bytes: int, tag: int | None = 0) -> Operation:
    """Receive a message of at most so many bytes; None for any source, or any tag."""
    return ("recv", source, size_bytes, tag)


def irecv(source: int | None, size_bytes: int, request: int, tag: int | None = 0) -> Operation:
    """Begin to receive a message."""
    return ("irecv", source, size_bytes, tag, request)


def wait(request: int) -> Operation:
    """Block until a request is complete."""
    return ("wait", request)


def waitall() -> Operation:
    """Block until all requests are complete."""
    return ("waitall",)


def compute(seconds: float) -> Operation:
    """Compute for a time."""
    return ("compute", seconds)


def barrier(members: Iterable[int] | None = None) -> Operation:
    """Wait until all ranks, or all members, have come here."""
    return _collective("barrier", 0, 0, members)


def bcast(root: int, size_bytes: int, members: Iterable[int] | None = None) -> Operation:
    """Bring the root's data to all."""
    return _collective("bcast", root, size_bytes, members)


def reduce(root: int, size_bytes: int, members: Iterable[int] | None = None) -> Operation:
    """Combine the data of all at the root."""
    return _collective("reduce", root, size_bytes, members)


def allreduce(size_bytes: int, members: Iterable[int] | None = None) -> Operation:
    """Combine the data of all, so that all have the result."""
    return _collective("allreduce", 0, size_bytes, members)


def allgather(size_bytes: int, members: Iterable[int] | None = None) -> Operation:
    """Bring the data of each to all."""
    return _collective("allgather", 0, size_bytes, members)


def alltoall(size_bytes: int, members: Iterable[int] | None = None) -> Operation:
    """Bring a part of so many bytes from each to each."""
    return _collective("alltoall", 0, size_bytes, members)


def open_file(file: int = 0) -> Operation:
    """Open a file."""
    return ("open", file)


def read(size_bytes: int, at: int = 0, file: int = 0) -> Operation:
    """Read from a file, from a place in it on."""
    return ("read", file, at, size_bytes)


def write(size_bytes: int, at: int = 0, file: int = 0) -> Operation:
    """Write to a file; blocks until all is committed."""
    return ("write", file, at, size_bytes)


def sync(file: int = 0) -> Operation:
    """Block until what was written to a file would survive a loss of power."""
    return ("sync", file)


def close_file(file: int = 0) -> Operation:
    """Close a file."""
    return ("close", file)


def _collective(kind: str, root: int, size_bytes: int, members: Iterable[int] | None) -> Operation:
    return (kind, root, size_bytes, None if members is None else sorted(members))
