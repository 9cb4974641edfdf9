"""Libraries that move arrays between ranks: one file each, chosen by name or by device."""

from __future__ import annotations

from thalweg.errors import ConfigError
from thalweg.kernels.devices import Device
from thalweg.kernels.exchange.exchange import Exchange
from thalweg.ranks import Ranks


def make_exchange(through: str, device: Device, ranks: Ranks) -> Exchange:
    """Return the exchange named `through`; ``device`` takes the device's own.

    Raises
    ------
    ConfigError
        For NCCL with a device that is no NVIDIA GPU.
    MissingLibraryError
        When NCCL is not there.
    """
    if through == "mpi" or (through == "device" and device.name != "cuda"):
        from thalweg.kernels.exchange.mpi import MPIExchange

        return MPIExchange(device, ranks)
    if device.name != "cuda":
        raise ConfigError(
            f"kernels: options.through: NCCL moves arrays of device 'cuda', not of {device.name!r}; use mpi"
        )
    from thalweg.kernels.devices.cuda import CupyDevice

    if isinstance(device, CupyDevice):
        from thalweg.kernels.exchange.nccl_cupy import CupyNccl

        return CupyNccl(ranks)
    from thalweg.kernels.exchange.nccl_torch import TorchNccl

    return TorchNccl(ranks)
