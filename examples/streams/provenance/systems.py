"""The systems under comparison: what each lacks here, and how its server runs with a place for events."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any, TypeAlias

from kit.place import streams_at, topics

from provenance.sinks import LARGEST_BYTES
from thalweg.servers import ServerManager, kafka_jars

_TOPIC = "provenance"

#: Gives a place for the events of one run of the work, which is removed behind it.
Places: TypeAlias = Callable[[], AbstractContextManager[dict[str, Any]]]


def missing(system: str) -> str | None:
    """Return None where a system can run, else what to install."""
    if system == "redis":
        if shutil.which("redis-server") is None:
            return "there is no program redis-server; install it (Debian: apt-get install redis-server)"
        return None if find_spec("redis") else "there is no Python library redis; pip install redis hiredis"
    if system == "kafka":
        there = find_spec("confluent_kafka")
        return (
            kafka_jars.missing() if there else "there is no Python library confluent_kafka; pip install confluent-kafka"
        )
    return None


@contextlib.contextmanager
def running(system: str, address: str | None, partitions: int) -> Iterator[Places]:
    """Run the server of a system; yield what gives places."""
    if system == "redis":
        with ServerManager(_TOPIC, "redis") as server:
            info = server.get_server_info()["instances"][0]
            yield lambda: _of_redis(info)
        return
    if system == "kafka":
        settings = {"message.max.bytes": str(LARGEST_BYTES)}
        with ServerManager(_TOPIC, {"type": "kafka", "settings": settings}) as server:
            broker = "{host}:{port}".format(**server.get_server_info())
            yield lambda: _of_topic(f"kafka:{broker}", partitions, broker=broker)
        return
    with streams_at(address) as found:
        yield lambda: _of_topic(found, partitions)


@contextlib.contextmanager
def _of_redis(info: dict[str, Any]) -> Iterator[dict[str, Any]]:
    import redis

    client: Any = redis.Redis(info["host"], info["port"], password=info["password"], protocol=2)
    try:
        yield {**info, "topic": _TOPIC, "count": lambda: client.xlen(_TOPIC)}
        client.delete(_TOPIC)
    finally:
        client.close()


@contextlib.contextmanager
def _of_topic(address: str, partitions: int, **more: Any) -> Iterator[dict[str, Any]]:
    from thalweg import stream

    with topics(address, {_TOPIC: partitions}) as names, stream.connect(address) as driver:

        def count() -> int:
            return sum(part.next - part.first for part in driver.describe_topic(names[_TOPIC]).partitions)

        yield {"address": address, "topic": names[_TOPIC], "partitions": partitions, "count": count, **more}
