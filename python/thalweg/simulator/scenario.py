"""A scenario: what is to run on which machine, from a dict or a TOML or JSON file."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_serializer, field_validator, model_validator

from thalweg.configuration import checked, load
from thalweg.errors import InvalidError
from thalweg.simulator.reference_data import FOLDER
from thalweg.sizes import parse_size

_COUNT = Field(default=None, ge=0, lt=1 << 32)
#: Most ranks of an application.
MOST_RANKS = 1 << 24

Routing = Literal["minimal", "valiant", "ugal", "par", "adaptive"]
#: Those that a topology has.
ROUTINGS: dict[str, tuple[Routing, ...]] = {
    "dragonfly": ("minimal", "valiant", "ugal", "par"),
    "fat-tree": ("minimal", "adaptive"),
    "k-ary-tree": ("minimal", "adaptive"),
    "torus": ("minimal", "valiant"),
    "single-switch": ("minimal", "adaptive"),
}
READY = ("milc", "nekbone", "checkpoint", "cosmoflow")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _size(value: object) -> object:
    """A number of bytes that may be given as text, such as ``4KiB``."""
    return parse_size(value) if isinstance(value, str) else value


class Link(_Part):
    """One kind of links, where it differs from the model's."""

    bandwidth_gib_per_s: float | None = Field(default=None, gt=0, le=1e6)
    #: From the end of a packet's sending to its arrival.
    delay_ns: float | None = Field(default=None, ge=0, le=1e9)
    #: From a packet's acceptance at the far end to the sender's knowing; as long as the link where left out.
    credit_delay_ns: float | None = Field(default=None, ge=0, le=1e9)
    #: The buffer of each virtual channel.
    buffer_bytes: int | None = Field(default=None, ge=1, lt=1 << 32)

    _sizes = field_validator("buffer_bytes", mode="before")(_size)


class Network(_Part):
    """The interconnect; without numbers the dragonfly of 1,056 nodes of the MFNetSim paper.

    A dragonfly has ``groups``, ``routers``, ``nodes`` (of a router) and ``global_links``; a fat-tree ``down`` and
    ``up`` (links of a router, level by level), a k-ary-tree ``arity`` and ``levels``, a torus ``extents`` and
    ``nodes``, a single-switch ``nodes``.
    """

    topology: Literal["dragonfly", "fat-tree", "k-ary-tree", "torus", "single-switch"] = "dragonfly"
    routing: Routing = "minimal"
    groups: int | None = _COUNT
    routers: int | None = _COUNT
    nodes: int | None = _COUNT
    global_links: int | None = _COUNT
    down: list[int] | None = None
    up: list[int] | None = None
    arity: int | None = _COUNT
    levels: int | None = _COUNT
    extents: list[int] | None = None
    packet_bytes: int | None = Field(default=None, ge=1, le=65_535)
    router_delay_ns: float | None = Field(default=None, ge=0, le=1e9)
    interface_delay_ns: float | None = Field(default=None, ge=0, le=1e9)
    terminal: Link = Link()
    local: Link = Link()
    global_: Link = Field(default=Link(), alias="global")

    @field_validator("routing", mode="before")
    @classmethod
    def _named(cls, value: object, info: ValidationInfo) -> object:
        topology = info.data.get("topology")
        if topology is not None and value not in get_args(Routing):  # what another topology has is refused as it runs
            raise ValueError(f"is {value!r}; accepted by a {topology} are {', '.join(ROUTINGS[topology])}")
        return value

    @field_validator("down", "up", "extents")
    @classmethod
    def _counts(cls, value: list[int] | None) -> list[int] | None:
        for number in value or []:
            if not 1 <= number < 1 << 32:
                raise ValueError(f"has {number}; each must be at least 1")
        return value

    def shape(self) -> list[tuple[str, list[int]]]:
        """Return the numbers of the topology by their names."""
        found: list[tuple[str, list[int]]] = []
        for name in ("groups", "routers", "nodes", "global_links", "down", "up", "arity", "levels", "extents"):
            value = getattr(self, name)
            if value is not None:
                found.append((name, value if isinstance(value, list) else [value]))
        return found

    def changes(self) -> list[tuple[str, float]]:
        """Return what differs from the model's parameters, by names such as ``local.delay_ns``."""
        own: list[tuple[str, float | None]] = [
            (name, getattr(self, name)) for name in ("packet_bytes", "router_delay_ns", "interface_delay_ns")
        ]
        for kind, link in (("terminal", self.terminal), ("local", self.local), ("global", self.global_)):
            own += [(f"{kind}.{name}", value) for name, value in link.model_dump().items()]
        return [(name, float(value)) for name, value in own if value is not None]


class MPI(_Part):
    """How ranks send messages, where it differs from the model's; algorithms are chosen by size where none is named."""

    barrier: Literal["dissemination"] | None = None
    bcast: Literal["binomial", "scatter-allgather", "scatter-ring"] | None = None
    reduce: Literal["binomial"] | None = None
    allreduce: Literal["recursive-doubling", "rabenseifner", "ring"] | None = None
    allgather: Literal["ring", "recursive-doubling", "bruck"] | None = None
    alltoall: Literal["pairwise", "blocks"] | None = None
    #: Messages of at least so many bytes wait until they are received.
    rendezvous_bytes: int | None = Field(default=None, ge=0, lt=1 << 63)

    _sizes = field_validator("rendezvous_bytes", mode="before")(_size)

    def collectives(self) -> list[tuple[str, str]]:
        """Return the collectives whose algorithm is named, with its name."""
        named = self.model_dump(exclude={"rendezvous_bytes"}, exclude_none=True)
        return list(named.items())


class Flash(_Part):
    """Numbers of flash, where they differ from those of the paper's table 1; the guide lists them."""

    page_bytes: int | None = Field(default=None, ge=1, le=1_000_000_000)
    #: A page alone, and from one page to the next on another channel.
    write_page_us: float | None = Field(default=None, ge=0, le=1e4)
    read_page_us: float | None = Field(default=None, ge=0, le=1e4)
    write_channel_us: float | None = Field(default=None, ge=0, le=1e4)
    read_channel_us: float | None = Field(default=None, ge=0, le=1e4)
    pages_per_cycle: int | None = Field(default=None, ge=1, le=1_000_000)

    _sizes = field_validator("page_bytes", mode="before")(_size)


class Disk(_Part):
    """Numbers of disks, where they differ from those of the paper's table 1; the guide lists them."""

    rpm: int | None = Field(default=None, ge=1, le=1_000_000)
    track_bytes: int | None = Field(default=None, ge=1, le=10**12)
    #: A seek takes the first, the second for each root of a track, and the third for each track beyond ``near_tracks``.
    settle_ms: float | None = Field(default=None, ge=0, le=1e4)
    seek_root_ms: float | None = Field(default=None, ge=0, le=1e4)
    far_track_ns: float | None = Field(default=None, ge=0, le=1e6)
    near_tracks: int | None = Field(default=None, ge=1, le=10**9)
    read_ahead_bytes: int | None = Field(default=None, ge=0, le=10**12)
    cache_bytes: int | None = Field(default=None, ge=0, le=10**12)
    #: How many writes its cache puts into order.
    ordered_writes: int | None = Field(default=None, ge=1, le=1_000_000)

    _sizes = field_validator("track_bytes", "read_ahead_bytes", "cache_bytes", mode="before")(_size)


class Storage(_Part):
    """Where and on what ranks store their data, where it differs from the model's."""

    arrangement: Literal["node-local", "compute-side", "storage-side"] | None = None
    #: Of storage-side storage, what holds requests of 64 KiB and more; smaller ones are on flash.
    device: Literal["artifact", "ssd", "hdd"] | None = None
    ssd: Flash = Flash()
    hdd: Disk = Disk()

    def numbers(self) -> list[tuple[str, float]]:
        """Return the numbers that are given for devices, by names such as ``ssd.page_bytes``."""
        devices = (("ssd", self.ssd), ("hdd", self.hdd))
        return [
            (f"{device}.{name}", float(value))
            for device, numbers in devices
            for name, value in numbers.model_dump(exclude_none=True).items()
        ]


class Synthetic(_Part):
    """Traffic of all terminals."""

    pattern: Literal["uniform-random", "next-group", "nearest-neighbour", "shift", "tornado", "hot-spot"]
    message_bytes: int = Field(ge=0, le=1 << 40)
    mean_gap_ns: float = Field(ge=0, le=1e15)
    messages: int = Field(ge=1, le=1_000_000_000)
    gaps: Literal["even", "exponential"] = "exponential"

    _sizes = field_validator("message_bytes", mode="before")(_size)


class Application(_Part):
    """A ready-made application of 300 ranks, a program, a function that gives operations, or a trace; and its nodes."""

    #: A ready-made application; otherwise what reports call it.
    name: str | None = None
    #: The file of a program.
    program: str | None = None
    #: A function of rank and number of ranks that gives `operations`, or its file and name: ``ring.py:ring``.
    operations: Callable[[int, int], Iterable[Any]] | None = None
    #: The folder of a run of this project, whose processes are the ranks.
    trace: str | None = None
    #: Of a trace: what carries data from process to process; ``network`` when nothing is said.
    through: Literal["network", "storage"] | None = None
    #: Of a trace: what the time of computing is multiplied by.
    compute_scale: float | None = Field(default=None, ge=0, le=1e6)
    #: Values of the program's parameters, by their names or options.
    parameters: dict[str, int | str] = Field(default_factory=dict)
    #: A list of compute nodes in the order of ranks, or a file of such lists.
    nodes: list[int] | str | None = None
    #: How its nodes are chosen among those that are free, where they are not given.
    placement: Literal["contiguous", "random-nodes", "random-routers", "round-robin-groups"] | None = None
    #: Which list of the file, counted from 1; the first when nothing is said.
    line: int | None = Field(default=None, ge=1)
    #: Ranks of a program or a function; as many as there are nodes by default.
    ranks: int | None = Field(default=None, ge=1, le=MOST_RANKS)
    iterations: int | None = Field(default=None, ge=1, le=1_000_000)
    reads: bool | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Application:
        sources = (("a program", self.program), ("operations", self.operations), ("a trace", self.trace))
        given = [what for what, value in sources if value is not None]
        if len(given) > 1:
            raise ValueError(f"{self.label} has {' as well as '.join(given)}; give one of them")
        if not given and self.name not in READY:
            met = "has no name" if self.name is None else f"name is {self.name!r}"
            raise ValueError(f"{met}; accepted are {', '.join(READY)}, or give a program, operations or a trace")
        return self

    @model_validator(mode="after")
    def _options(self) -> Application:
        ready = self.program is None and self.operations is None and self.trace is None
        if ready and self.ranks is not None:
            raise ValueError(f"{self.name} has 300 ranks; only a program or operations can have others")
        if self.trace is not None and self.ranks is not None:
            raise ValueError(f"{self.label} has as many ranks as its trace has processes; leave out ranks")
        if self.trace is None:
            for option in ("through", "compute_scale"):
                if getattr(self, option) is not None:
                    raise ValueError(f"{self.label} has no {option}; only a trace has")
        if self.parameters and self.program is None:
            raise ValueError(f"{self.label} has no parameters; only a program can be told some")
        if self.iterations is not None and (not ready or self.name != "milc"):
            raise ValueError(f"{self.label} has no iterations; only milc has")
        if self.reads is not None and (not ready or self.name != "cosmoflow"):
            raise ValueError(f"{self.label} cannot be told whether it reads; only cosmoflow can")
        if self.nodes is not None and self.placement is not None:
            raise ValueError(f"{self.label} has nodes as well as a placement; give one of them")
        if self.line is not None and not isinstance(self.nodes, str):
            raise ValueError(f"{self.label} has a line, {self.line}, of no file; give the file of nodes as well")
        if (self.program or self.operations) and self.nodes is None and self.ranks is None:
            raise ValueError(f"{self.label} has neither nodes nor ranks; give one of them, such as ranks = 300")
        return self

    @field_validator("operations", mode="before")
    @classmethod
    def _function(cls, value: object, info: ValidationInfo) -> object:
        return _function_of(value, (info.context or {}).get("folder")) if isinstance(value, str) else value

    @field_serializer("operations")
    def _named(self, value: Callable[..., Any] | None) -> str | None:
        return None if value is None else f"{getattr(value, '__module__', '?')}:{self.label}"

    @field_validator("program")
    @classmethod
    def _program_found(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        folder = (info.context or {}).get("folder")
        for candidate in ([folder / value] if folder is not None else []) + [Path(value)]:
            if _is_file(candidate):
                return str(candidate)
        raise ValueError(f"there is no program {value!r}; give a file beside the scenario, such as 'milc.ncptl'")

    @field_validator("trace")
    @classmethod
    def _run_found(cls, value: str | None, info: ValidationInfo) -> str | None:
        return None if value is None else str(_run(value, (info.context or {}).get("folder")))

    @property
    def label(self) -> str:
        """What reports call it."""
        if self.operations is not None:
            return self.name or str(getattr(self.operations, "__name__", "operations"))
        if self.trace is not None:
            return self.name or Path(self.trace).name
        return self.name or Path(self.program or "").stem

    @field_validator("nodes")
    @classmethod
    def _found(cls, value: list[int] | str | None, info: ValidationInfo) -> list[int] | str | None:
        if isinstance(value, str):
            return str(_file(value, (info.context or {}).get("folder")))
        if value is not None and not value:
            raise ValueError("is an empty list; give a compute node for each rank")
        for number in value or []:
            if not 0 <= number < 1 << 32:
                raise ValueError(f"has {number}; accepted are the numbers of compute nodes, from 0 on")
        return value


class Scenario(_Part):
    """What is to run on which machine.

    Either ``synthetic`` traffic or one or more entries of ``application``; the guide has examples.
    """

    #: Whose rules hold: what is right, what the MFNetSim paper says, or what its published artifact does.
    model: Literal["default", "paper", "mfnetsim-artifact"] = "default"
    #: How closely the network is looked at: every packet, or messages that flow at their fair share of the links.
    fidelity: Literal["packet", "flow"] = "packet"
    seed: int = Field(default=1, ge=0, lt=1 << 63)
    #: How many threads work on it; the outcome does not depend on that.
    threads: int = Field(default=1, ge=1, le=1024)
    network: Network = Network()
    mpi: MPI = MPI()
    storage: Storage = Storage()
    synthetic: Synthetic | None = None
    application: list[Application] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_kind(self) -> Scenario:
        if (self.synthetic is None) == (not self.application):
            raise ValueError("give either a table [synthetic] or entries [[application]]")
        return self

    def names(self) -> list[str]:
        """Return the names of the applications; one that comes again has a number behind: ``milc``, ``milc 2``."""
        names = ["network"]  # as results call what is nobody's
        for application in self.application:
            name, number = application.label, 1
            while name in names:
                number += 1
                name = f"{application.label} {number}"
            names.append(name)
        return names[1:]

    @classmethod
    def load(cls, source: Mapping[str, Any] | str | Path) -> Scenario:
        """Return the scenario of a dict or a file.

        A name of a node list is looked for beside the file, then among the lists that come with the simulator.

        Raises
        ------
        ConfigError
            With the path of each wrong key, the value met, and what is accepted.
        """
        folder = None if isinstance(source, Mapping) else Path(source).absolute().parent
        return cls.checked(load(source, "scenario"), folder)

    @classmethod
    def checked(cls, content: Mapping[str, Any], folder: Path | None) -> Scenario:
        """Return the scenario of what a file in `folder` holds; errors as of `load`."""
        return checked(cls, content, "scenario", context={"folder": folder})


def _function_of(name: str, folder: Path | None) -> object:
    """The function of a file, as in ``ring.py:ring``; the file is run."""
    file, colon, function = name.rpartition(":")
    path = (folder or Path()) / file
    if not colon or not _is_file(path):
        raise ValueError(f"there is no function {name!r}; give a file beside the scenario and a name: 'ring.py:ring'")
    found = runpy.run_path(str(path)).get(function)
    if not callable(found):
        raise ValueError(f"{file} has no function {function!r}")
    return found


def _run(name: str, folder: Path | None) -> Path:
    """The folder of a run that has ended."""
    candidates = ([folder / name] if folder is not None else []) + [Path(name)]
    found = next((candidate for candidate in candidates if _is_file(candidate / "run.json")), None)
    if found is None:
        raise ValueError(
            f"there is no run in {name!r}; give the folder of one beside the scenario, such as 'runs/demo'"
        )
    if not (found / "events.parquet").is_file():
        raise ValueError(f"the run in {name!r} has no events.parquet, which a run writes as it ends; give one that has")
    return found.absolute()


def _file(name: str, folder: Path | None) -> Path:
    candidates = [folder / name] if folder is not None else []
    candidates += [Path(name), FOLDER / name]
    for candidate in candidates:
        if _is_file(candidate):
            return candidate.absolute()
    shipped = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*.conf"))
    raise ValueError(f"there is no file {name!r}; give one beside the scenario, or one of {', '.join(shipped)}")


def _is_file(path: Path) -> bool:
    """Whether there is a file; what nobody may look at, or cannot be a path, is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def nodes_of(application: Application) -> list[int] | str:
    """Return the compute nodes of an application's ranks, or the policy that chooses them.

    Raises
    ------
    InvalidError
        When its file cannot be read, holds something else, or has no such line.
    """
    from thalweg import _native

    if application.nodes is None:
        return application.placement or "contiguous"
    if isinstance(application.nodes, list):
        return application.nodes[: application.ranks]
    file, line = application.nodes, application.line or 1
    what = f"scenario: application {application.label}: {file}"
    try:
        lists = _native.parse_nodes(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidError(f"{what}: {error.strerror}; expected a file of lists of compute nodes") from None
    except UnicodeDecodeError as error:
        raise InvalidError(f"{what}: byte {error.start} is not UTF-8; expected a text file of compute nodes") from None
    if line > len(lists):
        raise InvalidError(f"{what} has no line {line} of nodes; it has {len(lists)}")
    return lists[line - 1][: application.ranks]
