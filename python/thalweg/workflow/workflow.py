"""A workflow: components, their dependencies, the servers they use, and where results go."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from thalweg.errors import ConfigError, InvalidError
from thalweg.workflow.component import SETTINGS, Component, checked_component
from thalweg.workflow.graph import check_cycles
from thalweg.workflow.nest import Nested, flattened
from thalweg.workflow.progress import Progress

if TYPE_CHECKING:
    from thalweg.results import RunFolder
    from thalweg.servers import ServerManager
    from thalweg.workflow.resources import Resources

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
    resources : Resources, optional
        Nodes, CPUs and GPUs that components are given. Default: those of the batch job (PBS_NODEFILE,
        SLURM_JOB_NODELIST) or of this machine.
    task_processes : int, optional
        Processes that run the tasks of components (`thalweg.workflow.submit`). Default: one for each usable CPU.

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
        resources: Resources | None = None,
        task_processes: int | None = None,
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
        if task_processes is not None and (
            isinstance(task_processes, bool) or not isinstance(task_processes, int) or task_processes < 1
        ):
            raise ConfigError(f"Workflow: task_processes is {task_processes!r}; give an integer of 1 or more")
        self._grace_s = float(grace_s)
        self._resources, self._task_processes = resources, task_processes
        self._components: dict[str, Component] = {}
        self._nested: dict[str, tuple[Workflow, tuple[str, ...]]] = {}

    @classmethod
    def from_file(cls, path: str | Path, **options: Any) -> Workflow:
        """Make a workflow from a JSON or TOML file.

        Parameters
        ----------
        path : str or Path
            ``{"name", "servers": [{"name", "type", ...}], "components": [...]}``. A component has a name, one of
            ``function`` ("module:function"; modules beside the file are found), ``command`` (a list) and ``workflow``
            (another file, or such a table), and what `component` takes. An argument ``{"server": "staging"}``
            arrives as the info of that server.
        **options
            As for the constructor.

        Raises
        ------
        ConfigError
            For a file or an entry that is wrong, with its path.
        """
        from thalweg.workflow.from_file import workflow_from_file

        return workflow_from_file(cls, path, options)

    def component(
        self,
        *,
        name: str | None = None,
        type: str = "local",
        args: Mapping[str, Any] | None = None,
        dependencies: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        retries: int = 0,
        timeout_s: float | None = None,
        nodes: int = 1,
        processes_per_node: int = 1,
        cpus: int | None = None,
        gpus: int = 0,
        launcher: str | None = None,
    ) -> Callable[[Function], Function]:
        """Declare the decorated function to be a component; returns the function unchanged.

        Parameters
        ----------
        name : str
            Name of the component; default: the function's.
        type : str
            ``local``: a fresh process; function and arguments are pickled. ``thread``: a thread of this process.
            ``remote``: `nodes` times `processes_per_node` ranks under an MPI launcher; the result is a list, by rank.
        args : mapping
            The function's arguments by name. For a ServerManager the function gets its server info.
        dependencies : sequence of str
            Components and nested workflows that must be done before this one starts.
        env : mapping
            Environment variables of the process, beside the inherited ones.
        retries : int
            How often it is started again when it fails.
        timeout_s : float
            Seconds after which one attempt counts as failed.
        nodes, processes_per_node : int
            For ``remote``: how many nodes, and ranks on each.
        cpus, gpus : int
            CPUs and GPUs of each process: it is pinned to the CPUs, and sees only its GPUs (CUDA_VISIBLE_DEVICES and
            the like). No other component that asks gets them meanwhile; one that does not ask is not pinned. The
            component waits until they are free.
        launcher : str
            For ``remote``: ``openmpi``, ``mpich``, ``srun`` or ``pals``. Default: what is found.

        Raises
        ------
        ConfigError
            For anything wrong, at once; what names other components is checked by `launch`.
        """
        settings = {
            "type": type,
            "args": args or {},
            "dependencies": dependencies,
            "env": env or {},
            "retries": retries,
            "timeout_s": timeout_s,
            "nodes": nodes,
            "processes_per_node": processes_per_node,
            "cpus": cpus,
            "gpus": gpus,
            "launcher": launcher,
        }

        def register(function: Function) -> Function:
            chosen = name if name is not None else getattr(function, "__name__", None)
            self._add(checked_component(function=function, name=chosen, **settings))
            return function

        return register

    def command(self, name: str, command: Sequence[str], **settings: Any) -> None:
        """Declare a program to be a component; its exit status says whether it succeeded, and its result is None.

        Parameters
        ----------
        name : str
            Name of the component.
        command : sequence of str
            The program (found on the PATH) and its arguments; no shell is involved.
        **settings
            As for `component`, without args; type ``local`` or ``remote``.

        Raises
        ------
        ConfigError
            For anything wrong.
        """
        from thalweg.configuration import suggestion

        for key in settings:
            if key not in SETTINGS or key in ("name", "args"):
                accepted = [setting for setting in SETTINGS if setting not in ("name", "args")]
                raise ConfigError(f"Workflow.command {name!r}: {key}: unknown; {suggestion(key, accepted)}")
        self._add(checked_component(command=command, name=name, **settings))

    def nest(self, workflow: Workflow, *, name: str | None = None, dependencies: Sequence[str] = ()) -> None:
        """Make another workflow a part of this one: its components run as ``name/component``, its servers with ours.

        Parameters
        ----------
        workflow : Workflow
            Its own folder, resources and time are not used. It may be added to until this one is launched.
        name : str
            What others depend on; default: the workflow's name.
        dependencies : sequence of str
            What must be done before any of its components starts.

        Raises
        ------
        ConfigError
            When the name is taken, or the workflow is this one.
        """
        if not isinstance(workflow, Workflow):
            raise ConfigError(f"Workflow.nest: {workflow!r} is no Workflow")
        if isinstance(dependencies, str) or not all(isinstance(entry, str) for entry in dependencies):
            raise ConfigError(f"Workflow.nest: dependencies is {dependencies!r}; give a list of component names")
        if workflow._contains(self):
            raise ConfigError(f"Workflow.nest: {workflow.name!r} would contain itself; nest another workflow")
        chosen = workflow.name if name is None else name
        self._check_free(chosen)
        self._nested[chosen] = (workflow, tuple(dependencies))

    def launch(
        self,
        timeout_s: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_log: Callable[[str, str], None] | None = None,
    ) -> dict[str, Any]:
        """Run all components; blocks until they have ended.

        Parameters
        ----------
        timeout_s : float, optional
            Stop everything after so many seconds. None: no limit.
        on_progress : callable, optional
            Called with each `Progress` that a component reports.
        on_log : callable, optional
            Called with a component's name and each line that it prints, a fifth of a second later at most. Threads
            print themselves.

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
        if timeout_s is not None and (
            isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or not 0 < timeout_s < float("inf")
        ):
            raise InvalidError(f"Workflow.launch: timeout_s is {timeout_s!r}; give seconds, more than 0, or None")
        components = self._flat()
        check_cycles(components)
        from thalweg.workflow.call import Recording
        from thalweg.workflow.launch import Launch
        from thalweg.workflow.resources import usable_resources

        servers = self._all_servers()
        folder, owned = self._open_folder()
        recording = Recording(None, None, time.monotonic_ns())
        if folder is not None:
            recording = Recording(folder.logs, folder.traces, folder.start_ns)
        launch: Launch | None = None

        def close_folder(error: BaseException | None) -> None:
            if folder is not None:
                folder.components = launch.records if launch is not None else []
                if owned:
                    folder.finish(_status_after(error))
                else:
                    folder.write_facts()

        with contextlib.ExitStack() as ending:
            ending.push(_first_error_wins("the result folder could not be finished", close_folder))
            for server in servers:
                ending.push(_first_error_wins(f"server {server.name!r} could not be stopped", _stopping(server)))
            for server in servers:
                if not server.running:
                    server.start_server()
            launch = Launch(
                self.name,
                {name: _with_server_info(component) for name, component in components.items()},
                resources=self._resources or usable_resources(gpus=any(c.gpus for c in components.values())),
                recording=recording,
                grace_s=self._grace_s,
                task_processes=self._task_processes or len(os.sched_getaffinity(0)),
                on_progress=on_progress,
                on_log=on_log,
            )
            if folder is not None:
                folder.prepare_merge()
            results = launch.run(timeout_s)
        return self._shaped(results, "")

    def _add(self, component: Component) -> None:
        self._check_free(component.name)
        self._components[component.name] = component

    def _check_free(self, name: str) -> None:
        if name in self._components or name in self._nested:
            raise ConfigError(f"Workflow.component: the name {name!r} is taken; give each a name of its own")

    def _contains(self, other: Workflow) -> bool:
        return self is other or any(inner._contains(other) for inner, _ in self._nested.values())

    def _flat(self) -> dict[str, Component]:
        """Return all components, those of nested workflows as ``name/component``."""
        if not self._components and not self._nested:
            raise ConfigError(f"Workflow {self.name!r}: has no components; declare one with @w.component(...)")
        inner = {name: Nested(workflow._flat(), needed) for name, (workflow, needed) in self._nested.items()}
        return flattened(self._components, inner)

    def _shaped(self, results: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        """Return results by name, those of a nested workflow as a dict of its own."""
        shaped = {name: results[prefix + name] for name in self._components}
        for name, (workflow, _) in self._nested.items():
            shaped[name] = workflow._shaped(results, f"{prefix}{name}/")
        return shaped

    def _all_servers(self) -> list[ServerManager]:
        servers = list(self._servers)
        for workflow, _ in self._nested.values():
            servers += [server for server in workflow._all_servers() if server not in servers]
        return servers

    def _open_folder(self) -> tuple[RunFolder | None, bool]:
        if self._folder is None:
            return None, False
        from thalweg.results.folder import RunFolder

        if isinstance(self._folder, RunFolder):
            return self._folder, False
        kinds = dict.fromkeys(server.backend for server in self._all_servers())
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
                name: {
                    "type": component.type,
                    "dependencies": list(component.dependencies),
                    "retries": component.retries,
                    **({"command": list(component.command)} if component.command else {}),
                    **({"processes": component.processes} if component.type == "remote" else {}),
                }
                for name, component in self._flat().items()
            },
            "servers": {server.name: server.backend for server in self._all_servers()},
        }


def _status_after(error: BaseException | None) -> Literal["done", "failed", "interrupted"]:
    if error is None:
        return "done"
    return "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"


def _stopping(server: ServerManager) -> Callable[[object], None]:
    return lambda _: server.stop_server()


def _first_error_wins(what: str, end: Callable[[BaseException | None], object]) -> Callable[..., None]:
    """Return how to leave a block by `end`, whose own error is a note to the one that the block was left with."""

    def leave(_: type[BaseException] | None, error: BaseException | None, __: object) -> None:
        try:
            end(error)
        except Exception as failure:
            if error is None:
                raise
            tell = getattr(error, "add_note", print)  # Python 3.10 has no notes
            tell(f"{what}: {failure}")

    return leave


def _with_server_info(component: Component) -> Component:
    """Put server info in the place of each ServerManager among the arguments."""
    from thalweg.servers import ServerManager

    args = {
        name: value.get_server_info() if isinstance(value, ServerManager) else value
        for name, value in component.args.items()
    }
    return dataclasses.replace(component, args=args)
