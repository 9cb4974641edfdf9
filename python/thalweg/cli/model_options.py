"""Command-line options made from a pydantic model: one option a field, its description as the help."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer

from thalweg.sizes import format_size, parse_size, parse_sizes


def flag(field: str) -> str:
    """The option of a field: ``size_bytes`` is ``--size``, because its value brings a unit; others keep their name."""
    return "--" + field.removesuffix("_bytes").replace("_", "-")


def parameters(model: Any) -> list[inspect.Parameter]:
    """Signature parameters for typer, one for each field of a pydantic model; None means: not given."""
    made = []
    for name, field in model.model_fields.items():
        kind = _plain(field.annotation)
        note = field.description or ""
        default = field.get_default(call_default_factory=True)
        if not field.is_required() and default is not None:
            note += f" [dim]\\[default: {_shown(name, default)}][/dim]"
        if kind is bool:
            option = typer.Option(f"{flag(name)}/--no-{flag(name)[2:]}", help=note, show_default=False)
            annotation: Any = Annotated[bool | None, option]
        else:
            option = typer.Option(flag(name), help=note, metavar=_metavar(name, kind), show_default=False)
            annotation = Annotated[str | None, option]
        made.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    return made


def given(model: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that were given, sizes and lists taken apart; what a number or a choice is, the model decides.

    An empty text is an empty list.

    Raises
    ------
    InvalidError
        When a size is none.
    """
    result: dict[str, Any] = {}
    for name, value in values.items():
        if value is None:
            continue
        kind = _plain(model.model_fields[name].annotation)
        many = get_origin(kind) in (list, tuple)
        if _is_size(name) and isinstance(value, str):
            if many:
                result[name] = parse_sizes(value) if value.strip() else []
            else:
                result[name] = parse_size(value)
        elif many and isinstance(value, str):
            result[name] = [part.strip() for part in value.split(",") if part.strip()]
        else:
            result[name] = value
    return result


def _is_size(name: str) -> bool:
    """Does a field hold bytes, so that its option takes a size with a unit?"""
    return name.endswith("_bytes") or name == "sizes"


def _plain(annotation: Any) -> Any:
    """The type behind ``Optional`` and ``Annotated``."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [part for part in get_args(annotation) if part is not type(None)]
        return _plain(inner[0]) if len(inner) == 1 else str
    return annotation


def _metavar(name: str, kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "|".join(str(choice) for choice in get_args(kind))
    many = get_origin(kind) in (list, tuple)
    inner = _plain(get_args(kind)[0]) if many and get_args(kind) else kind
    word = "SIZE" if _is_size(name) else {int: "INTEGER", float: "NUMBER"}.get(inner, "TEXT")
    return f"{word},{word},…" if many else word


def _shown(name: str, value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_shown(name, part) for part in value)
    if _is_size(name) and isinstance(value, int):
        return format_size(value).replace(" ", "")
    return str(value)
