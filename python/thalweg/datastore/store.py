"""The client of staged data: one set of semantics over every backend."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from thalweg.datastore.backend import MISSING, Capabilities, How
from thalweg.datastore.keys import check_key, check_keys
from thalweg.datastore.operation_counts import OperationCounts
from thalweg.datastore.registry import backend_class
from thalweg.datastore.staged_value import Array, pack
from thalweg.errors import ConfigError, InvalidError, MissingLibraryError, WaitTimeoutError

if TYPE_CHECKING:
    from thalweg.results.tracer import Tracer

DEFAULT_TIMEOUT_S = 60.0
_CONCURRENT_OPERATIONS = 4


class HasServerInfo(Protocol):
    """What knows how to reach a server: a `ServerManager`."""

    def get_server_info(self) -> dict[str, Any]:
        """Return what a `DataStore` needs to connect."""


class DataStore:
    """Stages values by key, between the components of a workflow, over the backend that `server_info` names.

    Parameters
    ----------
    name : str
        Names this client in errors.
    server_info : mapping or ServerManager
        What `ServerManager.get_server_info` gave, or the manager of a server that runs; its ``"backend"`` chooses the
        backend.
    tracer : Tracer, optional
        Records each read, write, wait, poll and delete. Default: the tracer of the running workflow component, if any.
    allow_pickle : bool
        Also stage Python objects, and load those that others staged. Loading a pickle runs code of whoever wrote it.
    checksum : bool
        Store a CRC-32 with each value; reading a value that has one always verifies it.

    Raises
    ------
    ConfigError
        When `server_info` names no known backend.
    MissingLibraryError
        When the backend's library is not installed.
    ServerGoneError
        When the server does not answer.

    Notes
    -----
    Semantics, the same on every backend: writing replaces atomically; a reader sees a whole value or none. Arrays
    come back with the
    same values, shape and element type (their memory order may differ), read-only; bytes come back as a read-only
    memoryview.
    Torch tensors and DLPack objects come back as arrays. Nothing waits for ever: what blocks has a `timeout_s`.
    All methods may be called from several threads. A DataStore must not be used after a fork.

    Examples
    --------
    >>> from thalweg import DataStore, ServerManager
    >>> import numpy as np
    >>> with ServerManager("staging", {"type": "node-local"}) as server:
    ...     with DataStore("solver", server.get_server_info()) as store:
    ...         store.stage_write("rho/1", np.arange(6.0).reshape(2, 3))
    ...         print(store.stage_read("rho/1", timeout_s=1.0).sum())
    15.0
    """

    def __init__(
        self,
        name: str,
        server_info: Mapping[str, Any] | HasServerInfo,
        *,
        tracer: Tracer | None = None,
        allow_pickle: bool = False,
        checksum: bool = False,
    ) -> None:
        if hasattr(server_info, "get_server_info"):
            server_info = server_info.get_server_info()
        if not isinstance(server_info, Mapping):
            raise ConfigError(
                f"DataStore: server_info is {type(server_info).__name__}; "
                "give what ServerManager.get_server_info() returns"
            )
        chosen = backend_class(server_info.get("backend"), "DataStore: server_info")
        missing = chosen.available()
        if missing is not None:
            raise MissingLibraryError(f"DataStore: backend {chosen.name!r} cannot be used here: {missing}")
        if tracer is None:
            from thalweg.results.tracer import current_tracer

            tracer = current_tracer()
        self.name = name
        self.iteration = -1
        self._tracer = tracer
        self._allow_pickle = allow_pickle
        self._checksum = checksum
        self._counts = OperationCounts()
        self._pool: ThreadPoolExecutor | None = None
        self._pool_lock = threading.Lock()
        self._closed = False
        self._backend = chosen(server_info)

    @property
    def backend(self) -> str:
        """Name of the backend."""
        return self._backend.name

    @property
    def capabilities(self) -> Capabilities:
        """What the backend can do."""
        return self._backend.capabilities

    def stage_write(self, key: str, value: Any) -> None:
        """Stage `value` under `key`, replacing what is there; returns when every reader can see it.

        Parameters
        ----------
        key : str
            1 to 1024 bytes in UTF-8, without NUL.
        value : array, tensor, bytes or object
            A NumPy array of any strides and of any type without Python objects, a torch tensor, an object with the
            DLPack or buffer protocol,
            bytes; other objects with ``allow_pickle=True``.

        Raises
        ------
        InvalidError, DTypeError
            For a wrong key or a value that cannot be staged.
        FullError
            When it does not fit.
        WaitTimeoutError
            When the server's policy is to wait for room and there was none in time (backend ``thalweg``).
        ServerGoneError
            When the server is gone.
        """
        check_key(key, "stage_write")
        self._check_open("stage_write")
        start = time.monotonic_ns()
        packed = pack(value, allow_pickle=self._allow_pickle)
        self._backend.write(key, packed, checksum=self._checksum)
        self._done("write", "stage_write", key, packed.size_bytes, start)

    def stage_read(self, key: str, timeout_s: float = DEFAULT_TIMEOUT_S, into: Array | None = None) -> Any:
        """Return the value of `key`; blocks until it was written, at most `timeout_s`.

        Parameters
        ----------
        key : str
            The key.
        timeout_s : float
            Seconds to wait for the key to appear; 0 does not wait.
        into : ndarray, optional
            Fill this array, of the value's shape and element type, and return it.

        Raises
        ------
        WaitTimeoutError
            When the key did not appear in time.
        ShapeError, DTypeError
            When `into` does not fit the value.
        CorruptDataError
            When what is stored is damaged.
        AccessError
            When it is a pickled object and `allow_pickle` was not given.
        ServerGoneError
            When the server is gone.
        """
        check_key(key, "stage_read")
        return self._read(key, time.monotonic() + _check_timeout(timeout_s, "stage_read"), timeout_s, into)

    def poll_staged_data(self, key: str) -> bool:
        """Tell whether `key` is there now; does not block."""
        check_key(key, "poll_staged_data")
        self._check_open("poll_staged_data")
        start = time.monotonic_ns()
        found = self._backend.exists(key)
        self._done("poll", "poll_staged_data", key, 0, start)
        return found

    def clean_staged_data(self, key: str) -> bool:
        """Remove `key`; tell whether it was there. Views that readers hold stay valid."""
        check_key(key, "clean_staged_data")
        self._check_open("clean_staged_data")
        start = time.monotonic_ns()
        found = self._backend.delete(key)
        self._done("delete", "clean_staged_data", key, 0, start)
        return found

    def wait(self, keys: Iterable[str], timeout_s: float = DEFAULT_TIMEOUT_S, how: How = "all") -> list[str]:
        """Block until all (or any) of `keys` are there; return those that are, in the order given.

        Raises
        ------
        WaitTimeoutError
            When `timeout_s` passed; the message names keys that are missing.
        """
        checked = check_keys(keys, "wait")
        if how not in ("all", "any"):
            raise InvalidError(f"wait: how is {how!r}; accepted are 'all' and 'any'")
        self._check_open("wait")
        left = _check_timeout(timeout_s, "wait")
        start = time.monotonic_ns()
        ready = self._backend.wait(checked, left, how)
        if len(ready) == len(checked) or (how == "any" and ready):
            self._done("wait", "wait", checked[0] if len(checked) == 1 else "", 0, start)
            return ready
        missing = [key for key in checked if key not in set(ready)]
        raise WaitTimeoutError(_timed_out("wait", missing, timeout_s, len(checked)))

    def stage_write_many(self, values: Mapping[str, Any]) -> None:
        """Stage several values, one after the other in the order of `values`; all keys are checked first."""
        for key in values:
            check_key(key, "stage_write_many")
        for key, value in values.items():
            self.stage_write(key, value)

    def stage_read_many(self, keys: Iterable[str], timeout_s: float = DEFAULT_TIMEOUT_S) -> dict[str, Any]:
        """Return the values of `keys`; blocks until all are there, at most `timeout_s` in all.

        Raises
        ------
        WaitTimeoutError
            When a key did not appear in time.
        """
        checked = check_keys(keys, "stage_read_many")
        deadline = time.monotonic() + _check_timeout(timeout_s, "stage_read_many")
        self._check_open("stage_read_many")
        found: dict[str, Any] = {}
        missing = asked = list(checked)
        while True:
            start = time.monotonic_ns()
            for key, value in self._backend.read_many(asked, allow_pickle=self._allow_pickle):
                found[key] = value
                self._done("read", "stage_read", key, _size_of(value), start)
                start = time.monotonic_ns()
            missing = [key for key in missing if key not in found]
            if not missing:
                return {key: found[key] for key in checked}
            asked = self._wait_for_any("stage_read_many", missing, deadline, timeout_s, len(checked))

    def stage_write_async(self, key: str, value: Any) -> Future[None]:
        """Start `stage_write`; do not change `value` before the future is done. Errors are in the future."""
        return self._executor("stage_write_async").submit(self.stage_write, key, value)

    def stage_read_async(
        self, key: str, timeout_s: float = DEFAULT_TIMEOUT_S, into: Array | None = None
    ) -> Future[Any]:
        """Start `stage_read`; at most four operations run at once, further ones queue."""
        return self._executor("stage_read_async").submit(self.stage_read, key, timeout_s, into)

    def wait_async(
        self, keys: Iterable[str], timeout_s: float = DEFAULT_TIMEOUT_S, how: How = "all"
    ) -> Future[list[str]]:
        """Start `wait`."""
        return self._executor("wait_async").submit(self.wait, list(keys), timeout_s, how)

    def statistics(self) -> dict[str, dict[str, Any]]:
        """Return for each operation so far: count, bytes, total_s, mean_s, max_s, bytes_per_s."""
        return self._counts.summary()

    def close(self) -> None:
        """Finish running operations and give back connections. Arrays that were read stay valid."""
        with self._pool_lock:
            if self._closed:
                return
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)
        self._backend.close()

    def __enter__(self) -> DataStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, key: str, deadline: float, timeout_s: float, into: Array | None) -> Any:
        if into is not None and not isinstance(into, np.ndarray):
            raise InvalidError(f"stage_read: `into` is {type(into).__name__}; give a NumPy array")
        self._check_open("stage_read")
        while True:
            start = time.monotonic_ns()
            value = self._backend.read(key, into=into, allow_pickle=self._allow_pickle)
            if value is not MISSING:
                self._done("read", "stage_read", key, _size_of(value), start)
                return value
            self._wait_for_any("stage_read", [key], deadline, timeout_s, 1)

    def _wait_for_any(
        self, operation: str, missing: list[str], deadline: float, timeout_s: float, total: int
    ) -> list[str]:
        """Sleep until one of the missing keys was there; another reader may have taken its value again."""
        start = time.monotonic_ns()
        left = deadline - time.monotonic()
        if left <= 0:
            raise WaitTimeoutError(_timed_out(operation, missing, timeout_s, total))
        ready = self._backend.wait(missing, left, "any")
        self._done("wait", operation, missing[0] if len(missing) == 1 else "", 0, start)
        return ready

    def _done(self, kind: str, operation: str, key: str, size_bytes: int, start_ns: int) -> None:
        end = time.monotonic_ns()
        self._counts.add(operation if kind != "wait" else "wait", size_bytes, end - start_ns)
        if self._tracer is not None:
            self._tracer.record(
                kind,
                operation,
                start_ns,
                end,
                key=key,
                iteration=self.iteration,
                size_bytes=size_bytes,
                backend=self._backend.name,
            )

    def _executor(self, operation: str) -> ThreadPoolExecutor:
        with self._pool_lock:
            self._check_open(operation)
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_CONCURRENT_OPERATIONS, f"thalweg-datastore-{self.name}")
            return self._pool

    def _check_open(self, operation: str) -> None:
        if self._closed:
            raise InvalidError(f"{operation}: DataStore {self.name!r} is closed")


def _size_of(value: Any) -> int:
    return value.nbytes if isinstance(value, (np.ndarray, memoryview)) else 0


def _check_timeout(timeout_s: object, operation: str) -> float:
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float, np.floating, np.integer)):
        raise InvalidError(f"{operation}: timeout_s is {timeout_s!r}; give seconds, 0 or more")
    if not math.isfinite(timeout_s) or timeout_s < 0:
        raise InvalidError(f"{operation}: timeout_s is {timeout_s}; give a finite number of seconds, 0 or more")
    return float(timeout_s)


def _timed_out(operation: str, missing: list[str], timeout_s: float, total: int) -> str:
    named = ", ".join(repr(key) for key in missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
    if total == 1:
        return f"{operation}: key {named} was not written within {timeout_s} s"
    return f"{operation}: {len(missing)} of {total} keys were not written within {timeout_s} s: {named}"
