"""A topic that was opened: its rules, and who appends to it and reads from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from thalweg.errors import InvalidError
from thalweg.stream.consumer import Consumer
from thalweg.stream.definition import TopicDescription, check_name
from thalweg.stream.drivers.transport import (
    ADAPTIVE,
    Begin,
    ConsumerOptions,
    Ordering,
    ProducerOptions,
    StreamTransport,
)
from thalweg.stream.future import TIMEOUT_S, check_timeout
from thalweg.stream.producer import Producer
from thalweg.stream.rules.selector import check_partition, selector_of
from thalweg.stream.rules.serializer import serializer_of
from thalweg.stream.rules.validator import validator_of
from thalweg.stream.wanted import DataBroker, DataSelector, Wanted


class Topic:
    """A topic; made by `Driver.open_topic`.

    Attributes
    ----------
    name : str
        Its name.
    description : TopicDescription
        What it was when it was opened.
    """

    def __init__(self, transport: StreamTransport, description: TopicDescription) -> None:
        self.name = description.name
        self.description = description
        self._transport = transport
        self._serializer = serializer_of(description.serializer)
        self._validator = validator_of(description.validator, self._serializer)

    def producer(
        self,
        name: str = "producer",
        *,
        batch_size: int = ADAPTIVE,
        max_num_batches: int = 8,
        ordering: Ordering = "strict",
        timeout_s: float = TIMEOUT_S,
    ) -> Producer:
        """Return a producer, which is a context manager.

        Parameters
        ----------
        name : str
            Who appends, for messages and monitoring.
        batch_size : int
            The most events that are appended together; `ADAPTIVE` lets the driver choose.
        max_num_batches : int
            How many batches may be under way; `push` blocks where they are and the open one is full.
        ordering : str
            ``"strict"``: events of a partition are appended in the order of pushing. ``"loose"``: batches may overtake.
        timeout_s : float
            How long `push` blocks at most.

        Raises
        ------
        InvalidError
            When an argument is outside what is accepted.
        """
        operation = f"topic {self.name!r}: producer"
        check_name(name, operation, "producer")
        _check_batches(operation, batch_size, max_num_batches)
        _check_word(operation, "ordering", ordering, get_args(Ordering))
        selector = selector_of(self.description.selector, len(self.description.partitions))
        transport = self._transport.producer(
            self.name,
            selector.partitions,
            ProducerOptions(name, batch_size, max_num_batches, ordering, check_timeout(timeout_s, operation)),
        )
        return Producer(self.name, name, transport, self._validator, selector, self._serializer)

    def consumer(
        self,
        name: str,
        *,
        partitions: Sequence[int] | None = None,
        begin: Begin = "first",
        batch_size: int = ADAPTIVE,
        max_num_batches: int = 2,
        data_selector: DataSelector | None = None,
        data_broker: DataBroker | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> Consumer:
        """Return a member of the consumer `name`, which is a context manager; blocks until it has its partitions.

        Parameters
        ----------
        name : str
            Under which it is remembered what was acknowledged. Members of one name share the partitions; consumers of
            different names are independent.
        partitions : sequence of int, optional
            Those to read; without, the members share all.
        begin : str
            Where a name begins that has acknowledged nothing yet: ``"first"`` or ``"next"``, with what is appended from
            now on.
        batch_size, max_num_batches : int
            How many events are fetched together at most, and how many such batches ahead.
        data_selector : callable, optional
            ``data_selector(metadata, DataDescriptor)`` returns the part of the data that is wanted, or None.
        data_broker : callable, optional
            ``data_broker(metadata, DataDescriptor)`` returns the writable buffer, of as many bytes as the descriptor
            says, where that part shall land.
        timeout_s : float
            How long this and an awaited `pull` block at most.

        Raises
        ------
        InvalidError
            When an argument is outside what is accepted.
        WaitTimeoutError
            When another member holds the `partitions`.
        """
        operation = f"topic {self.name!r}: consumer"
        check_name(name, operation, "consumer")
        _check_batches(operation, batch_size, max_num_batches)
        _check_word(operation, "begin", begin, get_args(Begin))
        if partitions is not None:
            count = len(self.description.partitions)
            partitions = sorted({check_partition(number, count, operation) for number in partitions})
            if not partitions:
                raise InvalidError(f"{operation}: no partitions; give at least one, or None to share all")
        wanted = Wanted(data_selector, data_broker)
        timeout_s = check_timeout(timeout_s, operation)
        transport = self._transport.consumer(
            self.name,
            ConsumerOptions(name, partitions, begin, batch_size, max_num_batches, wanted.whole, timeout_s),
        )
        return Consumer(self.name, name, transport, wanted, self._serializer, timeout_s)

    def __repr__(self) -> str:
        return f"Topic({self.name!r}, partitions={len(self.description.partitions)})"


def _check_batches(operation: str, batch_size: object, max_num_batches: object) -> None:
    if not isinstance(batch_size, int) or isinstance(batch_size, bool) or not 0 <= batch_size <= 1 << 24:
        raise InvalidError(f"{operation}: batch_size {batch_size!r}; accepted are ADAPTIVE and 1 to {1 << 24} events")
    if not isinstance(max_num_batches, int) or isinstance(max_num_batches, bool) or not 1 <= max_num_batches <= 4096:
        raise InvalidError(f"{operation}: max_num_batches {max_num_batches!r}; accepted are 1 to 4096")


def _check_word(operation: str, what: str, value: object, accepted: tuple[str, ...]) -> None:
    if value not in accepted:
        raise InvalidError(f"{operation}: {what} {value!r}; accepted are {' and '.join(map(repr, accepted))}")
