"""A component in a thread of this process."""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
import traceback
from pathlib import Path
from queue import Empty, SimpleQueue

from thalweg.results.tracer import Tracer, set_current_tracer
from thalweg.workflow import inside
from thalweg.workflow.component import Component
from thalweg.workflow.progress import Progress
from thalweg.workflow.running import Outcome, Running


class ThreadRun(Running):
    """Runs the function in a thread. It cannot be ended from outside: it must ask `stop_requested`."""

    def __init__(self, component: Component, *, log: Path | None, traces: Path | None, run_start_ns: int) -> None:
        self._component, self._log = component, log
        self._traces, self._run_start_ns = traces, run_start_ns
        self._stop = threading.Event()
        self._queue: SimpleQueue[Progress | Outcome] = SimpleQueue()
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._open = threading.Lock()
        self._closed = False
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._run,), name=f"thalweg-{component.name}", daemon=True).start()

    def filenos(self) -> list[int]:
        return [self._read]

    def advance(self) -> tuple[list[Progress], Outcome | None]:
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 65536)
        progress: list[Progress] = []
        while True:
            try:
                entry = self._queue.get_nowait()
            except Empty:
                return progress, None
            if isinstance(entry, Outcome):
                return progress, entry
            progress.append(entry)

    def ask_to_stop(self) -> None:
        self._stop.set()

    def kill(self) -> bool:
        self._stop.set()
        return False

    def close(self) -> None:
        with self._open:
            self._closed = True
            os.close(self._read)
            os.close(self._write)

    def _tell(self, entry: Progress | Outcome) -> None:
        self._queue.put(entry)
        with self._open:
            if not self._closed:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._write, b"\0")

    def _run(self) -> None:
        inside.enter(inside.ComponentContext(self._component.name, self._tell, self._stop))
        tracer = None
        if self._traces is not None:
            tracer = Tracer(self._traces, self._component.name, 0, self._run_start_ns)
            set_current_tracer(tracer)
        try:
            outcome = Outcome(True, 0, self._component.function(**self._component.args))
        except BaseException as error:
            text = "".join(traceback.format_exception(error))
            if self._log is not None:
                self._log.write_text(text, encoding="utf-8")
            why = "".join(traceback.format_exception_only(type(error), error)).strip()
            outcome = Outcome(False, None, None, why, "\n".join(text.splitlines()[-20:]))
        if tracer is not None:
            tracer.close()
        self._tell(outcome)
