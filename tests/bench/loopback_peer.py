"""Contenders over a socket that behave well, corrupt data, or die: what the benchmark must measure, or notice."""

from __future__ import annotations

import os
import socket
from typing import Any

import numpy as np

from thalweg.bench.contender import TIMEOUT_S, Array, Consumer, Contender, Producer


class _Sender(Producer):
    def __init__(self, place: str) -> None:
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(f"\0{place}")
        self._door.listen(1)
        self._door.settimeout(TIMEOUT_S)
        self._peer: socket.socket | None = None

    def prepare(self, size_bytes: int) -> None:
        if self._peer is None:
            self._peer, _ = self._door.accept()

    def put(self, index: int, array: Array) -> None:
        assert self._peer is not None
        self._peer.sendall(array.data)

    def loan(self, index: int, array: Array) -> Array:
        self._lent = np.empty_like(array)
        return self._lent

    def seal(self, index: int) -> None:
        self.put(index, self._lent)


class _Receiver(Consumer):
    def __init__(self, place: str) -> None:
        self._peer = socket.socket(socket.AF_UNIX)
        self._peer.connect(f"\0{place}")

    def prepare(self, size_bytes: int) -> None:
        self._into = np.empty(size_bytes // 8, dtype=np.uint64)

    def get(self, index: int) -> Array:
        view, got = memoryview(self._into).cast("B"), 0
        while got < len(view):
            got += self._peer.recv_into(view[got:])
        return self._into


class _Corrupting(_Receiver):
    def get(self, index: int) -> Array:
        array = super().get(index)
        array[-1] ^= np.uint64(1)
        return array


class _Stale(_Receiver):
    def get(self, index: int) -> Array:
        array = super().get(index)
        array[0] = 1 if index != 1 else 2
        return array


class _Dying(_Receiver):
    def get(self, index: int) -> Array:
        os._exit(7)


class Loopback(Contender):
    name = "loopback"
    operations = ("put", "loan", "get_into", "latency")
    coupled = True
    receiver: type[_Receiver] = _Receiver

    def producer(self, place: Any) -> Producer:
        return _Sender(f"thalweg-test-{place}")

    def consumer(self, place: Any) -> Consumer:
        return self.receiver(f"thalweg-test-{place}")


class Corrupting(Loopback):
    name = "corrupting"
    receiver = _Corrupting


class Stale(Loopback):
    name = "stale"
    receiver = _Stale


class Dying(Loopback):
    name = "dying"
    receiver = _Dying


CONTENDERS = (Loopback, Corrupting, Stale, Dying)
