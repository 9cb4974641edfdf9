"""Thalweg's staging service through its own client: put, loan, view, get into an array."""

from __future__ import annotations

import secrets
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg.bench.contender import OPERATIONS, TIMEOUT_S, Array, Consumer, Contender, Producer
from thalweg.errors import ComponentFailedError

if TYPE_CHECKING:
    from thalweg.staging import Client, Loan, Server


class _Writer(Producer):
    def __init__(self, client: Client, server: Server | None) -> None:
        self._client = client
        self._server = server
        self._loan: Loan | None = None

    def put(self, index: int, array: Array) -> None:
        self._client.put("item", array, version=index, timeout_s=TIMEOUT_S)

    def loan(self, index: int, array: Array) -> Array:
        self._loan = self._client.loan("item", array.shape, array.dtype, version=index, timeout_s=TIMEOUT_S)
        lent: Array = self._loan.__enter__()
        return lent

    def seal(self, index: int) -> None:
        assert self._loan is not None
        self._loan.__exit__(None, None, None)

    def close(self) -> None:
        self._client.close()
        if self._server is not None:
            self._server.close()


class _Reader(Consumer):
    def __init__(self, client: Client) -> None:
        self._client = client

    def get(self, index: int) -> Array:
        view = self._client.get("item", version=index, timeout_s=TIMEOUT_S)
        assert isinstance(view, np.ndarray)
        return view

    def get_into(self, index: int, into: Array) -> None:
        self._client.get("item", version=index, timeout_s=TIMEOUT_S, into=into)

    def release(self, index: int) -> None:
        self._client.delete("item", version=index)

    def close(self) -> None:
        self._client.close()


class Embedded(Contender):
    """The service lives in the producer's process, as it does for a client that finds no server."""

    name = "thalweg"
    operations = OPERATIONS

    def available(self) -> str | None:
        try:
            import thalweg.staging  # noqa: F401
        except ImportError as error:
            return f"the native library is not built ({error}); run make setup"
        return None

    def producer(self, place: Any) -> Producer:
        from thalweg.staging import Client, Server

        server = Server(socket=f"@thalweg-bench-{place}")
        return _Writer(Client(server.address), server)

    def consumer(self, place: Any) -> Consumer:
        from thalweg.staging import Client

        return _Reader(Client(f"unix:@thalweg-bench-{place}"))


class Served(Embedded):
    """The service is a process of its own, as ``thalweg serve`` starts it."""

    name = "thalweg-serve"

    def __init__(self) -> None:
        self._server: subprocess.Popen[str] | None = None

    def start(self) -> Any:
        place = secrets.token_hex(6)
        self._server = subprocess.Popen(
            [sys.executable, "-m", "thalweg.cli", "serve", "--socket", f"@thalweg-bench-{place}", "--json", "-"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._server.stdout is not None
        if not self._server.stdout.readline():
            raise ComponentFailedError(f"bench: thalweg serve ended with exit status {self._server.wait()}")
        return place

    def stop(self) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.communicate()
            self._server = None

    def producer(self, place: Any) -> Producer:
        from thalweg.staging import Client

        return _Writer(Client(f"unix:@thalweg-bench-{place}"), None)
