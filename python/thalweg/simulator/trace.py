"""Traces of this project's own runs: what their processes did, as operations of ranks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from thalweg.errors import InvalidError
from thalweg.simulator import operations as op
from thalweg.simulator.trace_events import Events, Flags, Integers, last_until, outside, part_of, running

Through = Literal["network", "storage"]

#: Kinds of events in which data move or are waited for; the time of all others is computing.
_MOVING = ("write", "read", "poll", "wait", "delete")
_COMPUTING = ("init", "compute", "train", "infer")
#: What a kernel's name can say, as in ``all_reduce``.
_COLLECTIVES = ("allreduce", "allgather", "barrier")
#: Steps of a rank, those of one time in this order. A message is sent before it is received, and a collective has one
#: time on all its ranks: nowhere do ranks wait for each other in a circle.
_WRITE, _ISEND, _COLLECTIVE, _RECV, _READ = range(5)
#: What computing can last at once.
_LONGEST_S = 1e6
#: How many steps are turned into Python numbers at once.
_CHUNK = 4096


class Trace:
    """The processes of a run, each of them a rank: in the order in which ``run.json`` names components, then by rank.

    Moving data and waiting for them take what they take on the simulated machine; all other time from the start of the
    run to the last event of a process is computing. What one process wrote and another read is a message, sent where
    the writing began, and received where the reader first saw that it was there: by a read, wait, poll or removal. What
    was seen and never read is an empty message. Through storage the writer writes to a file, an empty message says so,
    and every reader reads it there. Files without a key are in storage either way, and so is what was there before.

    Parameters
    ----------
    folder : path
        A run's folder.
    through : {"network", "storage"}
        What carries data from process to process.
    compute_scale : float
        What the time of computing is multiplied by.

    Raises
    ------
    CorruptDataError
        When the folder's files are not of the documented format.
    InvalidError
        When the run has no events, or read what was only written later.

    Attributes
    ----------
    processes : list of (str, int)
        Component and rank in the run of each rank here.
    messages : (int, int)
        How many messages the ranks send, without those of collectives, and their bytes.
    stored : (int, int)
        Bytes written to storage, and read from it.
    notes : list of str
        How long the run took, and what of it has no counterpart here.
    """

    def __init__(self, folder: str | Path, through: Through = "network", compute_scale: float = 1.0) -> None:
        events = Events.of(Path(folder))
        plan = _Plan(events, through == "storage")
        self.processes = events.processes
        self.messages, self.stored, self.notes = plan.messages, plan.stored, plan.notes
        self._scale, self._members, self._steps = compute_scale, plan.members, plan.steps()
        for (component, rank), (_, _, computing_ns) in zip(self.processes, self._steps, strict=True):
            longest_s = float(computing_ns.max(initial=0)) * 1e-9
            if longest_s * compute_scale > _LONGEST_S:
                raise InvalidError(
                    f"trace: {folder}: rank {rank} of {component} computes for {longest_s:g} s at once, which "
                    f"compute_scale = {compute_scale:g} makes {longest_s * compute_scale:g} s; accepted are up to "
                    f"{_LONGEST_S:g} s"
                )

    def operations(self, rank: int, ranks: int) -> Iterator[op.Operation]:
        """What a rank does."""
        kinds, numbers, computing_ns = self._steps[rank]
        requests = itertools.count()
        for first in range(0, len(computing_ns), _CHUNK):
            part = slice(first, first + _CHUNK)
            steps = zip(kinds[part].tolist(), numbers[part].tolist(), computing_ns[part].tolist(), strict=True)
            for kind, (one, two, three), before_ns in steps:
                if before_ns:
                    yield op.compute(before_ns * 1e-9 * self._scale)
                if kind == _ISEND:
                    # Nobody waits for it.
                    yield op.isend(one, two, request=next(requests), tag=three)
                elif kind == _RECV:
                    yield op.recv(one, two, tag=three)
                elif kind == _WRITE:
                    yield op.write(two, at=three, file=one)
                elif kind == _READ:
                    yield op.read(two, at=three, file=one)
                elif kind == _COLLECTIVE:
                    yield (_COLLECTIVES[three], 0, two, self._members[one])


class _Plan:
    """The steps of all ranks, worked out from the events of all processes."""

    def __init__(self, events: Events, stored: bool) -> None:
        self._events, self._stored = events, stored
        self._keyed, self._moving = events.keyed(), events.of_kind(*_MOVING)
        self._parts: list[tuple[Integers, ...]] = []
        #: Ranks of components with collectives.
        self.members: list[list[int]] = []
        self.messages = self.stored = (0, 0)
        self.notes = [f"the run took {events.end.max() / 1e9:.3f} s until its last event"]
        self._collectives()
        self._exchange()
        self._files()
        self._tell()

    def steps(self) -> list[tuple[Integers, Integers, Integers]]:
        """Return for each process kinds of steps, their numbers, shape (steps, 3), and nanoseconds of computing before.

        The last step is none: what was computed after the others.
        """
        events = self._events
        process, time, kind, *numbers = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.lexsort((kind, time, process))
        process, time, kind, table = process[order], time[order], kind[order], np.stack(numbers, axis=1)[order]
        loops = events.polling()
        moving = (column[self._moving] for column in (events.process, events.start, events.end))
        busy, start, end = (np.concatenate(both) for both in zip(moving, loops, strict=True))
        order = np.argsort(busy, kind="stable")
        busy, start, end = busy[order], start[order], end[order]
        found = []
        for number in range(len(events.processes)):
            own, spans = part_of(process, number), part_of(busy, number)
            last = events.end[part_of(events.process, number)].max()
            computed = outside(start[spans], end[spans], np.append(time[own], last))
            # A collective in which others came last may be later than the last event.
            computing = np.maximum(np.diff(computed, prepend=0), 0)
            found.append((np.append(kind[own], -1), np.append(table[own], [[0, 0, 0]], axis=0), computing))
        return found

    def _add(self, kind: int, process: Integers, time: Integers, one: Any, two: Any, three: Any) -> None:
        """Add steps; sizes are their second number."""
        numbers = [np.broadcast_to(np.asarray(number, np.int64), len(process)) for number in (one, two, three)]
        self._parts.append((process, time, np.full(len(process), kind), *numbers))
        written, read = self.stored
        size = int(numbers[1].sum())
        self.stored = (written + size * (kind == _WRITE), read + size * (kind == _READ))

    def _note(self, count: int, what: str) -> None:
        if count:
            self.notes.append(f"{count} {what}")

    def _exchange(self) -> None:
        """Messages and requests to storage for what processes wrote under a key, and others saw."""
        events = self._events
        writes = np.flatnonzero(events.of_kind("write") & self._keyed)
        seen, found = self._seen(writes)
        reads = events.of_kind("read")[seen]
        own = events.process[seen] == events.process[writes[found]]
        # What is no array has no size where it is read.
        size = np.where(events.size[seen] > 0, events.size[seen], events.size[writes[found]])
        if self._stored:
            process, written = events.process[writes], events.size[writes]
            file, at = process + 1, running(process, written)
            self._add(_WRITE, process, events.start[writes], file, written, at)
            by, what = seen[reads], found[reads]
            self._add(_READ, events.process[by], events.end[by], file[what], size[reads], at[what])
        else:
            kept = np.setdiff1d(np.arange(len(writes)), found[reads & ~own])
            self._note(len(kept), f"writes, of {events.size[writes[kept]].sum()} bytes, that no other process reads")
            self._note(int((own & reads).sum()), "reads of what the process itself wrote: nothing moves")
        seen, found, size, reads = seen[~own], found[~own], size[~own], reads[~own]
        order = np.lexsort((seen, events.end[seen], found, events.process[seen]))
        self._messages(seen[order], writes[found[order]], size[order], reads[order])

    def _messages(self, seen: Integers, write: Integers, size: Integers, reads: Flags) -> None:
        """Messages for events that saw a write, which stand together by process and write."""
        events = self._events
        receiver = events.process[seen]
        first = np.ones(len(seen), bool)
        first[1:] = (receiver[1:] != receiver[:-1]) | (write[1:] != write[:-1])
        sight = np.cumsum(first) - 1
        leading = reads & (running(sight, reads.astype(np.int64)) == 0)
        if self._stored:
            chosen, size = first, np.zeros_like(size)
        else:
            # The message of the first sight brings what is read first; each further read is one more.
            chosen = first | (reads & ~leading)
            brought = np.zeros(int(first.sum()), np.int64)
            brought[sight[leading]] = size[leading]
            size[first] = brought
        seen, write, size, receiver = seen[chosen], write[chosen], size[chosen], receiver[chosen]
        sender, tag = events.process[write], np.arange(len(seen))
        self._add(_ISEND, sender, events.start[write], receiver, size, tag)
        self._add(_RECV, receiver, events.end[seen], sender, size, tag)
        self.messages = (len(seen), int(size.sum()))

    def _seen(self, writes: Integers) -> tuple[Integers, Integers]:
        """Events that saw something written, and which of `writes` it was."""
        events = self._events
        key, start, end = events.key, events.start, events.end
        # A read or wait ends after its data are there: mostly all of their writing, at least its beginning.
        sure = np.flatnonzero(events.of_kind("read", "wait") & self._keyed)
        found = last_until(key[writes], end[writes], key[sure], end[sure])
        by_start = np.lexsort((start[writes], key[writes]))
        _, leading = np.unique(key[writes][by_start], return_index=True)
        begun = np.full(len(events.keys), -1)
        begun[key[writes][by_start[leading]]] = by_start[leading]
        found = np.where(found < 0, begun[key[sure]], found)
        wrote = found >= 0
        late = sure[wrote][start[writes[found[wrote]]] > end[sure[wrote]]]
        if len(late):
            event = int(late[end[late].argmin()])
            self._refuse(event, int(writes[begun[key[event]]]))
        self._before(sure[~wrote])
        # A poll or removal sees what is there when it begins.
        perhaps = np.flatnonzero(events.of_kind("poll", "delete") & self._keyed)
        there = last_until(key[writes], end[writes], key[perhaps], start[perhaps])
        perhaps, there = perhaps[there >= 0], there[there >= 0]
        removals = np.flatnonzero(events.of_kind("delete") & self._keyed)
        gone = last_until(key[removals], end[removals], key[perhaps], start[perhaps])
        removed = (gone >= 0) & events.of_kind("poll")[perhaps]
        removed[removed] = end[removals[gone[removed]]] > end[writes[there[removed]]]
        return np.append(sure[wrote], perhaps[~removed]), np.append(found[wrote], there[~removed])

    def _refuse(self, event: int, write: int) -> None:
        events = self._events
        key, had = events.keys[events.key[event]], events.kinds[events.kind[event]]
        raise InvalidError(
            f"trace: {events.folder}: a {had} of {key!r} by {events.who(event)} ended {events.end[event] / 1e9:.9f} s "
            f"after the start, but {events.who(write)} was the first to write it, and began at "
            f"{events.start[write] / 1e9:.9f} s; expected reads after their writes, by one clock"
        )

    def _before(self, sure: Integers) -> None:
        """Data that no process wrote were there before the run: in file 0, one behind the other."""
        events = self._events
        reads = sure[events.of_kind("read")[sure]]
        largest = np.zeros(len(events.keys), np.int64)
        np.maximum.at(largest, events.key[reads], events.size[reads])
        at = np.cumsum(largest) - largest
        self._add(_READ, events.process[reads], events.end[reads], 0, events.size[reads], at[events.key[reads]])
        self._note(len(reads), "reads of what no process of the run wrote: from storage")

    def _files(self) -> None:
        """Files of a process, which have no key: one that it writes and one that it reads, from their beginning on."""
        events = self._events
        for place, (word, kind) in enumerate((("write", _WRITE), ("read", _READ)), start=1):
            chosen = np.flatnonzero(events.of_kind(word) & ~self._keyed)
            process, size = events.process[chosen], events.size[chosen]
            time = events.start[chosen] if kind == _WRITE else events.end[chosen]
            self._add(kind, process, time, place * len(events.processes) + 1 + process, size, running(process, size))
            self._note(len(chosen), f"{word}s without a key, as of files: in storage")

    def _collectives(self) -> None:
        """Collectives of a component's ranks, where all of them recorded the same ones in the same order."""
        events = self._events
        known = np.array([_collective(name) for name in events.names])[events.name]
        collective = events.of_kind("collective")
        of_component: dict[str, list[int]] = {}
        for number, (component, _) in enumerate(events.processes):
            of_component.setdefault(component, []).append(number)
        for component, ranks in of_component.items():
            parts = [part_of(events.process, rank) for rank in ranks]
            places = [part.start + np.flatnonzero(collective[part] & (known[part] >= 0)) for part in parts]
            left = collective[parts[0].start : parts[-1].stop].copy()
            alike = all(np.array_equal(known[each], known[places[0]]) for each in places)
            if len(ranks) > 1 and alike and len(places[0]):
                self._collective_steps(ranks, np.stack(places), known[places[0]])
                left[np.concatenate(places) - parts[0].start] = False
            names, counts = np.unique(events.name[parts[0].start : parts[-1].stop][left], return_counts=True)
            for name, count in zip(names.tolist(), counts.tolist(), strict=True):
                self._note(
                    count,
                    f"collectives {events.names[name]!r} of {component}: not one of {', '.join(_COLLECTIVES)} in which "
                    "all its ranks, two or more, take part; their time is computing",
                )

    def _collective_steps(self, ranks: list[int], places: Integers, kinds: Integers) -> None:
        """Steps of collectives; `places` has the events of each, shape (ranks, collectives)."""
        events = self._events
        size = events.size[places].max(axis=0)
        size = np.where(kinds == _COLLECTIVES.index("allgather"), size // len(ranks), size)
        size = np.where(kinds == _COLLECTIVES.index("barrier"), 0, size)
        time = np.maximum.accumulate(events.start[places].max(axis=0))
        for rank in ranks:
            self._add(_COLLECTIVE, np.full(len(kinds), rank), time, len(self.members), size, kinds)
        self.members.append(ranks)
        self._moving[places.ravel()] = True

    def _tell(self) -> None:
        """Say what else has no counterpart."""
        events = self._events
        self._note(int(events.of_kind("poll", "delete").sum()), "polls and removals: they take no time")
        several = events.of_kind("wait") & ~self._keyed
        spent_s = (events.end - events.start)[several].sum() * 1e-9
        self._note(
            int(several.sum()),
            f"waits for some of several keys, of {spent_s:.3f} s: for which is not recorded; what the process reads, "
            "polls or removes next is waited for there",
        )
        for kind in sorted({*events.kinds} - {*_MOVING, *_COMPUTING, "collective"}):
            self._note(int(events.of_kind(kind).sum()), f"events of the unknown kind {kind!r}: their time is computing")


def _collective(name: str) -> int:
    """The place of the collective that a kernel's name says; -1 where it says none."""
    letters = "".join(letter for letter in name.lower() if letter.isalpha())
    return next((place for place, kind in enumerate(_COLLECTIVES) if kind in letters), -1)
