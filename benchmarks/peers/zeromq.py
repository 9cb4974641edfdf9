"""ZeroMQ over ipc: a push–pull pair; large items are handed over without a copy, waiting until they are sent."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from thalweg.bench.contender import TIMEOUT_S, Array, Consumer, Contender, Producer

#: Up to here a copy into the message is cheaper than following its way; ZeroMQ's binding has the same threshold.
_COPY_BYTES = 65536


class _Push(Producer):
    def __init__(self, place: str) -> None:
        import zmq

        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.PUSH)
        self._socket.linger = 0
        self._socket.bind(place)

    def put(self, index: int, array: Array) -> None:
        if array.nbytes <= _COPY_BYTES:
            self._socket.send(array, copy=True)
        else:
            self._socket.send(array, copy=False, track=True).wait(TIMEOUT_S)

    def close(self) -> None:
        self._context.destroy()


class _Pull(Consumer):
    def __init__(self, place: str) -> None:
        import zmq

        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.PULL)
        self._socket.linger = 0
        self._socket.rcvtimeo = round(TIMEOUT_S * 1000)
        self._socket.connect(place)

    def get(self, index: int) -> Array:
        return np.frombuffer(self._socket.recv(copy=False).buffer, np.uint64)

    def close(self) -> None:
        self._context.destroy()


class ZeroMq(Contender):
    """A put ends when the array may be changed: copied, or sent."""

    name = "zeromq"
    coupled = True

    def available(self) -> str | None:
        return None if importlib.util.find_spec("zmq") else "pip install pyzmq"

    def start(self) -> Any:
        return f"ipc://@thalweg-bench-zmq-{super().start()}"

    def producer(self, place: Any) -> Producer:
        return _Push(place)

    def consumer(self, place: Any) -> Consumer:
        return _Pull(place)


CONTENDERS = (ZeroMq,)
