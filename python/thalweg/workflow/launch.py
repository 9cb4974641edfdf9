"""One launch of a workflow: starts what is ready, sleeps until something happens, ends everything."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from thalweg.errors import ComponentFailedError, WaitTimeoutError
from thalweg.results.folder import ComponentRecord
from thalweg.workflow.component import Component
from thalweg.workflow.guard import Guard
from thalweg.workflow.local import LocalProcess, pack_call
from thalweg.workflow.progress import Progress
from thalweg.workflow.running import Outcome, Running
from thalweg.workflow.thread import ThreadRun


class Launch:
    """Runs the components of one workflow once.

    Parameters
    ----------
    name : str
        Name of the workflow, for errors.
    components : mapping
        Checked components by name.
    logs, traces : Path, optional
        Folders for logs and trace files; None: neither is kept.
    run_start_ns : int
        CLOCK_MONOTONIC at the start of the run.
    grace_s : float
        Seconds between asking a component to stop and killing it.
    on_progress : callable, optional
        Called in this thread with each `Progress`.
    """

    def __init__(
        self,
        name: str,
        components: Mapping[str, Component],
        *,
        logs: Path | None,
        traces: Path | None,
        run_start_ns: int,
        grace_s: float,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self._name, self._components = name, components
        self._logs, self._traces, self._run_start_ns = logs, traces, run_start_ns
        self._grace_s, self._on_progress = grace_s, on_progress
        self._calls = {c.name: pack_call(c) for c in components.values() if c.type == "local"}
        self._guard: Guard | None = None
        self._waiting = dict(components)
        self._running: dict[str, Running] = {}
        self._started_s: dict[str, float] = {}
        self._attempts: dict[str, int] = {}
        self._selector = selectors.DefaultSelector()
        self._watched: dict[str, list[int]] = {}
        self.results: dict[str, Any] = {}
        self.records = {
            c.name: ComponentRecord(c.name, c.type, status="cancelled", log=self._log_name(c.name))
            for c in components.values()
        }

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
                failed = self._step(until)
                if failed is not None:
                    self._stop_all("stopped")
                    raise ComponentFailedError(failed)
                if until is not None and time.monotonic() >= until and self._running:
                    names = ", ".join(repr(name) for name in self._running)
                    self._stop_all("stopped")
                    raise WaitTimeoutError(f"Workflow {self._name!r}: {names} did not end within {timeout_s} s")
        except BaseException:
            self._stop_all("interrupted")
            raise
        finally:
            self._selector.close()
            if self._guard is not None:
                self._guard.close()
        return self.results

    def _start_ready(self) -> None:
        for name, component in list(self._waiting.items()):
            if all(dependency in self.results for dependency in component.dependencies):
                del self._waiting[name]
                self._start(component)

    def _start(self, component: Component) -> None:
        name = component.name
        log = self._logs / f"{_safe(name)}.log" if self._logs is not None else None
        where: dict[str, Any] = {"log": log, "traces": self._traces, "run_start_ns": self._run_start_ns}
        self._started_s.setdefault(name, time.monotonic())
        self._attempts[name] = self._attempts.get(name, 0) + 1
        running: Running
        if component.type == "thread":
            running = ThreadRun(component, **where)
        else:
            if self._guard is None:
                self._guard = Guard()
            running = LocalProcess(component, self._calls[name], self._guard, **where)
        self._running[name] = running
        self.records[name].status = "running"
        self._watch(name)

    def _step(self, until: float | None) -> str | None:
        left = None if until is None else max(0.0, until - time.monotonic())
        ready = {key.data for key, _ in self._selector.select(left)}
        for name in ready:
            outcome = self._advance(name)
            if outcome is None:
                continue
            if outcome.done:
                self._end(name, "done", outcome)
                self.results[name] = outcome.result
            elif self._attempts[name] <= self._components[name].retries:
                self._forget(name)
                self._start(self._components[name])
            else:
                self._end(name, "failed", outcome)
                return self._failure(name, outcome)
        return None

    def _advance(self, name: str) -> Outcome | None:
        progress, outcome = self._running[name].advance()
        if self._on_progress is not None:
            for entry in progress:
                self._on_progress(entry)
        if outcome is None and self._running[name].filenos() != self._watched[name]:
            self._unwatch(name)
            self._watch(name)
        return outcome

    def _stop_all(self, status: str) -> None:
        """Ask all to stop, wait for the grace, kill what is left. Takes no longer than the grace and a little."""
        self._waiting.clear()
        for running in self._running.values():
            running.ask_to_stop()
        self._drain(status, time.monotonic() + self._grace_s)
        for name, running in list(self._running.items()):
            if not running.kill():
                self.records[name].error = "a thread that did not stop when asked; it may still run"
                self.records[name].status = status
                self._forget(name, close=False)
        self._drain(status, time.monotonic() + self._grace_s)

    def _drain(self, status: str, until: float) -> None:
        while self._running and (left := until - time.monotonic()) > 0:
            for name in {key.data for key, _ in self._selector.select(left)}:
                outcome = self._advance(name)
                if outcome is not None:
                    self._end(name, "done" if outcome.done else status, outcome)

    def _end(self, name: str, status: str, outcome: Outcome) -> None:
        record = self.records[name]
        record.status, record.exit_status, record.error = status, outcome.exit_status, outcome.error
        record.elapsed_s = time.monotonic() - self._started_s[name]
        self._forget(name)

    def _forget(self, name: str, close: bool = True) -> None:
        self._unwatch(name)
        running = self._running.pop(name)
        if close:
            running.close()

    def _watch(self, name: str) -> None:
        self._watched[name] = self._running[name].filenos()
        for fd in self._watched[name]:
            self._selector.register(fd, selectors.EVENT_READ, name)

    def _unwatch(self, name: str) -> None:
        for fd in self._watched.pop(name, []):
            self._selector.unregister(fd)

    def _failure(self, name: str, outcome: Outcome) -> str:
        message = f"Workflow {self._name!r}: component {name!r} failed: {outcome.error}"
        cancelled = [other for other in self._waiting if name in _all_dependencies(other, self._components)]
        if cancelled:
            message += f"\nnot started: {', '.join(cancelled)}"
        if outcome.last_lines:
            log = f" of {self._logs / (_safe(name) + '.log')}" if self._logs is not None else ""
            message += f"\nlast lines{log}:\n" + "\n".join(f"  {line}" for line in outcome.last_lines.splitlines())
        return message

    def _log_name(self, name: str) -> str | None:
        return f"logs/{_safe(name)}.log" if self._logs is not None else None


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)


def _all_dependencies(name: str, components: Mapping[str, Component]) -> set[str]:
    found: set[str] = set()
    todo = list(components[name].dependencies)
    while todo:
        dependency = todo.pop()
        if dependency not in found:
            found.add(dependency)
            todo += components[dependency].dependencies
    return found
