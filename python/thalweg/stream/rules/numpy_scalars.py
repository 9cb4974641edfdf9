"""NumPy's numbers as the plain ones that JSON and MessagePack know."""

from __future__ import annotations

from typing import Any

_DEEPEST = 200


def plain_number(value: object) -> int | float | bool:
    """Return the number that a NumPy scalar is; encoders call it for what they do not know.

    Raises
    ------
    TypeError
        When it is none.
    """
    import numpy as np

    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    raise TypeError(f"{value!r:.80} of type {type(value).__name__}")


def with_plain_numbers(value: Any, depth: int = 0) -> Any:
    """Return metadata with the NumPy scalars in them as plain numbers, but for those that are nested too deeply."""
    if isinstance(value, dict | list | tuple) and depth > _DEEPEST:
        return value
    if isinstance(value, dict):
        return {key: with_plain_numbers(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_plain_numbers(item, depth + 1) for item in value]
    try:
        return plain_number(value)
    except TypeError:
        return value
