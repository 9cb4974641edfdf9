"""Programs that are run as they are, for what redirected ones must equal."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from mpi_jobs import _VARIABLES


def plain(folder: Path, *command: object) -> str:
    """What a program prints that is not redirected."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**os.environ, **_VARIABLES["openmpi"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
