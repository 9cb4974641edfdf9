"""The model and its gradient steps: what torch does for an AI component."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

import numpy as np

from thalweg.ai.config import MODELS, AIConfig
from thalweg.ai.replay_buffer import Array
from thalweg.ai.require_torch import require_torch
from thalweg.errors import ConfigError, ShapeError
from thalweg.ranks import Ranks

if TYPE_CHECKING:
    import torch

    from thalweg.ai.data_parallel import DataParallel

_PREDICTED_AT_ONCE = 64


class Learner:
    """A model on its device, its loss and its optimiser; over several ranks, their gradients are averaged.

    Parameters
    ----------
    name : str
        Whose it is, for errors.
    config : AIConfig
        Model, loss, optimiser, device, threads.
    ranks : Ranks
        The processes that train it together.
    seed : int
        Seed of the model's first parameters.
    model : torch.nn.Module, optional
        A model of the user's own, in the place of the configuration's.

    Raises
    ------
    MissingLibraryError
        When torch is not installed.
    ConfigError
        When the device is not there.
    """

    def __init__(self, name: str, config: AIConfig, ranks: Ranks, seed: int, model: torch.nn.Module | None) -> None:
        self._torch = require_torch()
        from thalweg.ai.losses import LOSSES

        torch = self._torch
        torch.manual_seed(seed)
        torch.set_num_threads(config.threads or max(1, len(os.sched_getaffinity(0)) - 1))
        if config.device == "cuda" and not torch.cuda.is_available():
            raise ConfigError("AI: device: torch finds no NVIDIA GPU here; use 'cpu'")
        if model is None:
            home, _, attribute = MODELS[config.model.type][1].partition(":")
            model = getattr(importlib.import_module(home), attribute)(config.model)
        device = f"cuda:{ranks.local_rank % torch.cuda.device_count()}" if config.device == "cuda" else "cpu"
        self._name, self._device = name, torch.device(device)
        self.model = model.to(self._device)
        self._trained, self._parallel = self.model, None
        if ranks.size > 1:
            self._parallel = _data_parallel(ranks, config.device)
            self._trained = self._parallel.wrap(self.model)
        self._loss = LOSSES[config.loss]
        self._optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )

    def step(self, inputs: Array, targets: Array) -> float:
        """Make one gradient step on a batch; return its loss. Blocks until all ranks make theirs.

        Raises
        ------
        WaitTimeoutError
            When other ranks do not.
        """
        torch = self._torch
        self._trained.train()
        self._optimizer.zero_grad(set_to_none=True)
        try:
            predicted = self._trained(torch.from_numpy(inputs).to(self._device))
            loss = self._loss(predicted, torch.from_numpy(targets).to(self._device))
            torch.autograd.backward(loss)
        except RuntimeError as error:
            if self._parallel is not None and self._parallel.failed(error):
                raise self._parallel.waited_too_long(error, self._name) from error
            raise
        self._optimizer.step()
        return float(loss.detach())

    def predict(self, inputs: Array) -> Array:
        """Return the model's output for `inputs`, samples along the first axis; float32."""
        torch = self._torch
        with torch.no_grad():
            self.model.eval()
            chunks = [
                self.model(torch.from_numpy(np.array(part, np.float32)).to(self._device)).cpu().numpy()
                for part in np.array_split(inputs, max(1, -(-len(inputs) // _PREDICTED_AT_ONCE)))
            ]
        return np.concatenate(chunks)

    def set_learning_rate(self, learning_rate: float) -> None:
        """Change the learning rate."""
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate

    def parameters(self) -> Array:
        """Return all parameters as one vector."""
        vector: Array = self._torch.nn.utils.parameters_to_vector(self.model.parameters()).detach().cpu().numpy()
        return vector

    def set_parameters(self, vector: Array, source: str) -> None:
        """Take over the parameters of an equal model; `source` names where they come from, for the error.

        Raises
        ------
        ShapeError
            When they are of another model.
        """
        torch = self._torch
        count = sum(parameter.numel() for parameter in self.model.parameters())
        if vector.shape != (count,):
            raise ShapeError(f"{source} has shape {vector.shape}, the model takes ({count},)")
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(
                torch.from_numpy(np.array(vector)).to(self._device), self.model.parameters()
            )

    def close(self) -> None:
        """Leave the process group of the ranks. The model stays, and is trained by this process alone from then on."""
        self._trained = self.model  # what averaged the gradients holds the group's threads
        if self._parallel is not None:
            self._parallel.close()


def _data_parallel(ranks: Ranks, device: str) -> DataParallel:
    from thalweg.ai.data_parallel import DataParallel

    return DataParallel(ranks, device)
