"""Kernels compute what they say, the same under a seed, and count their work."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from thalweg import kernel
from thalweg.errors import ConfigError, MissingLibraryError
from thalweg.kernels import Kernel, kernel_names, make_kernel
from thalweg.kernels.devices.numpy_like import NumpyLikeDevice

SHIPPED = [
    "MatMulSimple2D", "MatMulGeneral", "FFT", "AXPY", "InplaceCompute", "GenerateRandomNumber", "ScatterAdd",
    "CopyHostToDevice", "CopyDeviceToHost", "AllReduce", "AllGather",
]  # fmt: skip
FILES = ["WriteSingleRank", "WriteNonMPI", "ReadNonMPI"]
SHARED_FILES = ["WriteWithMPI", "ReadWithMPI"]


def size_for(name):
    return [12, 10, 8] if name == "MatMulGeneral" else [12, 10]


def arrays_of(made):
    return {key: value.copy() for key, value in vars(made).items() if isinstance(value, np.ndarray)}


def test_all_kernels_of_the_table_are_there():
    assert {*SHIPPED, *FILES, *SHARED_FILES} <= set(kernel_names())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SHIPPED)
def test_the_same_seed_gives_the_same_numbers(name, dtype):
    options = {"dtype": dtype}
    first, second, other = (make_kernel(name, data_size=size_for(name), seed=s, options=options) for s in (3, 3, 4))
    for made in (first, second, other):
        for _ in range(3):
            cost = made()
            assert cost.elapsed_s > 0
            assert cost.size_bytes > 0
    one, two, three = arrays_of(first), arrays_of(second), arrays_of(other)
    assert all(np.array_equal(one[key], two[key]) for key in one)
    assert any(not np.array_equal(one[key], three[key]) for key in one)
    assert all(np.isfinite(value).all() for value in one.values())


def test_matrix_products_are_right():
    simple = make_kernel("MatMulSimple2D", data_size=[5, 7])
    assert simple()[1:] == ((2 * 35 + 25) * 8, 2 * 5 * 7 * 5)
    assert np.allclose(simple._c, simple._a @ simple._b)
    options = {"alpha": 2.0, "beta": -0.5, "transpose_a": True, "transpose_b": True}
    general = make_kernel("MatMulGeneral", data_size=[4, 5, 6], options=options)
    expected = 2.0 * general._a @ general._b - 0.5 * general._c
    assert (general._a.shape, general._b.shape) == ((4, 6), (6, 5))
    for _ in range(2):
        assert general().flops == 2 * 4 * 5 * 6 + 3 * 4 * 5
        assert np.allclose(general._product, expected)


@pytest.mark.parametrize("size", [[16], [8, 6], [4, 6, 8]])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_transforms_keep_the_energy(size, kind):
    made = make_kernel("FFT", data_size=size, options={"kind": kind})
    out = made.device.fft(made._input, real=kind == "real")
    full = np.fft.fftn(made._input)
    assert np.allclose(out, full[..., : out.shape[-1]])
    assert np.isclose((np.abs(full) ** 2).sum() / full.size, (np.abs(made._input) ** 2).sum())
    made()


def test_vector_kernels_are_right():
    axpy = make_kernel("AXPY", data_size=10, options={"alpha": 0.5})
    before = axpy._y.copy()
    assert axpy()[1:] == (240, 20)
    assert np.allclose(axpy._y, before + 0.5 * axpy._x)
    scatter = make_kernel("ScatterAdd", data_size=[1000, 7])
    before = scatter._y.copy()
    scatter()
    assert np.allclose(scatter._y, before + np.bincount(scatter._index, scatter._x, 7))
    inplace = make_kernel("InplaceCompute", data_size=10, options={"operation": "tanh"})
    before = inplace._x.copy()
    inplace()
    assert np.allclose(inplace._x, np.tanh(before))
    numbers = make_kernel("GenerateRandomNumber", data_size=10_000)
    numbers()
    first = numbers.output.copy()
    numbers()
    assert not np.array_equal(first, numbers.output)
    assert 0.45 < first.mean() < 0.55


@pytest.mark.parametrize(
    ("name", "source", "target"), [("CopyHostToDevice", "_host", "_there"), ("CopyDeviceToHost", "_there", "_host")]
)
def test_copies_copy(name, source, target):
    made = make_kernel(name, data_size=100)
    getattr(made, source)[:] = 5.0
    assert made().size_bytes == 800
    assert (getattr(made, target) == 5.0).all()


def test_a_users_function_and_class_become_kernels(monkeypatch):
    from thalweg.kernels import registry

    monkeypatch.setattr(registry, "_HOME", dict(registry._HOME))  # other tests list the kernels that are shipped
    calls = []

    @kernel("TestCounted")
    def counted(array):
        calls.append(array.shape)
        return 123, 456

    assert make_kernel("TestCounted", data_size=[2, 3])()[1:] == (123, 456)
    assert calls == [(2, 3)]

    @kernel("TestClass")
    class Mine(Kernel):
        def __init__(self, setup):
            self._setup = setup

        @property
        def device(self):
            return self._setup.device

        def work(self):
            return self._setup.count, 1

    assert make_kernel("TestClass", data_size=[4, 5])()[1:] == (20, 1)


@pytest.mark.skipif(importlib.util.find_spec("dpnp") is not None, reason="dpnp is installed")
def test_a_device_whose_library_is_absent_names_what_to_install():
    with pytest.raises(MissingLibraryError, match="pip install dpnp, or use device 'cpu'"):
        make_kernel("AXPY", data_size=3, device="xpu")


def test_a_gpu_gives_what_the_cpu_gives():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        with pytest.raises(MissingLibraryError, match="device 'cuda'"):
            make_kernel("AXPY", data_size=3, device="cuda")
        return
    for name in SHIPPED:
        on_gpu, on_cpu = (make_kernel(name, data_size=size_for(name), device=d) for d in ("cuda", "cpu"))
        assert on_gpu()[1:] == on_cpu()[1:]
        if name == "MatMulSimple2D":
            assert np.allclose(on_gpu._c.cpu().numpy(), on_cpu._c)


@pytest.mark.parametrize("options", [{}, {"dtype": "float32", "fsync": True}])
@pytest.mark.parametrize("name", FILES)
def test_a_file_holds_the_array_and_goes_with_its_kernel(name, options, tmp_path):
    h5py = pytest.importorskip("h5py")
    made = make_kernel(name, data_size=[4, 6], seed=2, options={"folder": str(tmp_path), **options})
    expected = made._setup.random((4, 6))
    for _ in range(2):
        assert made()[1:] == (24 * expected.dtype.itemsize, 0)
    with h5py.File(made.path) as file:
        assert np.array_equal(np.squeeze(file["data"][...]), expected)
    assert np.array_equal(made._host, expected)
    made.close()
    assert list(tmp_path.iterdir()) == []


def test_files_stay_when_they_are_to_be_kept(tmp_path):
    pytest.importorskip("h5py")
    made = make_kernel("WriteNonMPI", data_size=3, options={"folder": str(tmp_path), "keep": True})
    made()
    made.close()
    again = make_kernel("WriteNonMPI", data_size=3, options={"folder": str(tmp_path)})
    again.close()
    assert list(tmp_path.rglob("*.h5")) == [made.path]


def test_files_of_a_killed_process_go_with_the_next_kernel_there(tmp_path):
    pytest.importorskip("h5py")
    code = """
import sys
from thalweg.kernels import make_kernel
made = make_kernel("WriteNonMPI", data_size=3, options={"folder": sys.argv[1]})
made()
print("written", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "written\n"
        living = make_kernel("WriteNonMPI", data_size=3, options={"folder": str(tmp_path)})
        assert len(list(tmp_path.iterdir())) == 2  # that of a living process is left alone
        os.kill(process.pid, signal.SIGKILL)
    make_kernel("WriteNonMPI", data_size=3, options={"folder": str(tmp_path)}).close()
    assert list(tmp_path.iterdir()) == [living.path.parent]
    living.close()


def test_a_folder_that_cannot_be_made_is_named():
    pytest.importorskip("h5py")
    with pytest.raises(ConfigError, match=r"options\.folder: /proc/none cannot be used: No such file"):
        make_kernel("WriteNonMPI", data_size=3, options={"folder": "/proc/none"})


@pytest.mark.parametrize("name", [*FILES, *SHARED_FILES])
def test_an_absent_h5py_is_named_with_its_extra(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingLibraryError, match=rf"{name} needs h5py; pip install 'thalweg\[io\]'"):
        make_kernel(name, data_size=3)


@pytest.mark.parametrize("name", SHARED_FILES)
def test_an_h5py_without_mpi_is_an_error_that_says_how_to_build_one(name):
    h5py = pytest.importorskip("h5py")
    if h5py.get_config().mpi:
        pytest.skip("this h5py has MPI")
    with pytest.raises(MissingLibraryError, match=r"HDF5_MPI=ON CC=mpicc .* pip install .* --no-binary=h5py h5py"):
        make_kernel(name, data_size=3)


def test_collectives_of_one_rank_give_its_own_array():
    reduced, gathered = (make_kernel(name, data_size=[2, 3], seed=1) for name in ("AllReduce", "AllGather"))
    assert reduced()[1:] == (48, 0)
    assert gathered()[1:] == (48, 0)
    assert np.array_equal(reduced._result, reduced._mine)
    assert np.array_equal(gathered._result[0], gathered._mine)


def test_nccl_is_for_gpus():
    with pytest.raises(ConfigError, match="NCCL moves arrays of device 'cuda', not of 'cpu'; use mpi"):
        make_kernel("AllReduce", data_size=3, options={"through": "nccl"})


class _NamedLikeNumpy(NumpyLikeDevice):
    """A device whose arrays are no NumPy arrays, over NumPy: what CuPy and dpnp share, without their GPUs."""

    name = "xpu"

    def __init__(self):
        class Array(np.ndarray):
            pass

        super().__init__(
            SimpleNamespace(
                **{name: getattr(np, name) for name in ("add", "fft", "matmul", "random", "sin", "sqrt", "tanh")},
                asarray=lambda array: np.array(array).view(Array),
                asnumpy=lambda array: np.array(array),
            )
        )


@pytest.mark.parametrize("name", SHIPPED)
def test_devices_with_numpys_names_give_what_the_cpu_gives(name, monkeypatch):
    monkeypatch.setattr("thalweg.kernels.registry.make_device", lambda *_: _NamedLikeNumpy())
    there = make_kernel(name, data_size=size_for(name), seed=3)
    monkeypatch.undo()
    here = make_kernel(name, data_size=size_for(name), seed=3)
    for _ in range(2):
        assert there()[1:] == here()[1:]
    if name != "GenerateRandomNumber":
        ours, theirs = arrays_of(here), arrays_of(there)
        assert all(np.allclose(ours[key], theirs[key]) for key in ours)
