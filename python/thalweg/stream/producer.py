"""Appending events to a topic."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from thalweg.errors import InvalidError, ThalwegError
from thalweg.stream.columns import data_column, metadata_column, segments
from thalweg.stream.drivers.transport import TransportProducer
from thalweg.stream.future import TIMEOUT_S, All, Derived, Future, Promise, check_timeout
from thalweg.stream.identity import EventId
from thalweg.stream.packed import Buffer, Packed
from thalweg.stream.rules.selector import Selector, check_partition, grouped
from thalweg.stream.rules.serializer import Serializer
from thalweg.stream.rules.validator import Validator


class Producer:
    """Appends events under a name; made by `Topic.producer`. May be used by several threads.

    Bytes that were pushed must stay as they are until the future is done.
    """

    def __init__(
        self,
        topic: str,
        name: str,
        transport: TransportProducer,
        validator: Validator | None,
        selector: Selector,
        serializer: Serializer,
    ) -> None:
        self.topic = topic
        self.name = name
        self._transport = transport
        self._validator = validator
        self._check_values = validator is not None and not validator.encoding_suffices
        self._selector = selector
        self._serializer = serializer
        self._encode = serializer.encode
        self._closed = False

    def push(self, metadata: Any, data: Any = None, partition: int | None = None) -> Future[EventId]:
        """Append an event; return the future of its identity.

        Blocks only when `max_num_batches` are under way and the open batch is full, at most for `timeout_s`.

        Parameters
        ----------
        metadata : object
            What the topic's serializer takes; or bytes, which are taken as serialised already.
        data : bytes-like, array, or list of these, optional
            Segments are laid one behind the other. Arrays are sent in C order.
        partition : int, optional
            Where it goes; without, the topic's selector chooses.

        Raises
        ------
        InvalidError
            When the metadata are not accepted (with their JSON path), or there is no such partition.
        DTypeError
            When the data have no bytes.
        WaitTimeoutError
            When it stayed full.
        """
        if isinstance(metadata, bytes | bytearray | memoryview):
            encoded, given = bytes(metadata), True
            if self._validator is not None:
                self._validator.check_encoded(encoded)
        else:
            if self._check_values and self._validator is not None:
                self._validator.check(metadata)
            encoded, given = self._encode(metadata), False
        selector = self._selector
        if partition is not None:
            partition = check_partition(partition, selector.partitions, "push")
        elif given and selector.looks:
            partition = selector.one(self._serializer.decode(encoded))
        else:
            partition = selector.one(metadata)
        if self._closed:
            raise self._closed_error()
        return self._transport.push(partition, encoded, segments(data))

    def push_many(
        self, metadata: Any, data: Any = None, partition: int | None = None
    ) -> Future[list[tuple[int, Sequence[int]]]]:
        """Append many events at once; return the future of their partitions and their numbers there.

        The numbers are a range for each partition, in the order of pushing; a list where others' came between them.

        Parameters
        ----------
        metadata : list, structured array of shape (events,), or pyarrow RecordBatch or Table
            One item an event. Columns of a topic of records, and one Arrow column of bytes, cross over without a loop.
        data : array of shape (events, ...), list of bytes-like things, or pyarrow array of bytes, optional
            One item an event.
        partition : int, optional
            Where they go; without, the topic's selector chooses.

        Raises
        ------
        InvalidError, ShapeError, DTypeError, WaitTimeoutError
            As `push`; none of them is appended then.
        """
        encoded, values = metadata_column(metadata, self._serializer)
        count = len(encoded)
        if self._validator is not None:
            self._check_many(self._validator, encoded, values)
        column = data_column(data, count)
        selector = self._selector
        if partition is not None:
            chosen = np.full(count, check_partition(partition, selector.partitions, "push_many"), np.int64)
        else:
            chosen = selector.many(count, self._values(encoded, values) if selector.looks else ())
        if self._closed:
            raise self._closed_error()
        futures: list[tuple[int, Future[Sequence[int]]]] = []
        for number, which in grouped(chosen):
            try:
                futures.append((number, self._push_some(number, encoded, column, which)))
            except ThalwegError as error:
                if not futures:
                    raise
                failed: Promise[Sequence[int]] = Promise("push_many")
                failed.fail(error)
                futures.append((number, failed))
        return _Gathered(futures)

    def flush(self, timeout_s: float = TIMEOUT_S) -> None:
        """Return when all that was pushed is appended.

        Raises
        ------
        WaitTimeoutError
            When the time has passed.
        ThalwegError
            What kept an event from being appended.
        """
        if not self._closed:
            self._transport.flush(check_timeout(timeout_s, "flush"))

    async def flushed(self, timeout_s: float = TIMEOUT_S) -> None:
        """Wait in asyncio as `flush` does."""
        await asyncio.to_thread(self.flush, timeout_s)

    def close(self, timeout_s: float = TIMEOUT_S) -> None:
        """Flush, and give back what it holds. Further calls do nothing."""
        if not self._closed:
            self._closed = True
            self._transport.close(check_timeout(timeout_s, "close"))

    def __enter__(self) -> Producer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with contextlib.suppress(ThalwegError):  # the error of the block is the one to report
            self.close(1.0)

    def _check_many(self, validator: Validator, encoded: Packed, values: Any) -> None:
        if isinstance(values, np.ndarray) and validator.encoding_suffices:
            return
        for number, value in enumerate(values):
            try:
                if isinstance(value, bytes | bytearray | memoryview):
                    validator.check_encoded(value)
                elif self._check_values:
                    validator.check(value)
            except InvalidError as error:
                raise InvalidError(f"push_many: event {number} of {len(encoded)}: {error}") from None

    def _values(self, encoded: Packed, values: Any) -> Any:
        """Return values that a selector can look at."""
        if isinstance(values, np.ndarray):
            return values
        if isinstance(values, Sequence) and not any(isinstance(v, bytes | bytearray | memoryview) for v in values):
            return values
        return self._serializer.decode_many(encoded)

    def _push_some(
        self, partition: int, encoded: Packed, column: Packed | list[Sequence[Buffer]] | None, which: Any
    ) -> Future[Sequence[int]]:
        together = isinstance(which, tuple)
        metadata = encoded.part(*which) if together else encoded.take(which)
        if isinstance(column, list):
            numbers = range(*which) if together else which.tolist()
            each = [
                self._transport.push(partition, bytes(metadata[at]), column[number])
                for at, number in enumerate(numbers)
            ]
            return _Together(each)
        data = None if column is None else column.part(*which) if together else column.take(which)
        return self._transport.push_many(partition, metadata, data)

    def _closed_error(self) -> InvalidError:
        return InvalidError(f"push: producer {self.name!r} of topic {self.topic!r} is closed")


class _Gathered(Derived[Any, list[tuple[int, Sequence[int]]]]):
    """The ranges of events that went to several partitions."""

    __slots__ = ()

    def __init__(self, futures: Sequence[tuple[int, Future[Sequence[int]]]]) -> None:
        partitions = [partition for partition, _ in futures]
        super().__init__(
            All([future for _, future in futures]), lambda ranges: list(zip(partitions, ranges, strict=True))
        )


class _Together(Derived[Any, Sequence[int]]):
    """The range of events that were pushed one by one to one partition."""

    __slots__ = ()

    def __init__(self, futures: Sequence[Future[EventId]]) -> None:
        super().__init__(All(futures), lambda ids: range(ids[0].offset, ids[-1].offset + 1))
