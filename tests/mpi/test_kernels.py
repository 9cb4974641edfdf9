"""IO and collective kernels do what they say on four ranks of each MPI."""

from __future__ import annotations

import json

import numpy as np
import pytest

PRELUDE = """
import json, sys
from pathlib import Path
import numpy as np
from thalweg.kernels import make_kernel
from thalweg.ranks import current_ranks
ranks = current_ranks()
def report(value):
    told = ranks.gather(value)
    if ranks.rank == 0:
        print(json.dumps(told))
"""

IO = (
    PRELUDE
    + """
name, folder, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
import h5py
made = make_kernel(name, data_size=[6, 5], seed=ranks.rank, options={"folder": folder, **options}, ranks=ranks)
array = made._host.copy()
for _ in range(3):
    cost = made()
ranks.barrier()
serial = name.endswith("NonMPI")
with h5py.File(made.path, "r") as file:
    stored = file["data"][...] if serial else file["data"][ranks.rank]
report([cost.size_bytes, bool(cost.elapsed_s > 0), bool((stored == array).all() and (made._host == array).all()),
        str(made.path), str(array.dtype), list(file_shape)] if (file_shape := h5py.File(made.path, "r")["data"].shape)
       else None)
ranks.barrier()
made.close()
"""
)

COLLECTIVES = (
    PRELUDE
    + """
made = {name: make_kernel(name, data_size=[3, 4], seed=ranks.rank, ranks=ranks) for name in ("AllReduce", "AllGather")}
made["max"] = make_kernel("AllReduce", data_size=7, seed=ranks.rank, ranks=ranks,
                          options={"operation": "max", "dtype": "float32"})
for _ in range(3):
    costs = {name: kernel()[1:] for name, kernel in made.items()}
report([costs, {name: [kernel._mine.tolist(), kernel._result.tolist()] for name, kernel in made.items()}])
for kernel in made.values():
    kernel.close()
"""
)


def run(mpi, code, *arguments):
    return json.loads(mpi.run(4, code, *arguments).stdout)


@pytest.mark.parametrize(
    ("name", "options", "files", "shape", "rank_bytes"),
    [
        ("WriteSingleRank", {}, 1, [4, 6, 5], [960, 0, 0, 0]),
        ("WriteNonMPI", {"fsync": True}, 4, [6, 5], [240] * 4),
        ("WriteWithMPI", {}, 1, [4, 6, 5], [240] * 4),
        ("WriteWithMPI", {"transfer": "independent", "fsync": True, "dtype": "float32"}, 1, [4, 6, 5], [120] * 4),
        ("ReadNonMPI", {"dtype": "float32"}, 4, [6, 5], [120] * 4),
        ("ReadWithMPI", {}, 1, [4, 6, 5], [240] * 4),
        ("ReadWithMPI", {"transfer": "independent"}, 1, [4, 6, 5], [240] * 4),
    ],
)
def test_files_hold_what_each_rank_has_and_go_with_the_kernel(mpi, tmp_path, name, options, files, shape, rank_bytes):
    told = run(mpi, IO, name, tmp_path, json.dumps(options))
    assert [rank[0] for rank in told] == rank_bytes
    assert all(timed and same for _, timed, same, *_ in told)
    assert len({path for *_, path, _, _ in told}) == files
    assert all(kept_as == options.get("dtype", "float64") for *_, kept_as, _ in told)
    assert all(stored == shape for *_, stored in told)
    assert list(tmp_path.iterdir()) == []


def test_collectives_give_every_rank_what_all_ranks_have(mpi):
    told = run(mpi, COLLECTIVES)
    mine = {name: np.array([rank[1][name][0] for rank in told]) for name in ("AllReduce", "AllGather", "max")}
    assert not np.array_equal(mine["AllReduce"][0], mine["AllReduce"][1])
    for costs, results in told:
        assert costs == {"AllReduce": [96, 9], "AllGather": [384, 0], "max": [28, 5]}
        assert np.allclose(results["AllReduce"][1], mine["AllReduce"].sum(0), rtol=1e-14)
        assert np.array_equal(results["AllGather"][1], mine["AllGather"])
        assert np.array_equal(results["max"][1], mine["max"].max(0))


FAILS = (
    PRELUDE
    + """
made = make_kernel("WriteNonMPI", data_size=5, options={"folder": sys.argv[1]}, ranks=ranks)
shared = make_kernel("WriteWithMPI", data_size=5, options={"folder": sys.argv[1]}, ranks=ranks)
shared()
made()
ranks.barrier()
if ranks.rank == 0:
    print(len(list(Path(sys.argv[1]).rglob("*.h5"))))
ranks.barrier()
raise SystemExit("something else failed")
"""
)


def test_files_are_gone_after_a_failure(mpi, tmp_path):
    with pytest.raises(AssertionError, match="something else failed") as failure:
        mpi.run(4, FAILS, tmp_path)
    assert "\n5\n" in str(failure.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_not_all_ranks_see_is_an_error_on_each(mpi, tmp_path):
    code = (
        PRELUDE
        + """
from thalweg.errors import ConfigError
unseen = Path.is_dir
if ranks.rank == 2:
    Path.is_dir = lambda self: False
try:
    make_kernel("WriteWithMPI", data_size=5, options={"folder": sys.argv[1]}, ranks=ranks)
except ConfigError as error:
    report(str(error))
"""
    )
    told = run(mpi, code, tmp_path)
    assert all("not every rank sees" in message and "all nodes share" in message for message in told)
    assert list(tmp_path.iterdir()) == []


TORCH = (
    PRELUDE
    + """
import torch
import torch.distributed as distributed
from thalweg.kernels.exchange.nccl_torch import TorchNccl
class OverGloo(TorchNccl):
    backend = "gloo"
one, two = OverGloo(ranks), OverGloo(ranks)
mine = torch.full((2, 3), float(ranks.rank + 1))
reduced, gathered = torch.empty(2, 3), torch.empty(ranks.size, 2, 3)
one.all_reduce(mine, reduced, "sum")
one.close()
two.all_gather(mine, gathered)
there = distributed.is_initialized()
two.close()
report([reduced.tolist(), gathered[:, 1, 2].tolist(), mine[0, 0].item(), there, distributed.is_initialized()])
"""
)


def test_torchs_collectives_meet_and_share_one_group(mpi):
    """With gloo in place of NCCL, which needs a GPU a rank; the calls are the same."""
    distributed = pytest.importorskip("torch.distributed")
    if not distributed.is_nccl_available():
        pytest.skip("this torch is without NCCL")
    told = json.loads(mpi.run(2, TORCH).stdout)
    assert told == [[[[3.0] * 3] * 2, [1.0, 2.0], rank + 1.0, True, False] for rank in range(2)]
