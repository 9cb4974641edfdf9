"""An Intel GPU, through dpnp."""

from __future__ import annotations

from typing import Any

from thalweg.errors import MissingLibraryError
from thalweg.kernels.devices.device import Handle, Host
from thalweg.kernels.devices.numpy_like import NumpyLikeDevice


class XpuDevice(NumpyLikeDevice):
    """dpnp; what is computed stays on the device of its operands.

    Raises
    ------
    MissingLibraryError
        When dpnp is not installed, or finds no GPU.
    """

    name = "xpu"

    def __init__(self, local_rank: int = 0) -> None:
        try:
            import dpctl
            import dpnp
        except ImportError as error:
            raise MissingLibraryError(
                "kernels: device 'xpu' needs dpnp; pip install dpnp, or use device 'cpu'"
            ) from error
        gpus = dpctl.get_devices(device_type="gpu")
        if not gpus:
            raise MissingLibraryError("kernels: device 'xpu': dpnp finds no Intel GPU here; use device 'cpu'")
        super().__init__(dpnp)
        self._gpu = gpus[local_rank % len(gpus)]
        self._fence = dpnp.zeros(1, device=self._gpu)

    def from_host(self, array: Host) -> Handle:
        return self._xp.asarray(array, device=self._gpu)

    def copy_in(self, array: Host, out: Handle) -> None:
        out[...] = self.from_host(array)

    def scatter_add(self, target: Handle, index: Handle, values: Handle) -> None:
        target += self._xp.bincount(index, values, target.size)  # dpnp has no add.at

    def random_generator(self, seed: int) -> Any:
        return self._xp.random.RandomState(seed, device=self._gpu)

    def synchronize(self) -> None:
        self._xp.synchronize_array_data(self._fence)  # waits for the queue that all arrays of the device share
