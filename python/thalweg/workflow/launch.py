"""One launch of a workflow: starts what is ready, sleeps until something happens, ends everything."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from thalweg.errors import ComponentFailedError, WaitTimeoutError
from thalweg.results.folder import ComponentRecord
from thalweg.workflow.call import Recording, log_name, pack_call, payload, worker_payload
from thalweg.workflow.component import Component
from thalweg.workflow.graph import all_dependencies
from thalweg.workflow.guard import Guard
from thalweg.workflow.launchers import find_launcher
from thalweg.workflow.local import LocalCommand, LocalFunction
from thalweg.workflow.progress import Progress
from thalweg.workflow.remote import RemoteCommand, RemoteFunction
from thalweg.workflow.resources import Grant, Ledger, Resources
from thalweg.workflow.running import Outcome, Running
from thalweg.workflow.task_pool import Answer, TaskPool, task_process_name
from thalweg.workflow.thread import ThreadRun
from thalweg.workflow.uninterrupted import uninterrupted
from thalweg.workflow.watch import Watch

_LOG_INTERVAL_S = 0.2


class Launch:
    """Runs the components of one workflow once.

    Parameters
    ----------
    name : str
        Name of the workflow, for errors.
    components : mapping
        Checked components by name.
    resources : Resources
        What components may be given.
    recording : Recording
        Where logs and events go.
    grace_s : float
        Seconds between asking a component to stop and killing it.
    task_processes : int
        Processes that run tasks.
    on_progress : callable, optional
        Called in this thread with each `Progress`.
    on_log : callable, optional
        Called in this thread with a component's name and each line of its log.

    Raises
    ------
    ConfigError, MissingLibraryError
        When a component cannot be run here: its arguments cannot be sent, it asks for more than there is, or there is
        no MPI launcher. Nothing was started then.
    """

    def __init__(
        self,
        name: str,
        components: Mapping[str, Component],
        *,
        resources: Resources,
        recording: Recording,
        grace_s: float,
        task_processes: int,
        on_progress: Callable[[Progress], None] | None,
        on_log: Callable[[str, str], None] | None,
    ) -> None:
        self._name, self._components = name, components
        self._recording, self._grace_s = recording, grace_s
        self._on_progress, self._on_log = on_progress, on_log
        self._ledger = Ledger(resources)
        self._calls = {c.name: pack_call(c) for c in components.values() if c.function and c.type != "thread"}
        for component in components.values():
            self._ledger.check(component)
            if component.type == "remote":
                find_launcher(component.launcher, component.name)
        self._guard: Guard | None = None
        self._waiting = dict(components)
        self._running: dict[str, Running] = {}
        self._grants: dict[str, Grant] = {}
        self._deadlines_s: dict[str, float] = {}
        self._late: dict[str, float | None] = {}  # over its time: when it is killed, None once it is
        self._started_s: dict[str, float] = {}
        self._attempts: dict[str, int] = {}
        self._failed: str | None = None
        self._ending: str | None = None
        self._watch = Watch()
        self._pool = TaskPool(self._watch, self._start_worker, task_processes, self._told)
        self.results: dict[str, Any] = {}
        self._records = {
            c.name: ComponentRecord(c.name, c.type, status="cancelled", log=self._log_name(c.name))
            for c in components.values()
        }

    @property
    def records(self) -> list[ComponentRecord]:
        """How each component ended, then each kind of task."""
        return [*self._records.values(), *self._pool.records()]

    def run(self, timeout_s: float | None) -> dict[str, Any]:
        """Run to the end; return results by component.

        Raises
        ------
        ComponentFailedError
            When a component failed; all others have ended then.
        WaitTimeoutError
            When `timeout_s` passed; all have ended then.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            while self._waiting or self._running:
                self._start_ready()
                self._watch.step(self._sleep_s(until))
                self._show_logs()
                self._expire()
                if self._failed is not None:
                    self._stop_all("stopped")
                    raise ComponentFailedError(self._failed)
                if until is not None and time.monotonic() >= until and self._running:
                    names = ", ".join(repr(name) for name in self._running)
                    self._stop_all("stopped")
                    raise WaitTimeoutError(f"Workflow {self._name!r}: {names} did not end within {timeout_s} s")
            self._show_logs()
            self._pool.stop(self._grace_s)
        except BaseException:
            self._stop_all("interrupted")
            raise
        finally:
            self._watch.close()
            if self._guard is not None:
                self._guard.close()
        return self.results

    def _start_ready(self) -> None:
        for name, component in list(self._waiting.items()):
            if all(dependency in self.results for dependency in component.dependencies):
                grant = self._ledger.take(component)
                if grant is not None:
                    del self._waiting[name]
                    self._grants[name] = grant
                    self._start(component)

    def _start(self, component: Component) -> None:
        name = component.name
        self._started_s.setdefault(name, time.monotonic())
        self._attempts[name] = self._attempts.get(name, 0) + 1
        if component.timeout_s is not None:
            self._deadlines_s[name] = time.monotonic() + component.timeout_s
        with uninterrupted():
            self._running[name] = running = self._make(component, self._grants[name])
            self._records[name].status = "running"
            self._watch.add(running, lambda: self._advance(name))

    def _make(self, component: Component, grant: Grant) -> Running:
        if component.type == "thread":
            return ThreadRun(component, self._recording)
        guard, log = self._started_guard(), self._recording.log(component.name)
        if component.command:
            if component.type == "remote":
                return RemoteCommand(component, grant, guard, log)
            return LocalCommand(component, grant, guard, log)
        content = payload(component, self._calls[component.name], grant, self._recording)
        if component.type == "remote":
            return RemoteFunction(component, content, grant, guard, log)
        return LocalFunction(component, content, guard, log)

    def _start_worker(self, number: int) -> LocalFunction:
        name = task_process_name(number)
        content = worker_payload(number, self._recording)
        return LocalFunction(Component(name), content, self._started_guard(), self._recording.log(name))

    def _started_guard(self) -> Guard:
        if self._guard is None:
            self._guard = Guard()
        return self._guard

    def _sleep_s(self, until: float | None) -> float | None:
        own = [running.wakes_s() for running in self._running.values()]
        moments = [*own, *self._deadlines_s.values(), *self._late.values(), self._pool.deadline_s(), until]
        first = min((moment for moment in moments if moment is not None), default=None)
        left = None if first is None else max(0.0, first - time.monotonic())
        if self._on_log is None:
            return left
        return _LOG_INTERVAL_S if left is None else min(left, _LOG_INTERVAL_S)

    def _show_logs(self) -> None:
        if self._on_log is not None:
            for name, running in [*self._running.items(), *self._pool.processes()]:
                for line in running.new_lines():
                    self._on_log(name, line)

    def _expire(self) -> None:
        """Ask what has used up its own time to stop, such as an MPI launcher that tidies up, and kill it later."""
        now = time.monotonic()
        if any(now >= deadline_s for deadline_s in self._deadlines_s.values()):
            self._watch.step(0.0)  # what has ended in time is taken in first, however late we are
        for name in [name for name, deadline_s in self._deadlines_s.items() if now >= deadline_s]:
            del self._deadlines_s[name]
            self._late[name] = now + self._grace_s
            self._running[name].ask_to_stop()
        for name in [name for name, moment_s in self._late.items() if moment_s is not None and now >= moment_s]:
            self._late[name] = None
            self._running[name].kill()
        for name, running in list(self._running.items()):
            if (moment_s := running.wakes_s()) is not None and now >= moment_s:
                self._advance(name)
        self._pool.expire()

    def _advance(self, name: str) -> None:
        running = self._running[name]
        messages, outcome = running.advance()
        for kind, content in messages:
            self._told(running, self._answerer(running), kind, content)
        if outcome is None:
            return
        if name in self._late:
            limit = self._components[name].timeout_s
            outcome = outcome._replace(done=False, error=f"did not end within {limit:g} s")
        self._pool.owner_ended(running)
        if self._ending is not None:
            self._end(name, "done" if outcome.done else self._ending, outcome)
        elif outcome.done:
            self._end(name, "done", outcome)
            self.results[name] = outcome.result
        elif self._attempts[name] <= self._components[name].retries:
            self._forget(name)
            self._start(self._components[name])
        else:
            self._end(name, "failed", outcome)
            self._failed = self._failed or self._failure(name, outcome)

    def _told(self, owner: Hashable, answer: Answer, kind: str, content: Any) -> None:
        if kind == "progress" and self._on_progress is not None:
            self._on_progress(Progress(*content))
        elif kind == "submit" and self._ending is None:
            self._pool.submit(owner, content, answer)
        elif kind == "cancel":
            self._pool.cancel(owner, content)

    def _answerer(self, running: Running) -> Answer:
        """Return what tells a component how its task ended."""

        def answer(content: dict[str, Any]) -> None:
            running.deliver("task", content)
            self._watch.refresh(running)  # it may take more than the socket does at once

        return answer

    def _stop_all(self, status: str) -> None:
        """Ask all to stop, wait for the grace, kill what is left. Takes no longer than the grace and a little."""
        self._ending = status
        self._waiting.clear()
        for running in self._running.values():
            running.ask_to_stop()
        self._pool.stop(0.0)
        self._drain(time.monotonic() + self._grace_s)
        for name, running in list(self._running.items()):
            if not running.kill():
                self._records[name].error = "a thread that did not stop when asked; it may still run"
                self._records[name].status = status
                self._forget(name, close=False)
        self._drain(time.monotonic() + self._grace_s)

    def _drain(self, until: float) -> None:
        while self._running and (left := until - time.monotonic()) > 0:
            self._watch.step(left)

    def _end(self, name: str, status: str, outcome: Outcome) -> None:
        record = self._records[name]
        record.status, record.exit_status, record.error = status, outcome.exit_status, outcome.error
        record.elapsed_s = time.monotonic() - self._started_s[name]
        self._forget(name)
        self._ledger.give_back(self._grants.pop(name))

    def _forget(self, name: str, close: bool = True) -> None:
        running = self._running.pop(name)
        if self._on_log is not None:
            for line in running.new_lines(ended=True):
                self._on_log(name, line)
        self._deadlines_s.pop(name, None)
        self._late.pop(name, None)
        self._watch.remove(running)
        if close:
            running.close()

    def _failure(self, name: str, outcome: Outcome) -> str:
        message = f"Workflow {self._name!r}: component {name!r} failed: {outcome.error}"
        cancelled = [other for other in self._waiting if name in all_dependencies(other, self._components)]
        if cancelled:
            message += f"\nnot started: {', '.join(cancelled)}"
        if outcome.last_lines and "\nlast lines:" not in message:  # a task's failure brings its own
            log = self._recording.log(name)
            where = f" of {log}" if log is not None else ""
            message += f"\nlast lines{where}:\n" + "\n".join(f"  {line}" for line in outcome.last_lines.splitlines())
        return message

    def _log_name(self, name: str) -> str | None:
        return f"logs/{log_name(name)}" if self._recording.logs is not None else None
