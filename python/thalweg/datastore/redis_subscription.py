"""Sleeping until one of several Redis servers says that a key was written."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

_LONGEST_SLEEP_S = 30.0  # then the caller asks the servers again, and so finds one that hangs


class Subscription:
    """Channels of one server, listened to over a connection of its own.

    Plain channels also on a cluster: one subscription may then hold channels of several slots, which sharded ones may
    not; it is taken from the node that has the key, so nothing depends on the cluster's bus.
    """

    def __init__(self, client: Any, channels: Sequence[str], until: float) -> None:
        self._pubsub = client.pubsub()
        try:
            self._pubsub.subscribe(*channels)
            self._confirm(len(channels), until)
        except BaseException:
            self._pubsub.close()
            raise

    def fileno(self) -> int:
        """Return the connection's descriptor; readable when there is a message, or when the server has gone."""
        return int(self._pubsub.connection._sock.fileno())  # redis-py has no public way to wait for several

    def drain(self) -> bool:
        """Take in what has arrived; tell whether that was anything."""
        count = 0
        while self._pubsub.get_message(timeout=0.0) is not None:
            count += 1
        return count > 0

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pubsub.close()

    def _confirm(self, count: int, until: float) -> None:
        """Take in the server's confirmations: only after them is no message missed."""
        while count and (left := until - time.monotonic()) > 0:
            message = self._pubsub.get_message(timeout=left)
            if message is not None and message["type"] == "subscribe":
                count -= 1


def sleep(subscriptions: Sequence[Subscription], until: float) -> list[Subscription]:
    """Sleep until a message arrives, at most until the time `until`; returns the subscriptions to `drain`."""
    poll = select.poll()  # select.select ends at descriptor 1023
    by_descriptor = {}
    for subscription in subscriptions:
        descriptor = subscription.fileno()
        by_descriptor[descriptor] = subscription
        poll.register(descriptor, select.POLLIN)
    left_s = min(until - time.monotonic(), _LONGEST_SLEEP_S)
    return [by_descriptor[descriptor] for descriptor, _ in poll.poll(max(0.0, left_s) * 1000)]
