"""Data-parallel training over the ranks of a component: torch.distributed with gloo on CPUs, NCCL on GPUs."""

from __future__ import annotations

import datetime
import importlib
import os
import socket
from typing import TYPE_CHECKING, Any

from thalweg.errors import WaitTimeoutError
from thalweg.ranks import Ranks

if TYPE_CHECKING:
    import torch

_PATIENCE_S = 300.0


class DataParallel:
    """The process group of a component's ranks; made only when there are several.

    A process group that the user has initialised is used, and left alone at the end.

    Parameters
    ----------
    ranks : Ranks
        The processes; rank 0 is where the others meet.
    device : str
        ``cpu`` (gloo) or ``cuda`` (NCCL).
    """

    def __init__(self, ranks: Ranks, device: str) -> None:
        import torch.distributed as distributed

        self._distributed: Any = distributed
        make_store = self._distributed.TCPStore
        self._ranks, self._device = ranks, device
        self._own = not distributed.is_initialized()
        if not self._own:
            return
        # Modules of torch that are first imported by a training step take the group of that moment as a default of
        # their functions: its threads would then last until the interpreter's end, and may end the process with it.
        importlib.import_module("torch._dynamo")
        names = ranks.gather(socket.gethostname())
        here = len(set(names)) == 1
        if here and device == "cpu":
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # a host name need not resolve to an address
        host = "127.0.0.1" if here else names[0]
        timeout = datetime.timedelta(seconds=_PATIENCE_S)
        meeting: dict[str, Any] = {"world_size": ranks.size, "timeout": timeout, "wait_for_workers": False}
        store: Any = None
        if ranks.rank == 0:
            store = make_store(host, 0, is_master=True, **meeting)
        port = ranks.broadcast(store.port if store is not None else None)
        if store is None:
            store = make_store(host, port, is_master=False, **meeting)
        distributed.init_process_group(
            "nccl" if device == "cuda" else "gloo",
            store=store,
            rank=ranks.rank,
            world_size=ranks.size,
            timeout=timeout,
        )

    def wrap(self, model: torch.nn.Module) -> torch.nn.Module:
        """Return the model with its gradients averaged over all ranks; all start with the parameters of rank 0."""
        from torch.nn.parallel import DistributedDataParallel

        devices = [next(model.parameters()).device] if self._device == "cuda" else None
        wrapped: torch.nn.Module = DistributedDataParallel(model, device_ids=devices)
        return wrapped

    @staticmethod
    def failed(error: RuntimeError) -> bool:
        """Tell whether an error is one of communication, which torch.distributed says in words only."""
        return any(word in str(error).lower() for word in ("gloo", "nccl", "connection", "timed out"))

    def waited_too_long(self, error: RuntimeError, name: str) -> WaitTimeoutError:
        """Return what to tell when the other ranks did not take part in a step."""
        return WaitTimeoutError(
            f"AI {name!r}: rank {self._ranks.rank} waited for the other {self._ranks.size - 1} ranks in a gradient "
            f"step, and they did not come within {_PATIENCE_S:g} s or have ended: {error}"
        )

    def close(self) -> None:
        """Leave the process group."""
        if self._own and self._distributed.is_initialized():
            self._distributed.destroy_process_group()
