"""A component in a thread of this process."""

from __future__ import annotations

import contextlib
import contextvars
import os
import selectors
import threading
import traceback
from queue import Empty, SimpleQueue
from typing import Any

from thalweg.results.tracer import Tracer, set_current_tracer
from thalweg.workflow.call import Recording
from thalweg.workflow.component import Component
from thalweg.workflow.inside import ComponentContext, enter
from thalweg.workflow.line import Message
from thalweg.workflow.running import Outcome, Running
from thalweg.workflow.worker import said


class ThreadRun(Running):
    """Runs the function in a thread. It cannot be ended from outside: it must ask `stop_requested`."""

    def __init__(self, component: Component, recording: Recording) -> None:
        self._component, self._recording = component, recording
        self._stop = threading.Event()
        self._queue: SimpleQueue[Message | Outcome] = SimpleQueue()
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._open = threading.Lock()
        self._closed = False
        self._context = ComponentContext(
            component.name, 0, lambda kind, content: self._tell((kind, content)), self._stop
        )
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._context.tasks.listen_with(self._listen)
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._run,), name=f"thalweg-{component.name}", daemon=True).start()

    def interests(self) -> list[tuple[int, int]]:
        return [(self._read, selectors.EVENT_READ)]

    def advance(self) -> tuple[list[Message], Outcome | None]:
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 65536)
        told: list[Message] = []
        while True:
            try:
                entry = self._queue.get_nowait()
            except Empty:
                return told, None
            if isinstance(entry, Outcome):
                return told, entry
            told.append(entry)

    def deliver(self, kind: str, content: Any) -> None:
        if kind == "task":  # not here: callbacks of its future must not run in the launcher's loop
            self._answers.put(content)

    def ask_to_stop(self) -> None:
        self._stop.set()
        self._answers.put("the workflow is being stopped")

    def kill(self) -> bool:
        self._stop.set()
        return False

    def close(self) -> None:
        self._answers.put("the component has ended")
        with self._open:
            self._closed = True
            os.close(self._read)
            os.close(self._write)

    def _tell(self, entry: Message | Outcome) -> None:
        self._queue.put(entry)
        with self._open:
            if not self._closed:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._write, b"\0")

    def _listen(self) -> None:
        """Take in answers to tasks, until there will be no more."""
        while not isinstance(answer := self._answers.get(), str):
            self._context.tasks.settle(answer)
        self._context.tasks.lost(answer)

    def _run(self) -> None:
        outcome = Outcome(False, None, None, "it ended without an outcome")
        try:
            outcome = self._outcome()
        except BaseException as error:  # of the recording: its folder is full or gone
            outcome = Outcome(False, None, None, said(error))
        finally:
            self._tell(outcome)

    def _outcome(self) -> Outcome:
        enter(self._context, whole_process=False)
        tracer = None
        if self._recording.traces is not None:
            tracer = Tracer(self._recording.traces, self._component.name, 0, self._recording.start_ns)
            set_current_tracer(tracer)
        assert self._component.function is not None
        try:
            result = self._component.function(**self._component.args)
            self._context.tasks.finish()
            outcome = Outcome(True, 0, result)
        except BaseException as error:
            text = "".join(traceback.format_exception(error))
            log = self._recording.log(self._component.name)
            if log is not None:
                log.write_text(text, encoding="utf-8")
            why = said(error)
            outcome = Outcome(False, None, None, why, "\n".join(text.splitlines()[-20:]))
        if tracer is not None:
            tracer.close()
        return outcome
