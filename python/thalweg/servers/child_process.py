"""Starting a process that dies with this one, also when this one is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

# The kernel sends the signal when the *thread* that started the child ends, so one thread that never ends starts them
# all.
_DIE_WITH_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    os._exit(125)
os.execvp(sys.argv[2], sys.argv[2:])
"""

_requests: SimpleQueue[tuple[Callable[[], subprocess.Popen[bytes]], Future[subprocess.Popen[bytes]]]] | None = None
_lock = threading.Lock()


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start `command` through a tiny launcher that has the kernel kill it when this process ends.

    Parameters
    ----------
    command : sequence of str
        Program (found on the PATH) and arguments.
    **options
        As for `subprocess.Popen`.
    """
    launcher = [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]
    return start_here(launcher, **options)


def start_here(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start `command` from the thread that never ends; the program itself asks the kernel to be killed with it."""
    global _requests
    with _lock:
        if _requests is None:
            _requests = SimpleQueue()
            threading.Thread(target=_serve, args=(_requests,), name="thalweg-processes", daemon=True).start()
    future: Future[subprocess.Popen[bytes]] = Future()
    _requests.put((lambda: subprocess.Popen(command, **options), future))
    return future.result()


def _serve(
    requests: SimpleQueue[tuple[Callable[[], subprocess.Popen[bytes]], Future[subprocess.Popen[bytes]]]],
) -> None:
    while True:
        make, future = requests.get()
        try:
            future.set_result(make())
        except BaseException as error:
            future.set_exception(error)


def _forget_after_fork() -> None:
    """A forked child has no such thread."""
    global _requests, _lock
    _requests, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_after_fork)
