"""What a client of the staging service can rely on, over every link."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from thalweg.errors import ExistsError, WaitTimeoutError
from thalweg.staging import Client, Entry, Server

from .conftest import meanwhile


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", "V12"])
def test_every_element_type_comes_back_as_it_was(client: Client, dtype: str) -> None:
    array = np.frombuffer(np.random.default_rng(1).bytes(24 * np.dtype(dtype).itemsize), dtype=dtype).reshape(2, 3, 4)
    client.put("u", array, version=3)
    view = client.get("u", version=3)
    assert view.dtype == array.dtype and view.shape == array.shape
    assert view.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(100)[10:90:7],
        np.arange(10)[::-1],
        np.broadcast_to(np.arange(3.0), (4, 3)),
        np.array(3.5),
        np.empty((3, 0, 2)),
    ],
    ids=["transposed", "column-major", "stepped", "backwards", "broadcast", "0-d", "empty"],
)
def test_an_array_of_any_strides_is_put_and_got_into(client: Client, array: np.ndarray) -> None:
    client.put("u", array)
    assert np.array_equal(client.get("u"), array)
    into = np.full((*array.shape, 2), 9, dtype=array.dtype)[..., 0]
    assert client.get("u", into=into) is into
    assert np.array_equal(into, array)


def test_plain_bytes_come_back_as_bytes(client: Client) -> None:
    client.put("note", b"hello")
    view = client.get("note")
    assert isinstance(view, memoryview) and view.readonly and bytes(view) == b"hello"
    into = bytearray(5)
    client.get("note", into=into)
    assert into == b"hello"


def test_a_view_cannot_be_written(client: Client) -> None:
    client.put("u", np.ones(4))
    view = client.get("u")
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 2
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True


def test_a_view_keeps_its_bytes_when_the_version_is_replaced_or_deleted(client: Client) -> None:
    client.put("u", np.full(1000, 1.0))
    first = client.get("u")
    client.put("u", np.full(1000, 2.0), replace=True)
    second = client.get("u")
    client.delete("u")
    for n in range(20):
        client.put("v", np.full(1000, 3.0), version=n)
    assert (first == 1.0).all() and (second == 2.0).all()


def test_a_version_is_put_once_unless_replaced(client: Client) -> None:
    client.put("u", np.ones(2))
    with pytest.raises(ExistsError):
        client.put("u", np.zeros(2))
    assert client.get("u")[0] == 1
    client.put("u", np.zeros(2), replace=True)
    assert client.get("u")[0] == 0


def test_a_loan_is_seen_only_when_it_is_committed(client: Client) -> None:
    loan = client.loan("u", (2, 3), "f4")
    loan.array[...] = 7
    assert not client.exists("u")
    loan.commit()
    assert client.exists("u") and (client.get("u") == 7).all()
    with pytest.raises(ValueError, match="read-only"):
        loan.array[0, 0] = 8


def test_a_loan_whose_block_raised_is_given_back(client: Client) -> None:
    with pytest.raises(ZeroDivisionError), client.loan("u", 4, "f8"):
        raise ZeroDivisionError
    assert not client.exists("u")
    client.put("u", np.ones(4))


def test_get_waits_until_somebody_puts(client: Client) -> None:
    with (
        Client(client.address, namespace="t", token="correct horse") as other,
        meanwhile(lambda: other.put("late", np.ones(3))),
    ):
        assert (client.get("late", timeout_s=30) == 1).all()


def test_wait_for_any_and_for_all(client: Client) -> None:
    client.put("a", b"1")
    assert client.wait(["a", ("b", 2)], how="any") == [("a", 0)]
    with meanwhile(lambda: client.put("b", b"2", version=2)):
        assert client.wait(["a", ("b", 2)], how="all", timeout_s=30) == [("a", 0), ("b", 2)]
    with pytest.raises(WaitTimeoutError):
        client.wait(["a", "never"], timeout_s=0.05)


def test_thousands_of_keys_are_waited_for_and_listed(client: Client) -> None:
    for n in range(1300):
        client.put("u", b"x", version=n)
    assert len(client.wait([("u", n) for n in range(1300)])) == 1300
    assert [entry.version for entry in client.list()] == list(range(1300))


def test_listing_deleting_and_dropping(client: Client) -> None:
    client.put("v", np.zeros((2, 3), "f4"), version=1)
    client.put("u", np.zeros(5, "i8"), version=2)
    assert client.list() == [Entry("u", 2, "int64", (5,), 40), Entry("v", 1, "float32", (2, 3), 24)]
    assert client.delete("u", version=2) and not client.delete("u", version=2)
    assert client.drop_namespace() == 1 and client.list() == []


def test_namespaces_never_meet(client: Client) -> None:
    client.put("u", np.ones(2))
    with Client(client.address, namespace="other", token="correct horse") as other:
        assert not other.exists("u") and other.list() == []
        other.put("u", np.zeros(2))
        assert other.drop_namespace() == 1
    assert client.exists("u")


def test_threads_share_a_client(client: Client) -> None:
    def work(n: int) -> None:
        try:
            for i in range(50):
                client.put(f"t{n}", np.full(100, i), version=i)
                assert (client.get(f"t{n}", version=i) == i).all()
                client.delete(f"t{n}", version=i)
        except BaseException as error:
            failures.append(error)

    failures: list[BaseException] = []
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [t.start() for t in threads]
    [t.join(60) for t in threads]
    assert not failures and client.list() == []


def test_a_replacement_is_never_seen_as_an_absence(client: Client) -> None:
    client.put("u", np.zeros(10))
    stop = threading.Event()

    def replace() -> None:
        n = 0
        while not stop.is_set():
            n += 1
            client.put("u", np.full(10, n), replace=True)

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for _ in range(2000 if not client.address.startswith("tcp") else 200):
            assert client.exists("u")
            view = client.get("u", timeout_s=0)
            assert (view == view[0]).all()
    finally:
        stop.set()
        thread.join(10)


def test_statistics_count_what_was_done() -> None:
    with Server(memory_limit_bytes=8 << 20) as server, Client(server.address) as client:
        client.put("u", np.zeros(1000))
        client.put("u", np.zeros(1000), version=1)
        client.delete("u")
        stats = client.stats()
        assert stats == server.stats()
        assert (stats["puts"], stats["put_bytes"], stats["deletes"], stats["entries"]) == (2, 16000, 1, 1)
        assert (stats["entry_bytes"], stats["clients"], stats["limit_bytes"]) == (8000, 1, 8 << 20)


def test_a_client_without_an_address_starts_a_private_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THALWEG_ADDRESS", raising=False)
    with Client(namespace="private") as one, Client(namespace="private") as two:
        one.put("u", np.ones(3))
        assert one.address == two.address and two.exists("u")
        one.drop_namespace()
