"""LMDB on tmpfs: a memory-mapped tree written in place, read without a copy; its reader polls."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from typing import Any

import numpy as np

from thalweg.bench.contender import Array, Consumer, Contender, Producer, polled

_MAP_BYTES = 2**30


def _open(place: str, readonly: bool) -> Any:
    import lmdb

    return lmdb.open(
        place, map_size=_MAP_BYTES, writemap=True, sync=False, metasync=False, readonly=readonly, readahead=False
    )


class _Writer(Producer):
    def __init__(self, place: str) -> None:
        self._environment = _open(place, readonly=False)

    def put(self, index: int, array: Array) -> None:
        with self._environment.begin(write=True) as transaction:
            transaction.put(b"item%d" % (index % 2), memoryview(array))
            transaction.put(b"index%d" % (index % 2), index.to_bytes(8, "little"))

    def close(self) -> None:
        self._environment.close()


class _Reader(Consumer):
    def __init__(self, place: str) -> None:
        self._environment = _open(place, readonly=True)
        self._transactions: dict[int, Any] = {}

    def get(self, index: int) -> Array:
        wanted = index.to_bytes(8, "little")
        slot = b"%d" % (index % 2)
        begin = self._environment.begin

        def look() -> Any:
            transaction = begin(buffers=True)
            if transaction.get(b"index" + slot) == wanted:
                return transaction
            transaction.abort()
            return None

        transaction = self._transactions[index] = polled(look, f"item {index}")
        return np.frombuffer(transaction.get(b"item" + slot), np.uint64)

    def release(self, index: int) -> None:
        self._transactions.pop(index).abort()

    def close(self) -> None:
        self._environment.close()


class Lmdb(Contender):
    """Overwrites two keys in turn in a map without synchronisation: its fastest honest use."""

    name = "lmdb"
    operations = ("put", "get_view", "get_into", "latency")
    polls = True

    def available(self) -> str | None:
        return None if importlib.util.find_spec("lmdb") else "pip install lmdb"

    def start(self) -> Any:
        self._folder = tempfile.mkdtemp(prefix="thalweg-bench-lmdb-", dir="/dev/shm")
        return self._folder

    def stop(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def producer(self, place: Any) -> Producer:
        return _Writer(place)

    def consumer(self, place: Any) -> Consumer:
        return _Reader(place)


CONTENDERS = (Lmdb,)
