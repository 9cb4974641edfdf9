"""The processes that run tasks, and the tasks that wait for one: the launcher's side of `tasks`."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Literal

from thalweg.results.folder import ComponentRecord
from thalweg.workflow.local import LocalFunction
from thalweg.workflow.running import Outcome
from thalweg.workflow.uninterrupted import uninterrupted
from thalweg.workflow.watch import Watch

_LAST_PATIENCE_S = 5.0
_FALSE_STARTS = 3
Answer = Callable[[dict[str, Any]], None]


@dataclasses.dataclass(eq=False)
class _Task:
    """One task; it is itself the owner of the tasks that it submits."""

    owner: Hashable
    content: dict[str, Any]
    answer: Answer
    worker: LocalFunction | None = None
    begun: bool = False
    attempts: int = 0
    false_starts: int = 0
    deadline_s: float | None = None
    started_s: float = 0.0
    log_start: int = 0
    over: Literal["", "given up", "out of time"] = ""


@dataclasses.dataclass
class _Kind:
    """What is told of all tasks of one name."""

    ended: int = 0
    failed: int = 0
    elapsed_s: float = 0.0
    error: str | None = None


def task_process_name(number: int) -> str:
    """Return what a process that runs tasks is called in logs."""
    return f"tasks-{number}"


class TaskPool:
    """Runs tasks in processes that are kept for the next one.

    Tasks of one depth have `limit` processes at most; tasks that these submit have as many of their own, so that a task
    that waits for its own tasks cannot keep them from running.

    Parameters
    ----------
    watch : Watch
        Where the processes are watched.
    start : callable
        Starts process number n.
    on_message : callable
        Called with the owner, how to answer, kind and content of what a task tells beside its end (progress, submit).
    """

    def __init__(
        self,
        watch: Watch,
        start: Callable[[int], LocalFunction],
        limit: int,
        on_message: Callable[[Hashable, Answer, str, Any], None],
    ) -> None:
        self._watch, self._start, self._limit, self._on_message = watch, start, limit, on_message
        self._waiting: dict[int, deque[_Task]] = {}
        self._by_owner: dict[Hashable, dict[tuple[int, int], _Task]] = {}
        self._busy: dict[LocalFunction, _Task] = {}
        self._idle: list[LocalFunction] = []
        self._dying: set[LocalFunction] = set()
        self._kinds: dict[str, _Kind] = {}
        self._numbers = 0
        self._started: dict[LocalFunction, int] = {}

    def submit(self, owner: Hashable, content: dict[str, Any], answer: Answer) -> None:
        """Run a task when a process is free; `answer` gets how it ended."""
        if isinstance(owner, _Task) and owner.over == "given up":
            return  # its process is being killed
        task = _Task(owner, content, answer)
        self._by_owner.setdefault(owner, {})[content["origin"], content["number"]] = task
        self._waiting.setdefault(content["depth"], deque()).append(task)
        self._fill()

    def cancel(self, owner: Hashable, content: dict[str, Any]) -> None:
        """Give a task up: forget it when it waits, kill its process when it runs."""
        task = self._by_owner.get(owner, {}).pop((content["origin"], content["number"]), None)
        if task is not None:
            self._give_up(task)

    def owner_ended(self, owner: Hashable) -> None:
        """Give up the tasks of a component or task that has ended, and those that they submitted."""
        for task in self._by_owner.pop(owner, {}).values():
            self._give_up(task)
            self.owner_ended(task)

    def deadline_s(self) -> float | None:
        """Return the time (``time.monotonic()``) at which `expire` has something to do."""
        return min((task.deadline_s for task in self._busy.values() if task.deadline_s is not None), default=None)

    def expire(self) -> None:
        """Kill the processes of tasks whose time is over."""
        now = time.monotonic()
        for worker, task in list(self._busy.items()):
            if task.deadline_s is not None and now >= task.deadline_s:
                task.deadline_s, task.over = None, "out of time"
                self._kill(worker)

    def stop(self, grace_s: float) -> None:
        """End all processes: idle ones by themselves within `grace_s`, then all are killed."""
        self._waiting.clear()
        for worker, task in list(self._busy.items()):
            task.over = "given up"
            self._kill(worker)
        for worker in self._idle:
            worker.deliver("end", None)
        self._wait(grace_s)
        for worker in list(self._started):
            self._kill(worker)
        self._wait(_LAST_PATIENCE_S)

    def _wait(self, patience_s: float) -> None:
        until = time.monotonic() + patience_s
        while self._started and (left := until - time.monotonic()) > 0:
            self._watch.step(left)

    def processes(self) -> list[tuple[str, LocalFunction]]:
        """Return the processes that run, by name."""
        return [(task_process_name(number), worker) for worker, number in self._started.items()]

    def records(self) -> list[ComponentRecord]:
        """Return one record for all tasks of a name."""
        records = []
        for name, kind in self._kinds.items():
            record = ComponentRecord(name, "task", status="done", exit_status=0, elapsed_s=kind.elapsed_s)
            if kind.failed:
                record.status, record.exit_status = "failed", 1
                record.error = f"{kind.failed} of {kind.ended} tasks failed; the last: {kind.error}"
            records.append(record)
        return records

    def _fill(self) -> None:
        for depth, waiting in self._waiting.items():
            running = sum(task.content["depth"] == depth for task in self._busy.values())
            while waiting and running < self._limit:
                task = waiting.popleft()
                if not task.over:
                    self._assign(task)
                    running += 1

    def _assign(self, task: _Task) -> None:
        if self._idle:
            worker = self._idle.pop()
        else:
            with uninterrupted():
                worker = self._start(self._numbers)
                self._started[worker] = self._numbers
                self._numbers += 1
                self._watch.add(worker, lambda: self._advance(worker))
        task.worker, task.begun = worker, False
        task.attempts += 1
        task.started_s = time.monotonic()
        task.log_start = worker.log_bytes()
        if task.content["timeout_s"] is not None:
            task.deadline_s = task.started_s + task.content["timeout_s"]
        self._busy[worker] = task
        self._deliver(worker, "call", task.content)

    def _deliver(self, worker: LocalFunction, kind: str, content: Any) -> None:
        if worker in self._started:
            worker.deliver(kind, content)
            self._watch.refresh(worker)  # it may be more than the socket takes at once

    def _give_up(self, task: _Task) -> None:
        task.over = "given up"
        if task.worker is not None and self._busy.get(task.worker) is task:
            self._kill(task.worker)

    def _kill(self, worker: LocalFunction) -> None:
        """Kill a process; it gets no other task until its end is noticed."""
        self._dying.add(worker)
        worker.kill()

    def _advance(self, worker: LocalFunction) -> None:
        messages, outcome = worker.advance()
        for kind, content in messages:
            task = self._busy.get(worker)
            if task is None:
                continue
            if kind == "started":
                task.begun = True
            elif kind == "ended":
                del self._busy[worker]
                if worker not in self._dying:
                    self._idle.append(worker)
                self._ended(worker, task, content)
            else:
                self._on_message(task, lambda answer: self._deliver(worker, "task", answer), kind, content)
        if outcome is not None:
            self._lost(worker, outcome)
        self._fill()

    def _lost(self, worker: LocalFunction, outcome: Outcome) -> None:
        task = self._busy.pop(worker, None)
        if worker in self._idle:
            self._idle.remove(worker)
        self._dying.discard(worker)
        self._watch.remove(worker)
        del self._started[worker]
        if task is not None and not task.begun and not task.over and task.false_starts < _FALSE_STARTS:
            task.false_starts += 1  # the process had ended before it took the task: nothing was tried
            task.attempts -= 1
            self._waiting[task.content["depth"]].appendleft(task)
        elif task is not None:
            self._ended(worker, task, {"done": False, "error": outcome.error})
        worker.close()

    def _ended(self, worker: LocalFunction, task: _Task, ending: dict[str, Any]) -> None:
        content = task.content
        task.worker, task.deadline_s = None, None
        self.owner_ended(task)
        if task.over == "given up":
            return
        if task.over == "out of time" and not ending["done"]:
            ending["error"] = f"did not end within {content['timeout_s']:g} s"
        if not ending["done"] and task.attempts <= content["retries"]:
            task.over = ""
            self._waiting[content["depth"]].appendleft(task)
            return
        self._by_owner.get(task.owner, {}).pop((content["origin"], content["number"]), None)
        kind = self._kinds.setdefault(content["name"], _Kind())
        kind.ended += 1
        kind.elapsed_s += time.monotonic() - task.started_s
        if not ending["done"]:
            kind.failed, kind.error = kind.failed + 1, ending["error"]
            lines = worker.last_lines(task.log_start)
            often = f" {task.attempts} times" if task.attempts > 1 else ""
            ending["error"] = f"task {content['name']!r} failed{often}: {ending['error']}" + (
                "\nlast lines:\n" + "\n".join(f"  {line}" for line in lines.splitlines()) if lines else ""
            )
        task.answer({"origin": content["origin"], "number": content["number"], **ending})
