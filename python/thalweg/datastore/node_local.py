"""The backend `node-local`: files in the node's memory or on its own disk."""

from __future__ import annotations

from typing import ClassVar

from thalweg.datastore.backend import Capabilities
from thalweg.datastore.sharded_files import ShardedFiles


class NodeLocalBackend(ShardedFiles):
    """Sharded files under /dev/shm (or another directory of the node); large values are read as mapped views."""

    name: ClassVar[str] = "node-local"
    capabilities = Capabilities(
        notifies=True,
        between_processes=True,
        between_nodes=False,
        zero_copy_reads=True,
        stores_bytes_at_rest=True,
    )
    reads_by_mapping = True
