"""MPI launchers by name; `find_launcher` chooses the one of this machine."""

from __future__ import annotations

from thalweg.workflow.launchers.launcher import Job, Launcher
from thalweg.workflow.launchers.mpich import MPICH
from thalweg.workflow.launchers.openmpi import OpenMPI
from thalweg.workflow.launchers.pals import PALS
from thalweg.workflow.launchers.search import find_launcher
from thalweg.workflow.launchers.srun import Srun

#: In the order in which they are looked for: a batch system's own first.
LAUNCHERS: dict[str, Launcher] = {launcher.name: launcher for launcher in (Srun(), PALS(), OpenMPI(), MPICH())}

__all__ = ["LAUNCHERS", "Job", "Launcher", "find_launcher"]
