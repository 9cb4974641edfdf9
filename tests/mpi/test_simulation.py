"""A Simulation on four ranks keeps its times, and its ranks in step, whatever its kernels exchange."""

from __future__ import annotations

import json

from thalweg import ServerManager
from thalweg.results.trace_format import read_trace

CONFIG = """
[[kernels]]
name = "step"
mini_app_kernel = "MatMulSimple2D"
data_size = 48
run_time = { distribution = "gamma", mean = 0.002, std = 0.001 }

[[kernels]]
name = "sum"
mini_app_kernel = "AllReduce"
data_size = [64, 64]
run_time = { distribution = "normal", mean = 0.004, std = 0.001 }

[[kernels]]
name = "gather"
mini_app_kernel = "AllGather"
data_size = 100
run_count = { distribution = "uniform", low = 1, high = 4 }
options = { dtype = "float32" }

[[kernels]]
name = "own"
mini_app_kernel = "WriteNonMPI"
data_size = 1000
options = { folder = "FOLDER" }
run_count = 0.5

[[kernels]]
name = "single"
mini_app_kernel = "WriteSingleRank"
data_size = 1000
options = { folder = "FOLDER" }
run_count = { distribution = "discrete", values = [0, 1], probabilities = [0.5, 0.5] }

[[kernels]]
name = "checkpoint"
mini_app_kernel = "WriteWithMPI"
data_size = [32, 32]
options = { folder = "FOLDER" }
run_time = 0.004

[[kernels]]
name = "restart"
mini_app_kernel = "ReadWithMPI"
data_size = [32, 32]
options = { folder = "FOLDER" }
run_count = 0.25
"""

RUN = """
import json, sys
from pathlib import Path
from thalweg import Simulation
from thalweg.ranks import current_ranks
from thalweg.results.tracer import Tracer
ranks = current_ranks()
folder = Path(sys.argv[1])
if sys.argv[2] == "comm":
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
else:
    comm = None
with Tracer(folder / "run" / "traces", "solver", ranks.rank) as tracer:
    with Simulation("solver", folder / "sim.toml", None, comm, tracer=tracer, seed=3) as simulation:
        record = simulation.run(40)
        files = ranks.gather(sorted(path.name for path in folder.rglob("*.h5")))
        carried = simulation._entries[1].timed._pacer.carry_s
    draws = [entry.draws.next() for entry in simulation._entries]
ranks.barrier()
told = ranks.gather([simulation.rank, record.iterations, draws, len(list(folder.rglob("*.h5")))])
carried = ranks.broadcast(carried)
if ranks.rank == 0:
    print(json.dumps([told, files[0], carried]))
"""


def test_a_configured_simulation_runs_on_four_ranks(mpi, tmp_path):
    (tmp_path / "sim.toml").write_text(CONFIG.replace("FOLDER", str(tmp_path)))
    told, files, carried = json.loads(mpi.run(4, RUN, tmp_path, "comm").stdout)
    assert [rank[:2] for rank in told] == [[rank, 40] for rank in range(4)]
    assert len({tuple(draws) for _, _, draws, _ in told}) == 4
    assert {"data.h5", *(f"data-{rank}.h5" for rank in range(4))} == set(files)
    assert all(left == 0 for *_, left in told)
    calls = {}
    for path in (tmp_path / "run" / "traces").iterdir():
        header, events = read_trace(path)
        for event in events:
            calls.setdefault(event.name, {}).setdefault(header.rank, []).append(event)
    kinds = {
        name: {(event.kind, event.backend) for rank in ranks.values() for event in rank}
        for name, ranks in calls.items()
    }
    assert kinds == {
        "solver": {("init", "")},
        "step": {("compute", "")},
        "sum": {("collective", "")},
        "gather": {("collective", "")},
        "own": {("write", "hdf5")},
        "single": {("write", "hdf5")},
        "checkpoint": {("write", "hdf5")},
        "restart": {("read", "hdf5")},
    }
    moved = {name: [[event.size_bytes for event in ranks[rank]] for rank in range(4)] for name, ranks in calls.items()}
    for name in ("sum", "gather", "checkpoint", "restart"):  # the same calls on every rank
        assert moved[name][0] == moved[name][1] == moved[name][2] == moved[name][3]
    assert sum(moved["gather"][0]) == 4 * 100 * 4 * 100
    assert sum(moved["restart"][0]) == 10 * 32 * 32 * 8
    spent = sum(event.end_ns - event.start_ns for event in calls["sum"][0]) * 1e-9
    assert abs((spent + carried) / 40 - 0.004) < 0.02 * 0.004


STOPS = """
import json, sys
from thalweg import Simulation
from thalweg.ranks import current_ranks
ranks = current_ranks()
info = json.loads(sys.argv[1])
step = {"name": "sum", "mini_app_kernel": "AllReduce", "data_size": 8, "run_count": 1}
with Simulation("solver", {"kernels": [step]}, info) as simulation:
    while not simulation.stop_requested():
        simulation.run()
        if ranks.rank == 3 and simulation.iteration == 5:
            simulation.stage_write("thalweg/stop", b"stop")
    told = ranks.gather(simulation.iteration)
if ranks.rank == 0:
    print(json.dumps(told))
"""


def test_all_ranks_stop_in_the_same_iteration(mpi, tmp_path):
    with ServerManager("s", {"type": "node-local", "path": str(tmp_path)}) as server:
        told = json.loads(mpi.run(4, STOPS, json.dumps(server.get_server_info())).stdout)
    assert len(set(told)) == 1
    assert told[0] >= 5
