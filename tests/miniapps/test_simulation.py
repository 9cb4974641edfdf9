"""Iteration times have the mean and the spread that were configured."""

from __future__ import annotations

import json
import math
import statistics

import numpy as np
import pytest

from thalweg import ServerManager, Simulation
from thalweg.errors import MissingLibraryError
from thalweg.results import RunFolder, iteration_times
from thalweg.simulation.distribution import parse_distribution
from thalweg.simulation.even_draws import EvenDraws
from thalweg.simulation.pacing import Measured, Pacer

DISTRIBUTIONS = [
    {"distribution": "normal", "mean": 3.0, "std": 0.9},
    {"distribution": "lognormal", "mean": 0.0312, "std": 0.0273},
    {"distribution": "gamma", "mean": 0.0312, "std": 0.0273},
    {"distribution": "gamma", "mean": 2.0, "std": 4.0},
    {"distribution": "exponential", "mean": 0.2},
    {"distribution": "uniform", "low": 1.0, "high": 3.0},
    {"distribution": "discrete", "values": [1, 2, 10], "probabilities": [0.5, 0.25, 0.25]},
    {"distribution": "constant", "value": 4},
    2.5,
]


@pytest.mark.parametrize("content", DISTRIBUTIONS, ids=str)
def test_quantiles_have_the_mean_and_spread_of_the_distribution(content):
    distribution = parse_distribution(content)
    n = 20_000
    values = np.array([distribution.quantile((i + 0.5) / n) for i in range(n)])
    assert (values >= 0).all()
    assert (np.diff(values) >= 0).all()
    assert values.mean() == pytest.approx(distribution.mean, rel=3e-3)
    assert values.std() == pytest.approx(distribution.std, rel=2e-2, abs=1e-12)


def test_named_distributions_have_the_quantiles_of_their_formulas():
    exponential = parse_distribution({"distribution": "gamma", "mean": 2.0, "std": 2.0})  # gamma of shape 1
    lognormal = parse_distribution(
        {"distribution": "lognormal", "mean": math.exp(0.5), "std": math.exp(0.5) * math.sqrt(math.e - 1)}
    )
    for u in (0.01, 0.3, 0.5, 0.9, 0.999):
        assert exponential.quantile(u) == pytest.approx(-2 * math.log(1 - u), rel=1e-3)
        assert lognormal.quantile(u) == pytest.approx(math.exp(statistics.NormalDist().inv_cdf(u)), rel=1e-9)


def test_a_csv_file_is_a_discrete_distribution(tmp_path):
    (tmp_path / "pdf.csv").write_text("value,probability\n1,0.25\n# comment\n3,0.75\n")
    distribution = parse_distribution({"distribution": "discrete", "csv": "pdf.csv"}, tmp_path)
    assert (distribution.mean, distribution.quantile(0.2), distribution.quantile(0.3)) == (2.5, 1.0, 3.0)
    config = {
        "kernels": [
            {
                "name": "k",
                "mini_app_kernel": "AXPY",
                "data_size": 9,
                "run_count": {"distribution": "discrete", "csv": "pdf.csv"},
            }
        ]
    }
    (tmp_path / "sim.json").write_text(json.dumps(config))
    Simulation("s", tmp_path / "sim.json").run(2)


@pytest.mark.parametrize("power", [5, 7, 9])
def test_the_first_draws_fall_one_into_each_part_of_the_interval(power):
    n = 2**power
    for seed in range(5):
        draws = EvenDraws(seed)
        cells = sorted(int(draws.next() * n) for _ in range(n))
        assert cells == list(range(n))


def test_draws_differ_by_seed_and_repeat_with_it():
    one, two, other = ([EvenDraws(seed).next() for _ in range(1)] for seed in (1, 1, 2))
    assert one == two != other


def test_pacing_has_the_right_mean_when_one_call_is_longer_than_the_time():
    clock = _Clock()
    with clock.installed():
        pacer = Pacer([Measured(clock.work(0.030)), Measured(clock.work(0.004))], 0.010)
        spent = [pacer.spend(0.010) for _ in range(400)]
    assert sum(spent) / 400 == pytest.approx(0.010, rel=0.005)
    assert max(abs(s - 0.010) for s in spent) <= 0.004 + 1e-9


def test_pacing_pays_back_a_stall():
    clock = _Clock()
    with clock.installed():
        pacer = Pacer([Measured(clock.work(0.001))], 0.010)
        pacer.spend(0.010)
        clock.stall_s = 0.025
        spent = [pacer.spend(0.010) for _ in range(20)]
    assert spent[0] > 0.025
    assert sum(spent) / 20 == pytest.approx(0.010, rel=0.01)


@pytest.mark.parametrize(
    "run_time",
    [
        0.004,
        {"distribution": "gamma", "mean": 0.004, "std": 0.0035},
        {"distribution": "normal", "mean": 0.004, "std": 0.001},
    ],
)
def test_real_iterations_have_the_configured_mean(tmp_path, run_time):
    kernel = {"name": "k", "mini_app_kernel": "MatMulSimple2D", "data_size": [128, 128], "run_time": run_time}

    def mean(attempt):
        folder = RunFolder(tmp_path / f"run-{attempt}")
        with folder.tracer("solver") as tracer:
            simulation = Simulation("solver", {"kernels": [kernel]}, tracer=tracer, seed=5)
            simulation.run(256)
        folder.finish()
        times = iteration_times(folder.events(), "solver")
        assert len(times) == 256
        owed = simulation._entries[0].timed._pacer.carry_s  # what a stall in the last iterations left to pay back
        return (times.sum() + owed) / 256

    # Where others take the processor for longer than iterations wait, these take longer: a few attempts.
    assert any(mean(attempt) == pytest.approx(0.004, rel=0.01) for attempt in range(5))


def test_a_stall_is_repaid_bit_by_bit():
    clock = _Clock()
    with clock.installed():
        pacer = Pacer([Measured(clock.work(0.0001))], 0.010)
        clock.stall_s = 0.030
        first = pacer.spend(0.010)
        spent = [pacer.spend(0.010) for _ in range(100)]
    assert first > 0.030
    assert min(spent) > 0.0079  # a tenth of the debt, where nothing at all would be left of the next two times
    assert first + sum(spent) == pytest.approx(101 * 0.010, abs=0.0001)


def test_a_simulation_of_files_and_collectives_runs_alone_and_leaves_no_file(tmp_path):
    pytest.importorskip("h5py")
    kernels = [
        {"name": name, "mini_app_kernel": name, "data_size": [16, 16], "run_time": 0.002}
        for name in ("AllReduce", "AllGather", "WriteNonMPI", "WriteSingleRank", "ReadNonMPI")
    ]
    for entry in kernels[2:]:
        entry["options"] = {"folder": str(tmp_path)}
    with Simulation("s", {"kernels": kernels}) as simulation:
        record = simulation.run(5)
        assert any(tmp_path.rglob("*.h5"))
    assert record.size_bytes > 0
    assert list(tmp_path.iterdir()) == []


def test_a_simulation_that_cannot_be_made_leaves_no_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    if h5py.get_config().mpi:
        pytest.skip("this h5py has MPI")
    kernels = [
        {"name": name, "mini_app_kernel": name, "data_size": 9, "run_count": 1, "options": {"folder": str(tmp_path)}}
        for name in ("WriteNonMPI", "WriteWithMPI")
    ]
    with pytest.raises(MissingLibraryError, match="needs an h5py with MPI"):
        Simulation("s", {"kernels": kernels})
    assert list(tmp_path.iterdir()) == []


def test_a_simulation_takes_the_server_manager_itself():
    config = {"kernels": [{"name": "k", "mini_app_kernel": "AXPY", "data_size": 8, "run_count": 1}]}
    with ServerManager("s", {"type": "node-local"}) as server, Simulation("s", config, server) as simulation:
        simulation.stage_write("a", np.arange(3))
        assert simulation.stage_read("a", 1.0).tolist() == [0, 1, 2]


def test_counts_are_exact_in_the_mean_and_ranks_differ():
    config = {"kernels": [{"name": "k", "mini_app_kernel": "AXPY", "data_size": 8, "run_count": 2.25}]}
    simulation = Simulation("s", config)
    assert simulation.run(100).flops == 225 * 16
    by_rank = [
        [entry.draws.next() for entry in Simulation("s", config, rank=rank)._entries for _ in range(3)]
        for rank in (0, 1)
    ]
    assert by_rank[0] != by_rank[1]


def test_a_simulation_stages_and_sees_the_request_to_stop():
    config = {"kernels": [{"name": "k", "mini_app_kernel": "AXPY", "data_size": 8, "run_count": 1}]}
    with ServerManager("s", {"type": "node-local"}) as server, Simulation("s", config, server.get_server_info()) as sim:
        sim.stage_write("a", np.arange(3))
        assert sim.stage_read("a", 1.0).tolist() == [0, 1, 2]
        assert not sim.stop_requested()
        sim.store.stage_write("thalweg/stop", b"stop")
        assert sim.stop_requested()


class _Clock:
    """A clock that only moves when work is done, in place of time.perf_counter."""

    def __init__(self):
        self.now = 0.0
        self.stall_s = 0.0

    def work(self, cost_s):
        def call():
            self.now += cost_s + self.stall_s
            self.stall_s = 0.0

        return call

    def installed(self):
        patch = pytest.MonkeyPatch()
        patch.setattr("thalweg.simulation.pacing.time.perf_counter", lambda: self.now)

        class Installed:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                patch.undo()

        return Installed()
