"""A torch tensor of a staged region has the region's own memory."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest

from thalweg.staging import Client, Server

torch = pytest.importorskip("torch", reason="needs the extra ai")
pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy before 2.1 exports no read-only arrays"
)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "i8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("layout", ["right", "left"])
def test_a_tensor_has_the_address_of_the_view(client: Client, dtype: str, layout: str) -> None:
    values = np.arange(60).reshape(3, 4, 5).astype(dtype)
    u = client.define("u", values.shape, dtype)
    u.put(np.asfortranarray(values), version=0)
    view = u.get(np.s_[1:3, 0:4, 2:5], version=0, layout=layout)
    tensor = torch.from_dlpack(view)
    assert tensor.data_ptr() == view.ctypes.data
    assert tuple(tensor.stride()) == tuple(step // view.itemsize for step in view.strides)
    assert tensor.tolist() == values[1:3, 0:4, 2:5].tolist()


def test_each_field_of_records_is_a_tensor(client: Client) -> None:
    dtype = np.dtype([("mass", "f4"), ("id", "i8")])
    values = np.array([(0.5, 1), (1.5, 2)], dtype)
    u = client.define("u", 2, dtype)
    u.put(values, version=0)
    fields = u.get(version=0, fields="arrays")
    for name, view in fields.items():
        tensor = torch.from_dlpack(view)
        assert tensor.data_ptr() == view.ctypes.data and tensor.tolist() == values[name].tolist()


def test_a_tensor_keeps_its_bytes_when_the_view_and_the_version_are_gone() -> None:
    with Server(memory_limit_bytes=4 << 20) as server, Client(server.address) as client:
        u = client.define("u", 1 << 17, "f8")
        u.put(np.full(1 << 17, 3.0), version=0)
        tensor = torch.from_dlpack(u.get(version=0))
        u.release(0)
        for version in range(1, 20):
            u.put(np.full(1 << 17, 9.0), version=version, timeout_s=30)
            u.release(version)
        assert bool((tensor == 3).all()) and server.stats()["retired_bytes"] >= 1 << 20
        del tensor
        gc.collect()
        u.put(np.zeros(1 << 17), version=20)
        assert server.stats()["retired_bytes"] == 0
        last = torch.from_dlpack(u.get(version=20))
        del u
    gc.collect()
    assert bool((last == 0).all())


def test_a_tensor_fills_a_loan(client: Client) -> None:
    u = client.define("u", (4, 6), "f4")
    with u.loan(version=0) as array:
        tensor = torch.from_numpy(array)
        assert tensor.data_ptr() == array.ctypes.data
        tensor.copy_(torch.arange(24, dtype=torch.float32).reshape(4, 6))
    assert (u.get(version=0) == np.arange(24, dtype="f4").reshape(4, 6)).all()


WRITES = """
import sys, numpy as np, torch
from thalweg.staging import Client
u = Client(sys.argv[1], namespace="t").open("u")
tensor = torch.from_dlpack(u.get(version=0))
print("got", flush=True)
tensor[0] = 5
"""


def test_another_process_cannot_write_what_is_staged() -> None:
    with Server(memory_limit_bytes=4 << 20) as server, Client(server.address, namespace="t") as client:
        u = client.define("u", 1 << 17, "f8")
        u.put(np.full(1 << 17, 3.0), version=0)
        done = subprocess.run(
            [sys.executable, "-c", WRITES, server.address], capture_output=True, text=True, timeout=240
        )
        assert done.stdout == "got\n" and done.returncode != 0, "the memory is mapped for reading"
        assert (u.get(version=0) == 3).all()
