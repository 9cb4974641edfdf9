"""One component of a workflow, as it was declared."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg.errors import ConfigError

TYPES = ("local", "thread", "remote")
_NAME_BYTES = 128  # it becomes part of file names


@dataclasses.dataclass(frozen=True)
class Component:
    """A function or a command, how to run it and what it waits for.

    Attributes
    ----------
    function, args : callable, mapping
        What is called, and with which arguments; or
    command : tuple of str
        the program and its arguments.
    nodes, processes_per_node : int
        How many processes of a remote component run, and where.
    cpus, gpus : int
        CPUs and GPUs of each process for itself; `cpus` None leaves the process where the system puts it.
    launcher : str, optional
        The MPI launcher by name; None: the one that is found.
    retries : int
        How often it is started again after a failure.
    timeout_s : float, optional
        Seconds after which one attempt counts as failed.
    """

    name: str
    function: Callable[..., Any] | None = None
    command: tuple[str, ...] = ()
    type: str = "local"
    args: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    retries: int = 0
    timeout_s: float | None = None
    nodes: int = 1
    processes_per_node: int = 1
    cpus: int | None = None
    gpus: int = 0
    launcher: str | None = None

    @property
    def processes(self) -> int:
        """How many processes it runs as."""
        return self.nodes * self.processes_per_node


#: What can be said of a component beside what it runs; the names of `Workflow.component` and of workflow files.
SETTINGS = tuple(field.name for field in dataclasses.fields(Component) if field.name not in ("function", "command"))


def checked_component(*, function: object = None, command: object = None, **settings: Any) -> Component:
    """Return a component when what was declared makes sense; `settings` are those of `SETTINGS`.

    Raises
    ------
    ConfigError
        Otherwise, naming the component, the argument and the fix.
    """
    name = settings.get("name")
    if not isinstance(name, str) or not name or "\0" in name:
        raise ConfigError(f"Workflow.component: name is {name!r}; give text that is not empty")
    if len(name.encode("utf-8", "surrogatepass")) > _NAME_BYTES:
        raise ConfigError(
            f"Workflow.component: name is {name[:32]!r}... with {len(name.encode('utf-8', 'surrogatepass'))} bytes in "
            f"UTF-8; give {_NAME_BYTES} at most"
        )
    where = f"Workflow.component {name!r}"
    component = Component(**{**settings, "name": name})
    _check_kinds(where, component)
    _check_numbers(where, component)
    _check_type(where, component)
    component = dataclasses.replace(
        component,
        args=dict(component.args),
        env=dict(component.env),
        dependencies=tuple(component.dependencies),
    )
    if command is not None:
        return dataclasses.replace(component, command=_checked_command(where, command, component))
    if not callable(function):
        raise ConfigError(f"{where}: {function!r} cannot be called; give a function")
    _check_arguments(where, function, component.args)
    return dataclasses.replace(component, function=function)


def _check_kinds(where: str, component: Component) -> None:
    if component.type not in TYPES:
        raise ConfigError(f"{where}: type is {component.type!r}; accepted are {', '.join(TYPES)}")
    args, dependencies, env = component.args, component.dependencies, component.env
    if not isinstance(args, Mapping) or not all(isinstance(key, str) for key in args):
        raise ConfigError(f"{where}: args is {args!r}; give a dict of the function's arguments by name")
    if isinstance(dependencies, str) or not isinstance(dependencies, Sequence):
        raise ConfigError(f"{where}: dependencies is {dependencies!r}; give a list of component names")
    if not all(isinstance(entry, str) for entry in dependencies):
        raise ConfigError(f"{where}: dependencies is {list(dependencies)!r}; give a list of component names")
    if not isinstance(env, Mapping) or not all(isinstance(part, str) for pair in env.items() for part in pair):
        raise ConfigError(f"{where}: env is {env!r}; give a dict of text to text")


def _check_numbers(where: str, component: Component) -> None:
    for what, least in (("retries", 0), ("gpus", 0), ("nodes", 1), ("processes_per_node", 1), ("cpus", 1)):
        value = getattr(component, what)
        if what == "cpus" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ConfigError(f"{where}: {what} is {value!r}; give an integer of {least} or more")
    limit = component.timeout_s
    if limit is not None and (
        isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < math.inf
    ):
        raise ConfigError(f"{where}: timeout_s is {limit!r}; give seconds, more than 0, or None")


def _check_type(where: str, component: Component) -> None:
    from thalweg.workflow.launchers import LAUNCHERS

    if component.type == "thread":
        for what, given in (
            ("an environment", component.env and "env"),
            ("CPUs", component.cpus and "cpus"),
            ("GPUs", component.gpus and "gpus"),
        ):
            if given:
                raise ConfigError(
                    f"{where}: a thread has no {what[3:] if what.startswith('an ') else what} of its own; "
                    f"remove {given} or use type 'local'"
                )
        if component.timeout_s is not None:
            raise ConfigError(f"{where}: a thread cannot be ended by force; remove timeout_s or use type 'local'")
    if component.type != "remote":
        for what in ("nodes", "processes_per_node"):
            if getattr(component, what) != 1:
                raise ConfigError(
                    f"{where}: {what} is {getattr(component, what)}, type is {component.type!r}; "
                    "use type 'remote' for several processes"
                )
        if component.launcher is not None:
            raise ConfigError(f"{where}: launcher is {component.launcher!r}; only type 'remote' has one")
    elif component.launcher is not None and component.launcher not in LAUNCHERS:
        raise ConfigError(f"{where}: launcher is {component.launcher!r}; accepted are {', '.join(LAUNCHERS)}")


def _checked_command(where: str, command: object, component: Component) -> tuple[str, ...]:
    if isinstance(command, str) or not isinstance(command, Sequence) or not command:
        raise ConfigError(f"{where}: command is {command!r}; give a list: the program, then its arguments")
    if not all(isinstance(part, str) and "\0" not in part for part in command) or not command[0]:
        raise ConfigError(f"{where}: command is {list(command)!r}; give text only, the program first")
    if component.type == "thread":
        raise ConfigError(f"{where}: a command is a process of its own; use type 'local' or 'remote'")
    if component.args:
        raise ConfigError(f"{where}: args is for functions; put the arguments into command")
    return tuple(command)


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
