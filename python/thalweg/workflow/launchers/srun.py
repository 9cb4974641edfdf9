"""srun of Slurm."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.workflow.launchers.launcher import Job, Launcher


class Srun(Launcher):
    """A job step inside a Slurm allocation; `--overlap` lets components share its nodes."""

    name = "srun"
    programs = ("srun",)
    told_by = ("slurm",)

    def options(self, job: Job) -> list[str]:
        hosts = ["--nodelist", ",".join(job.nodes)] if job.nodes else []
        names = ",".join(("ALL", *job.environment))
        return [
            f"--nodes={max(1, len(job.nodes))}",
            f"--ntasks={job.processes}",
            f"--ntasks-per-node={job.processes_per_node}",
            *hosts,
            "--overlap",
            "--cpu-bind=none",
            "--kill-on-bad-exit=1",
            f"--export={names}",
        ]

    def preferred(self, environment: Mapping[str, str]) -> bool:
        return "SLURM_JOB_ID" in environment
