"""Regions of very many pieces, short deadlines, and calls that run beside the caller."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from thalweg.errors import FullError, InvalidError, ServerGoneError, WaitTimeoutError
from thalweg.staging import Client

from .conftest import Process, together

#: More pieces than one answer tells of.
PIECES = 6000


def scattered(client: Client, strategy: str = "sahr") -> np.ndarray:
    """Puts version 0 of "u" cell by cell, in any order; its values."""
    values = np.random.default_rng(7).random(PIECES)
    u = client.define("u", PIECES, "f8", strategy=strategy)
    for at in np.random.default_rng(8).permutation(PIECES):
        u.put(values[at : at + 1], version=0, lower=[int(at)])
    return values


@pytest.mark.parametrize("link", [1, 2], ids=["shared-memory", "tcp"])
@pytest.mark.parametrize("strategy", ["rad", "rasar"])
def test_a_region_of_more_pieces_than_one_answer_tells(
    outside: tuple[Process, str, str], link: int, strategy: str
) -> None:
    with Client(outside[1], namespace="t", name="x" * 200) as writer:
        values = scattered(writer, strategy)
        with Client(outside[link], namespace="t", token="correct horse") as client:
            u = client.open("u")
            assert (u.get(version=0) == values).all()
            into = np.zeros((PIECES, 2))[::-1, 0]
            assert u.get(version=0, into=into) is into and (into == values).all()
            assert (u.get(np.s_[100:5900]) == values[100:5900]).all()
            assert u.reduce(version=0).max == values.max()


def test_many_pieces_that_their_writer_keeps(outside: tuple[Process, str, str]) -> None:
    with Client(outside[1], namespace="t", name="x" * 200) as client:
        u = client.define("u", 1500, "f8")
        values = np.random.default_rng(7).random(1500)
        for at in range(1500):
            u.put(values[at : at + 1], version=0, lower=[at], local=True)
        assert (u.get(version=0) == values).all()


def test_threads_of_a_client_read_regions_of_many_pieces_side_by_side(outside: tuple[Process, str, str]) -> None:
    with Client(outside[1], namespace="t") as client:
        values = scattered(client)
        u = client.open("u")
        together(*(lambda: [(u.get(version=0) == values).all() or pytest.fail("wrong") for _ in range(5)],) * 6)


def test_one_late_get_of_scattered_pieces_does_not_hold_the_others_up(outside: tuple[Process, str, str]) -> None:
    with Client(outside[1], namespace="t") as client, Client(outside[1], namespace="t") as bystander:
        u = client.define("u", 2 * PIECES, "f8")
        one = np.ones(1)
        for at in np.random.default_rng(8).permutation(PIECES):
            u.put(one, version=0, lower=[2 * int(at)])
        with pytest.raises(WaitTimeoutError, match=r"cells .* and others, 6000 in all, are missing"):
            u.get(version=0, timeout_s=0)
        waiting = [u.get_beside(version=0, timeout_s=60) for _ in range(4)]
        u.put(np.zeros(2 * PIECES), version=0)
        bystander.put("v", one)
        for got in waiting:
            assert got.result(60).tolist() == [1.0, 0.0] * PIECES


@pytest.mark.parametrize("strategy", ["rad", "rasar", "rasia", "sahr"])
def test_a_complete_version_is_got_however_short_the_deadline(client: Client, strategy: str) -> None:
    values = np.random.default_rng(0).random((64, 64, 64))
    u = client.define("u", values.shape, "f8", strategy=strategy, layouts=["left"])
    for version in range(4):
        u.put(values, version=version)
        assert (u.get(version=version, layout="left", timeout_s=0) == values).all()


def test_futures_of_gets_leave_puts_alone(client: Client) -> None:
    u = client.define("u", 4, "f8")
    gets = [u.get_beside(version=version, timeout_s=60) for version in range(8)]
    puts = [u.put_beside(np.full(4, float(version)), version=version) for version in range(8)]
    for version, (get, put) in enumerate(zip(gets, puts, strict=True)):
        assert put.result(60) is None and (get.result(60) == version).all()


def test_calls_beside_the_caller_are_bounded_and_end_with_the_client(client: Client) -> None:
    u = client.define("u", 4, "f8")
    waiting = [u.get_beside(version=0, timeout_s=600) for _ in range(64)]
    with pytest.raises(FullError, match=r"^stage: variable 'u': 64 calls beside are under way; wait for one"):
        u.put_beside(np.ones(4), version=0)
    client.close()
    for future in waiting:
        with pytest.raises(InvalidError, match="closed"):
            future.result(60)


@pytest.mark.parametrize("how", ["get_beside(version=0, timeout_s=600)", "subscribe(print)"])
@pytest.mark.parametrize("interrupted", [False, True])
def test_the_interpreter_ends_while_calls_wait(outside: tuple[Process, str, str], how: str, interrupted: bool) -> None:
    program = (
        "import sys, time; from thalweg.staging import Client\n"
        "u = Client(sys.argv[1], namespace='t').define('u', 4, 'f8')\n"
        f"waiting = [u.{how} for _ in range(8)]\n"
        "print('begun', flush=True)\n" + ("time.sleep(600)" if interrupted else "")
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, outside[1]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        if interrupted:
            process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGINT if interrupted else 0)
    assert "Fatal" not in said and ("KeyboardInterrupt" in said) == interrupted, said


def test_a_subscriber_that_raises_is_heard_at_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", said.append)
    u = client.define("u", 4, "f8")
    with pytest.raises(InvalidError, match="call of type int; accepted are functions"):
        u.subscribe(3)  # type: ignore[arg-type]
    subscription = u.subscribe(lambda version, array: 1 / 0)
    u.put(np.ones(4), version=0)
    subscription._thread.join(60)
    assert isinstance(subscription.failure, ZeroDivisionError)
    assert [args.exc_type for args in said] == [ZeroDivisionError]
    with pytest.raises(ZeroDivisionError):
        subscription.cancel()


def test_one_deadline_counts_for_all_servers() -> None:
    began = time.monotonic()
    with pytest.raises(ServerGoneError, match="tried for 1 s"):
        Client("unix:@thalweg-none-1,unix:@thalweg-none-2,unix:@thalweg-none-3", timeout_s=1)
    assert time.monotonic() - began < 2.5
