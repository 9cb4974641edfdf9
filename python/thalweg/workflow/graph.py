"""The graph of dependencies: names that exist, and no cycle."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from thalweg.errors import ConfigError
from thalweg.workflow.component import Component


def check_names(dependencies: Mapping[str, Sequence[str]]) -> None:
    """Refuse dependencies that do not exist; `dependencies` are those of each component or nested workflow, by name.

    Raises
    ------
    ConfigError
        Naming both, and what may have been meant.
    """
    for name, needed in dependencies.items():
        for dependency in needed:
            if dependency not in dependencies:
                close = difflib.get_close_matches(dependency, dependencies, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(dependencies)}"
                raise ConfigError(
                    f"Workflow: component {name!r} depends on {dependency!r}, which does not exist; {hint}"
                )


def check_cycles(components: Mapping[str, Component]) -> None:
    """Refuse dependencies that go in a circle.

    Raises
    ------
    ConfigError
        With the cycle written out.
    """
    state: dict[str, int] = {}
    for name in components:
        cycle = _cycle_from(name, components, state)
        if cycle:
            raise ConfigError(f"Workflow: the dependencies go in a circle: {' -> '.join(cycle)}; remove one of them")


def all_dependencies(name: str, components: Mapping[str, Component]) -> set[str]:
    """Return what must be done before `name`, directly or not."""
    found: set[str] = set()
    todo = list(components[name].dependencies)
    while todo:
        dependency = todo.pop()
        if dependency not in found:
            found.add(dependency)
            todo += components[dependency].dependencies
    return found


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
