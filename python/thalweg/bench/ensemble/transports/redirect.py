"""The unmodified PnetCDF program, its files redirected: `thalweg redirect` starts it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from thalweg.bench.ensemble.mpi import MPI
from thalweg.bench.ensemble.transports.pnetcdf_tmpfs import MEMORY
from thalweg.bench.ensemble.transports.transport import Transport
from thalweg.errors import MissingLibraryError

_COMMAND = (sys.executable, "-m", "thalweg.cli", "redirect")
_HELP_S = 60.0
#: Components are told apart by the program's first argument. Of the analysis' four turns the third overwrites what
#: the second has read.
_RULES = """\
deadline_s = 60

[components]
scale = "scale"
letkf = "letkf"

[[files]]
match = "*.hist.nc"
mode = "memory"
turns = ["scale", "letkf"]
replay = {replay}

[[files]]
match = "*.anal.nc"
mode = "memory"
turns = ["scale", "letkf", "letkf", "scale"]
replay = {replay}
"""


class Redirect(Transport):
    """Nothing becomes a file: each component has an MPI world of its own, and files are all that they share.

    They meet where those of a joint world do, outside of MPI, so that a read is not charged with waiting for a write
    that has not begun.
    """

    name = "redirect"
    joint = False
    meet = True
    replays = (True, False)

    def check(self, mpi: MPI) -> None:
        super().check(mpi)
        if subprocess.run([*_COMMAND, "--help"], capture_output=True, timeout=_HELP_S).returncode:
            raise MissingLibraryError(
                "bench ensemble: redirect: this Thalweg has no command `thalweg redirect`; leave it out of --transports"
            )

    def base(self, disk: Path) -> Path:
        return MEMORY if MEMORY.is_dir() else disk

    def launch(self, mpi_command: list[str], scratch: Path, replay: bool | None) -> list[str]:
        rules = scratch / "coupling.toml"
        rules.write_text(_RULES.format(replay="true" if replay else "false"))
        return [*_COMMAND, "--config", str(rules), "--", *mpi_command]
