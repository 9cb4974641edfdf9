"""One rank of the parallel HDF5 program; mpirun starts it, rank 0 tells what all saw."""

from __future__ import annotations

import ctypes
import json
import signal
import sys
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from thalweg.bench.staging.domain import Block, blocks, check, core, values

_PR_SET_PDEATHSIG = 1
_DATASET = "field"
_TILE = 32


def main(arguments: list[str]) -> None:
    """``hdf5_rank write|read FOLDER DOMAIN SUBSET STEPS PAUSE``: one file a step, opened by all ranks together.

    Standard output gets one JSON object: a list of the slowest rank's seconds, a step each.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    role, folder, domain_words, subset, steps, delay_s = arguments
    import h5py
    import numpy as np
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    domain = tuple(map(int, domain_words.split(",")))
    whole = Block((0,) * len(domain), domain)
    block = blocks(whole if role == "write" else core(domain, int(subset)), world.size)[world.rank]
    right = values(domain, block) if role == "write" else np.empty(block.extent)
    left = np.empty(block.extent, order="F")
    seconds = []
    for step in range(int(steps)):
        if role == "write" and step:
            right += 0.5
        sleep(float(delay_s))
        world.Barrier()
        begin = perf_counter()
        with h5py.File(Path(folder, f"step-{step}.h5"), role[0], driver="mpio", comm=world) as file:
            if role == "write":
                held = file.create_dataset(_DATASET, domain, "f8")
                with held.collective:
                    held[block.slices] = right
            else:
                _read(file[_DATASET], block, right)
        if role == "read":
            _turn(right, left)
        took = perf_counter() - begin
        if role == "read":
            check(domain, block, step, left, "left", f"rank {world.rank}")
        seconds.append(world.allreduce(took, MPI.MAX))
    if world.rank == 0:
        print(json.dumps(seconds), flush=True)


def _turn(right: Any, left: Any) -> None:
    """Copy row-major to column-major in slabs that stay in the cache, twice as fast as all at once."""
    for i in range(0, right.shape[0], _TILE):
        for k in range(0, right.shape[2], _TILE):
            left[i : i + _TILE, :, k : k + _TILE] = right[i : i + _TILE, :, k : k + _TILE]


def _read(held: Any, block: Block, into: Any) -> None:
    with held.collective:
        held.read_direct(into, source_sel=block.slices)


if __name__ == "__main__":
    main(sys.argv[1:])
