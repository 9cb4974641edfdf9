"""Thalweg: the data path between simulation and AI."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.ai import AI
    from thalweg.datastore import DataStore
    from thalweg.kernels import kernel
    from thalweg.layouts import relayout
    from thalweg.servers import ServerManager
    from thalweg.simulation import Simulation
    from thalweg.workflow import Workflow

__version__ = "0.1.0"

_HOME = {
    "AI": "thalweg.ai",
    "DataStore": "thalweg.datastore",
    "ServerManager": "thalweg.servers",
    "Simulation": "thalweg.simulation",
    "Workflow": "thalweg.workflow",
    "kernel": "thalweg.kernels",
    "relayout": "thalweg.layouts",
}

__all__ = ["AI", "DataStore", "ServerManager", "Simulation", "Workflow", "__version__", "kernel", "relayout"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'thalweg' has no attribute {name!r}; it has {', '.join(__all__)}")
