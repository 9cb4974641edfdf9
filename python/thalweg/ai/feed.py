"""A numbered series of keys, read in order."""

from __future__ import annotations

from thalweg.errors import InvalidError


class Feed:
    """The keys ``pattern.format(first)``, ``pattern.format(first + step)``, ...

    Parameters
    ----------
    pattern : str
        Has one ``{}``, for the number.
    clean : bool
        Whether values are removed after they were read.
    operation : str
        Who asks, for the error.

    Raises
    ------
    InvalidError
        When the pattern gives the same key for different numbers.
    """

    def __init__(self, pattern: str, first: int, step: int, clean: bool, operation: str) -> None:
        try:
            different = pattern.format(first) != pattern.format(first + step)
        except (IndexError, KeyError, ValueError):
            different = False
        if not different:
            raise InvalidError(
                f"{operation}: pattern {pattern!r} does not number its keys; give one {{}}, as in 'field/{{}}'"
            )
        self.pattern, self.next, self.step, self.clean = pattern, first, step, clean

    def key(self) -> str:
        """Return the key that comes next."""
        return self.pattern.format(self.next)
