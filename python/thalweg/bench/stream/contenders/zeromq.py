"""ZeroMQ: PUSH to PULL over a Unix socket; it keeps nothing, so both sides run at once and durability is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from thalweg.bench.stream.native import Source
from thalweg.bench.stream.order import Durability, Order
from thalweg.bench.stream.system import TIMEOUT_S, TURN_S, Arrived, Buffer, Consumer, Producer, System
from thalweg.servers.server import new_namespace

_WATERMARK, _WATERMARK_OF_DATA = 100_000, 16
_PIECE = 1000


def _socket(order: Order, kind: str, wait_s: float) -> Any:
    import zmq

    made: Any = zmq.Context.instance().socket(getattr(zmq, kind))
    made.set_hwm(_WATERMARK_OF_DATA if order.case.data_bytes else _WATERMARK)
    made.setsockopt(zmq.SNDTIMEO if kind == "PUSH" else zmq.RCVTIMEO, int(wait_s * 1000))
    return made


class _Producer(Producer):
    def __init__(self, order: Order) -> None:
        self._socket = _socket(order, "PUSH", TIMEOUT_S)
        self._socket.connect(order.address)

    def produce(self, partition: int, events: Sequence[bytes], data: bytes | None) -> None:
        if data is None:
            send = self._socket.send
            for event in events:
                send(event)
        else:
            for event in events:
                self._socket.send_multipart((event, data), copy=False)

    def flush(self) -> None:
        """Closing waits until all is sent."""
        self._socket.close()
        self._socket.context.term()


class _Consumer(Consumer):
    def __init__(self, order: Order) -> None:
        self._socket = _socket(order, "PULL", TURN_S)
        self._socket.bind(order.address)
        self._data, self._piece = order.case.data_bytes > 0, 1 if order.prompt else _PIECE

    def consume(self) -> Iterable[Arrived]:
        """The first event is waited for, others are taken while they are there."""
        import zmq

        events: list[Buffer] = []
        data: list[Buffer] = []
        wait = 0
        try:
            while len(events) < self._piece:
                if self._data:
                    event, its = self._socket.recv_multipart(wait, copy=False)
                    events.append(event.buffer)
                    data.append(its.buffer)
                else:
                    events.append(self._socket.recv(wait))
                wait = zmq.DONTWAIT
        except zmq.Again:
            pass
        return [(0, events, data)] if events else []

    def close(self) -> None:
        self._socket.close()
        self._socket.context.term()


class ZeroMq(System):
    """No server; the consumer's socket has a name that no file is of."""

    name = "zeromq"
    keeps = False
    durabilities = ("none",)
    most_partitions = 1
    library = ("zmq", "pip install pyzmq")
    program = Source("zeromq.c", "zmq.h", ("zmq",), "Debian: apt-get install libzmq3-dev")

    def start(self, folder: Path, durability: Durability) -> str:
        return f"ipc://@{new_namespace('bench')}"

    def producer(self, order: Order) -> Producer:
        return _Producer(order)

    def consumer(self, order: Order) -> Consumer:
        return _Consumer(order)


SYSTEMS = (ZeroMq,)
