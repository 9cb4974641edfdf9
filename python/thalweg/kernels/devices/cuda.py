"""An NVIDIA GPU, through CuPy or, where that is not installed, torch."""

from __future__ import annotations

import importlib.util
from typing import Any

from thalweg.errors import MissingLibraryError
from thalweg.kernels.devices.device import Device, Elementwise, Handle, Host
from thalweg.kernels.devices.numpy_like import NumpyLikeDevice


def make_cuda(local_rank: int = 0) -> Device:
    """Return a CUDA device, and make it this process's current one.

    Raises
    ------
    MissingLibraryError
        When neither library is installed, or there is no GPU.
    """
    if importlib.util.find_spec("cupy") is not None:
        return CupyDevice(local_rank)
    if importlib.util.find_spec("torch") is not None:
        return TorchCudaDevice(local_rank)
    raise MissingLibraryError(
        "kernels: device 'cuda' needs CuPy or torch; pip install 'thalweg[ai]' or cupy, or use device 'cpu'"
    )


def _no_gpu(detail: str) -> MissingLibraryError:
    return MissingLibraryError(
        f"kernels: device 'cuda': no NVIDIA GPU can be used here ({detail}); "
        "install a driver and a CUDA build, or use device 'cpu'"
    )


class CupyDevice(NumpyLikeDevice):
    """CuPy."""

    name = "cuda"

    def __init__(self, local_rank: int = 0) -> None:
        try:
            import cupy
        except ImportError as error:  # installed for another CUDA than the machine's
            raise _no_gpu(str(error)) from error
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise _no_gpu(str(error)) from error
        if count == 0:
            raise _no_gpu("CuPy finds none")
        cupy.cuda.Device(local_rank % count).use()
        super().__init__(cupy)

    def random_generator(self, seed: int) -> Any:
        return self._xp.random.default_rng(seed)

    def fill_random(self, generator: Any, out: Handle) -> None:
        generator.random(dtype=out.dtype, out=out)

    def synchronize(self) -> None:
        self._xp.cuda.get_current_stream().synchronize()


class TorchCudaDevice(Device):
    """torch."""

    name = "cuda"

    def __init__(self, local_rank: int = 0) -> None:
        import torch

        if not torch.cuda.is_available():
            raise _no_gpu("torch finds none")
        torch.cuda.set_device(local_rank % torch.cuda.device_count())
        self._torch: Any = torch

    def from_host(self, array: Host) -> Handle:
        return self._torch.from_numpy(array).cuda()

    def to_host(self, array: Handle, out: Host) -> None:
        self._torch.from_numpy(out).copy_(array)

    def copy_in(self, array: Host, out: Handle) -> None:
        out.copy_(self._torch.from_numpy(array))

    def matmul(self, a: Handle, b: Handle, out: Handle) -> None:
        self._torch.matmul(a, b, out=out)

    def transposed(self, a: Handle) -> Handle:
        return a.T

    def scale_add(self, alpha: float, x: Handle, beta: float, y: Handle) -> None:
        if beta != 1.0:
            y.mul_(beta)
        y.add_(x, alpha=alpha)

    def fft(self, a: Handle, *, real: bool) -> Handle:
        return self._torch.fft.rfftn(a) if real else self._torch.fft.fftn(a)

    def apply(self, operation: Elementwise, x: Handle) -> None:
        getattr(self._torch, operation)(x, out=x)

    def scatter_add(self, target: Handle, index: Handle, values: Handle) -> None:
        target.index_add_(0, index, values)

    def random_generator(self, seed: int) -> Any:
        generator = self._torch.Generator(device="cuda")
        generator.manual_seed(seed)
        return generator

    def fill_random(self, generator: Any, out: Handle) -> None:
        out.uniform_(generator=generator)

    def synchronize(self) -> None:
        self._torch.cuda.synchronize()
