"""Rules of users' own, which programs register by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from thalweg.errors import InvalidError, NotFoundError

R = TypeVar("R")


class OwnRules(Generic[R]):
    """The rules of one kind that this process knows under names.

    Parameters
    ----------
    kind : str
        ``"validator"``, ``"selector"`` or ``"serializer"``.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._known: dict[str, R] = {}

    def register(self, name: str, rule: R) -> None:
        """Make a rule known in this process; the same name again replaces it."""
        if not isinstance(name, str) or not name:
            raise InvalidError(f"register_{self._kind}: name {name!r}; accepted are texts that are not empty")
        self._known[name] = rule

    def __getitem__(self, name: str) -> R:
        try:
            return self._known[name]
        except KeyError:
            raise NotFoundError(
                f"{self._kind}: {name!r} is not registered in this process; call thalweg.stream.register_{self._kind}"
                f"({name!r}, ...) first; known are: {', '.join(sorted(self._known)) or 'none'}"
            ) from None


def only_key(rule: object, key: str) -> object:
    """Return the value of a mapping that has this one key, else None."""
    return rule[key] if isinstance(rule, Mapping) and set(rule) == {key} else None
