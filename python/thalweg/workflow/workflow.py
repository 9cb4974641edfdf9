"""A workflow: components, their dependencies, the servers they use, and where results go."""

from __future__ import annotations

import dataclasses
import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from thalweg.errors import ConfigError, InvalidError
from thalweg.workflow.component import Component, check_graph, checked_component
from thalweg.workflow.progress import Progress

if TYPE_CHECKING:
    from thalweg.results import RunFolder
    from thalweg.servers import ServerManager

Function = TypeVar("Function", bound=Callable[..., Any])


class Workflow:
    """Runs functions as processes or threads, in the order that their dependencies ask for.

    Parameters
    ----------
    name : str
        Name of the workflow.
    folder : str, Path or RunFolder, optional
        Result folder: logs, events, run.json. A path is made and finished by `launch`; a RunFolder is left to its
        owner to finish.
        None: nothing is kept.
    servers : sequence of ServerManager
        Started before the first component, if they do not run yet, and always stopped after the last.
    grace_s : float
        Seconds that a component has to end after it was asked to, before it is killed.
    replace : bool
        Empty the folder first when it holds an earlier run. Only for a `folder` given as a path.

    Examples
    --------
    >>> from thalweg import Workflow
    >>> w = Workflow("demo")
    >>> @w.component(name="simulate", type="thread", args={"steps": 3})
    ... def simulate(steps):
    ...     return steps * 2
    >>> w.launch(timeout_s=10)
    {'simulate': 6}
    """

    def __init__(
        self,
        name: str,
        folder: str | Path | RunFolder | None = None,
        *,
        servers: Sequence[ServerManager] = (),
        grace_s: float = 5.0,
        replace: bool = False,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"Workflow: name is {name!r}; give text that is not empty")
        if isinstance(grace_s, bool) or not isinstance(grace_s, (int, float)) or not 0 <= grace_s < float("inf"):
            raise ConfigError(f"Workflow: grace_s is {grace_s!r}; give seconds, 0 or more")
        if replace and not isinstance(folder, (str, Path)):
            raise ConfigError("Workflow: replace is for a folder given as a path; remove it or give the path")
        self.name = name
        self._folder = folder
        self._replace = replace
        self._servers = list(servers)
        self._grace_s = float(grace_s)
        self._components: dict[str, Component] = {}

    @classmethod
    def from_file(cls, path: str | Path, **options: Any) -> Workflow:
        """Make a workflow from a JSON or TOML file.

        Parameters
        ----------
        path : str or Path
            ``{"name": ..., "components": [{"name", "function": "module:function", "type", "args", "dependencies",
            "env",
            "retries"}]}``.
        **options
            As for the constructor.

        Raises
        ------
        ConfigError
            For a file or an entry that is wrong, with its path.
        """
        from thalweg.configuration import load, suggestion

        content = load(path, "Workflow")
        for key in content:
            if key not in ("name", "components"):
                raise ConfigError(f"Workflow: {key}: unknown key; {suggestion(key, ['name', 'components'])}")
        workflow = cls(content.get("name", Path(path).stem), **options)
        entries = content.get("components")
        if not isinstance(entries, list):
            raise ConfigError(f"Workflow: components: is {entries!r}; give a list of tables")
        accepted = ["name", "function", "type", "args", "dependencies", "env", "retries"]
        for number, entry in enumerate(entries):
            where = f"Workflow: components[{number}]"
            if not isinstance(entry, dict):
                raise ConfigError(f"{where}: is {entry!r}; give a table with name and function")
            for key in entry:
                if key not in accepted:
                    raise ConfigError(f"{where}.{key}: unknown key; {suggestion(key, accepted)}")
            rest = dict(entry)
            function = _imported(rest.pop("function", None), f"{where}.function")
            workflow.component(**rest)(function)
        return workflow

    def component(
        self,
        *,
        name: str | None = None,
        type: str = "local",
        args: Mapping[str, Any] | None = None,
        dependencies: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        retries: int = 0,
    ) -> Callable[[Function], Function]:
        """Declare the decorated function to be a component; returns the function unchanged.

        Parameters
        ----------
        name : str
            Name of the component; default: the function's.
        type : str
            ``local``: a fresh process; function and arguments are pickled. ``thread``: a thread of this process.
        args : mapping
            The function's arguments by name. For a ServerManager the function gets its server info.
        dependencies : sequence of str
            Components that must be done before this one starts.
        env : mapping
            Environment variables of the process, beside the inherited ones.
        retries : int
            How often it is started again when it fails.

        Raises
        ------
        ConfigError
            For anything wrong, at once; what names other components is checked by `launch`.
        """

        def register(function: Function) -> Function:
            chosen = name if name is not None else getattr(function, "__name__", None)
            component = checked_component(chosen, function, type, args or {}, dependencies, env or {}, retries)
            if component.name in self._components:
                raise ConfigError(
                    f"Workflow.component: the name {component.name!r} is taken; give each a name of its own"
                )
            self._components[component.name] = component
            return function

        return register

    def launch(
        self, timeout_s: float | None = None, on_progress: Callable[[Progress], None] | None = None
    ) -> dict[str, Any]:
        """Run all components; blocks until they have ended.

        Parameters
        ----------
        timeout_s : float, optional
            Stop everything after so many seconds. None: no limit.
        on_progress : callable, optional
            Called with each `Progress` that a component reports.

        Returns
        -------
        dict
            What each component's function returned, by name.

        Raises
        ------
        ConfigError
            For a cycle, an unknown dependency, no components, or arguments that cannot be sent; no component was
            started then.
        ComponentFailedError
            When one failed: its exit status or exception, and the last lines of its log. What depends on it was not
            started, the others were stopped.
        WaitTimeoutError
            When `timeout_s` passed.
        """
        if not self._components:
            raise ConfigError(f"Workflow {self.name!r}: has no components; declare one with @w.component(...)")
        if timeout_s is not None and (
            isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or not 0 < timeout_s < float("inf")
        ):
            raise InvalidError(f"Workflow.launch: timeout_s is {timeout_s!r}; give seconds, more than 0, or None")
        check_graph(self._components)
        from thalweg.workflow.launch import Launch

        folder, owned = self._open_folder()
        launch: Launch | None = None
        status = "failed"
        try:
            for server in self._servers:
                if not server.running:
                    server.start_server()
            launch = Launch(
                self.name,
                {name: _with_server_info(component) for name, component in self._components.items()},
                logs=folder.logs if folder else None,
                traces=folder.traces if folder else None,
                run_start_ns=folder.start_ns if folder else time.monotonic_ns(),
                grace_s=self._grace_s,
                on_progress=on_progress,
            )
            if folder is not None:
                folder.prepare_merge()
            results = launch.run(timeout_s)
            status = "done"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            for server in self._servers:
                server.stop_server()
            if folder is not None:
                folder.components = list(launch.records.values()) if launch is not None else []
                if owned:
                    folder.finish(status)  # type: ignore[arg-type]
                else:
                    folder.write_facts()
        return results

    def _open_folder(self) -> tuple[RunFolder | None, bool]:
        if self._folder is None:
            return None, False
        from thalweg.results.folder import RunFolder

        if isinstance(self._folder, RunFolder):
            return self._folder, False
        kinds = dict.fromkeys(server.backend for server in self._servers)
        folder = RunFolder(
            Path(self._folder),
            name=self.name,
            backend=", ".join(kinds) or None,
            configuration=self._configuration(),
            replace=self._replace,
        )
        return folder, True

    def _configuration(self) -> dict[str, Any]:
        """What was declared; without arguments and server settings, which may hold secrets or not be JSON."""
        return {
            "components": {
                component.name: {
                    "type": component.type,
                    "dependencies": list(component.dependencies),
                    "retries": component.retries,
                }
                for component in self._components.values()
            },
            "servers": {server.name: server.backend for server in self._servers},
        }


def _with_server_info(component: Component) -> Component:
    """Put server info in the place of each ServerManager among the arguments."""
    from thalweg.servers import ServerManager

    args = {
        name: value.get_server_info() if isinstance(value, ServerManager) else value
        for name, value in component.args.items()
    }
    return dataclasses.replace(component, args=args)


def _imported(home: object, where: str) -> Callable[..., Any]:
    if not isinstance(home, str) or home.count(":") != 1:
        raise ConfigError(f"{where}: is {home!r}; give 'module:function'")
    module, _, attribute = home.partition(":")
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{where}: {home!r} cannot be imported: {error}") from error
    return found
