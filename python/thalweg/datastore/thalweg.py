"""The backend `thalweg`: this project's own staging service."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from thalweg.datastore.backend import MISSING, Backend, Capabilities, How, enough
from thalweg.datastore.staged_value import MAGIC, Array, Header, Packed, check_into, destination, unpack
from thalweg.errors import ConfigError, NotFoundError, WaitTimeoutError

_LONGEST_NAME_BYTES = 180
_MOST_DIMENSIONS = 8
_MOST_KEYS_FOR_ANY = 512  # the service waits for any of so many; for all of any number
_SLICE_S = 0.05


class ThalwegBackend(Backend):
    """Plain arrays and bytes are staged as they are, so that programs in other languages can read them.

    What the service has no type for (structured and big-endian arrays, pickled objects, values with a checksum) is
    staged as bytes: header, then payload, as docs/formats/staged-value.md has it.
    """

    name: ClassVar[str] = "thalweg"
    capabilities = Capabilities(notifies=True, between_processes=True, between_nodes=True, zero_copy_reads=True)

    @classmethod
    def available(cls) -> str | None:
        try:
            import thalweg.staging  # noqa: F401
        except ImportError as error:
            return f"the staging service is not built ({error}); run make setup"
        return None

    def __init__(self, server_info: Mapping[str, Any]) -> None:
        from thalweg.staging import Client

        here = server_info.get("host", socket.gethostname()) == socket.gethostname()
        if not here and server_info.get("tcp_address") is None:
            raise ConfigError(
                f"DataStore: the server is on {server_info['host']}, this process on {socket.gethostname()}; "
                "let it listen for other nodes: add listen and token to its configuration"
            )
        self._client = Client(
            server_info["address"] if here else server_info["tcp_address"],
            namespace=server_info["namespace"],
            token=server_info.get("token"),
            timeout_s=float(server_info.get("connect_timeout_s", 10.0)),
        )
        self._write_timeout_s = float(server_info.get("write_timeout_s", 60.0))

    def write(self, key: str, value: Packed, *, checksum: bool) -> None:
        plain: Any = value.array if value.array is not None else value.raw
        if checksum or not _is_plain(value):
            header, payload = value.encode(checksum)
            plain = b"".join((header.encode(), payload))
        self._client.put(_name(key), plain, replace=True, timeout_s=self._write_timeout_s)

    def read(self, key: str, *, into: Array | None, allow_pickle: bool) -> Any:
        source = f"stage_read: key {key!r}"
        try:
            found = self._client.get(_name(key), timeout_s=0.0)
        except (WaitTimeoutError, NotFoundError):
            return MISSING
        if isinstance(found, np.ndarray):
            value: Any = found
            if into is not None:
                check_into(into, found.dtype, found.shape, source)
        else:
            view = memoryview(found)
            if bytes(view[:4]) == MAGIC:
                header = Header.decode(view, source)
                start = Header.length(view, source)
            else:
                header, start = Header("bytes", view.nbytes), 0
            if into is not None:
                destination(into, header, source)
            value = unpack(header, view[start:], source=source, allow_pickle=allow_pickle)
        if into is None:
            return value
        np.copyto(into, value, casting="no")
        return into

    def exists(self, key: str) -> bool:
        return bool(self._client.exists(_name(key)))

    def delete(self, key: str) -> bool:
        return bool(self._client.delete(_name(key)))

    def wait(self, keys: Sequence[str], timeout_s: float, how: How) -> list[str]:
        until = time.monotonic() + timeout_s
        names = {_name(key): key for key in keys}
        parts = itertools.cycle(_parts(list(names), how))
        while True:
            ready = [key for name, key in names.items() if self._client.exists(name)]
            left = until - time.monotonic()
            if enough(ready, keys, how) or left <= 0:
                return ready
            part = next(parts)
            with contextlib.suppress(WaitTimeoutError):  # only time that passed; a server that is gone is told
                self._client.wait(part, how=how, timeout_s=left if len(part) == len(names) else min(left, _SLICE_S))

    def close(self) -> None:
        self._client.close()


def _is_plain(value: Packed) -> bool:
    """Tell whether the staging service has a type for it, and cannot mistake it for a header."""
    if value.kind == "bytes":
        return value.raw is not None and bytes(value.raw[:4]) != MAGIC
    if value.array is None:
        return False
    dtype = value.array.dtype
    return dtype.isnative and dtype.kind in "biufc" and value.array.ndim <= _MOST_DIMENSIONS


def _parts(names: list[str], how: How) -> list[list[str]]:
    """Split a wait that is too long for one message: its parts are waited for in turn, a slice of time each."""
    if how == "all":
        return [names]
    return [names[start : start + _MOST_KEYS_FOR_ANY] for start in range(0, len(names), _MOST_KEYS_FOR_ANY)]


def _name(key: str) -> str:
    """Return the variable's name: the key, or a short form of one that the service does not take."""
    data = key.encode()
    if len(data) <= _LONGEST_NAME_BYTES and key.isprintable():
        return key
    return "sha256~" + hashlib.sha256(data).hexdigest()
