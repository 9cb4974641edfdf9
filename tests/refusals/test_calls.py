"""Wrong calls are refused with a message that names the value met and what is accepted."""

from __future__ import annotations

import threading
from types import SimpleNamespace

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
from thalweg.kernels import kernel_names, make_kernel
from thalweg.patterns import PATTERNS
from thalweg.patterns.navier_stokes.solver import VorticitySolver
from thalweg.results import RunFolder, Tracer
from thalweg.workflow import Tasks, submit

KERNEL = {"name": "k", "mini_app_kernel": "AXPY", "data_size": 100, "run_count": 1}
MODEL = {"type": "mlp", "inputs": 2, "outputs": 2}


def nothing():
    """Do nothing."""


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
        f"kernel: the name 'AXPY' is taken; choose another than {', '.join(kernel_names())}",
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
    "name_taken": (
        lambda: _two("a", "a"),
        ConfigError,
        "Workflow.component: the name 'a' is taken; give each a name of its own",
    ),
    "not_callable": (
        lambda: Workflow("w").component(name="c")(3),
        ConfigError,
        "Workflow.component 'c': 3 cannot be called; give a function",
    ),
    "lock_as_argument": (
        lambda: _sent({"lock": threading.Lock()}, lambda lock: None),
        ConfigError,
        "Workflow: component 'c' cannot be sent to a process of its own: cannot pickle '_thread.lock' object; give "
        "plain data (such as server info) in args and open connections in the function, or use type 'thread'",
    ),
    "nest_no_workflow": (
        lambda: Workflow("w").nest("inner.toml"),
        ConfigError,
        "Workflow.nest: 'inner.toml' is no Workflow",
    ),
    "nest_itself": (
        lambda: _nest_itself(),
        ConfigError,
        "Workflow.nest: 'w' would contain itself; nest another workflow",
    ),
    "resume_and_folder_kind": (
        lambda: Workflow("w", replace=True),
        ConfigError,
        "Workflow: replace is for a folder given as a path; remove it or give the path",
    ),
    "submit_outside": (
        lambda: submit(nothing),
        InvalidError,
        "submit: no component runs this code; call it in the function of a workflow's component",
    ),
    "task_retries": (
        lambda: Tasks(retries=-1),
        ConfigError,
        "Tasks: retries is -1; give an integer of 0 or more",
    ),
    "store_without_info": (
        lambda: DataStore("d", "redis"),
        ConfigError,
        "DataStore: server_info is str; give what ServerManager.get_server_info() returns",
    ),
    "store_of_unknown_backend": (
        lambda: DataStore("d", {"backend": "etcd"}),
        ConfigError,
        "DataStore: server_info: backend 'etcd' is unknown; "
        "accepted are thalweg, node-local, filesystem, redis, dragon",
    ),
    "pattern_option_unknown": (
        lambda: PATTERNS["one-to-one"].options({"scal": 0.1}),
        ConfigError,
        "one-to-one: scal: unknown key; did you mean 'scale'?",
    ),
}


def _two(first, second):
    w = Workflow("w")
    w.component(name=first)(nothing)
    w.component(name=second)(nothing)


def _sent(args, function):
    w = Workflow("w")
    w.component(name="c", args=args)(function)
    w.launch()


def _nest_itself():
    w = Workflow("w")
    w.nest(w)


def _launch(timeout_s):
    w = Workflow("w")
    w.component(name="c", type="thread")(nothing)
    w.launch(timeout_s=timeout_s)


@pytest.mark.parametrize("name", list(CALLS))
def test_a_wrong_call_is_refused_with_the_value_met_and_what_is_accepted(name):
    call, error, message = CALLS[name]
    with pytest.raises(error) as refusal:
        call()
    assert str(refusal.value) == message


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


@pytest.mark.parametrize(
    ("pattern", "content", "told"),
    [
        (
            "many-to-one",
            {"simulations": 100, "size_bytes": 32_000_000},
            "many-to-one: 100 simulations × 5 arrays × 32 MB = 16 GB would be staged at once; the memory of this "
            "machine has 8 GB available: make one of them smaller",
        ),
        (
            "one-to-one",
            {"ranks": 4, "size_bytes": 1 << 30, "backend": "redis"},
            "one-to-one: 4 ranks × 8 arrays × 1 GiB = 32 GiB would be staged at once; the memory of this machine "
            "has 8 GB available: make one of them smaller",
        ),
        (
            "inference-loop",
            {"clients": 256, "size_bytes": 1 << 30, "backend": "filesystem"},
            "inference-loop: 256 clients × 2 arrays × 1 GiB = 512 GiB would be staged at once; the file system of "
            "FOLDER has 1 GB available: make one of them smaller",
        ),
    ],
)
def test_a_pattern_that_needs_more_memory_than_there_is_does_not_start(pattern, content, told, tmp_path, monkeypatch):
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=8_000_000_000))
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1_000_000_000))
    folder = tmp_path / "run"
    with pytest.raises(ConfigError) as refusal:
        PATTERNS[pattern].run(PATTERNS[pattern].options(content), folder)
    assert str(refusal.value) == told.replace("FOLDER", str(folder))
    assert not folder.exists()
