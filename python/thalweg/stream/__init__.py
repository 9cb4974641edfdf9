"""Event streams: topics of small metadata and large data, over one of several technologies."""

from __future__ import annotations

from thalweg.stream.connect import connect, register_driver
from thalweg.stream.consumer import Consumer
from thalweg.stream.definition import PartitionDescription, Retention, TopicDescription
from thalweg.stream.descriptor import DataDescriptor
from thalweg.stream.driver import Driver
from thalweg.stream.drivers.transport import ADAPTIVE, Capabilities
from thalweg.stream.event import Event, EventBatch
from thalweg.stream.future import Future
from thalweg.stream.identity import EventId
from thalweg.stream.producer import Producer
from thalweg.stream.rules.register import register_selector, register_serializer, register_validator
from thalweg.stream.topic import Topic

__all__ = [
    "ADAPTIVE",
    "Capabilities",
    "Consumer",
    "DataDescriptor",
    "Driver",
    "Event",
    "EventBatch",
    "EventId",
    "Future",
    "PartitionDescription",
    "Producer",
    "Retention",
    "Topic",
    "TopicDescription",
    "connect",
    "register_driver",
    "register_selector",
    "register_serializer",
    "register_validator",
]
