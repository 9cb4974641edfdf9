"""What a DataStore backend must do."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from thalweg.datastore.staged_value import Array, Packed

How = Literal["all", "any"]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """What a backend can do beyond the semantics that all share; the conformance suite tests what is declared.

    Attributes
    ----------
    notifies : bool
        `wait` sleeps until the backend wakes it, without polling.
    between_processes : bool
        Another process can open the same server.
    between_nodes : bool
        A process on another node can.
    zero_copy_reads : bool
        `stage_read` gives a view of the stored bytes, not a copy.
    survives_restart : bool
        What was staged is still there when the server was stopped and started again.
    stores_bytes_at_rest : bool
        The stored bytes can be reached (and so damaged) from outside, as files can.
    """

    notifies: bool
    between_processes: bool
    between_nodes: bool
    zero_copy_reads: bool
    survives_restart: bool = False
    stores_bytes_at_rest: bool = False


class Backend(ABC):
    """Moves packed values to and from one store.

    Keys are checked before they come here. All methods may be called from several threads at once.

    Parameters
    ----------
    server_info : mapping
        What `ServerManager.get_server_info` gave.

    Raises
    ------
    ServerGoneError
        From every method, when the server or its directory is not there any more.
    """

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    @classmethod
    def available(cls) -> str | None:
        """Return None when the backend can be used here, else what to install."""
        return None

    @abstractmethod
    def __init__(self, server_info: Mapping[str, Any]) -> None: ...

    @abstractmethod
    def write(self, key: str, value: Packed, *, checksum: bool) -> None:
        """Store `value` under `key`, replacing what is there; a reader sees the old or the new one whole."""

    @abstractmethod
    def read(self, key: str, *, into: Array | None, allow_pickle: bool) -> Any:
        """Return the value, or `MISSING`; does not wait for it to appear."""

    def read_many(self, keys: Sequence[str], *, allow_pickle: bool) -> Iterator[tuple[str, Any]]:
        """Yield those of `keys` that are there, with their values, each as soon as it has arrived."""
        for key in keys:
            value = self.read(key, into=None, allow_pickle=allow_pickle)
            if value is not MISSING:
                yield key, value

    @abstractmethod
    def exists(self, key: str) -> bool:
        """Tell whether the key is there now."""

    @abstractmethod
    def delete(self, key: str) -> bool:
        """Remove the key; tell whether it was there."""

    @abstractmethod
    def wait(self, keys: Sequence[str], timeout_s: float, how: How) -> list[str]:
        """Block until all (or any) of `keys` are there, or the time has passed; return those that are there."""

    @abstractmethod
    def close(self) -> None:
        """Give back connections and descriptors."""


def enough(ready: Sequence[str], keys: Sequence[str], how: How) -> bool:
    """Tell whether `ready` fulfils a wait for `keys`."""
    return len(ready) == len(keys) if how == "all" else bool(ready)
