"""Redis streams over a Unix socket: pipelined XADD, XREAD of many entries, the append-only file for durability."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from thalweg.bench.stream.native import Source
from thalweg.bench.stream.order import Case, Durability, Order
from thalweg.bench.stream.system import TIMEOUT_S, TURN_S, Arrived, Consumer, Producer, System
from thalweg.errors import WaitTimeoutError
from thalweg.servers.directories import Namespace, default_base
from thalweg.servers.redis_process import RedisProcess, Settings, new_password

_START_S = 10.0


def _client(address: str) -> Any:
    import redis

    return redis.Redis(unix_socket_path=address, socket_timeout=TIMEOUT_S, protocol=2)


class _Producer(Producer):
    def __init__(self, order: Order) -> None:
        self._client, self._order = _client(order.address), order
        self._client.ping()

    def produce(self, partition: int, events: Sequence[bytes], data: bytes | None) -> None:
        key = f"{self._order.topic}:{partition}"
        pipeline = self._client.pipeline(transaction=False)
        for event in events:
            pipeline.execute_command("XADD", key, "*", "m", event, *(() if data is None else ("d", data)))
        pipeline.execute()

    def close(self) -> None:
        self._client.close()


class _Consumer(Consumer):
    def __init__(self, order: Order) -> None:
        self._client, self._order = _client(order.address), order
        self._seen = {f"{order.topic}:{number}".encode(): b"0-0" for number in range(order.case.partitions)}
        self._client.response_callbacks.pop("XREAD", None)  # the answer as hiredis made it is quicker to go through
        self._client.ping()

    def consume(self) -> Iterable[Arrived]:
        words = ("COUNT", self._order.batch, "BLOCK", int(1000 * TURN_S), "STREAMS")
        streams = self._client.execute_command("XREAD", *words, *self._seen, *self._seen.values()) or ()
        for key, entries in streams:
            self._seen[key] = entries[-1][0]
            events = [fields[1] for _, fields in entries]
            data = [fields[3] for _, fields in entries] if self._order.case.data_bytes else ()
            yield int(key.rpartition(b":")[2]), events, data

    def close(self) -> None:
        self._client.close()


class Redis(System):
    """One server with an append-only file, written out when the kernel likes (`none`) or each turn (`always`)."""

    name = "redis"
    library = ("redis", "pip install redis hiredis")
    program = Source("redis.c", "hiredis/hiredis.h", ("hiredis",), "Debian: apt-get install libhiredis-dev")

    def missing(self) -> str | None:
        if shutil.which("redis-server") is None:
            return "there is no program redis-server; install it (Debian: apt-get install redis-server)"
        return self.missing_for("python")

    def start(self, folder: Path, durability: Durability) -> str:
        self._door = Namespace(default_base(), "redis", 0)  # the path of a socket must be short
        address = str(self._door.root / "socket")
        more = (
            f"dir {folder}",
            f"unixsocket {address}",
            'requirepass ""',
            "appendonly yes",
            f"appendfsync {'always' if durability == 'always' else 'no'}",
            "auto-aof-rewrite-percentage 0",
            "proto-max-bulk-len 1gb",
        )
        program = shutil.which("redis-server") or "redis-server"
        self._process = RedisProcess(Settings(program, "127.0.0.1", 0, new_password(), None, _START_S, more=more))
        try:
            self._process.start()
        except BaseException:
            self._door.remove()
            raise
        return address

    def stop(self) -> None:
        self._process.stop()
        self._door.remove()

    def delete(self, address: str, topic: str) -> None:
        """Remove all events, and the append-only file that still has them: turned off and on it begins anew."""
        client = _client(address)
        try:
            client.flushall()
            for word in ("no", "yes"):
                client.config_set("appendonly", word)
            until = time.monotonic() + TIMEOUT_S
            while any(client.info("persistence")[f"aof_rewrite_{state}"] for state in ("in_progress", "scheduled")):
                if time.monotonic() > until:
                    raise WaitTimeoutError(f"bench stream: redis did not begin a new file within {TIMEOUT_S:.0f} s")
                time.sleep(0.01)
        finally:
            client.close()

    def create(self, address: str, topic: str, case: Case) -> None:
        """A stream is made by its first entry."""

    def producer(self, order: Order) -> Producer:
        return _Producer(order)

    def consumer(self, order: Order) -> Consumer:
        return _Consumer(order)


SYSTEMS = (Redis,)
