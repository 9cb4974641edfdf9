"""An Intel GPU, through dpnp."""

from __future__ import annotations

from thalweg.errors import MissingLibraryError
from thalweg.kernels.devices.numpy_like import NumpyLikeDevice


class XpuDevice(NumpyLikeDevice):
    """dpnp.

    Raises
    ------
    MissingLibraryError
        When dpnp is not installed, or finds no GPU.
    """

    name = "xpu"

    def __init__(self) -> None:
        try:
            import dpctl
            import dpnp
        except ImportError as error:
            raise MissingLibraryError(
                "kernels: device 'xpu' needs dpnp; pip install dpnp, or use device 'cpu'"
            ) from error
        if not dpctl.has_gpu_devices():
            raise MissingLibraryError("kernels: device 'xpu': dpnp finds no Intel GPU here; use device 'cpu'")
        super().__init__(dpnp)

    def synchronize(self) -> None:
        self._xp.synchronize_array_data(self._xp.zeros(1))
