"""Which of several Redis servers has a key: independent instances, or the masters of a Redis Cluster."""

from __future__ import annotations

import dataclasses
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

_SOCKET_TIMEOUT_S = 60.0
_CONNECT_TIMEOUT_S = 10.0


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """One Redis server: its address and its client, which may be used from several threads."""

    address: str
    client: Any


class Topology(ABC):
    """Says which node has a key; everything of one key is on one node, so a transaction on it never crosses nodes."""

    @property
    @abstractmethod
    def address(self) -> str:
        """The addresses of all nodes."""

    @abstractmethod
    def node_of(self, key: str) -> Node:
        """Return the node that has `key`."""

    @abstractmethod
    def close(self) -> None:
        """Give back the connections."""

    def groups(self, keys: Sequence[str]) -> list[tuple[Node, list[str]]]:
        """Split `keys` by node, so that a node is asked once for all that it has."""
        found: dict[Node, list[str]] = {}
        for key in keys:
            found.setdefault(self.node_of(key), []).append(key)
        return list(found.items())


def tag(key: str) -> str:
    """Return the part of a key's names that chooses its node: its CRC-32, which holds no brace whatever the key."""
    return f"{zlib.crc32(key.encode()):08x}"


class Instances(Topology):
    """One server or several that do not know of each other; a key is on number CRC-32 modulo their count."""

    def __init__(self, instances: Sequence[Mapping[str, Any]]) -> None:
        import redis

        self._nodes = [
            Node(f"{at['host']}:{at['port']}", redis.Redis(host=at["host"], port=at["port"], **_settings(at)))
            for at in instances
        ]
        try:
            for node in self._nodes:
                node.client.ping()
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> str:
        return ", ".join(node.address for node in self._nodes)

    def node_of(self, key: str) -> Node:
        return self._nodes[zlib.crc32(key.encode()) % len(self._nodes)]

    def close(self) -> None:
        for node in self._nodes:
            node.client.close()


class Cluster(Topology):
    """The masters of a Redis Cluster; the cluster tells which has the slot of a key's tag (CRC-16 modulo 16384)."""

    def __init__(self, instances: Sequence[Mapping[str, Any]]) -> None:
        from redis import cluster

        self._nodes: dict[str, Node] = {}
        self._address = ", ".join(f"{at['host']}:{at['port']}" for at in instances)
        library: Any = cluster  # parts of it have no types
        self._cluster = library.RedisCluster(
            startup_nodes=[library.ClusterNode(at["host"], at["port"]) for at in instances],
            require_full_coverage=False,  # keys of the other masters are still served when one is gone
            **_settings(instances[0]),
        )

    @property
    def address(self) -> str:
        return self._address

    def node_of(self, key: str) -> Node:
        member = self._cluster.get_node_from_key(tag(key))
        node = self._nodes.get(member.name)
        if node is None:
            made = Node(member.name, self._cluster.get_redis_connection(member))
            node = self._nodes.setdefault(member.name, made)
        return node

    def close(self) -> None:
        self._cluster.close()


def _settings(instance: Mapping[str, Any]) -> dict[str, Any]:
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return {
        "password": instance["password"],
        "protocol": 3,
        "socket_timeout": _SOCKET_TIMEOUT_S,
        "socket_connect_timeout": _CONNECT_TIMEOUT_S,
        "retry": Retry(NoBackoff(), 1),  # once more, for a connection that went stale; a dead server is told at once
    }
