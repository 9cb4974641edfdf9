"""The result folder of one run: run.json, logs, and what the traces are merged into."""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import math
import shutil
import threading
import time
from pathlib import Path
from typing import Any, Literal

from thalweg.errors import ExistsError, InvalidError, NotFoundError
from thalweg.results.facts import read_facts, write_facts
from thalweg.results.folder_lock import LOCK_NAME, FolderLock
from thalweg.results.machine import machine, versions
from thalweg.results.tracer import Tracer

FORMAT = "thalweg-run/1"
Status = Literal["running", "done", "failed", "interrupted"]


@dataclasses.dataclass
class ComponentRecord:
    """How one component of the run ended; `log` is relative to the folder."""

    name: str
    type: str
    rank: int = 0
    status: str = "done"
    exit_status: int | None = None
    elapsed_s: float = 0.0
    log: str | None = None
    error: str | None = None


@dataclasses.dataclass
class ResultTable:
    """A table that is ready to print."""

    title: str
    columns: list[str]
    rows: list[list[Any]]


@dataclasses.dataclass
class Artifact:
    """A file of the run; `path` is relative to the folder."""

    title: str
    path: str
    kind: Literal["figure", "file"] = "file"


class RunFolder:
    """Writes the folder that docs/formats/result-folder.md describes; `RunFolder.open` reads one.

    Parameters
    ----------
    path : Path
        The folder; made when it is not there.
    name : str
        Name of the run; default: the folder's name.
    pattern, backend : str
        What was run, and over which DataStore backend.
    configuration : dict
        Everything needed to run it again; must be JSON.
    replace : bool
        Empty the folder first when it holds an earlier run.

    Raises
    ------
    ExistsError
        When the folder holds an earlier run and `replace` is not given.
    FolderInUseError
        When a run that has not finished holds the folder.
    InvalidError
        When the folder holds something else than a run, or cannot be made or written.
    """

    _lock: FolderLock | None = None

    def __init__(
        self,
        path: Path,
        *,
        name: str | None = None,
        pattern: str | None = None,
        backend: str | None = None,
        configuration: dict[str, Any] | None = None,
        replace: bool = False,
    ) -> None:
        self.path = Path(path)
        lock = FolderLock(self.path)
        try:
            _make_room(self.path, replace)
        except BaseException:
            lock.release()
            raise
        self._lock = lock
        self.logs.mkdir(exist_ok=True)
        self.traces.mkdir(exist_ok=True)
        self.start_ns = time.monotonic_ns()
        self.components: list[ComponentRecord] = []
        self.tables: list[ResultTable] = []
        self.artifacts: list[Artifact] = []
        self.summary: dict[str, Any] = {}
        self.status: Status = "running"
        self.elapsed_s = 0.0
        self.facts: dict[str, Any] = {
            "format": FORMAT,
            "name": name or self.path.name,
            "pattern": pattern,
            "backend": backend,
            "started_utc": datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z"),
            "configuration": configuration or {},
            "machine": machine(),
            "versions": versions(),
        }
        self.write_facts()

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open the folder of an earlier run to read it, or to finish merging it.

        Raises
        ------
        NotFoundError
            When there is no run.json.
        CorruptDataError
            When run.json is not of this format.
        """
        file = Path(path) / "run.json"
        facts = read_facts(file, FORMAT, "RunFolder.open", "the folder of a run")
        folder = cls.__new__(cls)
        folder.path = Path(path)
        folder.start_ns = 0
        folder.components = [ComponentRecord(**entry) for entry in facts.pop("components", [])]
        folder.tables = [ResultTable(**entry) for entry in facts.pop("tables", [])]
        folder.artifacts = [Artifact(**entry) for entry in facts.pop("artifacts", [])]
        folder.summary = facts.pop("summary", {})
        folder.status = facts.pop("status", "running")
        folder.elapsed_s = facts.pop("elapsed_s", 0.0)
        folder.facts = facts
        return folder

    @property
    def logs(self) -> Path:
        """Where component logs are."""
        return self.path / "logs"

    @property
    def traces(self) -> Path:
        """Where trace files are until they are merged."""
        return self.path / "traces"

    @property
    def events_path(self) -> Path:
        """Return the path of events.parquet."""
        return self.path / "events.parquet"

    def tracer(self, component: str, rank: int = 0) -> Tracer:
        """Return a new tracer whose events become part of this run."""
        return Tracer(self.traces, component, rank, self.start_ns)

    def events(self) -> Any:
        """Read events.parquet as a pyarrow table.

        Raises
        ------
        NotFoundError
            When the run is not merged yet.
        """
        from thalweg.results.events import read_events

        if not self.events_path.exists():
            raise NotFoundError(f"RunFolder.events: {self.events_path} is not there yet; call merge_events() first")
        return read_events(self.events_path)

    def prepare_merge(self) -> None:
        """Import Arrow beside what runs meanwhile, so that merging need not wait for it."""
        threading.Thread(target=importlib.import_module, args=("pyarrow.parquet",), daemon=True).start()

    def merge_events(self) -> Any:
        """Merge the trace files into events.parquet and timeline.json, and remove them; returns the table.

        Merging a folder that has no trace files left keeps what is there.
        """
        from thalweg.results.events import merge_traces, read_events
        from thalweg.results.timeline import write_timeline

        if self.events_path.exists() and not any(self.traces.glob("*.trace")):
            return read_events(self.events_path)
        events = merge_traces(self.traces, self.events_path)
        write_timeline(events, self.path / "timeline.json")
        shutil.rmtree(self.traces, ignore_errors=True)
        return events

    def finish(self, status: Status = "done") -> None:
        """Merge the events, write run.json for the last time, and let other runs have the folder."""
        self.status = status
        self.elapsed_s = (time.monotonic_ns() - self.start_ns) / 1e9
        self.merge_events()
        self.write_facts()
        if self._lock is not None:
            self._lock.release()

    def write_facts(self) -> None:
        """Write run.json, atomically.

        Raises
        ------
        InvalidError
            When the configuration, summary or a table holds something that JSON does not know.
        """
        content = {
            **self.facts,
            "elapsed_s": self.elapsed_s,
            "status": self.status,
            "components": [dataclasses.asdict(entry) for entry in self.components],
            "summary": self.summary,
            "tables": [dataclasses.asdict(entry) for entry in self.tables],
            "artifacts": [dataclasses.asdict(entry) for entry in self.artifacts],
        }
        try:
            write_facts(self.path / "run.json", _finite(content))
        except TypeError as error:
            raise InvalidError(f"RunFolder: run.json cannot hold this value: {error}") from error


def _finite(value: Any) -> Any:
    """Replace what JSON has no number for (nan, infinities) by null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return value


def _make_room(path: Path, replace: bool) -> None:
    """Empty the folder of an earlier run, the lock excepted, or refuse it."""
    entries = [entry for entry in path.iterdir() if entry.name != LOCK_NAME]
    if not entries:
        return
    if not (path / "run.json").exists():
        raise InvalidError(f"RunFolder: {path} holds files that are not of a run; give an empty or new folder")
    if not replace:
        raise ExistsError(f"RunFolder: {path} holds an earlier run; give another folder or replace=True")
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
