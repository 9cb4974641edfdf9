"""Making redis-server processes the masters of one Redis Cluster, without redis-cli."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any

from thalweg.errors import ServerGoneError
from thalweg.servers.redis_process import RedisProcess, ip_address

FEWEST_MASTERS = 3  # fewer cannot agree by majority that one of them is gone
_SLOTS = 16384


def join(host: str, password: str, processes: Sequence[RedisProcess], timeout_s: float) -> None:
    """Share the slots out evenly, introduce the members to each other, wait until all know all slots.

    Raises
    ------
    ServerGoneError
        When they do not agree within `timeout_s`; the message has what each of them says.
    """
    import redis

    until = time.monotonic() + timeout_s
    with contextlib.ExitStack() as stack:
        clients: list[Any] = []
        for process in processes:
            client = redis.Redis(host=host, port=process.port, password=password, socket_timeout=timeout_s)
            clients.append(stack.enter_context(contextlib.closing(client)))
        first = processes[0]
        for number, client in enumerate(clients):
            share = [_SLOTS * turn // len(clients) for turn in (number, number + 1)]
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", share[0], share[1] - 1)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if number:
                client.execute_command("CLUSTER", "MEET", ip_address(host), first.port, first.bus_port)
        while True:
            states = [_state(client) for client in clients]
            if all(state == ("ok", str(_SLOTS), str(len(clients))) for state in states):
                return
            if time.monotonic() > until:
                told = "; ".join(
                    f"{process.address}: state {state}, {slots} of {_SLOTS} slots, {known} of {len(clients)} members"
                    for process, (state, slots, known) in zip(processes, states, strict=True)
                )
                raise ServerGoneError(f"ServerManager: redis: no cluster within {timeout_s} s: {told}")
            time.sleep(0.02)


def _state(client: Any) -> tuple[str, str, str]:
    info = client.cluster("INFO")
    return info["cluster_state"], info["cluster_slots_assigned"], info["cluster_known_nodes"]
