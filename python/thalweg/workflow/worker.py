"""The process that runs a component's function: what is on the other side of `local`, `remote` and `task_pool`."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from thalweg.errors import ThalwegError
from thalweg.workflow.line import ComponentEnd
from thalweg.workflow.settle import settle

_PR_SET_PDEATHSIG = 1
_PATIENCE_S = 60.0


def main(payload_fd: int, line_fd: int, parent: int) -> None:
    """Run the component whose payload is in `payload_fd`, tell its result over `line_fd`, exit."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(125)
    for fd in (payload_fd, line_fd):
        os.set_inheritable(fd, False)
    line = ComponentEnd(socket.socket(fileno=line_fd))
    with os.fdopen(payload_fd, "rb") as file:
        payload = pickle.load(file)
    settle(payload["cpus"], payload["gpus"], payload["alone"])
    if payload["call"] is None:
        from thalweg.workflow.task_worker import serve

        serve(payload, line)
    sys.exit(_perform(payload, line, 0))


def main_of_rank() -> None:
    """Ask the launcher what to do, run it as one rank of an MPI job, tell the result, exit."""
    from thalweg.ranks import launched_place
    from thalweg.workflow.arrivals import boot_mark
    from thalweg.workflow.remote import ADDRESS_VARIABLE, TOKEN_VARIABLE

    place = launched_place()
    host, _, port = os.environ.pop(ADDRESS_VARIABLE).rpartition(":")
    token = bytes.fromhex(os.environ.pop(TOKEN_VARIABLE))
    connection = socket.create_connection((host, int(port)), timeout=_PATIENCE_S)
    numbers = place.rank.to_bytes(4, "little") + os.getpgid(0).to_bytes(4, "little")
    connection.sendall(token + numbers + boot_mark())
    line = ComponentEnd(connection)
    message = line.receive()
    if message is None:
        sys.exit("thalweg: the launcher has gone before it told this rank what to do")
    payload = message[1]
    settle(payload["cpus"], payload["gpus"], payload["alone"])
    status = _perform(payload, line, place.rank)
    if status != 0:
        os._exit(status)  # not through MPI_Finalize, which would wait for ranks that wait for this one
    sys.exit(0)


def _perform(payload: dict[str, Any], line: ComponentEnd, rank: int) -> int:
    """Run the function and tell how it ended; return the exit status."""
    by_line()
    try:
        line.send("result", _run(payload, line, rank))
        return 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else (0 if leaving.code is None else 1)
        if isinstance(leaving.code, str):
            print(leaving.code, file=sys.stderr)
        line.send("result" if status == 0 else "error", None if status == 0 else f"SystemExit: {leaving.code}")
        return status
    except BaseException as error:
        traceback.print_exc()
        line.send("error", said(error))
        return 1
    finally:
        flush()


def by_line() -> None:
    """Have what is printed reach the log line by line."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def flush() -> None:
    """Write out what was printed; a component may have closed or replaced its streams."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.flush()


def said(error: BaseException) -> str:
    """Return an exception as one would tell it: a known error by its message, another with its type."""
    if isinstance(error, ThalwegError):
        return str(error)
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def _run(payload: dict[str, Any], line: ComponentEnd, rank: int) -> Any:
    import cloudpickle

    from thalweg.results.tracer import Tracer, set_current_tracer
    from thalweg.workflow.inside import ComponentContext, enter

    context = ComponentContext(payload["name"], rank, line.send, threading.Event())
    context.tasks.listen_with(lambda: _listen(context, line))
    enter(context, whole_process=True)
    tracer = None
    if payload["traces"] is not None:
        tracer = Tracer(Path(payload["traces"]), payload["name"], rank, payload["run_start_ns"])
        set_current_tracer(tracer)
    function, args = cloudpickle.loads(payload["call"])
    try:
        result = function(**args)
        context.tasks.finish()
        return result
    finally:
        if tracer is not None:
            tracer.close()


def _listen(context: Any, line: ComponentEnd) -> None:
    """Take in the launcher's answers to tasks that were submitted."""
    while (message := line.receive()) is not None:
        if message[0] == "task":
            context.tasks.settle(message[1])
    context.tasks.lost("the launcher has gone")
