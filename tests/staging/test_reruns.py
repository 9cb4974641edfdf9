"""Programs that come again: a second run against a live server, a writer after its predecessor's death, old handles."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from thalweg.errors import ExistsError, NotFoundError, ServerGoneError
from thalweg.staging import Client, Server

from .conftest import Process

WRITE_A_HALF = """
import sys, numpy as np
from thalweg.staging import Client
u = Client(sys.argv[1], namespace="t", token="correct horse").open("u")
u.put(np.full(4, 1.0), version=0)
print("put", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("local", [False, True], ids=["copied", "local"])
def test_the_very_same_region_is_refused_the_second_time(local: bool) -> None:
    with Server(memory_limit_bytes=32 << 20) as server, Client(server.address, namespace="t", name="solver") as client:
        u = client.define("u", (4, 6), "f8")
        u.put(np.ones((4, 6)), version=0, local=local)
        with pytest.raises(ExistsError) as caught:
            u.put(np.full((4, 6), 2.0), version=0, local=local)
        assert str(caught.value).startswith(
            'stage.put: region [0:4, 0:6] of "u" version 0 was put before by solver (pid '
        )
        assert "and stays as it was; put another version, or give each run a namespace of its own" in str(caught.value)
        loan = u.loan(version=0)
        with pytest.raises(ExistsError):
            loan.commit()
        assert (u.get(version=0) == 1).all()


def test_regions_that_overlap_are_not_refused_and_take_no_memory_for_nothing(client: Client) -> None:
    u = client.define("u", (4, 6), "f8")
    u.put(np.ones((4, 6)), version=0)
    held = client.stats()["entry_bytes"]
    for _ in range(3):
        u.put(np.zeros((2, 6)), version=0, lower=(1, 0))
    assert client.stats()["entry_bytes"] == held and (u.get(version=0) == 1).all()


def test_a_put_that_was_cut_short_between_servers_can_be_done_again() -> None:
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Server(memory_limit_bytes=32 << 20)) for _ in range(2)]
        client = stack.enter_context(Client(",".join(s.address for s in servers), namespace="t"))
        u = client.define("u", 8, "f8")
        u.put(np.ones(4), version=0)  # the part of the first server is there, that of the second is not
        u.put(np.ones(8), version=0)
        assert (u.get(version=0) == 1).all()
        with pytest.raises(ExistsError):
            u.put(np.ones(8), version=0)
        u.put(np.ones(6), version=0, lower=[1])


def test_a_writer_takes_the_place_of_one_that_died_before_it_sealed(
    outside: tuple[Process, str, str], start: Callable[..., Process]
) -> None:
    with Client(outside[1], namespace="t") as client:
        u = client.define("u", 8, "f8", writers=1, strategy="rasia", layouts=["left"])
        first = start(WRITE_A_HALF, outside[1])
        assert first.line() == "put"
        with pytest.raises(ExistsError):
            u.put(np.full(4, 2.0), version=0)
        first.kill()
        deadline = time.monotonic() + 60
        while True:
            try:
                u.put(np.full(4, 2.0), version=0)
                break
            except ExistsError:
                assert time.monotonic() < deadline, "the server does not notice that the first one is gone"
        u.put(np.full(6, 3.0), version=0, lower=[2])
        u.seal(0)
        assert u.get(version=0).tolist() == [2.0] * 4 + [3.0] * 4


@pytest.mark.parametrize("dtype", ["f4", "i8", "c16"])
def test_a_handle_of_a_variable_that_was_defined_anew_is_refused(client: Client, dtype: str) -> None:
    old = client.define("u", 16, "f8")
    client.drop_namespace()
    new = client.define("u", 16, dtype)
    new.put(np.arange(16).astype(dtype), version=0)
    anew = r"variable \"u\" was dropped and defined anew, with cells of .* in a domain of \(16,\); open it again$"
    calls: list[Callable[[], object]] = [
        lambda: old.get(version=0),
        lambda: old.get(version=0, into=np.empty(16)),
        lambda: old.get(timeout_s=5),
        lambda: old.reduce(version=0),
        lambda: old.put(np.ones(16), version=1),
        lambda: old.loan(version=1).commit(),
    ]
    for call in calls:
        with pytest.raises(NotFoundError, match=anew):
            call()
    assert (new.get(version=0) == np.arange(16)).all() and len(new.versions()) == 1
    same = client.define("u", 16, dtype)
    assert (same.get(version=0) == new.get(version=0)).all()


def test_a_client_waits_for_a_server_that_is_about_to_start(start: Callable[..., Process], tmp_path: Path) -> None:
    place = tmp_path / "late.sock"
    program = (
        "import sys; from thalweg.staging import Client\n"
        "print('begun', flush=True); print(Client(sys.argv[1], timeout_s=60).stats()['puts'])"
    )
    early = start(program, f"unix:{place}")
    assert early.line() == "begun"
    with Server(memory_limit_bytes=32 << 20, socket=str(place)):
        assert early.line() == "0"
    began = time.monotonic()
    with pytest.raises(ServerGoneError, match=r"tried for 200 ms; start one: thalweg serve --socket "):
        Client(f"unix:{place}", timeout_s=0.2)
    assert time.monotonic() - began >= 0.2


def test_the_socket_of_a_killed_server_is_taken_over(start: Callable[..., Process], tmp_path: Path) -> None:
    place = tmp_path / "s.sock"
    serve = (
        "import sys; from thalweg.staging import Server\n"
        "server = Server(memory_limit_bytes=32 << 20, socket=sys.argv[1]); print('up', flush=True); sys.stdin.read()"
    )
    first = start(serve, str(place))
    assert first.line() == "up"
    with pytest.raises(ExistsError, match="a server of that name is running"):
        Server(memory_limit_bytes=32 << 20, socket=str(place))
    first.kill()
    assert place.exists()
    with Server(memory_limit_bytes=32 << 20, socket=str(place)) as server, Client(server.address) as client:
        client.put("u", np.ones(3))
    assert not place.exists()
    place.write_text("not a socket")
    with pytest.raises(ExistsError):
        Server(memory_limit_bytes=32 << 20, socket=str(place))
    assert place.read_text() == "not a socket"


def test_a_private_server_says_so_to_who_waits_in_vain() -> None:
    program = (
        "from thalweg.staging import Client\n"
        "try:\n    Client().open('u', timeout_s=0.05)\nexcept TimeoutError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "nobody else, as this is a server of this process alone: it was given no address" in done.stdout, done
