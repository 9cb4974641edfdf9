"""Where kernels run: one file a device, made by name."""

from __future__ import annotations

from thalweg.errors import ConfigError
from thalweg.kernels.devices.device import Device

DEVICES = ("cpu", "cuda", "xpu")


def make_device(name: str, local_rank: int = 0) -> Device:
    """Return a device; of several GPUs that the process sees, the ranks of a node take one after the other.

    Raises
    ------
    ConfigError
        When there is no device of that name.
    MissingLibraryError
        When its library, or the device itself, is not there.
    """
    if name == "cpu":
        from thalweg.kernels.devices.cpu import CpuDevice

        return CpuDevice()
    if name == "cuda":
        from thalweg.kernels.devices.cuda import make_cuda

        return make_cuda(local_rank)
    if name == "xpu":
        from thalweg.kernels.devices.xpu import XpuDevice

        return XpuDevice(local_rank)
    raise ConfigError(f"kernels: device {name!r} is unknown; accepted are {', '.join(DEVICES)}")


__all__ = ["DEVICES", "Device", "make_device"]
