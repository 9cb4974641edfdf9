"""The process of one `local` component: what runs on the other side of `local.py`."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import struct
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1


def send(fd: int, kind: str, content: Any) -> None:
    """Write one message: its length, then the pickled pair."""
    import cloudpickle

    data = cloudpickle.dumps((kind, content))
    view = memoryview(struct.pack("<Q", len(data)) + data)
    while view:
        view = view[os.write(fd, view) :]


def main(payload_fd: int, messages_fd: int, parent: int) -> None:
    """Run the component whose payload is in `payload_fd`, tell its result over `messages_fd`, exit."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(125)
    for fd in (payload_fd, messages_fd):
        os.set_inheritable(fd, False)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    status = 1
    try:
        with os.fdopen(payload_fd, "rb") as file:
            payload = pickle.load(file)
        result = _run(payload, messages_fd)
        send(messages_fd, "result", result)
        status = 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else (0 if leaving.code is None else 1)
        if isinstance(leaving.code, str):
            print(leaving.code, file=sys.stderr)
        send(messages_fd, "result" if status == 0 else "error", None if status == 0 else f"SystemExit: {leaving.code}")
    except BaseException as error:
        traceback.print_exc()
        send(messages_fd, "error", "".join(traceback.format_exception_only(type(error), error)).strip())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    sys.exit(status)


def _run(payload: dict[str, Any], messages_fd: int) -> Any:
    import cloudpickle

    from thalweg.results.tracer import Tracer, set_current_tracer
    from thalweg.workflow.inside import ComponentContext, enter

    lock = threading.Lock()

    def tell(progress: Any) -> None:
        with lock, contextlib.suppress(BrokenPipeError):
            send(messages_fd, "progress", tuple(progress))

    enter(ComponentContext(payload["name"], tell, threading.Event()))
    tracer = None
    if payload["traces"] is not None:
        tracer = Tracer(Path(payload["traces"]), payload["name"], 0, payload["run_start_ns"])
        set_current_tracer(tracer)
    function, args = cloudpickle.loads(payload["call"])
    try:
        return function(**args)
    finally:
        if tracer is not None:
            tracer.close()
