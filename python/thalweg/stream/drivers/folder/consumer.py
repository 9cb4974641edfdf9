"""Reading the partitions that a member of a named consumer holds."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from thalweg.errors import InvalidError, NotFoundError
from thalweg.stream.drivers.folder.layout import TopicFolder
from thalweg.stream.drivers.folder.members import Member
from thalweg.stream.drivers.folder.positions import raise_position, read_position
from thalweg.stream.drivers.folder.reader import FileBatch, Reader, check_offset
from thalweg.stream.drivers.folder.refusal import refusals
from thalweg.stream.drivers.transport import Begin, ConsumerOptions, Held, RawBatch, TransportConsumer
from thalweg.stream.future import TIMEOUT_S

_SHARE_EVERY_S = 0.05
_LOOK_EVERY_S = 0.5
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.0001, 0.02


class FolderConsumer(TransportConsumer):
    """Polls the files, ever more rarely while nothing comes."""

    def __init__(self, topic: TopicFolder, options: ConsumerOptions) -> None:
        self._topic = topic
        self._begin = options.begin
        self._most = options.batch_size
        self._whole = options.whole
        self._count = len(topic.definition().partitions)
        self._shares = options.partitions is None
        self._positions: Path = topic.consumer_folder(options.name)
        self._member = Member(self._positions)
        self._readers: dict[int, Reader] = {}
        self._turn: list[int] = []
        self._closed = threading.Event()
        self._reading = threading.RLock()  # held by whoever uses the files, never while waiting
        self._share_at = self._look_at = 0.0
        try:
            if options.partitions is None:
                self._share()
            else:
                self._member.take(options.partitions, options.timeout_s)
                for partition in options.partitions:
                    self._open(partition)
        except BaseException:
            self.close()
            raise

    def pull(self, max_events: int, timeout_s: float) -> RawBatch | None:
        until, pause_s = time.monotonic() + timeout_s, _FIRST_PAUSE_S
        most = min(max_events, self._most) if self._most else max_events
        while not self._closed.is_set():
            now = time.monotonic()
            batch = self._next(most, now)
            if batch is not None or now >= until:
                return batch
            self._closed.wait(min(pause_s, until - now))
            pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
        return None

    def read(self, batch: RawBatch, number: int, ranges: Sequence[tuple[int, int]], into: memoryview) -> None:
        assert isinstance(batch, FileBatch)
        with self._reading, refusals("pull"):
            self._reader(batch.partition, "pull").read(batch, number, ranges, into)

    def acknowledge(self, partition: int, next_offset: int, wait: bool = False) -> None:  # it is in the file at once
        with self._reading:
            reader = self._readers.get(partition)
            place = 0 if reader is None else reader.place_of(next_offset)
        raise_position(self._position(partition), next_offset, place, TIMEOUT_S)

    def seek(self, partition: int, to: int | float | Begin) -> None:
        with self._reading, refusals("seek"):
            reader = self._reader(partition, "seek")
            if to == "first":
                reader.go_to(0)
            elif to == "next":
                reader.go_to_end()
            elif isinstance(to, int):
                reader.go_to(check_offset(to, reader.next_number(), partition))
            elif isinstance(to, float):
                reader.go_to_time(to)

    def held(self) -> Mapping[int, Held]:
        found = {}
        with self._reading:
            for partition, reader in sorted(self._readers.items()):
                stored = read_position(self._position(partition))
                found[partition] = Held(stored[0] if stored else 0, reader.next_number())
        return found

    def close(self) -> None:
        self._closed.set()
        with self._reading:
            while self._readers:
                self._readers.popitem()[1].close()
            self._turn.clear()
            self._member.close()

    def _next(self, most: int, now: float) -> RawBatch | None:
        """Return the next events that are there, of the partition that waits longest."""
        with self._reading:
            if self._closed.is_set():
                return None
            if self._shares and now >= self._share_at:
                self._share()
            for number, partition in enumerate(self._turn):
                batch = self._readers[partition].pull(most)
                if batch is not None:
                    self._turn.append(self._turn.pop(number))
                    return batch
            if now >= self._look_at:
                self._look(now)
            return None

    def _share(self) -> None:
        with refusals("pull"):
            taken, given_up = self._member.share(self._count)
        for partition in given_up:
            self._turn.remove(partition)
            self._readers.pop(partition).close()
        for partition in taken:
            self._open(partition)
        self._share_at = time.monotonic() + _SHARE_EVERY_S

    def _open(self, partition: int) -> None:
        reader = Reader(self._topic.events(partition), partition, whole=self._whole)
        self._readers[partition] = reader
        self._turn.append(partition)
        stored = read_position(self._position(partition))
        if stored is not None:
            reader.go_to(*stored)
        elif self._begin == "next":
            reader.go_to_end()
            number = reader.next_number()
            raise_position(self._position(partition), number, 0, TIMEOUT_S)  # the next holder begins there too

    def _look(self, now: float) -> None:
        """See whether the topic is still there."""
        if not self._topic.exists():
            raise NotFoundError(f"pull: topic {self._topic.name!r} was deleted")
        self._look_at = now + _LOOK_EVERY_S

    def _reader(self, partition: int, operation: str) -> Reader:
        try:
            return self._readers[partition]
        except KeyError:
            held = ", ".join(map(str, sorted(self._readers))) or "none"
            raise InvalidError(
                f"{operation}: partition {partition!r} is not held by this member; it holds {held}"
            ) from None

    def _position(self, partition: int) -> Path:
        return self._positions / f"{partition}.position"
