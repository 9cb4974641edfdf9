"""The folder of a sweep: which runs it has, and how each ended (docs/formats/sweep-folder.md)."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thalweg.errors import CorruptDataError, ExistsError, InvalidError
from thalweg.results.facts import read_facts, write_facts
from thalweg.results.folder_lock import LOCK_NAME, FolderLock

FORMAT = "thalweg-sweep/1"
FACTS = "sweep.json"


@dataclasses.dataclass
class SweepRun:
    """One run of a sweep; `folder` is relative to the sweep's."""

    point: dict[str, Any]
    folder: str
    status: str = "pending"
    elapsed_s: float = 0.0
    error: str | None = None


class SweepFolder:
    """A sweep's folder, written by who runs it and read by reports.

    Attributes
    ----------
    path : Path
        The folder.
    pattern : str
        What is run.
    options, axes : dict
        Options that all runs share, and the values of the others.
    repeats : int
        How often each combination runs.
    runs : list of SweepRun
        In the order in which they run.
    """

    _lock: FolderLock | None = None

    def __init__(
        self, path: Path, pattern: str, options: Mapping[str, Any], axes: Mapping[str, Sequence[Any]], repeats: int
    ) -> None:
        self.path, self.pattern = Path(path), pattern
        self.options, self.axes, self.repeats = dict(options), {key: list(axes[key]) for key in axes}, repeats
        self.started_utc = datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
        self.status = "running"
        self.runs = [SweepRun(point, f"runs/{_name(point)}") for point in _points(self.axes, repeats)]

    @classmethod
    def create(
        cls,
        path: Path,
        pattern: str,
        options: Mapping[str, Any],
        axes: Mapping[str, Sequence[Any]],
        repeats: int,
        *,
        resume: bool,
    ) -> SweepFolder:
        """Make the folder, or take up the sweep that is in it; holds the folder until `finish`.

        Raises
        ------
        ExistsError
            When the folder holds a sweep and `resume` is not asked for.
        FolderInUseError
            When another sweep runs in it.
        InvalidError
            When the sweep that is there has other options, or the folder holds something else.
        """
        sweep = cls(path, pattern, options, axes, repeats)
        lock = FolderLock(sweep.path)
        try:
            if (sweep.path / FACTS).exists():
                if not resume:
                    raise ExistsError(f"SweepFolder: {path} holds a sweep; give another folder, or resume it")
                sweep._take_over(cls.open(path))
            elif any(entry.name != LOCK_NAME for entry in sweep.path.iterdir()):
                raise InvalidError(
                    f"SweepFolder: {path} holds files that are not of a sweep; give an empty or new folder"
                )
        except BaseException:
            lock.release()
            raise
        sweep._lock = lock
        sweep.write()
        return sweep

    @classmethod
    def open(cls, path: Path) -> SweepFolder:
        """Read a sweep's folder.

        Raises
        ------
        NotFoundError
            When there is none.
        CorruptDataError
            When sweep.json is not of the documented format.
        """
        file = Path(path) / FACTS
        facts = read_facts(file, FORMAT, "SweepFolder.open", "the folder of a sweep")
        try:
            sweep = cls(path, facts["pattern"], facts["options"], facts["axes"], facts["repeats"])
            sweep.started_utc, sweep.status = facts["started_utc"], facts["status"]
            sweep.runs = [SweepRun(**entry) for entry in facts["runs"]]
        except (KeyError, TypeError) as error:
            raise CorruptDataError(f"SweepFolder.open: {file} is not as documented: {error}") from error
        return sweep

    def write(self) -> None:
        """Write sweep.json, atomically."""
        content = {
            "format": FORMAT,
            "pattern": self.pattern,
            "started_utc": self.started_utc,
            "status": self.status,
            "options": self.options,
            "axes": self.axes,
            "repeats": self.repeats,
            "runs": [dataclasses.asdict(run) for run in self.runs],
        }
        write_facts(self.path / FACTS, content)

    def finish(self, status: str) -> None:
        """Write sweep.json for the last time, and let others have the folder."""
        self.status = status
        self.write()
        if self._lock is not None:
            self._lock.release()

    def held(self) -> bool:
        """Is a process running the sweep now? Reports ask it of a sweep that never said how it ended."""
        return FolderLock.held(self.path)

    def _take_over(self, earlier: SweepFolder) -> None:
        if earlier.pattern != self.pattern:
            raise InvalidError(
                f"SweepFolder: {self.path} holds a sweep of {earlier.pattern!r}, not of {self.pattern!r}; "
                "give another folder"
            )
        for key in dict.fromkeys([*earlier.options, *self.options]):
            before, now = earlier.options.get(key), self.options.get(key)
            if before != now:
                raise InvalidError(
                    f"SweepFolder: {self.path} holds a sweep with {key} {before!r}, asked for is {now!r}; "
                    "resume it with the same options, or give another folder"
                )
        done = {run.folder: run for run in earlier.runs if run.status == "done"}
        self.runs = [done.pop(run.folder, run) for run in self.runs]
        self.runs += done.values()  # points of before that were not asked for now are results all the same
        self.axes = {
            key: list(dict.fromkeys([*self.axes.get(key, []), *earlier.axes.get(key, [])]))
            for key in dict.fromkeys([*self.axes, *earlier.axes])
        }
        self.repeats, self.started_utc = max(self.repeats, earlier.repeats), earlier.started_utc


def _points(axes: Mapping[str, Sequence[Any]], repeats: int) -> list[dict[str, Any]]:
    order = sorted(axes, key=lambda option: option == "backend")  # contenders next to each other
    return [
        {**{key: dict(zip(order, values, strict=True))[key] for key in axes}, "repeat": repeat}
        for repeat in range(1, repeats + 1)
        for values in itertools.product(*(axes[option] for option in order))
    ]


def _name(point: Mapping[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in point.items())
