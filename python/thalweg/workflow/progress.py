"""What a component tells about how far it is."""

from __future__ import annotations

from typing import NamedTuple


class Progress(NamedTuple):
    """`done` of `total` (in the component's own unit), with a short note."""

    component: str
    done: float
    total: float
    note: str = ""
