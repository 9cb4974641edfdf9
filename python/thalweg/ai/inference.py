"""Answering requests that other components stage: inference in the loop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thalweg.ai.feed import Feed
from thalweg.errors import InvalidError, ShapeError, WaitTimeoutError

if TYPE_CHECKING:
    from thalweg.ai.trainer import AI


class InferenceRecord(NamedTuple):
    """What an inference loop did: requests answered, in how many batches (0 when none are told apart), seconds."""

    requests: int
    batches: int
    elapsed_s: float


def serve(
    ai: AI, requests: Sequence[str], answer: str, stop_key: str, num_requests: int | None, timeout_s: float
) -> InferenceRecord:
    """Answer requests as they come; what is there at once is predicted at once. See `AI.serve`."""
    if isinstance(requests, str) or not requests:
        raise InvalidError(f"AI.serve: requests is {requests!r}; give a list of patterns, one for each client")
    if answer.count("{key}") != 1:
        raise InvalidError(
            f"AI.serve: answer {answer!r} does not name the request; give one {{key}}, as in 'to/{{key}}'"
        )
    feeds = [Feed(pattern, 0, 1, True, "AI.serve") for pattern in requests]
    start = time.monotonic()
    answered = batches = 0
    while num_requests is None or answered < num_requests:
        waiting = {feed.key(): feed for feed in feeds}
        try:
            ready = ai.store.wait([*waiting, stop_key], timeout_s, "any")
        except WaitTimeoutError:
            raise WaitTimeoutError(
                f"AI.serve: {ai.name!r}: no request came within {timeout_s:g} s; waited for {', '.join(waiting)}"
            ) from None
        asked = [key for key in ready if key != stop_key]
        if not asked:
            break
        arrays = [np.array(ai.store.stage_read(key, timeout_s)) for key in asked]
        if len({array.shape[1:] for array in arrays}) > 1 or arrays[0].ndim < 2:
            shapes = ", ".join(f"{key} {array.shape}" for key, array in zip(asked, arrays, strict=True))
            raise ShapeError(f"AI.serve: requests have the shapes {shapes}; expected (samples, ...) alike for all")
        outputs = ai.predict(np.concatenate(arrays))
        ends = np.cumsum([len(array) for array in arrays])[:-1]
        for key, output in zip(asked, np.split(outputs, ends), strict=True):
            ai.store.clean_staged_data(key)
            ai.store.stage_write(answer.format(key=key), output)
            waiting[key].next += 1
        answered += len(asked)
        batches += 1
        ai.iteration += 1
        ai.store.iteration = ai.iteration
    return InferenceRecord(answered, batches, time.monotonic() - start)
