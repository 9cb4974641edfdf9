"""What a key may be, the same on every backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thalweg.errors import InvalidError

LONGEST_KEY_BYTES = 1024


def check_key(key: object, operation: str) -> str:
    """Return `key` when it is text of 1 to 1024 bytes in UTF-8 without NUL.

    Raises
    ------
    InvalidError
        Otherwise.
    """
    if not isinstance(key, str):
        raise InvalidError(
            f"{operation}: key {key!r} is {type(key).__name__}; give text of 1 to {LONGEST_KEY_BYTES} bytes"
        )
    if not key:
        raise InvalidError(f"{operation}: the key is empty; give text of 1 to {LONGEST_KEY_BYTES} bytes")
    if "\0" in key:
        raise InvalidError(f"{operation}: key {key!r} holds a NUL character, which is not accepted")
    try:
        length = len(key.encode())
    except UnicodeEncodeError:
        raise InvalidError(f"{operation}: key {key!r} is not valid Unicode text") from None
    if length > LONGEST_KEY_BYTES:
        raise InvalidError(f"{operation}: the key is {length} bytes long; accepted are 1 to {LONGEST_KEY_BYTES} bytes")
    return key


def check_keys(keys: Iterable[object], operation: str) -> Sequence[str]:
    """Check each of `keys`; duplicates are dropped, the order is kept.

    Raises
    ------
    InvalidError
        For text in place of a list, for no keys, and for a wrong key.
    """
    if isinstance(keys, (str, bytes)):
        raise InvalidError(f"{operation}: keys is {keys!r}; give a list of keys, for example [{keys!r}]")
    checked = list(dict.fromkeys(check_key(key, operation) for key in keys))
    if not checked:
        raise InvalidError(f"{operation}: no keys given; give at least one")
    return checked
