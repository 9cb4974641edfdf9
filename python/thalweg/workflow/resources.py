"""The nodes, CPUs and GPUs that components are given, each to one component at a time."""

from __future__ import annotations

import dataclasses
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from thalweg.errors import ConfigError
from thalweg.workflow.component import Component
from thalweg.workflow.settle import GPU_VARIABLES

#: What a batch system tells of the job's nodes. Its launchers take any of them unless they are told which.
NODE_VARIABLES = ("PBS_NODEFILE", "SLURM_JOB_NODELIST")
_PATIENCE_S = 10.0
Entry = TypeVar("Entry")


@dataclasses.dataclass(frozen=True)
class Resources:
    """What there is: nodes by name, and the CPUs and GPUs of each, which are taken to be alike.

    Attributes
    ----------
    nodes : tuple of str
        The first is the one that runs `local` components.
    cpus : tuple of int
        Logical CPUs by the kernel's number.
    gpus : tuple of str
        GPUs by the number or name that the vendor's environment variable takes.
    """

    nodes: tuple[str, ...]
    cpus: tuple[int, ...]
    gpus: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Grant:
    """What one component was given: its nodes, and the CPUs and GPUs of each process by its rank on the node.

    Empty `cpus` or `gpus`: the component did not ask, and is not pinned.
    """

    nodes: tuple[str, ...]
    cpus: tuple[tuple[int, ...], ...] = ()
    gpus: tuple[tuple[str, ...], ...] = ()


def usable_resources(environment: Mapping[str, str] | None = None, *, gpus: bool = True) -> Resources:
    """Return what this job may use: the node list of PBS or Slurm, the CPUs of this process, the GPUs of this node.

    `gpus` False leaves the GPUs out: asking the driver for them takes a moment.

    Raises
    ------
    ConfigError
        When a batch system names its nodes in a way that cannot be read, or nvidia-smi fails.
    """
    environment = os.environ if environment is None else environment
    return Resources(_nodes(environment), tuple(sorted(os.sched_getaffinity(0))), _gpus(environment) if gpus else ())


class Ledger:
    """Gives resources to components and takes them back; none is given twice."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._free = {node: (list(resources.cpus), list(resources.gpus)) for node in resources.nodes}

    def check(self, component: Component) -> None:
        """Refuse what can never be given.

        Raises
        ------
        ConfigError
            Naming what the component asks for and what there is.
        """
        where = f"Workflow: component {component.name!r}"
        has = self._resources
        if component.nodes > len(has.nodes):
            raise ConfigError(f"{where} asks for {component.nodes} nodes; there are {len(has.nodes)}")
        for what, each, there in (("CPU", component.cpus, has.cpus), ("GPU", component.gpus, has.gpus)):
            wanted = (each or 0) * component.processes_per_node
            if wanted > len(there):
                raise ConfigError(
                    f"{where} asks for {wanted} {what}s a node ({each} for each of {component.processes_per_node} "
                    f"processes); each node has {len(there)}"
                )

    def take(self, component: Component) -> Grant | None:
        """Return what `component` asks for, or None while others have it."""
        cpus = (component.cpus or 0) * component.processes_per_node
        gpus = component.gpus * component.processes_per_node
        names = self._resources.nodes[:1] if component.type != "remote" else self._resources.nodes
        fitting = [name for name in names if len(self._free[name][0]) >= cpus and len(self._free[name][1]) >= gpus]
        # the emptiest first, so that components spread over the nodes; on each node the same numbers must be free
        fitting.sort(key=lambda name: -len(self._free[name][0]))
        chosen = tuple(fitting[: component.nodes])
        if len(chosen) < component.nodes:
            return None
        common_cpus = [cpu for cpu in self._resources.cpus if all(cpu in self._free[name][0] for name in chosen)][:cpus]
        common_gpus = [gpu for gpu in self._resources.gpus if all(gpu in self._free[name][1] for name in chosen)][:gpus]
        if len(common_cpus) < cpus or len(common_gpus) < gpus:
            return None
        for name in chosen:
            free_cpus, free_gpus = self._free[name]
            self._free[name] = (_without(free_cpus, common_cpus), _without(free_gpus, common_gpus))
        return Grant(chosen, _shared(common_cpus, component.cpus or 0), _shared(common_gpus, component.gpus))

    def give_back(self, grant: Grant) -> None:
        """Take back what `take` gave."""
        cpus, gpus = sum(grant.cpus, ()), sum(grant.gpus, ())
        for name in grant.nodes:
            free_cpus, free_gpus = self._free[name]
            self._free[name] = (
                [cpu for cpu in self._resources.cpus if cpu in cpus or cpu in free_cpus],
                [gpu for gpu in self._resources.gpus if gpu in gpus or gpu in free_gpus],
            )


def _without(entries: list[Entry], taken: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry not in taken]


def _shared(entries: list[Entry], each: int) -> tuple[tuple[Entry, ...], ...]:
    return tuple(tuple(entries[start : start + each]) for start in range(0, len(entries), each)) if each else ()


def _nodes(environment: Mapping[str, str]) -> tuple[str, ...]:
    if file := environment.get("PBS_NODEFILE"):
        try:
            names = Path(file).read_text(encoding="utf-8").split()
        except OSError as error:
            raise ConfigError(f"Workflow: PBS_NODEFILE names {file}, which cannot be read: {error.strerror}") from error
        if names:
            return tuple(dict.fromkeys(names))
    if names_of := environment.get("SLURM_JOB_NODELIST"):
        return expanded(names_of)
    return (socket.gethostname(),)


def expanded(nodelist: str) -> tuple[str, ...]:
    """Return the names of a Slurm node list such as ``nid[001-003,7],login1``.

    Raises
    ------
    ConfigError
        When it is not of that form.
    """
    names: list[str] = []
    for part in _outside_brackets(nodelist):
        names += _expanded_part(part, nodelist)
    return tuple(dict.fromkeys(names))


def _outside_brackets(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _expanded_part(part: str, whole: str) -> list[str]:
    before, bracket, rest = part.partition("[")
    if not bracket:
        if not part:
            raise ConfigError(f"Workflow: the node list {whole!r} has an empty name")
        return [part]
    inside, closing, after = rest.partition("]")
    names = []
    for span in inside.split(","):
        first, _, last = span.partition("-")
        if not closing or not first.isdigit() or (last and not last.isdigit()):
            raise ConfigError(f"Workflow: the node list {whole!r} cannot be read at {span!r}; expected name[1-3,5]")
        numbers = range(int(first), int(last or first) + 1)
        names += [f"{before}{number:0{len(first)}d}{tail}" for number in numbers for tail in _tails(after, whole)]
    return names


def _tails(after: str, whole: str) -> list[str]:
    return _expanded_part(after, whole) if after else [""]


def _gpus(environment: Mapping[str, str]) -> tuple[str, ...]:
    for variable in GPU_VARIABLES:
        if variable in environment:
            return tuple(entry.strip() for entry in environment[variable].split(",") if entry.strip())
    program = shutil.which("nvidia-smi")
    if program is not None:
        command = [program, "--query-gpu=index", "--format=csv,noheader"]
        try:
            told = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise ConfigError(
                f"Workflow: the GPUs of this node are not known: {program}: {error}; set {GPU_VARIABLES[0]} to theirs, "
                "or give resources"
            ) from error
        return tuple(told.stdout.split())
    return ()
