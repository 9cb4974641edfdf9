"""Messages between the launcher and a component: a stream socket, each message a length and a pickled pair."""

from __future__ import annotations

import pickle
import selectors
import socket
import struct
import threading
from typing import Any

Message = tuple[str, Any]
_LENGTH = struct.Struct("<Q")
_READ_BYTES = 1 << 20


def packed(kind: str, content: Any) -> bytes:
    """Return one message as it travels."""
    import cloudpickle

    data: bytes = cloudpickle.dumps((kind, content))
    return _LENGTH.pack(len(data)) + data


def _unpacked(data: memoryview) -> Message:
    """Return the message; unpickling runs code of the user's types, which may fail in any way."""
    try:
        message: Message = pickle.loads(data)
    except Exception as error:
        return "error", f"its result cannot be read here: {type(error).__name__}: {error}"
    return message


class ComponentEnd:
    """The component's end: sending blocks until the launcher's end has taken it in; threads may share it."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(True)
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, kind: str, content: Any) -> None:
        """Send one message.

        Raises
        ------
        OSError
            When the launcher has gone.
        """
        data = packed(kind, content)
        with self._lock:
            self._connection.sendall(data)

    def receive(self) -> Message | None:
        """Wait for the next message; None when the launcher has gone."""
        start = self._exactly(_LENGTH.size)
        if start is None:
            return None
        data = self._exactly(_LENGTH.unpack(start)[0])
        return None if data is None else pickle.loads(data)

    def _exactly(self, count: int) -> bytearray | None:
        data = bytearray(count)
        view, filled = memoryview(data), 0
        while filled < count:
            try:
                got = self._connection.recv_into(view[filled:])
            except OSError:
                return None
            if got == 0:
                return None
            filled += got
        return data


class LauncherEnd:
    """The launcher's end: nothing blocks; what cannot be sent at once is kept until the socket takes it.

    Attributes
    ----------
    open : bool
        False when the component has closed its end.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._incoming, self._outgoing = bytearray(), bytearray()
        self.open = True

    def interest(self) -> tuple[int, int]:
        """Return the descriptor, and what to wait for on it."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._outgoing else 0)
        return self._connection.fileno(), events

    def send(self, kind: str, content: Any) -> None:
        """Send one message, now or when the component reads."""
        self._outgoing += packed(kind, content)
        self.flush()

    def flush(self) -> None:
        """Send what the socket takes."""
        try:
            while self._outgoing:
                del self._outgoing[: self._connection.send(memoryview(self._outgoing)[:_READ_BYTES])]
        except BlockingIOError:
            return
        except OSError:  # the component has gone, which its process tells better
            self._outgoing.clear()

    def receive(self) -> list[Message]:
        """Take in what is there; a message that cannot be read here becomes an ``error``."""
        while self.open:
            try:
                arrived = self._connection.recv(_READ_BYTES)
            except BlockingIOError:
                break
            except OSError:  # reset, or the node cannot be reached any more
                arrived = b""
            self.open = bool(arrived)
            self._incoming += arrived
        messages = []
        start = 0
        while len(self._incoming) - start >= _LENGTH.size:
            end = start + _LENGTH.size + _LENGTH.unpack_from(self._incoming, start)[0]
            if len(self._incoming) < end:
                break
            with memoryview(self._incoming)[start + _LENGTH.size : end] as data:
                messages.append(_unpacked(data))
            start = end
        del self._incoming[:start]
        return messages

    def close(self) -> None:
        """Close the socket."""
        self._connection.close()
