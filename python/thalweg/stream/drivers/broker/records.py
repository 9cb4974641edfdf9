"""Kafka's messages as batches of events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from thalweg.stream.drivers.transport import RawBatch
from thalweg.stream.packed import Packed

#: An event with so much data is a batch of its own, so that they are not copied together.
APART_BYTES = 256 << 10


def batches_of(messages: Sequence[Any]) -> Iterator[RawBatch]:
    """Yield the messages in runs of one partition without gaps; those of several partitions may be mixed."""
    keys: list[bytes] = []
    values: list[bytes] = []
    partition = first = -1
    for message in messages:
        number, offset = message.partition(), message.offset()
        value = message.value() or b""
        apart = len(value) >= APART_BYTES or (bool(values) and len(values[-1]) >= APART_BYTES)
        if keys and (apart or number != partition or offset != first + len(keys)):
            yield _batch(partition, first, keys, values)
            keys, values = [], []
        if not keys:
            partition, first = number, offset
        keys.append(message.key() or b"")
        values.append(value)
    if keys:
        yield _batch(partition, first, keys, values)


def _batch(partition: int, first: int, keys: list[bytes], values: list[bytes]) -> RawBatch:
    data = Packed.of(values)
    return RawBatch(partition, first, Packed.of(keys), data.sizes, data)
