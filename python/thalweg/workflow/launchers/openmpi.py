"""mpirun of Open MPI."""

from __future__ import annotations

import os

from thalweg.workflow.launchers.launcher import Job, Launcher


class OpenMPI(Launcher):
    """Open MPI 4 and 5."""

    name = "openmpi"
    programs = ("mpirun.openmpi", "mpiexec.openmpi", "mpirun", "mpiexec")
    told_by = ("open mpi", "openrte")
    mpi = "openmpi"

    def options(self, job: Job) -> list[str]:
        hosts = ["--host", ",".join(f"{node}:{job.processes_per_node}" for node in job.nodes)] if job.nodes else []
        names = [option for name in job.environment for option in ("-x", name)]
        return ["--oversubscribe", "--bind-to", "none", "-n", str(job.processes), *hosts, *names]

    def environment(self, job: Job) -> dict[str, str]:
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
        return {**root, **job.environment}
