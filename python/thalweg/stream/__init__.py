"""Event streams: topics of small metadata and large data, over one of several technologies."""

from __future__ import annotations

from thalweg.stream.definition import PartitionDescription, Retention, TopicDescription
from thalweg.stream.drivers.transport import ADAPTIVE
from thalweg.stream.future import Future
from thalweg.stream.identity import EventId
from thalweg.stream.packed import Packed

__all__ = ["ADAPTIVE", "EventId", "Future", "Packed", "PartitionDescription", "Retention", "TopicDescription"]
