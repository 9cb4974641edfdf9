"""What a process needs to run a component's function: the pickled call, and where its events go."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

from thalweg.errors import ConfigError
from thalweg.workflow.component import Component
from thalweg.workflow.resources import Grant

_PLAIN_BYTES = 200  # file names have 255, and nested components the names of their workflows before their own


@dataclasses.dataclass(frozen=True)
class Recording:
    """Where logs and events of a run go; None: they are not kept. `start_ns` is CLOCK_MONOTONIC at its start."""

    logs: Path | None
    traces: Path | None
    start_ns: int

    def log(self, name: str) -> Path | None:
        """Return the path of a component's log."""
        return self.logs / log_name(name) if self.logs is not None else None


def log_name(name: str) -> str:
    """Return a component's name as a file name; one that had to be changed is told from others by a short digest."""
    plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
    if plain != name:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        plain = f"{plain.encode()[:_PLAIN_BYTES].decode(errors='ignore')}-{digest[:8]}"
    return plain + ".log"


def pack_call(component: Component) -> bytes:
    """Pickle function and arguments, so that a fresh process can run them.

    Raises
    ------
    ConfigError
        When they cannot be.
    """
    import cloudpickle

    try:
        packed: bytes = cloudpickle.dumps((component.function, dict(component.args)))
    except Exception as error:
        raise ConfigError(
            f"Workflow: component {component.name!r} cannot be sent to a process of its own: {error}; "
            "give plain data (such as server info) in args and open connections in the function, or use type 'thread'"
        ) from error
    return packed


def worker_payload(number: int, recording: Recording) -> dict[str, Any]:
    """Return what a process that runs tasks gets; the calls come later."""
    nothing = Component(f"task worker {number}")
    return {**payload(nothing, None, Grant(()), recording), "worker": number}


def payload(component: Component, call: bytes | None, grant: Grant, recording: Recording) -> dict[str, Any]:
    """Return what the process gets; it holds nothing but plain data and bytes."""
    return {
        "name": component.name,
        "call": call,
        "cpus": grant.cpus,
        "gpus": grant.gpus,
        "alone": component.type != "remote",
        "traces": str(recording.traces) if recording.traces is not None else None,
        "run_start_ns": recording.start_ns,
    }
