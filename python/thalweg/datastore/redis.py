"""The backend `redis`: one Redis server, several, or a Redis Cluster, spoken to in RESP3."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from thalweg.datastore.backend import MISSING, Backend, Capabilities, How, enough
from thalweg.datastore.redis_subscription import Subscription, sleep
from thalweg.datastore.redis_topology import Cluster, Instances, Node, Topology, tag
from thalweg.datastore.staged_value import Array, Header, Packed, destination, unpack, writable_bytes
from thalweg.errors import AccessError, CorruptDataError, FullError, InvalidError, ServerGoneError
from thalweg.homes import library

PIECE_BYTES = 256 << 20  # one Redis string holds at most 512 MiB
_RETRIES = 100


class RedisBackend(Backend):
    """Header and payload as two strings that are set together; waiting subscribes to a channel of the key.

    Values over 256 MiB are cut into pieces, because a Redis string ends at 512 MiB. Where the servers are several,
    a `Topology` says which of them has a key; the commands are the same.
    """

    name: ClassVar[str] = "redis"
    capabilities = Capabilities(notifies=True, between_processes=True, between_nodes=True, zero_copy_reads=False)

    @classmethod
    def available(cls) -> str | None:
        if importlib.util.find_spec("redis") is None:
            return "the library redis is not installed; pip install 'thalweg[redis]'"
        return None

    def __init__(self, server_info: Mapping[str, Any]) -> None:
        self._redis = library("redis", "redis", "redis")
        self._namespace = server_info["namespace"]
        self._piece_bytes = int(server_info.get("piece_bytes", PIECE_BYTES))
        instances = server_info["instances"]
        topology = Cluster if server_info["cluster"] else Instances
        with self._errors("connect", ", ".join(f"{at['host']}:{at['port']}" for at in instances)):
            self._topology: Topology = topology(instances)

    def write(self, key: str, value: Packed, *, checksum: bool) -> None:
        header, payload = value.encode(checksum)
        header_name, data_name, channel = self._names(key)
        node = self._node_of(key, "stage_write")
        with self._errors(f"stage_write: key {key!r}", node.address):
            described, content = header.encode(), payload
            if payload.nbytes > self._piece_bytes:
                described, content = self._write_pieces(node, key, header, payload), memoryview(b"")
            pipe = node.client.pipeline(transaction=True)
            pipe.get(header_name)
            pipe.execute_command("MSET", header_name, described, data_name, content)
            pipe.execute_command("PUBLISH", channel, b"")
            self._remove_pieces(node, key, pipe.execute()[0])

    def read(self, key: str, *, into: Array | None, allow_pickle: bool) -> Any:
        node = self._node_of(key, "stage_read")
        with self._errors(f"stage_read: key {key!r}", node.address):
            start, payload = node.client.mget(*self._names(key)[:2])
        return self._value(node, key, start, payload, into, allow_pickle)

    def read_many(self, keys: Sequence[str], *, allow_pickle: bool) -> Iterator[tuple[str, Any]]:
        for node, its_keys in self._topology.groups(keys):
            with self._errors("stage_read_many", node.address):
                pipe = node.client.pipeline(transaction=False)
                for key in its_keys:
                    pipe.mget(*self._names(key)[:2])
                found = pipe.execute()
            for key in its_keys:
                start, payload = found.pop(0)  # not kept beyond its turn: a batch may be large
                value = self._value(node, key, start, payload, None, allow_pickle)
                if value is not MISSING:
                    yield key, value

    def exists(self, key: str) -> bool:
        node = self._node_of(key, "poll_staged_data")
        with self._errors("poll_staged_data", node.address):
            return bool(node.client.exists(self._names(key)[0]))

    def delete(self, key: str) -> bool:
        header_name, data_name, _ = self._names(key)
        node = self._node_of(key, "clean_staged_data")
        with self._errors("clean_staged_data", node.address):
            pipe = node.client.pipeline(transaction=True)
            pipe.get(header_name)
            pipe.delete(header_name, data_name)
            before, found = pipe.execute()
            self._remove_pieces(node, key, before)
            return bool(found)

    def wait(self, keys: Sequence[str], timeout_s: float, how: How) -> list[str]:
        until = time.monotonic() + timeout_s
        groups = self._topology.groups(keys)
        ready = self._ready(groups, keys)
        if enough(ready, keys, how) or timeout_s <= 0:
            return ready
        with contextlib.ExitStack() as open_subscriptions:
            address_of = {}
            for node, its_keys in groups:
                with self._errors("wait", node.address):
                    subscription = Subscription(node.client, [self._names(key)[2] for key in its_keys], until)
                    address_of[open_subscriptions.enter_context(subscription)] = node.address
            while True:
                ready = self._ready(groups, keys)
                if enough(ready, keys, how) or time.monotonic() >= until:
                    return ready
                for subscription in sleep(list(address_of), until):
                    with self._errors("wait", address_of[subscription]):
                        subscription.drain()

    def close(self) -> None:
        self._topology.close()

    def _node_of(self, key: str, operation: str) -> Node:
        with self._errors(operation, self._topology.address):
            return self._topology.node_of(key)

    def _ready(self, groups: Sequence[tuple[Node, list[str]]], keys: Sequence[str]) -> list[str]:
        found: set[str] = set()
        for node, its_keys in groups:
            with self._errors("wait", node.address):
                pipe = node.client.pipeline(transaction=False)
                for key in its_keys:
                    pipe.exists(self._names(key)[0])
                found.update(key for key, there in zip(its_keys, pipe.execute(), strict=True) if there)
        return [key for key in keys if key in found]

    def _value(
        self, node: Node, key: str, start: bytes | None, payload: Any, into: Array | None, allow_pickle: bool
    ) -> Any:
        """Put together what MGET gave for a key; reads pieces, and all of it again when it was replaced meanwhile."""
        source = f"stage_read: key {key!r}"
        for _ in range(_RETRIES):
            if start is None or payload is None:
                return MISSING
            header = Header.decode(start, source)
            if header.pieces:
                payload = self._read_pieces(node, key, header, start)
            if payload is not None:
                value = unpack(header, payload, source=source, allow_pickle=allow_pickle)
                if into is None:
                    return value
                destination(into, header, source)
                np.copyto(into, value, casting="no")
                return into
            with self._errors(source, node.address):  # replaced while being read
                start, payload = node.client.mget(*self._names(key)[:2])
        raise CorruptDataError(f"{source}: pieces of its value are missing")

    def _names(self, key: str) -> tuple[str, str, str]:
        """Names of a key's header, payload and channel. The key's own text could break a hash tag, so its CRC is it."""
        start, end = self._namespace, f"{{{tag(key)}}}:{key}"
        return f"{start}:h:{end}", f"{start}:d:{end}", f"{start}:w:{end}"

    def _piece_names(self, key: str, described: bytes) -> list[str]:
        """Return the names of a value's pieces; `described` is its header with what stands behind it."""
        behind = described[Header.length(described, f"key {key!r}") :]
        write_id, _, count = behind.decode("ascii").partition(" ")
        return [f"{self._namespace}:c:{{{tag(key)}}}:{write_id}:{number}" for number in range(int(count))]

    def _remove_pieces(self, node: Node, key: str, described: bytes | None) -> None:
        if described is not None and Header.decode(described, f"key {key!r}").pieces:
            node.client.unlink(*self._piece_names(key, described))

    def _write_pieces(self, node: Node, key: str, header: Header, payload: memoryview) -> bytes:
        count = -(-payload.nbytes // self._piece_bytes)
        description = f"{uuid.uuid4().hex} {count}".encode()
        described = dataclasses.replace(header, pieces=True).encode() + description
        for number, name in enumerate(self._piece_names(key, described)):
            start = number * self._piece_bytes
            node.client.execute_command("SET", name, payload[start : start + self._piece_bytes])
        return described

    def _read_pieces(self, node: Node, key: str, header: Header, described: bytes) -> memoryview | None:
        whole = writable_bytes(header.size_bytes)
        position = 0
        for name in self._piece_names(key, described):
            with self._errors(f"stage_read: key {key!r}", node.address):
                piece = node.client.get(name)
            if piece is None:
                return None
            whole[position : position + len(piece)] = piece
            position += len(piece)
        return whole[:position]

    @contextlib.contextmanager
    def _errors(self, operation: str, address: str) -> Iterator[None]:
        errors = self._redis.exceptions
        try:
            yield
        except errors.AuthenticationError as error:
            raise AccessError(f"{operation}: the Redis server at {address} refused the password: {error}") from error
        except (errors.ConnectionError, errors.TimeoutError, errors.RedisClusterException) as error:
            raise ServerGoneError(f"{operation}: the Redis server at {address} does not answer: {error}") from error
        except errors.OutOfMemoryError as error:
            raise FullError(
                f"{operation}: the Redis server at {address} has reached its memory limit; "
                "raise memory_limit_bytes or clean staged data that is not needed any more"
            ) from error
        except errors.ResponseError as error:
            text = str(error)
            if "OOM" in text:
                raise FullError(f"{operation}: the Redis server at {address} has reached its memory limit") from error
            raise InvalidError(f"{operation}: the Redis server at {address} refused: {error}") from error
