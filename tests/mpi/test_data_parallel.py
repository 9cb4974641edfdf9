"""Training over several ranks: gradients are averaged, parameters stay equal, and nobody waits for ever."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")

TRAIN = """
import json, sys
import numpy as np, torch
from thalweg import AI
MODEL = {"type": "mlp", "inputs": 4, "outputs": 4, "hidden": [8]}

def data(rank):
    inputs = np.random.default_rng(rank).standard_normal((1, 4)).astype(np.float32)  # one sample: each batch is it
    return inputs, 2 * inputs

with AI("trainer", {"model": MODEL, "threads": 1, "batch_size": 2}, seed=3) as ai:
    rank, size = ai.ranks.rank, ai.ranks.size
    ai.replay.add(*data(rank))
    ai.train(20)
    mine = torch.nn.utils.parameters_to_vector(ai.model.parameters()).detach().numpy()
    everyone = ai.ranks.gather(mine)
if rank == 0:
    # one process that sees the samples of all ranks in each batch must end with the same parameters
    from thalweg.ai.mlp import MLP
    from thalweg.ai.config import MLPConfig
    torch.manual_seed(3)
    alone = MLP(MLPConfig(**MODEL))
    optimizer = torch.optim.AdamW(alone.parameters(), lr=1e-3, weight_decay=0.0)
    inputs, targets = (torch.from_numpy(np.concatenate(part)) for part in zip(*map(data, range(size))))
    for _ in range(20):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(alone(inputs), targets).backward()
        optimizer.step()
    expected = torch.nn.utils.parameters_to_vector(alone.parameters()).detach().numpy()
    print(json.dumps([size, [float(np.abs(v - everyone[0]).max()) for v in everyone],
                      float(np.abs(expected - everyone[0]).max())]))
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_train_the_model_that_one_process_would_on_all_their_data(mpi, ranks):
    size, differences, from_alone = json.loads(mpi.run(ranks, TRAIN).stdout.splitlines()[-1])
    assert size == ranks
    assert differences == [0.0] * ranks
    assert from_alone < 1e-5


CLOSED = """
import json, os
import numpy as np
from thalweg import AI

def threads():
    return sorted(open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task"))

MODEL = {"type": "mlp", "inputs": 4, "outputs": 4, "hidden": [8]}
with AI("trainer", {"model": MODEL, "threads": 1}, seed=3) as ai:
    before, x = threads(), np.zeros((4, 4), np.float32)
    ai.replay.add(x, x)
    ai.train(2)
after = threads()
if ai.ranks.rank == 0:
    print(json.dumps([before, after]))
"""


def test_no_thread_of_the_process_group_outlives_the_component(mpi):
    # one that is left at the interpreter's end may end the process with it
    before, after = json.loads(mpi.run(2, CLOSED).stdout.splitlines()[-1])
    ours = [name for name in before if "gloo" in name or "tcpstore" in name]
    assert ours and not set(ours) & set(after)


PACED = """
import json, time
import numpy as np
from thalweg import AI
MODEL = {"type": "mlp", "inputs": 4, "outputs": 4, "hidden": [8]}
with AI("trainer", {"model": MODEL, "threads": 1, "iteration_time_s": 0.02}, seed=3) as ai:
    x = np.zeros((4, 4), np.float32)
    ai.replay.add(x, x)
    ai.train(1)
    by_count = ai.train(50)
    by_time = ai.train(run_time=0.5)
    told = ai.ranks.gather([by_count.elapsed_s, by_time.iterations])
if ai.ranks.rank == 0:
    print(json.dumps(told))
"""


def test_a_time_per_iteration_holds_over_several_ranks_and_all_stop_together(mpi):
    told = json.loads(mpi.run(2, PACED).stdout.splitlines()[-1])
    assert len({iterations for _, iterations in told}) == 1
    for elapsed_s, _ in told:
        assert elapsed_s > 0.9  # 50 iterations of 0.02 s; how much more is the machine's affair


WORKFLOW = """
import json
import numpy as np
from thalweg import AI, ServerManager, Workflow
server = ServerManager("s", {"type": "thalweg"})
w = Workflow("w", servers=[server])

@w.component(args={"info": server})
def solver(info):
    from thalweg import DataStore
    with DataStore("solver", info) as store:
        for rank in range(2):
            for number in range(4):
                x = np.random.default_rng(10 * rank + number).random((64, 4)).astype(np.float32)
                store.stage_write(f"field/{rank}/{number}", x)

@w.component(type="remote", processes_per_node=2, args={"info": server})
def trainer(info):
    model = {"type": "mlp", "inputs": 4, "outputs": 4, "hidden": [32]}
    with AI("trainer", {"model": model, "threads": 1, "learning_rate": 0.01}, info) as ai:
        ai.follow(f"field/{ai.ranks.rank}/{{}}", clean=True)
        record = ai.train(150)
        return ai.ranks.rank, record.values_read, record.losses[0], record.losses[-1]

print(json.dumps(w.launch(timeout_s=100)["trainer"]))
"""


def test_a_remote_trainer_learns_from_what_is_staged(mpi, tmp_path):
    import subprocess
    import sys

    script = tmp_path / "main.py"
    script.write_text(WORKFLOW)
    done = subprocess.run(
        [sys.executable, str(script)], env=dict(mpi.env), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert [entry[:2] for entry in told] == [[0, 4], [1, 4]]
    for _, _, first, last in told:
        assert last < 0.3 * first
