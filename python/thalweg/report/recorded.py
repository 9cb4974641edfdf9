"""One run as its result folder tells it: facts and events, in columns that figures can use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.results import ResultTable, RunFolder, gb_per_s, statistics
from thalweg.results.summaries import LEAST_BYTES_FOR_THROUGHPUT

#: Kinds of events that move data or wait for it; all others are work.
TRANSPORT = ("write", "read", "wait", "poll", "delete", "collective")
#: A chart with a line for each of more lanes than this cannot be read: members of an ensemble share one then.
MOST_LANES = 6
_MEMBER = re.compile(r"[-_.]?\d+(\[\d+\])?$|\[\d+\]$")


@dataclass(frozen=True)
class Events:
    """Events in columns of one length, in the order of their start."""

    #: "component" or "component[rank]" where a component has several
    lane: npt.NDArray[np.object_]
    kind: npt.NDArray[np.object_]
    name: npt.NDArray[np.object_]
    key: npt.NDArray[np.object_]
    iteration: npt.NDArray[np.int64]
    size_bytes: npt.NDArray[np.int64]
    #: seconds since the run started
    start_s: npt.NDArray[np.float64]
    duration_s: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.start_s)

    @property
    def gb_per_s(self) -> float | None:
        """Throughput of all of them together; None for transfers below 1 KiB."""
        return gb_per_s(int(self.size_bytes.sum()), len(self), float(self.duration_s.sum()))

    def where(self, mask: npt.NDArray[np.bool_]) -> Events:
        """Those events that the mask is true for."""
        columns = {name: getattr(self, name)[mask] for name in self.__dataclass_fields__}
        return Events(**columns)

    @cached_property
    def lanes(self) -> list[str]:
        """Each lane once: ensembles in the order of their first event, their members by number."""
        return in_order(self.lane)

    @cached_property
    def group(self) -> npt.NDArray[np.object_]:
        """What a chart with one line a component calls each event: its lane, or its ensemble when there are many."""
        if len(self.lanes) <= MOST_LANES:
            return self.lane
        members: dict[str, int] = {}
        for lane in self.lanes:
            members[_ensemble(lane)] = members.get(_ensemble(lane), 0) + 1
        names = {
            lane: f"{_ensemble(lane)} (all {members[_ensemble(lane)]})" if members[_ensemble(lane)] > 1 else lane
            for lane in self.lanes
        }
        return np.array([names[lane] for lane in self.lane], dtype=object)

    def operations(self, moving: bool) -> list[tuple[str, Events]]:
        """Events of transport by group and kind, named ``group kind``; if `moving`, those that moved 1 KiB or more."""
        chosen = np.isin(self.kind, TRANSPORT)
        if moving:
            chosen &= self.size_bytes >= LEAST_BYTES_FOR_THROUGHPUT
        group, kind = self.group, self.kind
        pairs = dict.fromkeys(zip(group[chosen], kind[chosen], strict=True))
        return [(f"{name} {what}", self.where(chosen & (group == name) & (kind == what))) for name, what in pairs]


def in_order(lanes: Iterable[str]) -> list[str]:
    """Lanes once each: ensembles as they come, members of one by number (``simulation-2`` before ``simulation-10``)."""
    once = list(dict.fromkeys(lanes))
    ensembles = {name: place for place, name in enumerate(dict.fromkeys(_ensemble(lane) for lane in once))}
    return sorted(once, key=lambda lane: (ensembles[_ensemble(lane)], [int(part) for part in re.findall(r"\d+", lane)]))


def _ensemble(lane: str) -> str:
    """The name that members of an ensemble and ranks of a component share."""
    return _MEMBER.sub("", lane) or lane


class Recorded:
    """A result folder, read.

    Raises
    ------
    NotFoundError
        When the folder holds no run.
    """

    def __init__(self, path: Path) -> None:
        self.folder = RunFolder.open(path)
        self._table = self.folder.events()

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def name(self) -> str:
        return str(self.folder.facts["name"])

    @cached_property
    def events(self) -> Events:
        columns = {name: self._table.column(name).to_pylist() for name in ("component", "kind", "name", "key")}
        ranks = self._table.column("rank").to_pylist()
        several = {component for component, rank in zip(columns["component"], ranks, strict=True) if rank > 0}
        lanes = [
            f"{component}[{rank}]" if component in several else component
            for component, rank in zip(columns["component"], ranks, strict=True)
        ]
        start_ns, end_ns = self._table.column("start_ns").to_numpy(), self._table.column("end_ns").to_numpy()
        return Events(
            lane=np.array(lanes, dtype=object),
            kind=np.array(columns["kind"], dtype=object),
            name=np.array(columns["name"], dtype=object),
            key=np.array(columns["key"], dtype=object),
            iteration=self._table.column("iteration").to_numpy(),
            size_bytes=self._table.column("size_bytes").to_numpy(),
            start_s=start_ns * 1e-9,
            duration_s=(end_ns - start_ns) * 1e-9,
        )

    def statistics(self) -> ResultTable:
        """Events by component, kind and name, with times in milliseconds and throughput in GB/s."""
        columns = [
            "component",
            "kind",
            "name",
            "events",
            "bytes",
            "mean / ms",
            "std / ms",
            "median / ms",
            "p99 / ms",
            "GB/s",
        ]
        found = statistics(self._table)
        several = {row["component"] for row in found if row["rank"] > 0}
        rows: list[list[Any]] = [
            [
                f"{row['component']}[{row['rank']}]" if row["component"] in several else row["component"],
                row["kind"],
                row["name"],
                row["events"],
                row["bytes"],
                row["mean_s"] * 1e3,
                row["std_s"] * 1e3,
                row["median_s"] * 1e3,
                row["p99_s"] * 1e3,
                gb_per_s(row["bytes"], row["events"], row["total_s"]) if row["kind"] in TRANSPORT else None,
            ]
            for row in found
        ]
        places = {lane: place for place, lane in enumerate(in_order(row[0] for row in rows))}
        rows.sort(key=lambda row: places[row[0]])
        return ResultTable("Events by component, kind and name", columns, rows)
