"""Pinning the process that runs this to the CPUs and GPUs that it was given, before it imports anything else."""

from __future__ import annotations

import os
import sys

# Runs under `python -I -S` as well, so it may import nothing of Thalweg.
_LOCAL_RANKS = (  # those of `thalweg.ranks`
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "PMI_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "SLURM_LOCALID",
)
#: What makes a process see only its own GPUs: NVIDIA, AMD and Intel.
GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")


def settle(cpus: list[list[int]], gpus: list[list[str]], alone: bool) -> None:
    """Pin this process; `cpus` and `gpus` are by the rank on the node, empty where nothing was asked for.

    `alone`: this is no rank of an MPI job, whatever the environment says of one that the launcher itself may be in.
    """
    told = None if alone else next((os.environ[name] for name in _LOCAL_RANKS if name in os.environ), None)
    local_rank = int(told or 0)
    if cpus:
        os.sched_setaffinity(0, cpus[local_rank % len(cpus)])
    if gpus:
        for name in GPU_VARIABLES:
            os.environ[name] = ",".join(gpus[local_rank % len(gpus)])


def main() -> None:
    """``settle.py CPUS GPUS ALONE program arguments``: pin, then become the program."""
    import ctypes
    import json
    import signal

    cpus, gpus, alone = (json.loads(text) for text in sys.argv[1:4])
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # the program dies with what started it: launcher, mpirun or daemon
    settle(cpus, gpus, alone)
    command = sys.argv[4:]
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"thalweg: {command[0]} cannot be started: {error.strerror}", file=sys.stderr)
        sys.exit(127)


if __name__ == "__main__":
    main()
