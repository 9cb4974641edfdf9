"""Where kernels run: one file a device, made by name."""

from __future__ import annotations

from thalweg.errors import ConfigError
from thalweg.kernels.devices.device import Device

DEVICES = ("cpu", "cuda", "xpu")


def make_device(name: str) -> Device:
    """Return a device.

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

        return make_cuda()
    if name == "xpu":
        from thalweg.kernels.devices.xpu import XpuDevice

        return XpuDevice()
    raise ConfigError(f"kernels: device {name!r} is unknown; accepted are {', '.join(DEVICES)}")


__all__ = ["DEVICES", "Device", "make_device"]
