"""mpiexec of HPE's Parallel Application Launch Service, on Cray machines with PBS."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.workflow.launchers.launcher import Job, Launcher


class PALS(Launcher):
    """PALS, as on Aurora and Polaris."""

    name = "pals"
    programs = ("mpiexec",)
    told_by = ("pals",)
    mpi = "mpich"

    def options(self, job: Job) -> list[str]:
        hosts = ["--hosts", ",".join(job.nodes)] if job.nodes else []
        return [
            "-n", str(job.processes), "--ppn", str(job.processes_per_node), *hosts, "--cpu-bind", "none", "--envall"
        ]  # fmt: skip

    def preferred(self, environment: Mapping[str, str]) -> bool:
        return "PBS_JOBID" in environment
