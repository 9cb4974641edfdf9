"""What the machine itself can do, measured in the same run as whatever is compared with it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from time import perf_counter

_ECHO = """
import socket, sys
end = socket.socket(fileno=int(sys.argv[1]))
while end.send(end.recv(1) or sys.exit()): pass
"""


def memcpy_s(size_bytes: int, repeats: int) -> list[float]:
    """Seconds of each of `repeats` copies by the C library, one thread, between two pre-faulted warm buffers.

    Parameters
    ----------
    size_bytes : int
        Bytes of one copy.
    repeats : int
        Timed copies; one more goes before them.

    Returns
    -------
    list of float, length `repeats`, seconds
    """
    native = _native("limit_memcpy")
    if native is not None:
        return list(native(size_bytes, repeats))
    source = ctypes.create_string_buffer(os.urandom(min(size_bytes, 1 << 20)), size_bytes)
    target = ctypes.create_string_buffer(size_bytes)
    ctypes.memset(target, 1, size_bytes)
    copy = ctypes.memmove
    copy(target, source, size_bytes)
    seconds = []
    for _ in range(repeats):
        begin = perf_counter()
        copy(target, source, size_bytes)
        seconds.append(perf_counter() - begin)
    return seconds


def unix_round_trip_s(count: int) -> list[float]:
    """Seconds of each of `count` one-byte round trips over a Unix stream socket between two processes that block.

    The native library measures it at the cost of the system calls alone; without it the interpreter's own time,
    about 1 µs, is part of the figure.
    """
    native = _native("limit_unix_round_trip")
    if native is not None:
        return list(native(count))
    with _echo() as end:
        end.send(b"x")
        end.recv(1)
        seconds = []
        for _ in range(count):
            begin = perf_counter()
            end.send(b"x")
            end.recv(1)
            seconds.append(perf_counter() - begin)
    return seconds


def quick() -> dict[str, float]:
    """The two limits that every result carries, measured in some tens of milliseconds: medians.

    Returns
    -------
    dict
        ``memcpy_bytes_per_s`` of an 8 MB copy; ``unix_round_trip_s``.
    """
    size_bytes = 8_000_000
    return {
        "memcpy_bytes_per_s": size_bytes / statistics.median(memcpy_s(size_bytes, 7)),
        "unix_round_trip_s": statistics.median(unix_round_trip_s(500)),
    }


def _native(name: str) -> Callable[..., list[float]] | None:
    try:
        from thalweg import _native as native
    except ImportError:
        return None
    found: Callable[..., list[float]] | None = getattr(native, name, None)
    return found


@contextlib.contextmanager
def _echo() -> Iterator[socket.socket]:
    """One end of a socket pair whose other end sends every byte back, in a process of its own."""
    near, far = socket.socketpair()
    with (
        near,
        subprocess.Popen([sys.executable, "-S", "-c", _ECHO, str(far.fileno())], pass_fds=[far.fileno()]) as echo,
    ):
        far.close()
        near.settimeout(10.0)
        try:
            yield near
        finally:
            near.close()
            echo.wait(10.0)


def available_memory() -> int:
    """Bytes of memory that could be taken now without swapping."""
    from thalweg import _native

    return _native.available_memory()
