"""Workflows inside workflows, made one flat graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from thalweg.errors import ConfigError
from thalweg.workflow.component import Component
from thalweg.workflow.graph import check_names


@dataclasses.dataclass(frozen=True)
class Nested:
    """A workflow inside another: its components, flat, and what must be done before any of them starts."""

    components: Mapping[str, Component]
    dependencies: tuple[str, ...]


def flattened(own: Mapping[str, Component], nested: Mapping[str, Nested]) -> dict[str, Component]:
    """Return all components by name, those of a nested workflow as ``name/component``.

    Who depends on a nested workflow depends on all of its components.

    Raises
    ------
    ConfigError
        For a dependency that does not exist, or a full name that is taken.
    """
    needed = {name: component.dependencies for name, component in own.items()}
    check_names({**needed, **{name: inner.dependencies for name, inner in nested.items()}})

    def resolved(dependencies: Sequence[str]) -> tuple[str, ...]:
        found: list[str] = []
        for dependency in dependencies:
            inner = nested.get(dependency)
            found += [f"{dependency}/{part}" for part in inner.components] if inner is not None else [dependency]
        return tuple(found)

    flat = {
        name: dataclasses.replace(component, dependencies=resolved(component.dependencies))
        for name, component in own.items()
    }
    for name, inner in nested.items():
        before = resolved(inner.dependencies)
        for part, component in inner.components.items():
            within = tuple(f"{name}/{dependency}" for dependency in component.dependencies)
            full = f"{name}/{part}"
            if full in flat:
                raise ConfigError(f"Workflow: the name {full!r} is taken; give each a name of its own")
            flat[full] = dataclasses.replace(component, name=full, dependencies=within or before)
    return flat
