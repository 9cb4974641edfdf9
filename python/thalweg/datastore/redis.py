"""The backend `redis`: a Redis server, spoken to in RESP3."""

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
from thalweg.datastore.staged_value import Array, Header, Packed, destination, unpack, writable_bytes
from thalweg.errors import AccessError, CorruptDataError, FullError, InvalidError, MissingLibraryError, ServerGoneError

PIECE_BYTES = 256 << 20  # one Redis string holds at most 512 MiB
_SOCKET_TIMEOUT_S = 60.0
_LONGEST_SLEEP_S = 30.0
_RETRIES = 100


class RedisBackend(Backend):
    """Header and payload as two strings that are set together; waiting subscribes to a channel of the key.

    Values over 256 MiB are cut into pieces, because a Redis string ends at 512 MiB.
    """

    name: ClassVar[str] = "redis"
    capabilities = Capabilities(notifies=True, between_processes=True, between_nodes=True, zero_copy_reads=False)

    @classmethod
    def available(cls) -> str | None:
        if importlib.util.find_spec("redis") is None:
            return "the library redis is not installed; pip install 'thalweg[redis]'"
        return None

    def __init__(self, server_info: Mapping[str, Any]) -> None:
        try:
            import redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError as error:
            raise MissingLibraryError(
                "redis: the library redis is not installed; pip install 'thalweg[redis]'"
            ) from error
        self._redis = redis
        self._where = f"{server_info['host']}:{server_info['port']}"
        self._namespace = server_info["namespace"]
        self._piece_bytes = int(server_info.get("piece_bytes", PIECE_BYTES))
        self._client: Any = redis.Redis(
            host=server_info["host"],
            port=server_info["port"],
            password=server_info["password"],
            protocol=3,
            socket_timeout=_SOCKET_TIMEOUT_S,
            socket_connect_timeout=10.0,
            retry=Retry(NoBackoff(), 1),  # once more, for a connection that went stale; a dead server is told at once
        )
        try:
            with self._errors("connect"):
                self._client.ping()
        except BaseException:
            self._client.close()
            raise

    def write(self, key: str, value: Packed, *, checksum: bool) -> None:
        header, payload = value.encode(checksum)
        header_name, data_name, channel = self._names(key)
        with self._errors(f"stage_write: key {key!r}"):
            described, content = header.encode(), payload
            if payload.nbytes > self._piece_bytes:
                described, content = self._write_pieces(key, header, payload), memoryview(b"")
            pipe = self._client.pipeline(transaction=True)
            pipe.get(header_name)
            pipe.execute_command("MSET", header_name, described, data_name, content)
            pipe.execute_command("PUBLISH", channel, b"")
            self._remove_pieces(key, pipe.execute()[0])

    def read(self, key: str, *, into: Array | None, allow_pickle: bool) -> Any:
        source = f"stage_read: key {key!r}"
        for _ in range(_RETRIES):
            with self._errors(source):
                start, payload = self._client.mget(*self._names(key)[:2])
            if start is None or payload is None:
                return MISSING
            header = Header.decode(start, source)
            if header.pieces:
                payload = self._read_pieces(key, header, start)
                if payload is None:
                    continue  # replaced while being read
            value = unpack(header, payload, source=source, allow_pickle=allow_pickle)
            if into is None:
                return value
            destination(into, header, source)
            np.copyto(into, value, casting="no")
            return into
        raise CorruptDataError(f"{source}: pieces of its value are missing")

    def exists(self, key: str) -> bool:
        with self._errors("poll_staged_data"):
            return bool(self._client.exists(self._names(key)[0]))

    def delete(self, key: str) -> bool:
        header_name, data_name, _ = self._names(key)
        with self._errors("clean_staged_data"):
            pipe = self._client.pipeline(transaction=True)
            pipe.get(header_name)
            pipe.delete(header_name, data_name)
            before, found = pipe.execute()
            self._remove_pieces(key, before)
            return bool(found)

    def wait(self, keys: Sequence[str], timeout_s: float, how: How) -> list[str]:
        with self._errors("wait"):
            ready = self._ready(keys)
            if enough(ready, keys, how) or timeout_s <= 0:
                return ready
            until = time.monotonic() + timeout_s
            with self._client.pubsub(ignore_subscribe_messages=True) as pubsub:
                pubsub.subscribe(*(self._names(key)[2] for key in keys))
                self._subscribed(pubsub, len(keys), until)
                while True:
                    ready = self._ready(keys)
                    left = until - time.monotonic()
                    if enough(ready, keys, how) or left <= 0:
                        return ready
                    pubsub.get_message(timeout=min(left, _LONGEST_SLEEP_S))

    def close(self) -> None:
        self._client.close()

    def _ready(self, keys: Sequence[str]) -> list[str]:
        pipe = self._client.pipeline(transaction=False)
        for key in keys:
            pipe.exists(self._names(key)[0])
        return [key for key, found in zip(keys, pipe.execute(), strict=True) if found]

    @staticmethod
    def _subscribed(pubsub: Any, count: int, until: float) -> None:
        """Take in the server's confirmations: only after them is no message missed."""
        while count and (left := until - time.monotonic()) > 0:
            pubsub.ignore_subscribe_messages = False
            message = pubsub.get_message(timeout=left)
            if message is not None and message["type"] == "subscribe":
                count -= 1
        pubsub.ignore_subscribe_messages = True

    def _names(self, key: str) -> tuple[str, str, str]:
        return f"{self._namespace}:h:{{{key}}}", f"{self._namespace}:d:{{{key}}}", f"{self._namespace}:w:{{{key}}}"

    def _piece_names(self, key: str, described: bytes) -> list[str]:
        """Return the names of a value's pieces; `described` is its header with what stands behind it."""
        behind = described[Header.length(described, f"key {key!r}") :]
        write_id, _, count = behind.decode("ascii").partition(" ")
        return [f"{self._namespace}:c:{{{key}}}:{write_id}:{number}" for number in range(int(count))]

    def _remove_pieces(self, key: str, described: bytes | None) -> None:
        if described is not None and Header.decode(described, f"key {key!r}").pieces:
            self._client.unlink(*self._piece_names(key, described))

    def _write_pieces(self, key: str, header: Header, payload: memoryview) -> bytes:
        count = -(-payload.nbytes // self._piece_bytes)
        description = f"{uuid.uuid4().hex} {count}".encode()
        described = dataclasses.replace(header, pieces=True).encode() + description
        for number, name in enumerate(self._piece_names(key, described)):
            start = number * self._piece_bytes
            self._client.execute_command("SET", name, payload[start : start + self._piece_bytes])
        return described

    def _read_pieces(self, key: str, header: Header, described: bytes) -> memoryview | None:
        whole = writable_bytes(header.size_bytes)
        position = 0
        for name in self._piece_names(key, described):
            with self._errors(f"stage_read: key {key!r}"):
                piece = self._client.get(name)
            if piece is None:
                return None
            whole[position : position + len(piece)] = piece
            position += len(piece)
        return whole[:position]

    @contextlib.contextmanager
    def _errors(self, operation: str) -> Iterator[None]:
        errors = self._redis.exceptions
        try:
            yield
        except errors.AuthenticationError as error:
            raise AccessError(
                f"{operation}: the Redis server at {self._where} refused the password: {error}"
            ) from error
        except (errors.ConnectionError, errors.TimeoutError) as error:
            raise ServerGoneError(f"{operation}: the Redis server at {self._where} does not answer: {error}") from error
        except errors.OutOfMemoryError as error:
            raise FullError(
                f"{operation}: the Redis server at {self._where} has reached its memory limit; "
                "raise memory_limit_bytes or clean staged data that is not needed any more"
            ) from error
        except errors.ResponseError as error:
            text = str(error)
            if "OOM" in text:
                raise FullError(
                    f"{operation}: the Redis server at {self._where} has reached its memory limit"
                ) from error
            raise InvalidError(f"{operation}: the Redis server at {self._where} refused: {error}") from error
