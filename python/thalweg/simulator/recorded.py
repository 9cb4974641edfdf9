"""Simulated runs in folders: what ran, and what it found, in JSON and Parquet."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from thalweg import __version__
from thalweg.errors import CorruptDataError, ExistsError, InvalidError, NotFoundError, ThalwegError
from thalweg.simulator.outcome import Application, Distribution, Link, Outcome, Timeline
from thalweg.simulator.scenario import Scenario

_OUTCOME, _RANKS, _LINKS = "outcome.json", "ranks.parquet", "links.parquet"
_FORMAT = 1
#: Columns of ``ranks.parquet``, which has a row for each rank.
_OF_RANKS = ("communication_s", "io_s", "compute_s")


@dataclass(frozen=True)
class Run:
    """A simulated run.

    Attributes
    ----------
    name : str
        What it is called beside others, such as ``workload1-rand-par``.
    scenario : dict
        What ran, as a file would say it.
    outcome : Outcome
        What it found.
    version : str
        The version of Thalweg that ran it; empty where it is not known.
    """

    name: str
    scenario: dict[str, Any]
    outcome: Outcome
    version: str = __version__

    @classmethod
    def of(cls, name: str, scenario: Scenario, outcome: Outcome) -> Run:
        """Return a run of `scenario`."""
        return cls(name, scenario.model_dump(mode="json", exclude_none=True, by_alias=True), outcome)


def writable(folder: Path) -> Path:
    """Return `folder`, to which files can be written; what is missing of it is made for a moment, to find out.

    Raises
    ------
    InvalidError
        When it is no folder, cannot be made, or cannot be written to.
    """
    made = []
    try:
        made = [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except (OSError, ValueError) as error:
        raise InvalidError(
            f"simulator: {folder} cannot be written to: {_reason(error)}; name a folder that can"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            for each in made:
                each.rmdir()
    return folder


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name what could not be written, such as on a disk that is full."""
    try:
        yield
    except OSError as error:
        raise ThalwegError(f"simulator: {path} could not be written: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return "it is a file" if isinstance(error, FileExistsError) else getattr(error, "strerror", None) or str(error)


def free(folder: Path) -> Path:
    """Return `folder`, which no run has been written to yet and one can be written to.

    Raises
    ------
    ExistsError
        When there is one.
    InvalidError
        When it cannot be written to.
    """
    if _has_run(folder):
        raise ExistsError(f"simulator: {folder} has a run already; remove it, or name another folder")
    return writable(folder)


def done_before(name: str, scenario: Scenario, folder: Path) -> Run | None:
    """Return the run of this very scenario that was written to `folder`; None when there is none yet.

    Raises
    ------
    ExistsError
        When what is there may be another: its scenario, its name or the version of Thalweg differs, a file that the
        scenario names is newer, or its operations are a function, which cannot be compared.
    InvalidError
        When nothing is there and it cannot be written to.
    CorruptDataError
        When its files are not of the documented format.
    """
    if not _has_run(folder):
        writable(folder)
        return None
    run = load(folder)
    written = (folder / _OUTCOME).stat().st_mtime
    same = (
        run == Run.of(name, scenario, run.outcome)
        and not any(application.operations for application in scenario.application)
        and all(path.stat().st_mtime <= written for path in _named(scenario))
    )
    if not same:
        raise ExistsError(
            f"simulator: {folder} has a run already, which is not known to be of this scenario; remove it, or name "
            "another folder"
        )
    return run


def _named(scenario: Scenario) -> Iterator[Path]:
    """The files that a scenario names."""
    for application in scenario.application:
        if application.program is not None:
            yield Path(application.program)
        if isinstance(application.nodes, str):
            yield Path(application.nodes)
        if application.trace is not None:
            yield Path(application.trace) / "events.parquet"


def _has_run(folder: Path) -> bool:
    with contextlib.suppress(OSError):  # what is wrong with it is told where it is used
        return (folder / _OUTCOME).exists()
    return False


def save(run: Run, folder: Path) -> Path:
    """Write a run to `folder`, which is made: ``outcome.json``, ``ranks.parquet``, ``links.parquet``.

    The run is there as a whole or not at all, wherever this is interrupted.

    Raises
    ------
    ExistsError
        When a run is there already.
    ThalwegError
        When it cannot be written, such as on a disk that is full.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    free(folder)
    outcome = run.outcome
    ranks: dict[str, list[Any]] = {name: [] for name in ("application", "rank", *_OF_RANKS)}
    for number, application in enumerate(outcome.applications):
        count = len(application.communication_s)
        ranks["application"] += [number] * count
        ranks["rank"] += range(count)
        for column in _OF_RANKS:
            ranks[column] += getattr(application, column)
    links = {field.name: [getattr(link, field.name) for link in outcome.links] for field in fields(Link)}
    told = _without(asdict(outcome), ("links",))
    told["applications"] = [_without(application, _OF_RANKS) for application in told["applications"]]
    content = {
        "format": _FORMAT,
        "version": run.version,
        "name": run.name,
        "scenario": run.scenario,
        "outcome": told,
    }
    with writing(folder), _at_once(folder) as partial:
        pq.write_table(pa.table(ranks), partial / _RANKS)
        pq.write_table(pa.table(links), partial / _LINKS)
        text = json.dumps(_finite(content), indent=1, allow_nan=False) + "\n"
        (partial / _OUTCOME).write_text(text, encoding="utf-8")
    return folder


@contextlib.contextmanager
def _at_once(folder: Path) -> Iterator[Path]:
    """Give a folder for files that are put in `folder` when all of them are there."""
    known = folder.is_dir()
    beside = folder if known else folder.parent
    beside.mkdir(parents=True, exist_ok=True)
    # A name that nobody has, so that nothing of others is removed with it.
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.partial-", dir=beside) as own:
        partial = Path(own) / "run"
        partial.mkdir()
        yield partial
        if known:
            for name in (_RANKS, _LINKS, _OUTCOME):  # the last makes it a run
                os.replace(partial / name, folder / name)
        else:
            partial.rename(folder)


def within(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the folders in one, such as that of a sweep, that hold a whole run, and those that hold none."""
    inner = sorted(path for path in folder.glob("*") if path.is_dir())
    return [path for path in inner if _has_run(path)], [path for path in inner if not _has_run(path)]


def load(folder: Path) -> Run:
    """Return the run that was written to `folder`.

    Raises
    ------
    NotFoundError
        When there is none.
    CorruptDataError
        When its files are not of the documented format.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not (folder / _OUTCOME).is_file():
        raise NotFoundError(
            f"simulator: there is no run in {folder}; `thalweg sim run SCENARIO --out {folder}` makes one"
        )
    try:
        content = json.loads((folder / _OUTCOME).read_text(encoding="utf-8"))
        if content["format"] != _FORMAT:
            raise CorruptDataError(f"simulator: {folder / _OUTCOME} has format {content['format']}; known is {_FORMAT}")
        ranks = pq.read_table(folder / _RANKS).to_pydict()
        links = pq.read_table(folder / _LINKS).to_pylist()
        return Run(
            content["name"],
            content["scenario"],
            _outcome(content["outcome"], ranks, links),
            content.get("version", ""),
        )
    except (KeyError, TypeError, ValueError, OSError, pa.ArrowException) as error:
        raise CorruptDataError(f"simulator: {folder} holds no whole run: {error}") from error


def _outcome(told: dict[str, Any], ranks: Mapping[str, list[Any]], links: Iterable[dict[str, Any]]) -> Outcome:
    applications = []
    for number, application in enumerate(told.pop("applications")):
        mine = [place for place, of in enumerate(ranks["application"]) if of == number]
        columns: dict[str, Any] = {column: [ranks[column][place] for place in mine] for column in _OF_RANKS}
        latency = _distribution(application.pop("message_latency"))
        # What a program logged need not be a number: JSON has null for that.
        logged = [
            (task, label, math.nan if value is None else value) for task, label, value in application.pop("logged", [])
        ]
        applications.append(Application(**application, **columns, message_latency=latency, logged=logged))
    # Runs that were recorded before there was a latency of messages have none.
    packets, messages = (told.pop(f"{name}_latency", None) for name in ("packet", "message"))
    timeline = Timeline(**told.pop("timeline"))
    return Outcome(
        **told,
        packet_latency=None if packets is None else _distribution(packets),
        message_latency=None if messages is None else _distribution(messages),
        timeline=timeline,
        links=[Link(**link) for link in links],
        applications=applications,
    )


def _distribution(told: dict[str, Any]) -> Distribution:
    buckets = [(longest_s, count) for longest_s, count in told.pop("buckets")]
    return Distribution(**told, buckets=buckets)


def _finite(value: Any) -> Any:
    """The same with none in the place of what is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _without(content: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name not in set(names)}
