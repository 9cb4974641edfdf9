"""Wrong configurations and calls are refused before anything starts, with a message that names the key and the fix."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thalweg import AI, DataStore, ServerManager, Simulation, Workflow, kernel
from thalweg.ai import ReplayBuffer
from thalweg.errors import (
    ConfigError,
    CorruptDataError,
    DTypeError,
    ExistsError,
    FullError,
    InvalidError,
    NotFoundError,
    ShapeError,
)
from thalweg.kernels import make_kernel
from thalweg.patterns import PATTERNS
from thalweg.patterns.navier_stokes.solver import VorticitySolver
from thalweg.results import RunFolder, Tracer

KERNEL = {"name": "k", "mini_app_kernel": "AXPY", "data_size": 100, "run_count": 1}
MODEL = {"type": "mlp", "inputs": 2, "outputs": 2}


def simulation(**changes):
    entry = {key: value for key, value in {**KERNEL, **changes}.items() if value is not None}
    return lambda: Simulation("s", {"kernels": [entry]})


def timed(run_time):
    return simulation(run_count=None, run_time=run_time)


def nothing():
    """Do nothing."""


def two_components(first, second):
    def call():
        w = Workflow("w")
        w.component(name="a", type="thread", dependencies=first)(nothing)
        w.component(name="b", type="thread", dependencies=second)(nothing)
        w.launch()

    return call


def component(**options):
    return lambda: Workflow("w").component(**{"name": "c", **options})(nothing)


SIMULATIONS = {
    "unknown_kernel": (
        simulation(mini_app_kernel="MatMulSimple2d"),
        "Simulation: kernels[0].mini_app_kernel: kernel 'MatMulSimple2d' is unknown; did you mean 'MatMulSimple2D'? "
        "accepted are MatMulSimple2D, MatMulGeneral, FFT, AXPY, InplaceCompute, GenerateRandomNumber, ScatterAdd, "
        "CopyHostToDevice, CopyDeviceToHost, WriteSingleRank, WriteNonMPI, WriteWithMPI, ReadNonMPI, "
        "ReadWithMPI, AllReduce, AllGather",
    ),
    "both_measures": (
        simulation(run_time=1.0),
        "Simulation: kernels[0]: has both run_time and run_count; remove one of them",
    ),
    "neither_measure": (
        simulation(run_count=None),
        "Simulation: kernels[0]: has neither run_time nor run_count; add one of them",
    ),
    "probabilities_not_1": (
        timed({"distribution": "discrete", "values": [1, 2], "probabilities": [0.5, 0.4]}),
        "Simulation: kernels[0].run_time: discrete: the probabilities add up to 0.9; make them add up to 1",
    ),
    "probabilities_too_few": (
        timed({"distribution": "discrete", "values": [1, 2], "probabilities": [1]}),
        "Simulation: kernels[0].run_time: discrete: 2 values and 1 probabilities; give as many of both, at least one",
    ),
    "negative_time": (
        timed(-1),
        "Simulation: kernels[0].run_time: is -1; give a number of 0 or more",
    ),
    "time_is_text": (
        timed("fast"),
        "Simulation: kernels[0].run_time: is 'fast'; give a number of 0 or more or a distribution",
    ),
    "unknown_distribution": (
        timed({"distribution": "gauss", "mean": 1, "std": 0.1}),
        "Simulation: kernels[0].run_time: distribution 'gauss' is unknown; accepted are constant, normal, lognormal, "
        "gamma, exponential, uniform, discrete",
    ),
    "distribution_misspelt": (
        timed({"distribution": "lognormale", "mean": 1, "std": 0.1}),
        "Simulation: kernels[0].run_time: distribution 'lognormale' is unknown; did you mean 'lognormal'?",
    ),
    "distribution_parameter_missing": (
        timed({"distribution": "normal", "mean": 1}),
        "Simulation: kernels[0].run_time: normal: std is missing; add it",
    ),
    "normal_would_be_negative": (
        timed({"distribution": "normal", "mean": 0.0312, "std": 0.0273}),
        "Simulation: kernels[0].run_time: normal with mean 0.0312 and std 0.0273 would give negative values; "
        "make std at most a third of mean, or use lognormal or gamma",
    ),
    "csv_missing": (
        timed({"distribution": "discrete", "csv": "/nowhere/pdf.csv"}),
        "Simulation: kernels[0].run_time: csv: /nowhere/pdf.csv cannot be read: No such file or directory",
    ),
    "negative_size": (
        simulation(data_size=[10, -5]),
        "Simulation: kernels[0]: data_size: has the extent -5; give integers of 1 or more",
    ),
    "too_many_extents": (
        simulation(mini_app_kernel="MatMulSimple2D", data_size=[4, 4, 4]),
        "Simulation: kernels[0]: data_size: has 3 extents; this kernel takes 1 or 2",
    ),
    "unknown_key": (
        simulation(runtime=1.0),
        "Simulation: kernels[0].runtime: unknown key; did you mean 'run_time'?",
    ),
    "unknown_key_at_the_top": (
        lambda: Simulation("s", {"kernel": [KERNEL], "kernels": [KERNEL]}),
        "Simulation: kernel: unknown key; did you mean 'kernels'?",
    ),
    "no_kernels_key": (lambda: Simulation("s", {}), "Simulation: kernels: is missing; add it"),
    "same_name_twice": (
        lambda: Simulation("s", {"kernels": [KERNEL, KERNEL]}),
        "Simulation: two kernels are named 'k'; give each a name of its own",
    ),
    "unknown_device": (
        simulation(device="gpu"),
        "Simulation: kernels[0].device: device 'gpu' is unknown; accepted are cpu, cuda, xpu",
    ),
    "unknown_option": (simulation(options={"alfa": 1.0}), "AXPY: options: alfa: unknown key; did you mean 'alpha'?"),
    "no_such_file": (
        lambda: Simulation("s", "/nowhere/sim.json"),
        "Simulation: there is no file /nowhere/sim.json; give a dict or the path of a .json or .toml file",
    ),
}

SERVERS = {
    "unknown_backend": (
        lambda: ServerManager("s", {"type": "rediss"}),
        "ServerManager: type: is 'rediss'; did you mean 'redis'?",
    ),
    "no_backend": (
        lambda: ServerManager("s", {"port": 1}),
        "ServerManager: type: is missing; add it, accepted are thalweg, node-local, filesystem, redis",
    ),
    "unknown_server_key": (
        lambda: ServerManager("s", {"type": "redis", "prot": 1}),
        "ServerManager: prot: unknown key; did you mean 'port'?",
    ),
    "port_out_of_range": (
        lambda: ServerManager("s", {"type": "redis", "port": 70000}),
        "ServerManager: port: is 70000; should be less than or equal to 65535",
    ),
    "port_is_text": (
        lambda: ServerManager("s", {"type": "redis", "port": "6379"}),
        "ServerManager: port: is '6379'; should be a valid integer",
    ),
    "no_shards": (
        lambda: ServerManager("s", {"type": "node-local", "shards": 0}),
        "ServerManager: shards: is 0; should be greater than or equal to 1",
    ),
    "filesystem_without_path": (
        lambda: ServerManager("s", {"type": "filesystem"}),
        "ServerManager: path: is missing; add it",
    ),
    "network_without_token": (
        lambda: ServerManager("s", {"type": "thalweg", "listen": "127.0.0.1:0"}),
        "ServerManager: listen needs a token; add token",
    ),
    "policy_unknown": (
        lambda: ServerManager("s", {"type": "thalweg", "when_full": "wait"}),
        "ServerManager: when_full: is 'wait'; should be 'block', 'fail' or 'drop_oldest'",
    ),
    "store_without_info": (
        lambda: DataStore("d", "redis"),
        "DataStore: server_info is str; give what ServerManager.get_server_info() returns",
    ),
    "store_of_unknown_backend": (
        lambda: DataStore("d", {"backend": "etcd"}),
        "DataStore: server_info: backend 'etcd' is unknown; accepted are thalweg, node-local, filesystem, redis",
    ),
}

WORKFLOWS = {
    "cycle": (
        two_components(["b"], ["a"]),
        "Workflow: the dependencies go in a circle: a -> b -> a; remove one of them",
    ),
    "depends_on_itself": (
        two_components(["a"], []),
        "Workflow: the dependencies go in a circle: a -> a; remove one of them",
    ),
    "unknown_dependency": (
        two_components([], ["aa"]),
        "Workflow: component 'b' depends on 'aa', which does not exist; did you mean 'a'?",
    ),
    "no_components": (
        lambda: Workflow("w").launch(),
        "Workflow 'w': has no components; declare one with @w.component(...)",
    ),
    "unknown_type": (
        component(type="remote"),
        "Workflow.component 'c': type is 'remote'; accepted are local, thread",
    ),
    "not_callable": (
        lambda: Workflow("w").component(name="c")(3),
        "Workflow.component 'c': 3 cannot be called; decorate a function",
    ),
    "dependencies_is_text": (
        component(dependencies="a"),
        "Workflow.component 'c': dependencies is 'a'; give a list of component names",
    ),
    "args_do_not_fit": (
        component(args={"steps": 3}),
        "Workflow.component 'c': args do not fit the function: got an unexpected keyword argument 'steps'; "
        "its arguments are none",
    ),
    "negative_retries": (
        component(retries=-1),
        "Workflow.component 'c': retries is -1; give an integer of 0 or more",
    ),
    "thread_with_environment": (
        component(type="thread", env={"A": "1"}),
        "Workflow.component 'c': a thread has no environment of its own; remove env or use type 'local'",
    ),
}

MODELS = {
    "unknown_model": (
        lambda: AI("a", {"model": {"type": "transformer"}}),
        "AI: model: model type 'transformer' is unknown; accepted are mlp, cnn, fno",
    ),
    "no_model": (lambda: AI("a", {}), "AI: model: add it, or give the argument model"),
    "model_key_unknown": (
        lambda: AI("a", {"model": {"type": "fno", "mode": 4}}),
        "AI: model: fno: mode: unknown key; did you mean 'modes'?",
    ),
    "negative_learning_rate": (
        lambda: AI("a", {"model": MODEL, "learning_rate": -1.0}),
        "AI: learning_rate: is -1.0; should be greater than 0",
    ),
    "pattern_option_unknown": (
        lambda: PATTERNS["one-to-one"].options({"scal": 0.1}),
        "one-to-one: scal: unknown key; did you mean 'scale'?",
    ),
    "pattern_scale_zero": (
        lambda: PATTERNS["one-to-one"].options({"scale": 0}),
        "one-to-one: scale: is 0; should be greater than 0",
    ),
}


@pytest.mark.parametrize("name", [*SIMULATIONS, *SERVERS, *WORKFLOWS, *MODELS])
def test_a_wrong_configuration_is_refused_with_its_path_and_the_fix(name):
    call, message = {**SIMULATIONS, **SERVERS, **WORKFLOWS, **MODELS}[name]
    with pytest.raises(ConfigError) as refusal:
        call()
    assert str(refusal.value) == message


CALLS = {
    "steps_negative": (
        lambda: Simulation("s", {"kernels": [KERNEL]}).run(-1),
        InvalidError,
        "Simulation.run: nsteps is -1; give an integer of 0 or more",
    ),
    "simulation_without_store": (
        lambda: Simulation("s", {"kernels": [KERNEL]}).stage_write("a", b""),
        InvalidError,
        "Simulation 's': has no DataStore; give server_info when making it",
    ),
    "train_without_length": (
        lambda: AI("a", {"model": MODEL}).train(),
        InvalidError,
        "AI.train: give either num_iters or run_time",
    ),
    "train_without_data": (
        lambda: AI("a", {"model": MODEL}).train(num_iters=1),
        InvalidError,
        "AI.train: no data; call follow(), or add samples to `replay`",
    ),
    "follow_without_number": (
        lambda: AI("a", {"model": MODEL}).follow("field"),
        InvalidError,
        "AI.follow: pattern 'field' does not number its keys; give one {}, as in 'field/{}'",
    ),
    "replay_too_small": (
        lambda: ReplayBuffer(10).add(np.zeros((1, 4)), np.zeros((1, 4))),
        FullError,
        "ReplayBuffer: one sample has 64 bytes, the limit is 10; raise replay_bytes",
    ),
    "replay_uneven": (
        lambda: ReplayBuffer(1000).add(np.zeros((2, 4)), np.zeros((1, 4))),
        ShapeError,
        "ReplayBuffer.add: (2,) inputs and (1,) targets; give as many of both",
    ),
    "info_before_start": (
        lambda: ServerManager("s", "node-local").get_server_info(),
        InvalidError,
        "ServerManager.get_server_info: 's' does not run; call start_server() first, or give the ServerManager itself "
        "in a component's args and in Workflow(servers=[...]), which starts it",
    ),
    "launch_timeout": (
        lambda: _launch(0),
        InvalidError,
        "Workflow.launch: timeout_s is 0; give seconds, more than 0, or None",
    ),
    "kernel_name_taken": (
        lambda: kernel("AXPY")(nothing),
        ConfigError,
        "kernel: the name 'AXPY' is taken; choose another than ",
    ),
    "kernel_extent": (
        lambda: make_kernel("FFT", data_size=[2, 2, 2, 2]),
        ConfigError,
        "FFT: data_size: has 4 extents; this kernel takes 1 or 2 or 3",
    ),
    "solver_shape": (
        lambda: VorticitySolver(np.zeros((8, 8)), 0.1, 0.1),
        InvalidError,
        "VorticitySolver: vorticity has shape (8, 8); expected (members, n, n), n from 8",
    ),
}


def _launch(timeout_s):
    w = Workflow("w")
    w.component(name="c", type="thread")(nothing)
    w.launch(timeout_s=timeout_s)


@pytest.mark.parametrize("name", list(CALLS))
def test_a_wrong_call_is_refused_with_the_value_met_and_what_is_accepted(name):
    call, error, message = CALLS[name]
    with pytest.raises(error) as refusal:
        call()
    assert str(refusal.value).startswith(message)


def test_several_wrong_keys_are_all_reported():
    with pytest.raises(ConfigError) as refusal:
        Simulation("s", {"kernels": [{**KERNEL, "device": "gpu"}, {**KERNEL, "data_size": [0], "name": "other"}]})
    assert str(refusal.value).splitlines() == [
        "Simulation: kernels[0].device: device 'gpu' is unknown; accepted are cpu, cuda, xpu",
        "Simulation: kernels[1]: data_size: has the extent 0; give integers of 1 or more",
    ]


def test_a_configuration_file_that_is_not_json_is_named(tmp_path):
    path = tmp_path / "sim.json"
    path.write_text("{")
    with pytest.raises(ConfigError, match=r"Simulation: .*sim.json is not JSON: "):
        Simulation("s", path)
    path.write_text(json.dumps([1]))
    with pytest.raises(ConfigError, match="holds a list at the top; expected a table of keys"):
        Simulation("s", path)


def test_a_folder_that_is_no_run_is_never_emptied(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InvalidError, match="holds files that are not of a run"):
        RunFolder(tmp_path, replace=True)
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_an_earlier_run_is_replaced_only_when_asked(tmp_path):
    RunFolder(tmp_path / "run").finish()
    with pytest.raises(ExistsError, match="holds an earlier run; give another folder or replace=True"):
        RunFolder(tmp_path / "run")
    RunFolder(tmp_path / "run", replace=True)


def test_a_folder_without_a_run_is_reported(tmp_path):
    with pytest.raises(NotFoundError, match=r"run\.json is not there"):
        RunFolder.open(tmp_path)
    (tmp_path / "run.json").write_text('{"format": "thalweg-run/9"}')
    with pytest.raises(CorruptDataError, match="has format 'thalweg-run/9'; this version reads 'thalweg-run/1'"):
        RunFolder.open(tmp_path)


def test_a_tracer_refuses_unknown_kinds_and_use_after_close(tmp_path):
    tracer = Tracer(tmp_path, "c")
    with pytest.raises(InvalidError, match="kind 'think' is unknown; accepted are init, compute, train"):
        tracer.record("think", "x", 0, 1)
    tracer.close()
    with pytest.raises(InvalidError, match="the tracer of 'c' is closed"):
        tracer.record("compute", "x", 0, 1)


def test_tensors_without_a_numpy_type_are_refused(tmp_path):
    torch = pytest.importorskip("torch")
    server = ServerManager("s", {"type": "node-local", "path": str(tmp_path)})
    with server, DataStore("d", server.get_server_info()) as store, pytest.raises(DTypeError, match=r"\.float\(\)"):
        store.stage_write("a", torch.zeros(3, dtype=torch.bfloat16))
