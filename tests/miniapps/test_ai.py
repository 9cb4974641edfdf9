"""Models compute what they say, learn, and train on what is staged."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from thalweg import AI, DataStore, ServerManager, Simulation  # noqa: E402
from thalweg.ai import ReplayBuffer  # noqa: E402
from thalweg.ai.config import FNOConfig  # noqa: E402
from thalweg.ai.fno import FNO2d, SpectralConvolution  # noqa: E402
from thalweg.errors import ConfigError, InvalidError, ShapeError, WaitTimeoutError  # noqa: E402
from thalweg.results import RunFolder, iteration_times  # noqa: E402

MLP = {"type": "mlp", "inputs": 4, "outputs": 4, "hidden": [16]}


def test_the_spectral_convolution_is_that_of_the_whole_fourier_transform():
    torch.manual_seed(0)
    modes, before, after, batch, ny, nx = 5, 3, 4, 2, 24, 20
    layer = SpectralConvolution(before, after, modes)
    x = torch.randn(before, batch, ny, nx)
    spectrum = torch.fft.rfft2(x, norm="ortho")
    weight = torch.view_as_complex(layer.weight.detach()).view(2 * modes, modes, before, after)
    out = torch.zeros(after, batch, ny, nx // 2 + 1, dtype=spectrum.dtype)
    out[:, :, :modes, :modes] = torch.einsum("ibyx,yxio->obyx", spectrum[:, :, :modes, :modes], weight[:modes])
    out[:, :, -modes:, :modes] = torch.einsum("ibyx,yxio->obyx", spectrum[:, :, -modes:, :modes], weight[modes:])
    expected = torch.fft.irfft2(out, s=(ny, nx), norm="ortho")
    assert torch.allclose(layer(x).detach(), expected, atol=1e-5)


def test_the_operator_moves_with_its_input_and_takes_other_grids():
    torch.manual_seed(0)
    model = FNO2d(FNOConfig(type="fno", width=6, modes=4, layers=2))
    x = torch.randn(2, 1, 16, 16)
    moved = model(torch.roll(x, (3, 5), dims=(2, 3)))
    assert torch.allclose(torch.roll(model(x), (3, 5), dims=(2, 3)), moved, atol=1e-5)
    assert model(torch.randn(1, 1, 32, 24)).shape == (1, 1, 32, 24)
    with pytest.raises(ValueError, match="a field of 6 x 6 points has no 4 modes"):
        model(torch.randn(1, 1, 6, 6))


@pytest.mark.parametrize(
    "config",
    [
        {"type": "fno", "width": 8, "modes": 4, "layers": 2},
        {"type": "cnn", "width": 8, "layers": 2, "kernel_size": 3, "residual": True},
    ],
    ids=["fno", "cnn"],
)
def test_a_model_of_fields_learns_to_move_a_field(config):
    rng = np.random.default_rng(0)
    spectrum = np.zeros((64, 16, 9), complex)
    spectrum[:, 1:4, 1:4] = rng.standard_normal((64, 3, 3)) + 1j * rng.standard_normal((64, 3, 3))
    fields = np.fft.irfft2(spectrum, s=(16, 16))[:, np.newaxis].astype(np.float32)
    fields /= fields.std()
    ai = AI("a", {"model": config, "loss": "relative_l2", "learning_rate": 1e-2, "threads": 1}, seed=1)
    ai.replay.add(fields, np.roll(fields, 1, axis=3))
    losses = ai.train(120).losses
    assert np.mean(losses[-10:]) < 0.35 * losses[0]


def test_the_same_seed_trains_the_same_model():
    def losses(seed):
        ai = AI("a", {"model": MLP, "threads": 1}, seed=seed)
        data = np.random.default_rng(0).random((100, 4), np.float32)
        ai.replay.add(data, data)
        return ai.train(20).losses

    assert losses(1) == losses(1) != losses(2)


def test_a_model_of_ones_own_is_trained():
    ai = AI("a", {"learning_rate": 0.05}, model=torch.nn.Linear(1, 1))
    x = np.linspace(-1, 1, 50, dtype=np.float32)[:, np.newaxis]
    ai.replay.add(x, 3 * x + 1)
    assert len(repr(ai.train(400))) < 150
    assert ai.predict(np.array([[2.0]]))[0, 0] == pytest.approx(7.0, abs=0.1)


def test_it_reads_what_a_simulation_stages_in_order_and_stops_it():
    seen = []

    def samples(key, value):
        seen.append((key, float(value[0])))
        return value.reshape(-1, 4), value.reshape(-1, 4)

    kernel = {"name": "k", "mini_app_kernel": "AXPY", "data_size": 8, "run_count": 1}
    with ServerManager("s", {"type": "node-local"}) as server:
        info = server.get_server_info()
        with (
            Simulation("s", {"kernels": [kernel]}, info) as sim,
            AI("a", {"model": MLP}, info, to_samples=samples) as ai,
        ):
            ai.follow("field/{}", clean=True)
            for number in range(5):
                sim.stage_write(f"field/{number}", np.full(40, number, np.float32))
            assert ai.refresh() == 5
            assert seen == [(f"field/{number}", float(number)) for number in range(5)]
            assert not sim.store.poll_staged_data("field/3")
            sim.stage_write("field/6", np.zeros(40, np.float32))
            assert ai.refresh() == 0
            assert ai.train(3).iterations == 3
            assert not sim.stop_requested()
            ai.stop_simulation()
            assert sim.stop_requested()


def test_training_without_data_ends_with_the_key_that_it_waited_for():
    with ServerManager("s", {"type": "node-local"}) as server, AI("a", {"model": MLP}, server.get_server_info()) as ai:
        ai.follow("field/{}")
        with pytest.raises(WaitTimeoutError, match="'field/0'"):
            ai.train(1, first_data_timeout_s=0.05)


def test_iterations_last_as_long_as_configured(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with folder.tracer("trainer") as tracer:
        ai = AI("a", {"model": MLP, "iteration_time_s": 0.004, "threads": 1}, tracer=tracer)
        data = np.zeros((10, 4), np.float32)
        ai.replay.add(data, data)
        ai.train(200)
    folder.finish()
    times = iteration_times(folder.events(), "trainer")
    assert len(times) == 200
    assert (times.sum() + ai._pacers["train"].carry_s) / 200 == pytest.approx(0.004, rel=0.02)


def test_the_replay_buffer_keeps_the_newest_within_its_limit():
    buffer = ReplayBuffer(10 * 16)  # ten samples of two float64
    for start in range(0, 35, 7):
        values = np.arange(start, start + 7, dtype=float)[:, np.newaxis]
        buffer.add(values, -values)
        assert buffer.size_bytes <= 160
    inputs, targets = buffer.sample(2000, np.random.default_rng(0))
    assert sorted(set(inputs[:, 0])) == list(range(25, 35))
    assert np.array_equal(inputs, -targets)
    assert (len(buffer), buffer.added) == (10, 35)
    buffer.add(np.arange(100.0)[:, np.newaxis], np.zeros((100, 1)))
    assert sorted(set(buffer.sample(2000, np.random.default_rng(0))[0][:, 0])) == list(range(90, 100))


def test_without_torch_the_error_names_the_extra():
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from thalweg import AI\n"
        "from thalweg.errors import MissingLibraryError\n"
        "try:\n    AI('a', {'model': {'type': 'mlp', 'inputs': 1, 'outputs': 1}})\n"
        "except MissingLibraryError as error:\n    print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "AI: the library torch is not installed; pip install 'thalweg[ai]'"


def ring(count, channels, rng):
    """Fields on a periodic ring, and what one explicit step of diffusion makes of them."""
    fields = rng.standard_normal((count, 12, channels)).astype(np.float32)
    return fields, fields + 0.3 * (np.roll(fields, 1, 1) - 2 * fields + np.roll(fields, -1, 1))


def test_a_graph_network_learns_diffusion_on_a_mesh_and_knows_no_numbering():
    model = {"type": "gnn", "mesh": [12], "periodic": True, "width": 16, "layers": 1, "residual": True}
    ai = AI("a", {"model": model, "learning_rate": 5e-3, "batch_size": 32, "threads": 1})
    ai.replay.add(*ring(200, 1, np.random.default_rng(0)))
    record = ai.train(250)
    assert record.losses[-1] < 0.05 * record.losses[0]
    fields, expected = ring(20, 1, np.random.default_rng(1))
    assert np.mean((ai.predict(fields) - expected) ** 2) < 0.05 * np.mean((fields - expected) ** 2)
    moved = ai.predict(np.roll(fields, 5, axis=1))
    assert np.allclose(np.roll(ai.predict(fields), 5, axis=1), moved, atol=1e-5)


def test_the_edges_of_a_mesh_are_those_of_its_neighbours():
    from thalweg.ai.config import GNNConfig
    from thalweg.ai.gnn import GNN

    model = GNN(GNNConfig(type="gnn", mesh=[2, 3]))
    edges = set(zip(model._sources.tolist(), model._targets.tolist(), strict=True))
    undirected = {(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)}
    assert edges == undirected | {(b, a) for a, b in undirected}
    assert GNN(GNNConfig(type="gnn", mesh=[3], periodic=True))._sources.numel() == 6
    given = GNN(GNNConfig(type="gnn", edges=[(0, 1), (1, 2)], nodes=4, in_channels=2))
    assert given(torch.zeros(5, 4, 2)).shape == (5, 4, 1)
    with pytest.raises(ValueError, match="the input has 3 nodes, the mesh has 4"):
        given(torch.zeros(1, 3, 2))


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"type": "gnn"}, "has neither mesh nor edges; give exactly one of them"),
        ({"type": "gnn", "mesh": [4], "edges": [[0, 1]]}, "has both mesh and edges; give exactly one of them"),
        ({"type": "gnn", "edges": [[0, 5]], "nodes": 4}, "edges: has node 5, nodes is 4; number them from 0"),
        ({"type": "gnn", "mesh": [4], "nodes": 4}, "has both mesh and nodes"),
        ({"type": "gnn", "mesh": [4, 4, 4, 4]}, "mesh: is .*give at most 3 of them"),
    ],
)
def test_a_mesh_that_makes_no_sense_is_refused(model, told):
    with pytest.raises(ConfigError, match=told):
        AI("a", {"model": model})


def test_requests_are_answered_in_order_and_in_batches_until_told_to_stop():
    with ServerManager("s", {"type": "node-local"}) as server, DataStore("clients", server) as store:
        for client in range(2):
            for number in range(2):
                store.stage_write(f"request/{client}/{number}", np.full((3, 4), client + number, np.float32))
        store.stage_write("stop", b"")
        with AI("a", {"model": MLP, "threads": 1}, server) as ai:
            record = ai.serve(["request/0/{}", "request/1/{}"], stop_key="stop")
            assert (record.requests, record.batches) == (4, 2)
            for client in range(2):
                for number in range(2):
                    answer = store.stage_read(f"answer/request/{client}/{number}", 1)
                    assert np.allclose(answer, ai.predict(np.full((3, 4), client + number, np.float32)), atol=1e-6)
                    assert not store.poll_staged_data(f"request/{client}/{number}")
            with pytest.raises(WaitTimeoutError, match=r"no request came within 0\.05 s; waited for r/0"):
                ai.serve(["r/{}"], stop_key="never", timeout_s=0.05)
            with pytest.raises(InvalidError, match=r"requests is 'r/\{\}'; give a list of patterns"):
                ai.serve("r/{}")


def test_inference_runs_for_a_number_of_iterations_or_a_time(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with folder.tracer("inference") as tracer:
        ai = AI("a", {"model": MLP, "iteration_time_s": 0.002, "threads": 1}, tracer=tracer)
        with pytest.raises(InvalidError, match="the buffer is empty"):
            ai.infer(1)
        data = np.zeros((10, 4), np.float32)
        ai.replay.add(data, data)
        before = [parameter.clone() for parameter in ai.model.parameters()]
        assert ai.infer(50).batches == 50
        assert ai.infer(run_time=0.05).elapsed_s >= 0.05
        assert all(torch.equal(*pair) for pair in zip(before, ai.model.parameters(), strict=True))
    folder.finish()
    events = [row for row in folder.events().to_pylist() if row["kind"] == "infer"]
    assert len(events) >= 50


def test_a_staged_model_is_taken_over_whole_or_not_at_all():
    with ServerManager("s", {"type": "node-local"}) as server:
        with AI("a", {"model": MLP}, server, seed=1) as one, AI("b", {"model": MLP}, server, seed=2) as two:
            x = np.ones((2, 4), np.float32)
            assert not np.allclose(one.predict(x), two.predict(x))
            one.stage_model("model/0")
            two.read_model("model/0", timeout_s=1)
            assert np.array_equal(one.predict(x), two.predict(x))
        wrong = pytest.raises(ShapeError, match=r"key 'model/0' has shape \(148,\), the model takes \(31,\)")
        with AI("c", {"model": MLP | {"hidden": [3]}}, server) as other, wrong:
            other.read_model("model/0")
