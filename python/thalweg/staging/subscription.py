"""A subscription: a function called for each version of a region."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from thalweg.errors import InvalidError, WaitTimeoutError
from thalweg.staging.region import LayoutLike

if TYPE_CHECKING:
    from thalweg.staging.variable import Variable

#: How long one wait lasts before it is looked whether the subscription was cancelled, in seconds.
SLICE_S = 0.2


class Subscription:
    """Calls a function for each version, in order, in a thread of its own; made by `Variable.subscribe`.

    Versions that are gone before their turn (released, or not kept) are passed over. It ends when it is cancelled, when
    the client is closed or the server gone, or when the function raises; `failure` tells why, and standard error does.
    """

    def __init__(
        self,
        variable: Variable,
        call: Callable[[int, Any], None],
        region: Any,
        after: int,
        layout: LayoutLike | None,
    ) -> None:
        self._variable, self._call, self._region, self._layout = variable, call, region, layout
        self._after = after
        self._cancelled = threading.Event()
        self.failure: BaseException | None = None
        if not callable(call):
            kind = type(call).__name__
            raise InvalidError(f"stage.subscribe: call of type {kind}; accepted are functions of version and array")
        self._thread = variable._beside.thread(self._run)

    def _run(self) -> None:
        try:
            while not self._cancelled.is_set():
                try:
                    found = self._variable.next(self._region, after=self._after, layout=self._layout, timeout_s=SLICE_S)
                except WaitTimeoutError:
                    continue
                self._after, array = found
                self._call(self._after, array)
                del array, found
        except InvalidError as closed:
            self.failure = closed
        except BaseException as error:  # whatever ended it, the function included, is the subscriber's to see
            self.failure = error
            # Nobody may be looking: say it as for any thread.
            said = (type(error), error, error.__traceback__, threading.current_thread())
            threading.excepthook(threading.ExceptHookArgs(said))

    def cancel(self) -> None:
        """No more calls; waits for one that is under way. Raises what ended it, if anything did."""
        self._cancelled.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        if self.failure is not None:
            raise self.failure

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.cancel()
        else:
            self._cancelled.set()
