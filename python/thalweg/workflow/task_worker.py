"""The process that runs tasks, one after the other."""

from __future__ import annotations

import sys
import threading
import traceback
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn

from thalweg.workflow.inside import ComponentContext, enter
from thalweg.workflow.line import ComponentEnd
from thalweg.workflow.worker import by_line, flush, said


def serve(payload: dict[str, Any], line: ComponentEnd) -> NoReturn:
    """Run each call that the launcher sends, until it has no more."""
    by_line()
    calls: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
    worker = _Worker(payload, line)
    threading.Thread(target=worker.listen, args=(calls,), name="thalweg-line", daemon=True).start()
    while (call := calls.get()) is not None:
        worker.run(call)
    worker.close()
    sys.exit(0)


_MOST_TRACERS = 16


class _Worker:
    def __init__(self, payload: dict[str, Any], line: ComponentEnd) -> None:
        self._payload, self._line = payload, line
        self._context: ComponentContext | None = None
        self._tracers: dict[str, Any] = {}

    def listen(self, calls: SimpleQueue[dict[str, Any] | None]) -> None:
        """Take calls in, and answers to what the running task has submitted itself."""
        while (message := self._line.receive()) is not None:
            kind, content = message
            if kind == "call":
                calls.put(content)
            elif kind == "task" and self._context is not None:
                self._context.tasks.settle(content)
            elif kind == "end":
                break
        calls.put(None)

    def run(self, call: dict[str, Any]) -> None:
        """Run one task and tell how it ended."""
        import cloudpickle

        from thalweg.results.tracer import set_current_tracer

        self._context = ComponentContext(call["name"], 0, self._line.send, threading.Event(), call["depth"] + 1)
        enter(self._context, whole_process=True)
        self._line.send("started", None)
        set_current_tracer(self._tracer(call["name"]))
        try:
            function, args, kwargs = cloudpickle.loads(call["call"])
            result = function(*args, **kwargs)
            self._context.tasks.finish()
            answer: dict[str, Any] = {"done": True, "result": cloudpickle.dumps(result)}
        except BaseException as error:
            traceback.print_exc()
            self._context.tasks.lost("the task that submitted it has failed")
            why = said(error)
            answer = {"done": False, "error": why}
        flush()
        self._line.send("ended", answer)

    def close(self) -> None:
        """Close the trace files."""
        for tracer in self._tracers.values():
            tracer.close()

    def _tracer(self, name: str) -> Any:
        if self._payload["traces"] is None:
            return None
        if name not in self._tracers:
            if len(self._tracers) >= _MOST_TRACERS:  # each has a descriptor and a mapped chunk
                self._tracers.pop(next(iter(self._tracers))).close()
            from thalweg.results.tracer import Tracer

            folder, start_ns = Path(self._payload["traces"]), self._payload["run_start_ns"]
            self._tracers[name] = Tracer(folder, name, self._payload["worker"], start_ns)
        return self._tracers[name]
