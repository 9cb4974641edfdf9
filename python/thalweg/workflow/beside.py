"""Functions that a workflow file names: those in modules beside it, which other files may have too, and all others."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from thalweg.errors import ConfigError

_PREFIX = "_thalweg_"


def imported(home: object, folder: Path, where: str) -> Callable[..., Any]:
    """Return the function that ``module:function`` names; a module in `folder` goes first.

    Raises
    ------
    ConfigError
        When it cannot be imported, naming the entry `where` it stands.
    """
    if not isinstance(home, str) or home.count(":") != 1:
        raise ConfigError(f"{where}: is {home!r}; give 'module:function'")
    name, _, attribute = home.partition(":")
    try:
        if not _files(folder, name):
            found: Callable[..., Any] = getattr(importlib.import_module(name), attribute)
            return found
        found = getattr(_module(name, folder), attribute)
    except Exception as error:  # a module may fail in any way
        told = str(error) if isinstance(error, (ImportError, AttributeError)) else f"{type(error).__name__}: {error}"
        told = re.sub(rf"{_PREFIX}[0-9a-f]{{16}}_", "", told)  # the module by the name that its author knows
        raise ConfigError(f"{where}: {home!r} cannot be imported: {told}") from error
    return _AtHome(found, folder) if callable(found) else found


def _files(folder: Path, name: str) -> list[Path]:
    first = name.partition(".")[0]
    return [file for file in (folder / first / "__init__.py", folder / f"{first}.py") if file.is_file()]


def _module(name: str, folder: Path) -> ModuleType:
    first, _, rest = name.partition(".")
    with _looking_in(folder):
        module = _private(first, _files(folder, name)[0])
        return importlib.import_module(f"{module.__name__}.{rest}") if rest else module


def _private(name: str, file: Path) -> ModuleType:
    """Import `file` under a name that no other file has; what a process of its own runs takes the code along."""
    import cloudpickle

    unique = f"{_PREFIX}{hashlib.sha256(str(file).encode()).hexdigest()[:16]}_{name}"
    if unique in sys.modules:
        return sys.modules[unique]
    spec = importlib.util.spec_from_file_location(unique, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[unique] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[unique]
        raise
    cloudpickle.register_pickle_by_value(module)
    return module


@contextlib.contextmanager
def _looking_in(folder: Path) -> Iterator[None]:
    """Let a module import those beside it, which are its own: another folder may have the like.

    They are not left in ``sys.modules``, for which reason cloudpickle sends them by value.
    """
    beside = {file.stem for file in folder.glob("*.py")} | {file.parent.name for file in folder.glob("*/__init__.py")}

    def taken_out() -> dict[str, ModuleType]:
        return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in beside}

    others = taken_out()
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        taken_out()
        sys.modules.update(others)


class _AtHome:
    """A function that may import what stands beside its module while it runs, in a process that does not look there."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        functools.update_wrapper(self, function)
        self._function, self._folder = function, str(folder)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._folder not in sys.path:
            sys.path.append(self._folder)
        return self._function(*args, **kwargs)
