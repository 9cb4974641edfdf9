"""What a technology that carries streams must do, at the level of bytes."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

from thalweg.stream.definition import (
    DurabilityKind,
    PartitionDefinition,
    RestKind,
    TopicDefinition,
    TopicDescription,
)
from thalweg.stream.future import Future
from thalweg.stream.identity import EventId
from thalweg.stream.packed import Buffer, Ends, Packed

Ordering: TypeAlias = Literal["strict", "loose"]
Begin: TypeAlias = Literal["first", "next"]
RetentionKind: TypeAlias = Literal["age", "size", "acknowledged"]

#: The batch size that the technology chooses as it goes.
ADAPTIVE = 0


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """What a technology can do; asking for anything else is a `NotSupportedError`, and the suite tests that.

    Attributes
    ----------
    rests : tuple of str
        Where partitions can rest; the first is the default, unless the server chooses.
    durabilities : tuple of str
        Kinds of durability; the first is the default.
    retentions : tuple of str
        Kinds of retention.
    mixed_partitions : bool
        Partitions of one topic can differ in rest, durability and retention.
    exclusive_partitions : bool
        Of several members of one name that ask for the same partition, one gets it.
    between_processes : bool
        Another process can connect to the same topics.
    survives_restart : bool
        Events are still there when all that served and used them was stopped and started again.
    notifies : bool
        `pull` sleeps until it is woken, without polling.
    partial_reads : bool
        Of data of which a part is wanted, only about that part is read.
    server_chooses_rest : bool
        Without a rest a partition rests where the server likes it best.
    data_bytes_max : int or None
        The largest data of one event; None where only memory and storage limit them.
    """

    rests: tuple[RestKind, ...]
    durabilities: tuple[DurabilityKind, ...]
    retentions: tuple[RetentionKind, ...] = ()
    mixed_partitions: bool = True
    exclusive_partitions: bool = True
    between_processes: bool = True
    survives_restart: bool = False
    notifies: bool = True
    partial_reads: bool = True
    server_chooses_rest: bool = False
    data_bytes_max: int | None = None


@dataclasses.dataclass(frozen=True)
class ProducerOptions:
    """How a producer is to be; all is checked.

    Attributes
    ----------
    name : str
        For messages.
    batch_size : int
        Events that are sent together, or `ADAPTIVE`.
    max_num_batches : int
        The most batches under way.
    ordering : str
        Whether events of one partition keep the order in which they were pushed.
    timeout_s : float
        How long a push blocks at most.
    """

    name: str
    batch_size: int
    max_num_batches: int
    ordering: Ordering
    timeout_s: float


@dataclasses.dataclass(frozen=True)
class ConsumerOptions:
    """How a member of a named consumer is to be; all is checked.

    Attributes
    ----------
    name : str
        Of the consumer.
    partitions : sequence of int or None
        Those that this member holds; None: the members of the name share all.
    begin : str
        Where a name begins that has acknowledged nothing.
    batch_size, max_num_batches : int
        Events (or `ADAPTIVE`) that are fetched together, and how many such batches ahead.
    whole : bool
        All data are wanted, with their metadata; else they are read by `read`, as far as wanted.
    timeout_s : float
        How long it waits for what is not in `pull`.
    """

    name: str
    partitions: Sequence[int] | None
    begin: Begin
    batch_size: int
    max_num_batches: int
    whole: bool
    timeout_s: float


@dataclasses.dataclass
class RawBatch:
    """Events of one partition that lie one behind the other.

    Attributes
    ----------
    partition : int
        Their partition.
    first : int
        The number of the first; the others follow without gaps.
    metadata : Packed
        Their metadata.
    data_sizes : ndarray, shape (count,), uint64
        How many bytes of data each has.
    data : Packed or None
        All their data, where they came along. Always there when the consumer was made with ``whole=True``. The views
        stay valid as long as they are referred to.
    """

    partition: int
    first: int
    metadata: Packed
    data_sizes: Ends
    data: Packed | None


@dataclasses.dataclass(frozen=True)
class Held:
    """A partition that a consumer holds now.

    Attributes
    ----------
    acknowledged : int
        The number behind the last acknowledged event.
    next : int
        The number that the next appended event gets.
    """

    acknowledged: int
    next: int


class TransportProducer(ABC):
    """Appends events of one producer. May be used by several threads at once.

    Bytes that were handed over must stay as they are until the future is done.
    """

    @abstractmethod
    def push(self, partition: int, metadata: bytes, data: Sequence[Buffer]) -> Future[EventId]:
        """Append an event whose data are these segments, one behind the other (one dimension, items of one byte).

        Does not wait for the server; blocks, at most for the producer's time-out, only where `max_num_batches` are
        under way and the open batch is full.

        Raises
        ------
        WaitTimeoutError
            When it stayed full for the producer's time-out; nothing was taken.
        FullError
            When the event is larger than the technology takes.
        """

    @abstractmethod
    def push_many(self, partition: int, metadata: Packed, data: Packed | None) -> Future[Sequence[int]]:
        """Append events, as many as there are metadata, in order; None is no data. Blocks as `push` does.

        The future is of their numbers: a range, or a list where the technology lets others' come between them.
        """

    @abstractmethod
    def flush(self, timeout_s: float) -> None:
        """Return when the futures of all that was pushed before are done.

        Raises
        ------
        WaitTimeoutError
            When the time has passed.
        ThalwegError
            The first error that a future got since the last flush.
        """

    @abstractmethod
    def close(self, timeout_s: float) -> None:
        """Flush, and give back what it holds, the latter also where flushing fails. Further calls do nothing."""


class TransportConsumer(ABC):
    """Reads events of one member of a named consumer.

    One thread at a time reads; `acknowledge`, `held` and `close` may be called from others.
    """

    @abstractmethod
    def pull(self, max_events: int, timeout_s: float) -> RawBatch | None:
        """Return the next events of one partition, 1 to `max_events`; None when none came in time or it was closed.

        Raises
        ------
        NotFoundError
            When the topic is gone.
        CorruptDataError
            When the next events are damaged; the call after it goes on behind the damage.
        ServerGoneError
            When the server cannot be reached any more.
        """

    @abstractmethod
    def read(self, batch: RawBatch, number: int, ranges: Sequence[tuple[int, int]], into: memoryview) -> None:
        """Read parts of the data of event `number` of `batch` (counted from 0), one behind the other, into `into`.

        Only for batches that came without their data. `ranges` are (begin, end) in bytes of the data, checked; `into`
        is writable, of one dimension and exactly as many bytes.
        """

    @abstractmethod
    def acknowledge(self, partition: int, next_offset: int, wait: bool = False) -> None:
        """Remember that the events before `next_offset` are done with; a lower number than before changes nothing.

        With `wait` it returns when that outlives the technology's own end; without, it is remembered soon.
        """

    @abstractmethod
    def seek(self, partition: int, to: int | float | Begin) -> None:
        """Read a held partition from event `to` (int), from the first at or behind a time since 1970 in seconds (float)
        or from where it begins or ends now. What was acknowledged stays so.

        Raises
        ------
        InvalidError
            When the partition is not held, or there is no such event and it is not the next.
        """

    def holds(self, partition: int) -> bool:
        """Tell whether this member still holds a partition; asked now and then while fetched events are given out."""
        return True

    @abstractmethod
    def held(self) -> Mapping[int, Held]:
        """Return the partitions that this member holds now."""

    @abstractmethod
    def close(self) -> None:
        """Store what was acknowledged, let other members have the partitions, wake a `pull`. Again: does nothing."""

    def forget(self) -> None:
        """Close, and forget the name with what it acknowledged where the technology can and no other member has it."""
        self.close()


class StreamTransport(ABC):
    """One connection. Names and definitions are checked, against the capabilities too, before they come here.

    Every call ends within the connection's time-out, where it has none of its own, with a `WaitTimeoutError`; a server
    that is gone is a `ServerGoneError`; a topic that is not there a `NotFoundError`; rights that are missing an
    `AccessError`.

    Parameters
    ----------
    address : str or None
        What stands behind the scheme and the colon of the address; with the scheme for those of which the technology
        has several (``unix:``, ``tcp:``); None for a server in this process.
    name : str
        Of this client, for messages.
    token : str or None
        The secret of the server.
    """

    capabilities: ClassVar[Capabilities]

    @abstractmethod
    def __init__(self, address: str | None, *, name: str, token: str | None, timeout_s: float) -> None: ...

    @abstractmethod
    def create(self, topic: str, definition: TopicDefinition) -> None:
        """Make a topic; `ExistsError` when it is there."""

    @abstractmethod
    def delete(self, topic: str) -> None:
        """Remove a topic and its events."""

    @abstractmethod
    def topics(self) -> list[str]:
        """Return the names of all topics, sorted."""

    @abstractmethod
    def describe(self, topic: str) -> TopicDescription:
        """Return what a topic is now."""

    @abstractmethod
    def add_partition(self, topic: str, definition: PartitionDefinition) -> int:
        """Add a partition to a topic; return its number."""

    @abstractmethod
    def producer(self, topic: str, partitions: int, options: ProducerOptions) -> TransportProducer:
        """Return a producer for a topic of so many partitions."""

    @abstractmethod
    def consumer(self, topic: str, options: ConsumerOptions) -> TransportConsumer:
        """Return a member of a named consumer, which begins behind what that name acknowledged.

        Raises
        ------
        WaitTimeoutError
            When the partitions that were given are held by another member for the time-out.
        """

    @abstractmethod
    def close(self) -> None:
        """Give back the connection. Further calls do nothing."""
