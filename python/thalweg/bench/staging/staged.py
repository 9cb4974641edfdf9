"""One case through the staging service: servers, writers and readers in processes of their own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from thalweg.bench.staging.crew import Crew
from thalweg.bench.staging.domain import Block, blocks, core
from thalweg.bench.staging.roles import TIMEOUT_S, Coupling, Layout, Reading, Serving, Step, Writing
from thalweg.bench.staging.settings import Case, Settings

_SERVER_SPARE_BYTES = 64 << 20


@dataclass
class Seen:
    """What a case took: per time step, the slowest rank's; the first step is among them."""

    write_s: list[float]
    read_s: dict[str, list[float]]
    wait_s: dict[str, list[float]]
    #: What the servers held at the end, and what of it were replicas; None where there is no server.
    memory_bytes: int | None = None
    replica_bytes: int | None = None


def run(case: Case, settings: Settings, crew: Crew) -> Seen:
    """Writers and first readers beside each other (in figure 10 one after the other), then the second readers."""
    addresses = _servers(case.servers, settings, crew)
    coupling = Coupling(
        addresses=addresses,
        namespace=f"bench-{secrets.token_hex(6)}",
        domain=settings.domain,
        strategy="rad" if case.method == "homogeneous" else case.method,
        writers=case.writers,
        steps=settings.steps,
        delay_s=case.delay_s,
    )
    whole = Block((0,) * len(settings.domain), settings.domain)
    writers = {f"writer {n}": Writing(coupling, n, block) for n, block in enumerate(blocks(whole, case.writers))}
    layout: Layout = "right" if case.method == "homogeneous" else "left"
    in_turn = case.figure == 10
    lag_s = 0.0 if in_turn else settings.lag * case.delay_s
    parts = blocks(core(settings.domain, case.subset), case.readers)
    first, second = (
        {
            f"{which} reader {n}": Reading(coupling, n, block, layout, lag, settings.into)
            for n, block in enumerate(parts)
        }
        for which, lag in (("first", lag_s), ("second", 0.0))
    )
    groups: list[dict[str, Any]] = [writers, first, second] if in_turn else [writers | first, second]
    told: dict[str, list[Step]] = {}
    for group in groups:
        crew.order(group)
        crew.go(list(group))
        told |= crew.results(list(group), settings.steps * (2 * case.delay_s + TIMEOUT_S))
    stats = _emptied(addresses, coupling.namespace)
    readers = {"first": first, "second": second}
    return Seen(
        write_s=slowest(told, writers, lambda step: step.transfer_s),
        read_s={which: slowest(told, ranks, lambda step: step.transfer_s) for which, ranks in readers.items()},
        wait_s={which: slowest(told, ranks, lambda step: step.wait_s) for which, ranks in readers.items()},
        memory_bytes=stats["entry_bytes"] + stats["replica_bytes"],
        replica_bytes=stats["replica_bytes"],
    )


def _servers(count: int, settings: Settings, crew: Crew) -> str:
    """Addresses of so many servers, started when they are first needed.

    They stay for all cases: memory that was used before is what a service that has run for a while has.
    """
    names = [f"server {n} of {count}" for n in range(count)]
    share = settings.data_bytes // count + _SERVER_SPARE_BYTES
    return ",".join(crew.standing({name: Serving(3 * share, 3 * share // 2, settings.workers) for name in names}))


def _emptied(addresses: str, namespace: str) -> dict[str, int]:
    """What the servers held, all of which is dropped."""
    from thalweg.staging import Client

    with Client(addresses, namespace=namespace, name="bench staging") as client:
        stats = client.stats()
        client.drop_namespace()
    return stats


def slowest(told: dict[str, list[Step]], ranks: Iterable[str], seconds: Callable[[Step], float]) -> list[float]:
    """Of each step, the time of the rank that took longest."""
    return [max(map(seconds, steps)) for steps in zip(*(told[name] for name in ranks), strict=True)]
