"""The machine-learning component: trains a model on what a simulation stages."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.ai.inference import InferenceRecord
    from thalweg.ai.replay_buffer import ReplayBuffer
    from thalweg.ai.trainer import AI, TrainRecord

__all__ = ["AI", "InferenceRecord", "ReplayBuffer", "TrainRecord"]
_HOME = {"AI": "trainer", "TrainRecord": "trainer", "ReplayBuffer": "replay_buffer", "InferenceRecord": "inference"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"thalweg.ai.{_HOME[name]}"), name)
    raise AttributeError(f"module 'thalweg.ai' has no attribute {name!r}; it has {', '.join(__all__)}")
