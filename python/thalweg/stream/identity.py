"""Which event it is: its partition, and its number there."""

from __future__ import annotations

from typing import NamedTuple


class EventId(NamedTuple):
    """An event of a topic.

    Attributes
    ----------
    partition : int
        Its partition.
    offset : int
        Its number in that partition, counted from 0 in the order of appending.
    """

    partition: int
    offset: int
