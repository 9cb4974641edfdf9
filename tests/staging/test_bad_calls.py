"""Wrong calls, each with the exact message that it must give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thalweg import errors
from thalweg.staging import Client, Server

SMALL = np.zeros((2, 3), "f4")

Call = Callable[[Client], Any]
CASES: list[tuple[str, Call, type[Exception], str]] = [
    (
        "empty name",
        lambda c: c.put("", SMALL),
        errors.InvalidError,
        "stage.put: a name of 0 bytes; accepted are 1 to 250 bytes",
    ),
    (
        "long name",
        lambda c: c.put("x" * 251, SMALL),
        errors.InvalidError,
        "stage.put: a name of 251 bytes; accepted are 1 to 250 bytes",
    ),
    (
        "control character",
        lambda c: c.get("a\0b"),
        errors.InvalidError,
        "stage.get: name \"a\\0b\" holds the control character '\\0'; remove it",
    ),
    (
        "negative version",
        lambda c: c.put("u", SMALL, version=-1),
        errors.InvalidError,
        "stage.put: version -1; accepted are 0 and above",
    ),
    (
        "objects",
        lambda c: c.put("u", np.array([{}, []], dtype=object)),
        errors.DTypeError,
        "stage.put: elements of type object cannot be staged; accepted are bool, int, uint, float, complex and void",
    ),
    (
        "text",
        lambda c: c.put("u", np.array(["a", "bc"])),
        errors.DTypeError,
        "stage.put: elements of type <U2 cannot be staged; accepted are bool, int, uint, float, complex and void",
    ),
    (
        "dates",
        lambda c: c.put("u", np.zeros(2, "M8[s]")),
        errors.DTypeError,
        "stage.put: elements of type datetime64[s] cannot be staged; "
        "accepted are bool, int, uint, float, complex and void",
    ),
    (
        "byte-swapped",
        lambda c: c.put("u", np.zeros(2, ">f8")),
        errors.DTypeError,
        "stage.put: elements of type >f8 are byte-swapped; convert them with astype(dtype.newbyteorder('='))",
    ),
    (
        "records",
        lambda c: c.put("u", np.zeros(2, [("a", "f4")])),
        errors.DTypeError,
        "stage.put: elements of type [('a', '<f4')] have fields; put each field as an array of its own",
    ),
    (
        "list",
        lambda c: c.put("u", [1, 2]),
        errors.InvalidError,
        "stage.put: a value of type list; accepted are NumPy arrays and contiguous bytes "
        "(a bytes-like object is required, not 'list')",
    ),
    (
        "overflowing shape",
        lambda c: c.loan("u", (1 << 40, 1 << 30), "f8"),
        errors.ShapeError,
        "shape: shape (1099511627776, 1073741824) of float64 overflows; accepted are at most 2^63 - 1 bytes",
    ),
    (
        "nine axes",
        lambda c: c.put("u", np.zeros((1,) * 9)),
        errors.ShapeError,
        "shape: 9 dimensions; accepted are at most 8",
    ),
    (
        "larger than the limit",
        lambda c: c.put("u", np.zeros(2 << 20, "u1")),
        errors.FullError,
        "stage.put: an array of 2 MiB is larger than the memory limit of 1 MiB; raise the limit",
    ),
    (
        "there already",
        lambda c: c.put("there", SMALL),
        errors.ExistsError,
        'stage.put: "there" version 0 is there already; put a new version, or replace it',
    ),
    (
        "negative time",
        lambda c: c.get("u", timeout_s=-1),
        errors.InvalidError,
        "stage.get: timeout_s = -1; accepted are 0 to 1e9 seconds",
    ),
    (
        "endless time",
        lambda c: c.get("u", timeout_s=float("inf")),
        errors.InvalidError,
        "stage.get: timeout_s = inf; accepted are 0 to 1e9 seconds",
    ),
    (
        "nobody puts it",
        lambda c: c.get("u", version=4, timeout_s=0.05),
        errors.WaitTimeoutError,
        'stage.get: "u" version 4 in namespace "t" was not put within 50 ms; connected: nobody else',
    ),
    (
        "into another shape",
        lambda c: c.get("there", into=np.zeros((3, 2), "f4")),
        errors.ShapeError,
        'stage.get: "there" version 0 has shape (2, 3) float32, the given array (3, 2) float32; '
        "give one of the same shape",
    ),
    (
        "into another type",
        lambda c: c.get("there", into=np.zeros((2, 3))),
        errors.DTypeError,
        'stage.get: "there" version 0 holds float32, the given array float64; give one of the same type',
    ),
    (
        "into a read-only array",
        lambda c: c.get("there", into=np.broadcast_to(np.zeros(3, "f4"), (2, 3))),
        errors.InvalidError,
        "stage.get: the given array is read-only; give one that is not",
    ),
    (
        "no keys",
        lambda c: c.wait([]),
        errors.InvalidError,
        "stage.wait: 0 keys; accepted are 1 to 512",
    ),
    (
        "too many keys for any",
        lambda c: c.wait([("u", n) for n in range(513)], how="any"),
        errors.InvalidError,
        "stage.wait: 513 keys; accepted are 1 to 512",
    ),
    (
        "how",
        lambda c: c.wait(["u"], how="some"),  # type: ignore[arg-type]
        errors.InvalidError,
        'stage.wait: how = \'some\'; accepted are "all" and "any"',
    ),
    (
        "one name for a list",
        lambda c: c.wait("u"),
        errors.InvalidError,
        "stage.wait: keys = 'u'; give a list of names, as in ['u']",
    ),
    (
        "negative shape of a loan",
        lambda c: c.loan("u", (2, -1), "f8"),
        errors.ShapeError,
        "stage.put: shape (2, -1); accepted are whole numbers of 0 to 2^63 - 1",
    ),
    (
        "a loan twice",
        lambda c: [loan := c.loan("twice", 2, "f8"), loan.commit(), loan.commit()],
        errors.InvalidError,
        "stage.put: this loan has ended already; take a new one",
    ),
    (
        "closed",
        lambda c: [c.close(), c.exists("u")],
        errors.InvalidError,
        "stage: this client has been closed",
    ),
    (
        "address",
        lambda c: Client("localhost:99"),
        errors.InvalidError,
        'stage.connect: address "localhost:99"; accepted are unix:NAME and tcp:HOST:PORT',
    ),
    (
        "nobody listens",
        lambda c: Client("unix:@thalweg-nobody", timeout_s=0.1),
        errors.ServerGoneError,
        'stage.connect: no server listens on "unix:@thalweg-nobody" (Connection refused (os error 111)), '
        "tried for 100 ms; start one: thalweg serve --socket @thalweg-nobody",
    ),
    (
        "empty namespace",
        lambda c: Client(c.address, namespace=""),
        errors.InvalidError,
        "stage.connect: namespace: a name of 0 bytes; accepted are 1 to 250 bytes",
    ),
    (
        "limit",
        lambda c: Server(memory_limit_bytes=1000),
        errors.InvalidError,
        "server: a memory limit of 1000 bytes; accepted are at least 1 MiB",
    ),
    (
        "policy",
        lambda c: Server(when_full="panic"),  # type: ignore[arg-type]
        errors.InvalidError,
        'server: when_full = "panic"; accepted are "block", "fail" and "drop_oldest"',
    ),
    (
        "no token",
        lambda c: Server(listen="127.0.0.1:0"),
        errors.InvalidError,
        "server: listening on TCP without a token of at least 8 characters; give a token",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_wrong_call_says_what_it_met_and_what_is_accepted(call: Call, kind: type[Exception], message: str) -> None:
    with Server(memory_limit_bytes=1 << 20) as server, Client(server.address, namespace="t", timeout_s=5) as client:
        client.put("there", SMALL)
        with pytest.raises(kind) as caught:
            call(client)
        assert str(caught.value) == message


def test_errors_are_also_what_a_python_user_expects() -> None:
    expected = {
        errors.WaitTimeoutError: TimeoutError,
        errors.NotFoundError: KeyError,
        errors.InvalidError: ValueError,
        errors.DTypeError: TypeError,
        errors.ServerGoneError: ConnectionError,
        errors.AccessError: PermissionError,
        errors.FullError: MemoryError,
    }
    for ours, builtin in expected.items():
        assert issubclass(ours, builtin) and issubclass(ours, errors.ThalwegError)


def test_a_taken_port_and_a_wrong_token_are_named(server: Server) -> None:
    assert server.tcp_address is not None
    place = server.tcp_address.removeprefix("tcp:")
    with pytest.raises(errors.ThalwegError) as taken:
        Server(listen=place, token="correct horse")
    assert str(taken.value) == f"server: cannot listen on tcp:{place}: Address already in use (os error 98)"
    with pytest.raises(errors.AccessError) as wrong:
        Client(server.tcp_address, token="wrong battery")
    assert str(wrong.value) == "stage.connect: wrong token; give the one that the server was started with"
    with pytest.raises(errors.AccessError) as none:
        Client(server.tcp_address)
    assert str(none.value) == "stage.connect: no token was given; give the one that the server was started with"


def test_address_and_token_are_taken_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert server.tcp_address is not None
    monkeypatch.setenv("THALWEG_ADDRESS", server.tcp_address)
    monkeypatch.setenv("THALWEG_TOKEN", "correct horse")
    with Client() as client:
        assert client.address == server.tcp_address
