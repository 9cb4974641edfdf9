"""Training samples in bounded memory, the oldest of which make room for new ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.errors import DTypeError, FullError, InvalidError, ShapeError

Array = np.ndarray[Any, np.dtype[Any]]


class ReplayBuffer:
    """A ring of (input, target) samples, from which batches are drawn at random.

    Parameters
    ----------
    limit_bytes : int
        Upper limit of what inputs and targets take. Memory is taken as samples come.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._inputs: Array | None = None
        self._targets: Array | None = None
        self._capacity = 0
        self._added = 0

    def __len__(self) -> int:
        return min(self._added, self._capacity)

    @property
    def added(self) -> int:
        """Samples that were ever added."""
        return self._added

    @property
    def size_bytes(self) -> int:
        """Bytes of the samples held."""
        if self._inputs is None or self._targets is None:
            return 0
        return len(self) * int(self._inputs[0].nbytes + self._targets[0].nbytes)

    def add(self, inputs: Array, targets: Array) -> None:
        """Add samples; the first axis counts them. They are copied.

        Raises
        ------
        ShapeError, DTypeError
            When inputs and targets are not as many, or unlike those before.
        FullError
            When one sample is larger than the limit.
        """
        inputs, targets = np.asarray(inputs), np.asarray(targets)
        if inputs.ndim < 1 or len(inputs) != len(targets):
            raise ShapeError(
                f"ReplayBuffer.add: {inputs.shape[:1]} inputs and {targets.shape[:1]} targets; give as many of both"
            )
        if not len(inputs):
            return
        held_inputs, held_targets = self._storage(inputs, targets)
        if len(inputs) > self._capacity:
            skipped = len(inputs) - self._capacity
            self._added += skipped
            inputs, targets = inputs[skipped:], targets[skipped:]
        start = self._added % self._capacity
        first = min(len(inputs), self._capacity - start)
        held_inputs[start : start + first], held_targets[start : start + first] = inputs[:first], targets[:first]
        held_inputs[: len(inputs) - first], held_targets[: len(inputs) - first] = inputs[first:], targets[first:]
        self._added += len(inputs)

    def sample(self, count: int, generator: np.random.Generator) -> tuple[Array, Array]:
        """Return `count` samples drawn with replacement, as copies.

        Raises
        ------
        InvalidError
            When the buffer is empty.
        """
        if self._inputs is None or self._targets is None:
            raise InvalidError("ReplayBuffer.sample: the buffer is empty; add samples first")
        chosen = generator.integers(0, len(self), count)
        return self._inputs[chosen], self._targets[chosen]

    def _storage(self, inputs: Array, targets: Array) -> tuple[Array, Array]:
        if self._inputs is None or self._targets is None:
            each = int(inputs[0].nbytes + targets[0].nbytes)
            self._capacity = self._limit // each if each else 0
            if self._capacity < 1:
                raise FullError(
                    f"ReplayBuffer: one sample has {each} bytes, the limit is {self._limit}; raise replay_bytes"
                )
            self._inputs = np.empty((self._capacity, *inputs.shape[1:]), inputs.dtype)
            self._targets = np.empty((self._capacity, *targets.shape[1:]), targets.dtype)
        for what, held, new in (("inputs", self._inputs, inputs), ("targets", self._targets, targets)):
            if held.shape[1:] != new.shape[1:]:
                raise ShapeError(f"ReplayBuffer.add: {what} have shape {new.shape[1:]}, those before {held.shape[1:]}")
            if held.dtype != new.dtype:
                raise DTypeError(f"ReplayBuffer.add: {what} have element type {new.dtype}, those before {held.dtype}")
        return self._inputs, self._targets
