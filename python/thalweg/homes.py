"""Classes by name, and libraries, that are imported when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from thalweg.errors import ConfigError, MissingLibraryError

T = TypeVar("T")


class Homes(Mapping[str, type[T]]):
    """Classes by name; each is imported when it is asked for.

    Parameters
    ----------
    operation : str
        By which users make one of their own known, for messages.
    what : str
        What a name is called in messages.
    known : dict
        The homes, each ``"package.module:Class"``, by name.
    """

    def __init__(self, operation: str, what: str, known: dict[str, str]) -> None:
        self._operation = operation
        self._what = what
        self._known = known

    def __getitem__(self, name: str) -> type[T]:
        module, _, attribute = self._known[name].partition(":")
        found: type[T] = getattr(importlib.import_module(module), attribute)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def register(self, name: str, home: str) -> None:
        """Make a class known.

        Raises
        ------
        ConfigError
            When the name is taken or `home` is not of that form.
        """
        if name in self._known:
            others = ", ".join(self._known)
            raise ConfigError(f"{self._operation}: {name!r} is taken; choose another {self._what} than {others}")
        if home.count(":") != 1:
            raise ConfigError(f"{self._operation}: home {home!r} is not of the form 'package.module:Class'")
        self._known[name] = home


def library(name: str, operation: str, extra: str) -> Any:
    """Import and return a library that not every installation has.

    Parameters
    ----------
    name : str
        The module's.
    operation : str
        What needs it, for the message.
    extra : str
        With which Thalweg installs it.

    Raises
    ------
    MissingLibraryError
        When it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0].replace("_", "-")
        raise MissingLibraryError(
            f"{operation}: the library {package} is not installed; pip install 'thalweg[{extra}]'"
        ) from error
