"""A workflow from a JSON or TOML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.configuration import load, suggestion
from thalweg.errors import ConfigError
from thalweg.workflow.beside import imported
from thalweg.workflow.component import SETTINGS
from thalweg.workflow.resources import Resources, usable_resources

if TYPE_CHECKING:
    from thalweg.servers import ServerManager
    from thalweg.workflow.workflow import Workflow

_TOP = ("name", "grace_s", "task_processes", "resources", "servers", "components")
_KINDS = ("function", "command", "workflow")
_OF_A_CALL = re.compile(r"^Workflow\.\w+(?: '[^']*')?: ")


def workflow_from_file(make: type[Workflow], path: str | Path, options: Mapping[str, Any]) -> Workflow:
    """Return the workflow that a file describes; `options` go to its constructor and win over the file's.

    Raises
    ------
    ConfigError
        For a file or an entry that is wrong, with its path.
    """
    return _workflow(make, load(path, "Workflow"), (Path(path),), "Workflow", options)


def _workflow(
    make: type[Workflow], content: Mapping[str, Any], files: tuple[Path, ...], where: str, options: Mapping[str, Any]
) -> Workflow:
    """`files` is the one that `content` stands in, after those that it is nested in."""
    _only(content, _TOP, where)
    servers = _servers(content.get("servers", []), where)
    settings = {key: content[key] for key in ("grace_s", "task_processes") if key in content}
    if "resources" in content:
        settings["resources"] = _resources(content["resources"], f"{where}: resources")
    given = [*servers.values(), *options.get("servers", ())]
    workflow = make(content.get("name", files[-1].stem), **{**settings, **options, "servers": given})
    if "components" not in content:
        raise ConfigError(f"{where}: components: is missing; add it")
    entries = content["components"]
    if not isinstance(entries, list):
        raise ConfigError(f"{where}: components: is {entries!r}; give a list of tables")
    for number, entry in enumerate(entries):
        _add(workflow, entry, servers, files, f"{where}: components[{number}]")
    return workflow


def _add(
    workflow: Workflow, entry: Any, servers: Mapping[str, ServerManager], files: tuple[Path, ...], where: str
) -> None:
    if not isinstance(entry, dict):
        raise ConfigError(f"{where}: is {entry!r}; give a table with name and function, command or workflow")
    _only(entry, (*_KINDS, *SETTINGS), where)
    given = [kind for kind in _KINDS if kind in entry]
    if len(given) != 1:
        met = f"has {' and '.join(given)}" if given else f"has none of {', '.join(_KINDS)}"
        raise ConfigError(f"{where}: {met}; give exactly one of them")
    rest = dict(entry)
    what = rest.pop(given[0])
    if "args" in rest and isinstance(rest["args"], dict):
        rest["args"] = {key: _argument(value, servers, f"{where}.args.{key}") for key, value in rest["args"].items()}
    if "name" not in rest:
        raise ConfigError(f"{where}.name: is missing; add it")
    if given[0] == "workflow":
        _only(rest, ("name", "dependencies"), where)
        what = _inner(type(workflow), what, files, f"{where}.workflow")
    elif given[0] == "function":
        what = imported(what, files[-1].resolve().parent, f"{where}.function")
    try:
        if given[0] == "workflow":
            workflow.nest(what, **rest)
        elif given[0] == "command":
            workflow.command(rest.pop("name"), what, **rest)
        else:
            workflow.component(**rest)(what)
    except ConfigError as error:  # told of a call; the reader has a file
        raise ConfigError(f"{where}: {_OF_A_CALL.sub('', str(error))}") from None


def _inner(make: type[Workflow], what: Any, files: tuple[Path, ...], where: str) -> Workflow:
    if isinstance(what, str):
        inner = files[-1].parent / what
        if any(inner.resolve() == outer.resolve() for outer in files):
            raise ConfigError(f"{where}: {inner} would contain itself; give another file")
        return _workflow(make, load(inner, where), (*files, inner), f"{where}: {what}", {})
    if isinstance(what, dict):
        return _workflow(make, what, files, where, {})
    raise ConfigError(f"{where}: is {what!r}; give the path of a workflow file, or a table like one")


def _servers(entries: Any, where: str) -> dict[str, ServerManager]:
    from thalweg.servers import ServerManager

    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ConfigError(f"{where}: servers: is {entries!r}; give a list of tables with name and type")
    servers: dict[str, ServerManager] = {}
    for number, entry in enumerate(entries):
        rest = dict(entry)
        name = rest.pop("name", None)
        if name is None:
            raise ConfigError(f"{where}: servers[{number}].name: is missing; add it")
        if name in servers:
            raise ConfigError(f"{where}: servers[{number}].name: {name!r} is taken; give each a name of its own")
        try:
            servers[str(name)] = ServerManager(name, rest)
        except ConfigError as error:
            told = str(error).replace("ServerManager: ", "")
            raise ConfigError(f"{where}: servers[{number}]: {told}") from None
    return servers


def _argument(value: Any, servers: Mapping[str, ServerManager], where: str) -> Any:
    if not isinstance(value, dict) or list(value) != ["server"]:
        return value
    name = value["server"]
    if name not in servers:
        advice = suggestion(name, list(servers)) if servers else "the file declares none, add it to servers"
        raise ConfigError(f"{where}: server {name!r} does not exist; {advice}")
    return servers[name]


def _resources(content: Any, where: str) -> Resources:
    if not isinstance(content, dict):
        raise ConfigError(f"{where}: is {content!r}; give a table with nodes, cpus or gpus")
    _only(content, ("nodes", "cpus", "gpus"), where)
    usable = usable_resources(gpus="gpus" not in content)
    for key, kind, word in (
        ("nodes", str, "names"),
        ("cpus", int, "numbers"),
        ("gpus", str, "numbers or names as text"),
    ):
        entries = content.get(key, [])
        if not isinstance(entries, list) or not all(isinstance(entry, kind) for entry in entries):
            raise ConfigError(f"{where}.{key}: is {entries!r}; give a list of {word}")
    return Resources(
        tuple(content.get("nodes", usable.nodes)),
        tuple(content.get("cpus", usable.cpus)),
        tuple(content.get("gpus", usable.gpus)),
    )


def _only(content: Mapping[str, Any], accepted: tuple[str, ...], where: str) -> None:
    for key in content:
        if key not in accepted:
            path = f"{where}.{key}" if where.endswith("]") else f"{where}: {key}"
            raise ConfigError(f"{path}: unknown key; {suggestion(key, list(accepted))}")
