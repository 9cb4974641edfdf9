"""The Kafka client library, and its errors as ours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from thalweg.errors import (
    AccessError,
    ExistsError,
    FullError,
    InvalidError,
    NotFoundError,
    ServerGoneError,
    ThalwegError,
    WaitTimeoutError,
)
from thalweg.homes import library

#: The largest record: data, metadata and what Kafka adds.
RECORD_BYTES_MAX = 66 << 20
DATA_BYTES_MAX = 64 << 20


def confluent_kafka() -> Any:
    """Return the module.

    Raises
    ------
    MissingLibraryError
        When it is not installed.
    """
    library("confluent_kafka.admin", "kafka", "kafka")
    return library("confluent_kafka", "kafka", "kafka")


def settings(address: str) -> dict[str, Any]:
    """Return what all clients of a broker are set to."""
    return {
        "bootstrap.servers": address,
        "allow.auto.create.topics": False,
        "log_level": 2,
        "error_cb": lambda error: None,
        "socket.nagle.disable": True,
        "topic.metadata.refresh.interval.ms": 10_000,
        "reconnect.backoff.max.ms": 1000,
    }


def as_ours(error: Any, operation: str) -> ThalwegError:
    """Return our error for a KafkaError."""
    code = confluent_kafka().KafkaError
    kinds: dict[int, tuple[type[ThalwegError], str]] = {
        code.UNKNOWN_TOPIC_OR_PART: (NotFoundError, "see list_topics for those that are there"),
        code._UNKNOWN_TOPIC: (NotFoundError, "see list_topics for those that are there"),
        code._UNKNOWN_PARTITION: (NotFoundError, "see describe_topic for those that are there"),
        code.TOPIC_ALREADY_EXISTS: (ExistsError, "open it"),
        code.MSG_SIZE_TOO_LARGE: (FullError, f"accepted are about {DATA_BYTES_MAX} bytes of metadata and data"),
        code._TIMED_OUT: (WaitTimeoutError, "see whether the broker answers"),
        code._MSG_TIMED_OUT: (WaitTimeoutError, "see whether the broker answers"),
        code.REQUEST_TIMED_OUT: (WaitTimeoutError, "see whether the broker answers"),
        code.TOPIC_AUTHORIZATION_FAILED: (AccessError, "ask for the right to the topic"),
        code.GROUP_AUTHORIZATION_FAILED: (AccessError, "ask for the right to the consumer group"),
        code.CLUSTER_AUTHORIZATION_FAILED: (AccessError, "ask for the right"),
        code.TOPIC_EXCEPTION: (InvalidError, "choose another name"),
        code.INVALID_REPLICATION_FACTOR: (InvalidError, "see the broker's default.replication.factor"),
        code.POLICY_VIOLATION: (InvalidError, "see the broker's policies"),
        code.INVALID_CONFIG: (InvalidError, "see the broker's version"),
    }
    kind, advice = kinds.get(error.code(), (ServerGoneError, "see whether the broker runs and can be reached"))
    return kind(f"{operation}: {error.str()}; {advice}")


@contextlib.contextmanager
def errors(operation: str) -> Iterator[None]:
    """Turn the library's errors into ours."""
    kafka = confluent_kafka()
    try:
        yield
    except kafka.KafkaException as error:
        raise as_ours(error.args[0], operation) from None
