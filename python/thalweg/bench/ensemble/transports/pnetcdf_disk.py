"""PnetCDF files on disk, as the file system caches them."""

from __future__ import annotations

from pathlib import Path

from thalweg.bench.ensemble.transports.transport import Transport
from thalweg.errors import InvalidError

_IN_MEMORY = ("tmpfs", "ramfs")


class PnetCDFDisk(Transport):
    """Files in the user's folder, which must not be in memory."""

    name = "pnetcdf-disk"

    def base(self, disk: Path) -> Path:
        kind = _file_system(disk)
        if kind in _IN_MEMORY:
            raise InvalidError(f"bench ensemble: --disk-folder {disk} is on {kind}; accepted is a folder on a disk")
        return disk


def _file_system(folder: Path) -> str:
    """The type of the file system that a folder is on: that of the longest mount point above it, the last one there."""
    best, kind = Path("/"), ""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        point = Path(before.split()[4].replace("\\040", " "))
        if folder.resolve().is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, after.split()[0]
    return kind
