"""Reading the batches of a partition file in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thalweg.errors import CorruptDataError, InvalidError
from thalweg.stream.drivers.folder.batch_format import (
    HEAD_BYTES,
    HEADER_BYTES,
    PIECE_BYTES,
    Header,
    decode_table,
    first_bad_piece,
)
from thalweg.stream.drivers.folder.lock_file import try_lock, unlock
from thalweg.stream.drivers.folder.partition_file import PartitionFile
from thalweg.stream.drivers.folder.refusal import refusals
from thalweg.stream.drivers.transport import RawBatch
from thalweg.stream.packed import Ends, Packed


class FileBatch(RawBatch):
    """Events of a batch in a file, whose data may still be there only."""

    header: Header
    begin: int
    checks: Ends
    data_ends: Packed


class Reader:
    """Reads one partition from an event on.

    Parameters
    ----------
    whole : bool
        Data come with their batch.
    """

    def __init__(self, path: Path, partition: int, *, whole: bool) -> None:
        self.partition = partition
        self._file = PartitionFile(path)
        self._whole = whole
        self._place = HEAD_BYTES
        self._number = 0
        self._batch: FileBatch | None = None
        self._places: deque[tuple[int, int]] = deque()

    def removed(self) -> bool:
        """Tell whether the partition was deleted."""
        return self._file.removed()

    def next_number(self) -> int:
        """Return the number that the next appended event gets."""
        return self._file.end(self._place, self._number)[1]

    def go_to(self, number: int, place: int = HEAD_BYTES) -> None:
        """Read on from an event; `place` is that of a batch that is not behind it."""
        self._place, self._number, self._batch = self._file.find(number, place), number, None
        self._places.clear()

    def go_to_end(self) -> None:
        """Read on from the next event that is appended."""
        place, number = self._file.end()
        self._place, self._number, self._batch = place, number, None

    def go_to_time(self, time_s: float) -> None:
        """Read on from the first event that was appended at a time or later."""
        self._batch, self._place, self._number = None, HEAD_BYTES, 0
        for header in self._file.headers():
            if header.time_ns >= time_s * 1e9:
                return
            self._place, self._number = header.end, header.first + header.count

    def place_of(self, number: int) -> int:
        """Return the place of a batch that was read and is not behind an event."""
        place = self._place
        while self._places and self._places[0][0] <= number:
            place = self._places.popleft()[1]
        return place if place <= self._place else HEAD_BYTES

    def pull(self, max_events: int) -> RawBatch | None:
        """Return the next events that are there, at most so many.

        Raises
        ------
        CorruptDataError
            When they are damaged; the next call goes on behind them.
        """
        if self._batch is None:
            if self._file.size() <= self._place:
                return None
            self._batch = self._read_batch()
            if self._batch is None:
                return None
        batch = self._batch
        begin = self._number - batch.first
        end = min(begin + max_events, len(batch.metadata))
        self._number += end - begin
        if end == len(batch.metadata):
            self._batch, self._place = None, batch.header.end
        if begin == 0 and end == len(batch.metadata):
            return batch
        part = FileBatch(
            batch.partition,
            batch.first + begin,
            batch.metadata.part(begin, end),
            batch.data_sizes[begin:end],
            None if batch.data is None else batch.data.part(begin, end),
        )
        part.header, part.checks, part.data_ends, part.begin = batch.header, batch.checks, batch.data_ends, begin
        return part

    def read(self, batch: FileBatch, number: int, ranges: Sequence[tuple[int, int]], into: memoryview) -> None:
        """Read parts of an event's data; see `TransportConsumer.read`."""
        start = batch.data_ends.bounds[batch.begin + number][0]
        at, piece_begin, pieces = 0, 0, memoryview(b"")
        for begin, end in ranges:
            first, last = start + begin, start + end
            if first < piece_begin or last > piece_begin + len(pieces):
                piece_begin = first - first % PIECE_BYTES
                pieces = self._data(batch.header, batch.checks, piece_begin, last)
            into[at : at + last - first] = pieces[first - piece_begin : last - piece_begin]
            at += last - first

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read_batch(self) -> FileBatch | None:
        with refusals(f"pull: {self._file.path}"):
            header = self._file.header(self._place)
            if header is None:
                header = self._behind_damage()
            if header is None or header.end > self._file.size():
                return None  # being written, or left so by a process that was killed
            table = self._bytes(header.place + HEADER_BYTES, header.table_bytes)
            decoded = decode_table(header, table, self._file.salt)
            if decoded is None:
                raise self._damage(header, "its metadata are damaged")
            if self._number < header.first:
                self._number = header.first
            metadata_ends, data_ends, metadata, checks = decoded
            self._places.append((header.first, header.place))
            ends = Packed(b"", data_ends)
            data = None
            if self._whole:
                data = Packed(self._data(header, checks, 0, header.data_bytes), data_ends)
            batch = FileBatch(self.partition, header.first, Packed(metadata, metadata_ends), ends.sizes, data)
            batch.header, batch.checks, batch.data_ends, batch.begin = header, checks, ends, 0
            return batch

    def _data(self, header: Header, checks: Ends, begin: int, end: int) -> memoryview:
        """Return data of a batch from the begin of a piece on, at least up to `end`, checked."""
        end = min(-(-end // PIECE_BYTES) * PIECE_BYTES, header.data_bytes)
        data = self._bytes(header.data_place + begin, end - begin)
        piece = begin // PIECE_BYTES
        bad = first_bad_piece(data, checks[piece : -(-end // PIECE_BYTES)])
        if bad is not None:
            raise self._damage(header, f"byte {header.data_place + (piece + bad) * PIECE_BYTES} or one behind is wrong")
        return data

    def _bytes(self, place: int, size: int) -> memoryview:
        found = np.empty(size, np.uint8).data
        done = 0
        while done < size:
            count = os.preadv(self._file.fd, [found[done:]], place + done)
            if not count:
                raise CorruptDataError(f"pull: {self._file.path} ends at {place + done}, within a batch")
            done += count
        return found

    def _behind_damage(self) -> Header | None:
        """Return the header at the present place when a writer is done; what is bad then is skipped, and an error."""
        fd, place = self._file.fd, self._place
        if not try_lock(fd, shared=True):
            return None  # a writer is at it
        try:
            header, size = self._file.header(place), self._file.size()
            if header is not None or size < place + HEADER_BYTES:
                return header
            further = self._file.next_good(place, size)
        finally:
            unlock(fd)
        if further is None:
            return None  # a torn tail, which the next writer cuts off
        self._place = further.place
        raise CorruptDataError(
            f"pull: {self._file.path}: bytes {place} to {further.place} are damaged: "
            f"events {self._number} to {further.first - 1} are lost; pull again for those behind"
        )

    def _damage(self, header: Header, why: str) -> CorruptDataError:
        last = header.first + header.count - 1
        self._place, self._number = header.end, last + 1
        return CorruptDataError(
            f"pull: {self._file.path}: the batch at byte {header.place}, events {header.first} to {last}: {why}; "
            "pull again for those behind"
        )


def check_offset(number: int, end: int, partition: int) -> int:
    """Return the number of an event that is there or comes next.

    Raises
    ------
    InvalidError
        When it is neither.
    """
    if not 0 <= number <= end:
        raise InvalidError(f"seek: partition {partition}: offset {number}; accepted are 0 to {end}")
    return number
