"""What a simulated run found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Distribution:
    """Durations in seconds; quantiles are exact to 3 %, mean and maximum are exact."""

    count: int
    mean_s: float
    p25_s: float
    median_s: float
    p75_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True)
class Link:
    """What went over a link from a router to a router or terminal."""

    source: int
    target: int
    #: ``terminal``, ``local`` or ``global``.
    kind: str
    bytes: int
    #: How long a packet waited before it for room in a buffer.
    saturated_s: float


@dataclass(frozen=True)
class Application:
    """What an application did; lists have one value for each rank."""

    name: str
    elapsed_s: float
    communication_s: list[float]
    io_s: list[float]
    compute_s: list[float]
    messages_sent: int
    bytes_sent: int
    message_latency: Distribution


@dataclass(frozen=True)
class Outcome:
    """What a run found."""

    end_s: float
    events: int
    packets: int
    #: Routers on a packet's way.
    hops_mean: float
    non_minimal_packets: int
    packet_latency: Distribution
    links: list[Link] = field(repr=False)
    applications: list[Application] = field(repr=False)
    #: Time of the processor that the run took.
    cpu_s: float

    @classmethod
    def of(cls, found: Mapping[str, Any], names: Sequence[str], cpu_s: float) -> Outcome:
        """Return what the native simulator found, with the names of the applications."""
        network = found["network"]
        return cls(
            end_s=network["end_s"],
            events=network["events"],
            packets=network["packets"],
            hops_mean=network["hops_mean"],
            non_minimal_packets=network["non_minimal_packets"],
            packet_latency=Distribution(**network["packet_latency"]),
            links=[Link(*link) for link in found["links"]],
            applications=[
                Application(
                    name=name, **{**application, "message_latency": Distribution(**application["message_latency"])}
                )
                for name, application in zip(names, found["applications"], strict=True)
            ],
            cpu_s=cpu_s,
        )

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
                *_latency(latency),
            ):
                yield {"application": application.name, "quantity": quantity, "value": value}
        for quantity, value in (
            ("end_ms", self.end_s * 1e3),
            ("packets", self.packets),
            ("hops_mean", self.hops_mean),
            ("non_minimal_packets", self.non_minimal_packets),
            *_latency(self.packet_latency),
            *self._traffic(),
            ("events", self.events),
            ("cpu_s", self.cpu_s),
            ("packets_per_cpu_s", self.packets / self.cpu_s if self.cpu_s > 0 else 0.0),
        ):
            yield {"application": "network", "quantity": quantity, "value": value}

    def _traffic(self) -> Iterator[tuple[str, float]]:
        for kind in ("terminal", "local", "global"):
            links = [link for link in self.links if link.kind == kind]
            yield f"{kind}_bytes", sum(link.bytes for link in links)
            yield f"{kind}_saturated_ms", sum(link.saturated_s for link in links) * 1e3


def _latency(found: Distribution) -> Iterator[tuple[str, float]]:
    yield "latency_us_mean", found.mean_s * 1e6
    yield "latency_us_median", found.median_s * 1e6
    yield "latency_us_p99", found.p99_s * 1e6
    yield "latency_us_max", found.max_s * 1e6
