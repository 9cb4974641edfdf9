"""Clients and servers of different users: strangers are sent nothing, the refused are told whose server it is."""

from __future__ import annotations

import os
import pickle
import secrets
import socket
from collections.abc import Callable
from typing import Any

import pytest

from thalweg import stream
from thalweg.errors import AccessError
from thalweg.staging import Client, Server

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be other users")
NOBODY = 65534


class AsNobody:
    """A forked process of another user; what its function returns or raises is its `result`."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._reading, writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.setuid(NOBODY)
                told: tuple[str, Any] = ("returned", function())
            except BaseException as error:
                told = (type(error).__name__, str(error))
            os.write(writing, pickle.dumps(told))
            os._exit(0)
        os.close(writing)

    def result(self) -> tuple[str, Any]:
        """Wait for its end."""
        with os.fdopen(self._reading, "rb") as told:
            content = told.read()
        os.waitpid(self._pid, 0)
        result: tuple[str, Any] = pickle.loads(content)
        return result


@pytest.mark.parametrize(
    "connect",
    [
        lambda address: Client(address, token="a-long-secret", timeout_s=30.0),
        lambda address: stream.connect(address, token="a-long-secret", timeout_s=30.0),
    ],
    ids=["staging", "stream"],
)
def test_a_client_says_nothing_to_another_user_who_has_taken_the_name(connect: Callable[[str], object]) -> None:
    name = f"climate-{secrets.token_hex(6)}"
    listening, ready = os.pipe()

    def impostor() -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as taken:
            taken.bind("\0" + name)
            taken.listen()
            taken.settimeout(30)
            os.write(ready, b"!")
            caller, _ = taken.accept()
            caller.settimeout(30)
            return caller.recv(4096)

    other = AsNobody(impostor)
    os.read(listening, 1)
    with pytest.raises(AccessError, match=f"is a socket of user {NOBODY}"):
        connect(f"unix:@{name}")
    assert other.result() == ("returned", b"")  # the connection ended, and nothing had come
    os.close(listening)
    os.close(ready)


def test_another_users_client_is_told_at_once_whose_server_it_is() -> None:
    with Server(socket=f"@owned-{secrets.token_hex(6)}", memory_limit_bytes=1 << 20) as server:
        kind, text = AsNobody(lambda: Client(server.address, timeout_s=600.0).close()).result()
    assert kind == "AccessError", text
    assert "is a socket of user 0" in text
    assert f"this process is user {NOBODY}'s" in text
