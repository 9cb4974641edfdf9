"""mpiexec of MPICH (Hydra), which Intel MPI and MVAPICH share."""

from __future__ import annotations

from thalweg.workflow.launchers.launcher import Job, Launcher


class MPICH(Launcher):
    """MPICH 3 and 4."""

    name = "mpich"
    programs = ("mpiexec.mpich", "mpirun.mpich", "mpiexec.hydra", "mpiexec", "mpirun")
    told_by = ("hydra",)
    mpi = "mpich"

    def options(self, job: Job) -> list[str]:
        hosts = ["-hosts", ",".join(job.nodes), "-ppn", str(job.processes_per_node)] if job.nodes else []
        names = ["-genvlist", ",".join(job.environment)] if job.environment and job.nodes else []
        return ["-n", str(job.processes), "-bind-to", "none", *hosts, *names]
