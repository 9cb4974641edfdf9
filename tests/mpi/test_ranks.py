"""Ranks know each other, and a launcher of another MPI is noticed."""

from __future__ import annotations

import json
import os

import psutil
import pytest

from mpi_jobs import IMPLEMENTATIONS, mpi_of

RANKS = """
import json
from thalweg.ranks import current_ranks
ranks = current_ranks()
ranks.barrier()
told = ranks.gather([ranks.rank, ranks.size, ranks.local_rank, ranks.broadcast(ranks.rank + 7, root=2)])
if ranks.rank == 0:
    print(json.dumps(told))
"""


def test_every_rank_knows_its_place_and_hears_the_others(mpi):
    assert json.loads(mpi.run(4, RANKS).stdout) == [[rank, 4, rank, 9] for rank in range(4)]


def test_the_launchers_mpi_is_chosen_where_mpi4py_can(mpi):
    """Nobody sets MPI4PY_MPIABI on a machine where the launcher tells which MPI it is of."""
    env = {key: value for key, value in mpi.env.items() if key != "MPI4PY_MPIABI"}
    told = type(mpi)(mpi.name, mpi.mpirun, env).run(2, RANKS.replace("root=2", "root=1")).stdout
    assert [place[:2] for place in json.loads(told)] == [[0, 2], [1, 2]]


def test_ranks_that_would_each_believe_to_be_alone_are_told():
    try:
        mpich, openmpi = mpi_of("mpich"), mpi_of("openmpi")
    except LookupError as absent:
        pytest.skip(str(absent))
    code = """
from thalweg.errors import ConfigError
from thalweg.ranks import current_ranks
try:
    current_ranks()
except ConfigError as error:
    print(error)
"""
    told = mpich.run(2, code, env=openmpi.env | {"MPI4PY_MPIABI": "openmpi"}).stdout
    assert told.count("the launcher started 2 ranks, mpi4py sees 1: it uses 'Open MPI v") == 2


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_a_job_over_its_deadline_leaves_no_process(name, tmp_path):
    try:
        mpi = mpi_of(name)
    except LookupError as absent:
        pytest.skip(str(absent))
    code = f"""
import os, pathlib, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path({str(tmp_path)!r}, str(os.getpid())).touch()
while True:
    signal.pause()
"""
    with pytest.raises(AssertionError, match="were not done in"):
        mpi.run(2, code, timeout_s=3)
    started = [int(path.name) for path in tmp_path.iterdir()]
    assert len(started) == 2
    assert os.getpid() not in started
    _gone, alive = psutil.wait_procs([psutil.Process(pid) for pid in started if psutil.pid_exists(pid)], timeout=10)
    assert alive == []
