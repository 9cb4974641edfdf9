"""Appending to the partition files of a topic, in the background."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thalweg.errors import WaitTimeoutError
from thalweg.stream.drivers.batching import Batch, Batcher
from thalweg.stream.drivers.folder.appender import Appender, Piece
from thalweg.stream.drivers.folder.layout import TopicFolder
from thalweg.stream.drivers.transport import ProducerOptions, TransportProducer
from thalweg.stream.future import Future
from thalweg.stream.identity import EventId
from thalweg.stream.packed import Buffer, Packed

#: What one batch in the file holds at most, so that readers need not hold more.
_PIECE_EVENTS, _PIECE_BYTES = 1 << 16, 32 << 20


class FolderProducer(TransportProducer):
    """One thread appends batches, in the order of pushing."""

    def __init__(self, topic: TopicFolder, options: ProducerOptions) -> None:
        self._topic = topic
        self._durable = [partition.durability_kind == "always" for partition in topic.definition().partitions]
        self._appenders: dict[int, Appender] = {}
        self._timeout_s = options.timeout_s
        self._most_events = options.batch_size or _PIECE_EVENTS
        self._what = f"push: producer {options.name!r} of topic {topic.name!r}"
        self._batcher = Batcher(
            self._append,
            self._what,
            batch_events=options.batch_size,
            max_num_batches=options.max_num_batches,
            timeout_s=options.timeout_s,
        )
        self._closed = False

    def push(self, partition: int, metadata: bytes, data: Sequence[Buffer]) -> Future[EventId]:
        return self._batcher.push(partition, metadata, data)

    def push_many(self, partition: int, metadata: Packed, data: Packed | None) -> Future[range]:
        return self._batcher.push_many(partition, metadata, data)

    def flush(self, timeout_s: float) -> None:
        self._batcher.flush(timeout_s)

    def close(self, timeout_s: float) -> None:
        if self._closed:
            return
        self._closed = True
        if not self._batcher.close(timeout_s):
            raise WaitTimeoutError(f"close: {self._what}: not all was appended within {timeout_s:g} s")
        for appender in self._appenders.values():
            appender.close()
        self._batcher.flush(0)

    def _append(self, batch: Batch) -> int:
        appender = self._appenders.get(batch.partition)
        if appender is None:
            path = self._topic.events(batch.partition)
            appender = Appender(path, durable=self._durable[batch.partition], timeout_s=self._timeout_s)
            self._appenders[batch.partition] = appender
        if batch.columns is None:
            lengths = np.fromiter(map(len, batch.metadata), np.uint64, len(batch.metadata))
            sizes = np.array(batch.data_sizes, np.uint64)
            piece = Piece(batch.metadata, np.cumsum(lengths), batch.data, np.cumsum(sizes))
            return appender.append([piece])
        metadata, data = batch.columns
        return appender.append(
            self._pieces(metadata.dense(), Packed.empty(len(metadata)) if data is None else data.dense())
        )

    def _pieces(self, metadata: Packed, data: Packed) -> list[Piece]:
        """Cut columns into what one batch in the file may hold."""
        begin, count, pieces = 0, len(metadata), []
        while begin < count:
            before = int(data.ends[begin - 1]) if begin else 0
            end = int(np.searchsorted(data.ends, before + _PIECE_BYTES, side="right"))
            end = min(max(end, begin + 1), begin + self._most_events, count)
            some, their = metadata.part(begin, end), data.part(begin, end)
            pieces.append(Piece([some.blob], some.ends, [their.blob], their.ends))
            begin = end
        return pieces
