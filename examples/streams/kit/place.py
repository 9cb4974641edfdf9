"""Where the streams of an example are: at the address given, else at a server of this run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from thalweg import stream
from thalweg.errors import NotFoundError
from thalweg.servers import ServerManager
from thalweg.servers.server import new_namespace


@contextlib.contextmanager
def streams_at(address: str | None) -> Iterator[str]:
    """Yield an address for `thalweg.stream.connect`; without one, of a Thalweg server that ends with the block."""
    if address is not None:
        yield address
        return
    with ServerManager("streams", "thalweg") as server:
        yield str(server.get_server_info()["address"])


@contextlib.contextmanager
def topics(address: str, partitions: Mapping[str, int], *, queues: bool = False) -> Iterator[dict[str, str]]:
    """Make a topic for each word, with so many partitions; yield their names, which no other run has.

    They are deleted at the end. Events of queues go, where the technology can do that, when they are acknowledged.
    """
    with stream.connect(address) as driver:
        names = {word: new_namespace(word) for word in partitions}
        retention = {"acknowledged": True} if queues and "acknowledged" in driver.capabilities.retentions else None
        try:
            for word, count in partitions.items():
                driver.create_topic(names[word], count, selector="explicit", retention=retention)
            yield names
        finally:
            for name in names.values():
                with contextlib.suppress(NotFoundError):
                    driver.delete_topic(name)
