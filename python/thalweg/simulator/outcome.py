"""What a simulated run found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Distribution:
    """Durations in seconds; quantiles, those of buckets, are at most 3 % too long; mean and maximum are exact."""

    count: int
    mean_s: float
    p25_s: float
    median_s: float
    p75_s: float
    p99_s: float
    max_s: float
    #: The whole distribution, shortest first: the longest duration of each bucket (3 % wide), and how many are in it.
    buckets: list[tuple[float, int]] = field(repr=False)

    def cumulative(self) -> list[tuple[float, float]]:
        """Durations in seconds, each with the share (0 to 1) of all that are not longer."""
        shares, seen = [], 0
        for longest_s, count in self.buckets:
            seen += count
            shares.append((longest_s, seen / self.count))
        return shares

    def quantile(self, share: float) -> float:
        """The duration in seconds that `share` (0 to 1) of all do not exceed, to 3 %; 0 when there are none."""
        return next((longest_s for longest_s, seen in self.cumulative() if seen >= share), self.max_s)


@dataclass(frozen=True)
class Link:
    """What went over a link from a router to a router or terminal."""

    source: int
    target: int
    #: ``terminal``, ``local`` or ``global``.
    kind: str
    #: Bytes of each application, in the order of `Outcome.applications`; of synthetic traffic as the only one.
    bytes_by_application: list[int]
    #: How long a packet waited before it for room in a buffer.
    saturated_s: float

    @property
    def bytes(self) -> int:
        """Bytes of all applications."""
        return sum(self.bytes_by_application)


@dataclass(frozen=True)
class Router:
    """What a router sent over all its links, to terminals as well."""

    number: int
    #: Bytes of each application, as in `Link`.
    bytes_by_application: list[int]
    #: The sum over its links.
    saturated_s: float


@dataclass(frozen=True)
class Timeline:
    """Bytes that were sent on links from routers in intervals of equal length, from the beginning on."""

    interval_s: float
    #: To terminals.
    terminal_bytes: list[int]
    #: Within groups; in a torus all between routers, in a tree those below the top.
    local_bytes: list[int]
    #: Between groups; in a tree those to and from the top.
    global_bytes: list[int]


@dataclass(frozen=True)
class Application:
    """What an application did; lists have one value for each rank, and each rank's three times make up what it ran."""

    name: str
    elapsed_s: float
    communication_s: list[float]
    io_s: list[float]
    compute_s: list[float]
    messages_sent: int
    bytes_sent: int
    #: From a message's sending to its arrival; transfers to and from storage are among them.
    message_latency: Distribution
    #: From and to storage, wherever that is.
    bytes_read: int = 0
    bytes_written: int = 0
    #: What the tasks of a program logged: task, label, value.
    logged: list[tuple[int, str, float]] = field(default_factory=list, repr=False)
    #: Of a trace: how long the run took, and what of it has no counterpart on the simulated machine.
    notes: list[str] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class Outcome:
    """What a run found: totals, what each link, router and application did, and what went over links when."""

    end_s: float
    #: How many threads worked on it: fewer than asked for where links leave nothing to look ahead by.
    threads: int
    events: int
    #: Of flows: what their messages would be.
    packets: int
    #: Routers on a packet's way. Of flows None, as what follows: no packet is followed.
    hops_mean: float | None
    #: Packets that left the shortest way.
    non_minimal_packets: int | None
    #: From the sending by its interface to its arrival: how long it waited there is not in it.
    packet_latency: Distribution | None
    #: Of synthetic traffic: from a message's sending to its arrival, its wait at the interface included. None beside
    #: applications, which have theirs each.
    message_latency: Distribution | None
    links: list[Link] = field(repr=False)
    timeline: Timeline = field(repr=False)
    applications: list[Application] = field(repr=False)
    #: Time of the processor that the run took; with several threads that of the whole process meanwhile.
    cpu_s: float
    #: The most memory that the process held until the end of the run; None where it did other runs meanwhile.
    memory_bytes: int | None

    @classmethod
    def of(cls, found: Mapping[str, Any], names: Sequence[str], cpu_s: float, memory_bytes: int) -> Outcome:
        """Return what the native simulator found, with the names of the applications."""
        network = found["network"]
        return cls(
            end_s=network["end_s"],
            threads=network["threads"],
            events=network["events"],
            packets=network["packets"],
            hops_mean=network["hops_mean"],
            non_minimal_packets=network["non_minimal_packets"],
            packet_latency=_distribution(network["packet_latency"]),
            message_latency=_distribution(network["message_latency"]),
            links=[Link(*link) for link in found["links"]],
            timeline=Timeline(
                **{name: network[name] for name in ("interval_s", "terminal_bytes", "local_bytes", "global_bytes")}
            ),
            applications=[
                Application(
                    name=name, **{**application, "message_latency": Distribution(**application["message_latency"])}
                )
                for name, application in zip(names, found["applications"], strict=True)
            ],
            cpu_s=cpu_s,
            memory_bytes=memory_bytes,
        )

    def routers(self) -> list[Router]:
        """Every router by its number, with the sums over its links."""
        links: dict[int, list[Link]] = {}
        for link in self.links:
            links.setdefault(link.source, []).append(link)
        return [
            Router(
                number,
                [sum(column) for column in zip(*(link.bytes_by_application for link in own), strict=True)],
                sum(link.saturated_s for link in own),
            )
            for number, own in sorted(links.items())
        ]

    def throughput(self) -> float:
        """Bytes a second that arrived at all nodes, from the beginning of the run to its end."""
        arrived = sum(link.bytes for link in self.links if link.kind == "terminal")
        return arrived / self.end_s if self.end_s > 0 else 0.0

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of application, quantity and value; those of the network have the application ``network``."""
        for application in self.applications:
            latency = application.message_latency
            ranks = len(application.communication_s)
            for quantity, value in (
                ("elapsed_ms", application.elapsed_s * 1e3),
                ("communication_ms", sum(application.communication_s) / ranks * 1e3),
                ("io_ms", sum(application.io_s) / ranks * 1e3),
                ("compute_ms", sum(application.compute_s) / ranks * 1e3),
                ("messages", application.messages_sent),
                ("bytes", application.bytes_sent),
                ("read_bytes", application.bytes_read),
                ("written_bytes", application.bytes_written),
                *_latency(latency),
                *((f"task {task}: {label}", value) for task, label, value in application.logged),
            ):
                yield {"application": application.name, "quantity": quantity, "value": value}
        for quantity, value in (
            ("end_ms", self.end_s * 1e3),
            ("packets", self.packets),
            ("hops_mean", self.hops_mean),
            ("non_minimal_packets", self.non_minimal_packets),
            *_latency(self.packet_latency),
            *(() if self.message_latency is None else _latency(self.message_latency, "message_")),
            ("throughput_gb_per_s", self.throughput() / 1e9),
            *self._traffic(),
            ("events", self.events),
            ("threads", self.threads),
            ("memory_mb", None if self.memory_bytes is None else self.memory_bytes / 1e6),
            ("cpu_s", self.cpu_s),
            ("packets_per_cpu_s", self.packets / self.cpu_s if self.cpu_s > 0 else 0.0),
        ):
            yield {"application": "network", "quantity": quantity, "value": value}

    def _traffic(self) -> Iterator[tuple[str, float]]:
        for kind in ("terminal", "local", "global"):
            links = [link for link in self.links if link.kind == kind]
            if links:  # a torus has no global ones
                yield f"{kind}_bytes", sum(link.bytes for link in links)
                yield f"{kind}_saturated_ms", sum(link.saturated_s for link in links) * 1e3


def _distribution(told: Mapping[str, Any] | None) -> Distribution | None:
    return None if told is None else Distribution(**told)


def _latency(found: Distribution | None, whose: str = "") -> Iterator[tuple[str, float | None]]:
    for name in ("mean", "median", "p99", "max"):
        yield f"{whose}latency_us_{name}", None if found is None else getattr(found, f"{name}_s") * 1e6
