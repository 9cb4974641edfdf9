"""Checking a configuration: a typed model of it, or an error with the path of the key and the fix."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from thalweg.errors import ConfigError, MissingLibraryError

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

    Model = TypeVar("Model", bound=BaseModel)


#: Keys whose values are shown to nobody.
_SECRETS = ("password", "token")
_ACCEPTED = {
    "list_type": "give a list",
    "dict_type": "give a table of keys",
    "string_type": "give text",
    "int_type": "give an integer",
    "int_parsing": "give an integer",
    "float_type": "give a number",
    "float_parsing": "give a number",
    "bool_type": "give true or false",
    "string_too_short": "give text of {min_length} or more characters",
    "too_short": "give {min_length} or more of them",
    "too_long": "give at most {max_length} of them",
}


def load(source: Mapping[str, Any] | str | Path, what: str) -> dict[str, Any]:
    """Return `source` as a dict; a path is read as JSON or TOML by its ending.

    Raises
    ------
    ConfigError
        When the file is not there, is a folder or neither JSON nor TOML, or does not hold a table.
    """
    if isinstance(source, Mapping):
        return dict(source)
    if not isinstance(source, (str, Path)):
        raise ConfigError(f"{what}: the configuration is {type(source).__name__}; give a dict or the path of a file")
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            f"{what}: there is no file {path}; give a dict or the path of a .json or .toml file"
        ) from None
    except IsADirectoryError:
        raise ConfigError(f"{what}: {path} is a folder; give the path of a .json or .toml file") from None
    except OSError as error:
        raise ConfigError(f"{what}: {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{what}: {path} cannot be read: {error}") from error
    if path.suffix not in (".json", ".toml"):
        raise ConfigError(f"{what}: {path} ends in {path.suffix!r}; accepted are .json and .toml")
    try:
        content = json.loads(text) if path.suffix == ".json" else toml(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{what}: {path} is not {path.suffix[1:].upper()}: {error}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{what}: {path} holds a {type(content).__name__} at the top; expected a table of keys")
    return content


def checked(
    model: type[Model], content: Mapping[str, Any], what: str, *, context: Mapping[str, Any] | None = None
) -> Model:
    """Return `content` as a `model`; `context` reaches the model's validators.

    Raises
    ------
    ConfigError
        With one line for each wrong key: its path, the value met, what is accepted.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(dict(content), context=dict(context or {}))
    except ValidationError as error:
        lines = list(dict.fromkeys(_line(what, entry, model) for entry in error.errors()))
        raise ConfigError("\n".join(lines)) from None


def suggestion(met: object, accepted: list[str]) -> str:
    """Return "did you mean ...?" when something accepted is close to what was met, else the whole list."""
    close = difflib.get_close_matches(str(met), accepted, 1)
    return f"did you mean {close[0]!r}?" if close else f"accepted are {', '.join(accepted)}"


def _line(what: str, entry: ErrorDetails, model: type[BaseModel]) -> str:
    path = _path(entry["loc"])
    kind, met = entry["type"], entry["input"]
    where = f"{what}: {path}" if path else what
    if kind == "missing":
        return f"{where}: is missing; add it"
    if kind == "extra_forbidden":
        return f"{where}: unknown key; {suggestion(entry['loc'][-1], _accepted(model, entry['loc']))}"
    if kind == "value_error":
        return "\n".join(f"{where}: {line}" for line in str(entry["ctx"]["error"]).splitlines())
    secret = bool(entry["loc"]) and entry["loc"][-1] in _SECRETS
    return f"{where}: is {'refused' if secret else repr(met)}; {what_is_accepted(entry)}"


def what_is_accepted(entry: ErrorDetails) -> str:
    """Return what pydantic says of a value that it refuses, in this project's words."""
    if entry["type"] in _ACCEPTED:
        return _ACCEPTED[entry["type"]].format(**entry.get("ctx", {}))
    message = entry["msg"].replace("Input should be", "should be")
    return message[0].lower() + message[1:]


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not _is_tag(part):
            path += f".{part}" if path else part
    return path


def _is_tag(part: str) -> bool:
    """Pydantic puts the member of a union that it tried into the path; a user's keys never look like that."""
    return part.endswith(("]", "Config")) or part in ("float", "int", "str", "constant") or "-config" in part


def _accepted(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    fields = _by_key(model)
    for part in location[:-1]:
        if isinstance(part, str) and part in fields:
            inner = _inner_model(fields[part].annotation)
            if inner is not None:
                fields = _by_key(inner)
    return list(fields)


def _by_key(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """A model's fields by the keys under which they are given."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        inner = _inner_model(argument)
        if inner is not None:
            return inner
    return None


def toml(text: str) -> dict[str, Any]:
    """What TOML says; raises a ValueError where it is none."""
    for name in ("tomllib", "tomli"):  # Python 3.10 has no tomllib
        if importlib.util.find_spec(name) is not None:
            content: dict[str, Any] = importlib.import_module(name).loads(text)
            return content
    raise MissingLibraryError("TOML needs Python 3.11 or the library tomli; pip install tomli")
