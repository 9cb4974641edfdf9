"""PnetCDF files in memory: on tmpfs."""

from __future__ import annotations

from pathlib import Path

from thalweg.bench.ensemble.transports.transport import Transport
from thalweg.errors import MissingLibraryError

MEMORY = Path("/dev/shm")


class PnetCDFTmpfs(Transport):
    """Files in /dev/shm."""

    name = "pnetcdf-tmpfs"

    def base(self, disk: Path) -> Path:
        if not MEMORY.is_dir():
            raise MissingLibraryError(
                f"bench ensemble: pnetcdf-tmpfs: there is no {MEMORY}; leave it out of --transports"
            )
        return MEMORY
