"""One component of a workflow, as it was declared."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg.errors import ConfigError

TYPES = ("local", "thread")


@dataclasses.dataclass(frozen=True)
class Component:
    """A function, how to run it and what it waits for."""

    name: str
    function: Callable[..., Any]
    type: str = "local"
    args: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    retries: int = 0


def checked_component(
    name: object,
    function: object,
    type: object,
    args: object,
    dependencies: object,
    env: object,
    retries: object,
) -> Component:
    """Return a component when what was declared makes sense.

    Raises
    ------
    ConfigError
        Otherwise, naming the component, the argument and the fix.
    """
    if not isinstance(name, str) or not name or "\0" in name:
        raise ConfigError(f"Workflow.component: name is {name!r}; give text that is not empty")
    where = f"Workflow.component {name!r}"
    if not callable(function):
        raise ConfigError(f"{where}: {function!r} cannot be called; decorate a function")
    if type not in TYPES:
        raise ConfigError(f"{where}: type is {type!r}; accepted are {', '.join(TYPES)}")
    if not isinstance(args, Mapping) or not all(isinstance(key, str) for key in args):
        raise ConfigError(f"{where}: args is {args!r}; give a dict of the function's arguments by name")
    if isinstance(dependencies, str) or not isinstance(dependencies, Sequence):
        raise ConfigError(f"{where}: dependencies is {dependencies!r}; give a list of component names")
    if not all(isinstance(entry, str) for entry in dependencies):
        raise ConfigError(f"{where}: dependencies is {list(dependencies)!r}; give a list of component names")
    if not isinstance(env, Mapping) or not all(isinstance(part, str) for pair in env.items() for part in pair):
        raise ConfigError(f"{where}: env is {env!r}; give a dict of text to text")
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ConfigError(f"{where}: retries is {retries!r}; give an integer of 0 or more")
    if env and type == "thread":
        raise ConfigError(f"{where}: a thread has no environment of its own; remove env or use type 'local'")
    _check_arguments(where, function, args)
    return Component(name, function, str(type), dict(args), tuple(dependencies), dict(env), retries)


def check_graph(components: Mapping[str, Component]) -> None:
    """Refuse dependencies that do not exist or go in a circle.

    Raises
    ------
    ConfigError
        Naming the components; a cycle is written out.
    """
    for component in components.values():
        for dependency in component.dependencies:
            if dependency not in components:
                close = difflib.get_close_matches(dependency, components, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(components)}"
                raise ConfigError(
                    f"Workflow: component {component.name!r} depends on {dependency!r}, which does not exist; {hint}"
                )
    state: dict[str, int] = {}
    for name in components:
        cycle = _cycle_from(name, components, state)
        if cycle:
            raise ConfigError(f"Workflow: the dependencies go in a circle: {' -> '.join(cycle)}; remove one of them")


def _check_arguments(where: str, function: Callable[..., Any], args: Mapping[str, Any]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(**args)
    except TypeError as error:
        accepted = ", ".join(signature.parameters) or "none"
        raise ConfigError(f"{where}: args do not fit the function: {error}; its arguments are {accepted}") from None


def _cycle_from(start: str, components: Mapping[str, Component], state: dict[str, int]) -> list[str] | None:
    """Depth-first search without recursion; state 1 is on the path, 2 is done."""
    path: list[str] = []
    stack: list[tuple[str, bool]] = [(start, False)]
    while stack:
        name, leaving = stack.pop()
        if leaving:
            state[name] = 2
            path.pop()
            continue
        if state.get(name) == 2:
            continue
        if state.get(name) == 1:
            return [*path[path.index(name) :], name]
        state[name] = 1
        path.append(name)
        stack.append((name, True))
        for dependency in components[name].dependencies:
            if state.get(dependency) == 1:
                return [*path[path.index(dependency) :], dependency]
            stack.append((dependency, False))
    return None
