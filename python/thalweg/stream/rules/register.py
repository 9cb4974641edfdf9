"""Registering rules of one's own, by the name under which topics refer to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg.stream.rules import selector, serializer, validator


def register_validator(name: str, check: Callable[[Any], object]) -> None:
    """Make ``check(metadata)`` known in this process: it raises ValueError for what the topic does not accept."""
    validator.OWN.register(name, check)


def register_selector(name: str, choose: Callable[[Any, int], int]) -> None:
    """Make ``choose(metadata, partitions)`` known in this process: it returns the number of a partition."""
    selector.OWN.register(name, choose)


def register_serializer(name: str, encode: Callable[[Any], bytes], decode: Callable[[bytes], Any]) -> None:
    """Make a serializer known in this process; `decode` gets what `encode` returned."""
    serializer.OWN.register(name, serializer.OwnSerializer(encode, decode))
