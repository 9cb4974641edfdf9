"""Sizes as people write them: KB, MB, GB are powers of 1000; KiB, MiB, GiB are powers of 1024."""

from __future__ import annotations

import re

from thalweg.errors import InvalidError

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_BINARY = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_DECIMAL = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("KB", 10**3), ("B", 1))
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)")


def parse_size(text: str) -> int:
    """Bytes of a size such as ``"4KiB"``, ``"1.2MB"`` or ``"4096"``.

    Parameters
    ----------
    text : str
        A number and a unit out of B, KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024); no unit
        means bytes. Upper and lower case are the same.

    Returns
    -------
    int
        Bytes, at least 1.

    Raises
    ------
    InvalidError
        When it is not a size, or not a whole positive number of bytes.

    Examples
    --------
    >>> parse_size("4KiB"), parse_size("1.2MB")
    (4096, 1200000)
    """
    match = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(match.group(2).lower()) if match else None
    if match is None or unit is None:
        raise InvalidError(f"size: {text!r} is not a size; expected a number and a unit, such as 4KiB, 1.2MB or 8MiB")
    size_bytes = round(float(match.group(1)) * unit)
    if size_bytes < 1:
        raise InvalidError(f"size: {text!r} is {size_bytes} bytes; expected at least 1")
    return size_bytes


def parse_sizes(text: str) -> list[int]:
    """Bytes of each size in a list that is separated by commas, in the order given.

    Examples
    --------
    >>> parse_sizes("4KiB,1MiB")
    [4096, 1048576]
    """
    parts = [part for part in text.split(",") if part.strip()]
    if not parts:
        raise InvalidError(f"sizes: {text!r} names no size; expected a list such as 4KiB,1MiB,8MB")
    return [parse_size(part) for part in parts]


def _three_digits(count: float) -> str:
    """Three digits, or all before the point where there are more: beyond the largest unit."""
    return f"{count:.3g}" if count < 999.5 else f"{count:.0f}"


def format_size(size_bytes: float) -> str:
    """The shortest name of a size that says it exactly, binary or decimal; else three digits of a decimal unit.

    Examples
    --------
    >>> format_size(4096), format_size(1_200_000), format_size(1234567), format_size(8e15)
    ('4 KiB', '1.2 MB', '1.23 MB', '8000 TB')
    """
    binary = [f"{size_bytes / unit:.0f} {name}" for name, unit in _BINARY if size_bytes and size_bytes % unit == 0]
    decimal = next(
        (f"{_three_digits(size_bytes / unit)} {name}" for name, unit in _DECIMAL if size_bytes >= unit), "0 B"
    )
    exact = [name for name in (*binary, decimal) if name != "0 B" and parse_size(name) == size_bytes]
    return min(exact, key=len) if exact else decimal
