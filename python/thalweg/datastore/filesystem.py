"""The backend `filesystem`: files on a file system that all nodes see."""

from __future__ import annotations

from typing import ClassVar

from thalweg.datastore.backend import Capabilities
from thalweg.datastore.sharded_files import ShardedFiles


class FilesystemBackend(ShardedFiles):
    """Sharded files on a shared (parallel) file system; values are read into memory, waiting polls where it must."""

    name: ClassVar[str] = "filesystem"
    capabilities = Capabilities(
        notifies=False,
        between_processes=True,
        between_nodes=True,
        zero_copy_reads=False,
        stores_bytes_at_rest=True,
    )
    reads_by_mapping = False
