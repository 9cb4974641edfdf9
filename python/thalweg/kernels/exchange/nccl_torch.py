"""Collectives through NCCL as torch brings it."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any, ClassVar

from thalweg.errors import ConfigError, MissingLibraryError
from thalweg.kernels.exchange.exchange import Exchange, Reduction
from thalweg.ranks import Ranks

_MEETING_S = 60.0


class TorchNccl(Exchange):
    """torch.distributed's default group over the ranks, each with a GPU of its own (NCCL refuses two ranks on one).

    A process has one default group: the first exchange makes it, the others join, the last one ends it. One that was
    there before, made by the user for DDP, is used and left alone.

    Raises
    ------
    MissingLibraryError
        When this torch is without NCCL.
    ConfigError
        When the process has a default group of other ranks or without NCCL.
    """

    backend: ClassVar[str] = "nccl"
    _sharing: ClassVar[int] = 0

    def __init__(self, ranks: Ranks) -> None:
        import torch.distributed as distributed

        if not (distributed.is_available() and distributed.is_nccl_available()):
            raise MissingLibraryError(
                "kernels: this torch is without NCCL; install a CUDA build, or use options.through 'mpi'"
            )
        self._distributed: Any = distributed
        self._ours = TorchNccl._sharing > 0 or not distributed.is_initialized()
        if not distributed.is_initialized():
            self._meet(ranks)
        if distributed.get_world_size() != ranks.size or self.backend not in distributed.get_backend():
            raise ConfigError(
                f"kernels: torch.distributed is set up for {distributed.get_world_size()} ranks over "
                f"{distributed.get_backend()}; needed are {ranks.size} over {self.backend}, or options.through 'mpi'"
            )
        if self._ours:
            TorchNccl._sharing += 1
        operations = distributed.ReduceOp
        self._operations = {"sum": operations.SUM, "max": operations.MAX, "min": operations.MIN}

    def all_reduce(self, mine: Any, result: Any, operation: Reduction) -> None:
        result.copy_(mine)
        self._distributed.all_reduce(result, self._operations[operation])

    def all_gather(self, mine: Any, result: Any) -> None:
        self._distributed.all_gather_into_tensor(result.view(-1), mine.view(-1))

    def close(self) -> None:
        if self._ours:
            self._ours = False
            TorchNccl._sharing -= 1
            if TorchNccl._sharing == 0:
                self._distributed.destroy_process_group()

    def _meet(self, ranks: Ranks) -> None:
        """Make the default group: the ranks meet at a port of rank 0's node that the system chose."""
        within = timedelta(seconds=_MEETING_S)
        made: Any = None
        if ranks.rank == 0:
            made = self._distributed.TCPStore("0.0.0.0", 0, ranks.size, True, within, wait_for_workers=False)
        place = ranks.broadcast((socket.gethostname(), made.port) if made is not None else None)
        store = made or self._distributed.TCPStore(*place, ranks.size, False, within)
        self._distributed.init_process_group(
            self.backend, store=store, rank=ranks.rank, world_size=ranks.size, timeout=within
        )
