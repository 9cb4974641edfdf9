"""The events of a recorded run in columns, and what can be asked of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.errors import CorruptDataError, InvalidError
from thalweg.results.events import read_events

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Events:
    """One value an event in each column, in the order of processes and of their starts."""

    folder: Path
    #: Component and rank: components in the order in which ``run.json`` names them.
    processes: list[tuple[str, int]]
    kinds: list[str]
    names: list[str]
    keys: list[str]
    #: Places in `processes`, `kinds`, `names`, `keys`.
    process: Integers
    kind: Integers
    name: Integers
    key: Integers
    size: Integers
    #: Nanoseconds since the start of the run.
    start: Integers
    end: Integers

    @classmethod
    def of(cls, folder: Path) -> Events:
        """Read those of a run's folder.

        Raises
        ------
        CorruptDataError
            When its files are not of the documented format.
        InvalidError
            When there are none, or one that cannot be.
        """
        import pyarrow as pa

        path = folder / "events.parquet"
        try:
            table = read_events(path)
            words = {name: _words(table, name) for name in ("component", "kind", "name", "key")}
            rank, size, start, end = (_numbers(table, name) for name in ("rank", "size_bytes", "start_ns", "end_ns"))
        except (pa.ArrowException, OSError) as error:
            raise CorruptDataError(f"trace: {path} cannot be read: {error}") from error
        if not len(start):
            raise InvalidError(f"trace: {path} has no events; expected a run whose components record some")
        for wrong, what, value in (
            (start < 0, "starts at {} ns; accepted are times since the start of the run, 0 or more", start),
            (end < start, "ends {} ns after its start; accepted are 0 or more", end - start),
            (size < 0, "moves {} bytes; accepted are 0 or more", size),
            (rank < 0, "is of rank {}; accepted are 0 or more", rank),
        ):
            if wrong.any():
                row = int(wrong.argmax())
                raise InvalidError(f"trace: {path}: event {row} {what.format(value[row])}")
        processes, process = _processes(folder, *words["component"], rank)
        order = np.lexsort((start, process))
        (kinds, kind), (names, name), (keys, key) = (words[each] for each in ("kind", "name", "key"))
        columns = (column[order] for column in (process, kind, name, key, size, start, end))
        return cls(folder, processes, kinds, names, keys, *columns)

    def of_kind(self, *kinds: str) -> Flags:
        """Which events are of some kinds."""
        wanted = np.array([kind in kinds for kind in self.kinds])
        return np.asarray(wanted[self.kind], np.bool_)

    def keyed(self) -> Flags:
        """Which events have a key."""
        return np.asarray(self.key != (self.keys.index("") if "" in self.keys else -1), np.bool_)

    def who(self, event: int) -> str:
        """The process of an event, as messages name it."""
        component, rank = self.processes[self.process[event]]
        return f"rank {rank} of {component}"

    def polling(self) -> tuple[Integers, Integers, Integers]:
        """Process, start and end of loops that polled one key again and again, until they read it."""
        poll, read = self.of_kind("poll"), self.of_kind("read")
        ends = np.ones(len(self.process), bool)
        same = (self.process[:-1] == self.process[1:]) & (self.key[:-1] == self.key[1:])
        ends[:-1] = ~(poll[:-1] & (poll | read)[1:] & same)
        last = np.flatnonzero(ends)
        first = np.append(0, last[:-1] + 1)
        loop = read[last] & (last > first + 1)
        first, last = first[loop], last[loop] - 1
        return self.process[first], self.start[first], self.end[last]


def part_of(sorted_process: Integers, number: int) -> slice:
    """Where the entries of one process stand."""
    return slice(*np.searchsorted(sorted_process, [number, number + 1]).tolist())


def running(of: Integers, size: Integers) -> Integers:
    """For each entry the sum of the sizes before it of the same `of`, whose entries stand together."""
    if not len(of):
        return size
    before = np.cumsum(size) - size
    first = np.append(True, of[1:] != of[:-1])
    return np.asarray(before - before[first][np.cumsum(first) - 1], np.int64)


def last_until(key: Integers, time: Integers, asked_key: Integers, asked_time: Integers) -> Integers:
    """For each question the place of the last entry with its key until its time; -1 where there is none."""
    if not len(key) or not len(asked_key):
        return np.full(len(asked_key), -1)
    times, places = np.unique(np.concatenate([time, asked_time]), return_inverse=True)
    places = places.reshape(-1)
    value = key * len(times) + places[: len(key)]
    order = np.argsort(value, kind="stable")
    found = np.searchsorted(value[order], asked_key * len(times) + places[len(key) :], side="right") - 1
    found = np.where(found >= 0, order[found], -1)
    return np.where((found >= 0) & (key[found] == asked_key), found, -1)


def outside(start: Integers, end: Integers, times: Integers) -> Integers:
    """For each time how much of the time before it lies in no span; spans may overlap."""
    if not len(start):
        return times
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    first = np.append(True, start[1:] > reach[:-1])
    lower, upper = start[first], reach[np.append(first[1:], True)]
    within = np.append(0, np.cumsum(upper - lower))
    place = np.searchsorted(lower, times, side="right")
    beyond = np.where(place > 0, np.maximum(upper[place - 1] - times, 0), 0)
    return np.asarray(times - within[place] + beyond, np.int64)


def _words(table: Any, name: str) -> tuple[list[str], Integers]:
    """The different words of a column, and the place of each row's among them."""
    import pyarrow as pa

    found = _whole(table, name).cast(pa.string()).dictionary_encode().unify_dictionaries().combine_chunks()
    return found.dictionary.to_pylist(), found.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _numbers(table: Any, name: str) -> Integers:
    import pyarrow as pa

    found: Integers = _whole(table, name).cast(pa.int64()).to_numpy()
    return found


def _whole(table: Any, name: str) -> Any:
    column = table.column(name)
    if column.null_count:
        raise CorruptDataError(
            f"trace: column {name} lacks {column.null_count} of its values; expected one for each event"
        )
    return column


def _processes(
    folder: Path, names: list[str], component: Integers, rank: Integers
) -> tuple[list[tuple[str, int]], Integers]:
    """Processes in their order, and the place of each event's among them."""
    try:
        facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        declared = [str(entry["name"]) for entry in facts.get("components", [])]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise CorruptDataError(f"trace: {folder / 'run.json'} is not that of a run: {error!r}") from error
    spelt = list(dict.fromkeys([*declared, *sorted(names)]))
    place_of = {name: place for place, name in enumerate(spelt)}
    pairs = np.stack([np.array([place_of[name] for name in names])[component], rank], axis=1)
    different, process = np.unique(pairs, axis=0, return_inverse=True)
    return [(spelt[place], number) for place, number in different.tolist()], process.reshape(-1).astype(np.int64)
