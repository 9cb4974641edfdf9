"""What the operating system or a server refuses reaches the caller as an error that says what to do."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

from thalweg import DataStore, ServerManager
from thalweg.errors import AccessError, ExistsError, FullError, ServerGoneError, WaitTimeoutError


@pytest.fixture
def server_info(tmp_path):
    with ServerManager("s", {"type": "filesystem", "path": str(tmp_path), "shards": 1}) as server:
        yield server.get_server_info()


@pytest.mark.parametrize("call", ["open", "writev", "replace"])
@pytest.mark.parametrize(
    ("number", "kind", "advice"),
    [
        (errno.ENOSPC, FullError, "clean staged data"),
        (errno.EDQUOT, FullError, "clean staged data"),
        (errno.EMFILE, FullError, "ulimit -n"),
        (errno.EEXIST, ExistsError, "try again"),
        (errno.EROFS, AccessError, "can be written"),
        (errno.ESTALE, ServerGoneError, "still mounted"),
        (errno.ENOENT, ServerGoneError, "is not there any more"),
    ],
)
def test_a_write_that_the_system_refuses_says_what_to_do(server_info, monkeypatch, call, number, kind, advice):
    def refuse(*args, **options):
        raise OSError(number, os.strerror(number))

    with DataStore("d", server_info) as store:
        store.stage_write("a", b"before")
        with monkeypatch.context() as patch:
            patch.setattr(os, call, refuse)
            with pytest.raises(kind, match=advice):
                store.stage_write("a", np.zeros(10))
        assert bytes(store.stage_read("a", 0)) == b"before"
        assert [name for name in os.listdir(os.path.join(server_info["path"], "0")) if name.startswith(".")] == []


def test_a_read_without_a_free_descriptor_says_what_to_do(server_info, monkeypatch):
    def refuse(*args, **options):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with DataStore("d", server_info) as store:
        store.stage_write("a", b"")
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refuse)
            with pytest.raises(FullError, match="ulimit -n"):
                store.stage_read("a", 0)


def test_a_process_of_the_same_id_on_another_node_is_never_in_the_way(server_info):
    script = (
        "import json, os, sys\n"
        "from pathlib import Path\n"
        "from thalweg import DataStore\n"
        "info = json.loads(sys.argv[1])\n"
        "for number in range(100):\n"
        "    (Path(info['path']) / '0' / f'.{os.getpid()}-{number}').write_bytes(b'of another node')\n"
        "with DataStore('d', info) as store:\n"
        "    store.stage_write('a', b'mine')\n"
        "    assert bytes(store.stage_read('a', 0)) == b'mine'\n"
    )
    import json

    subprocess.run([sys.executable, "-c", script, json.dumps(server_info)], check=True)


def test_a_forked_child_writes_under_names_of_its_own():
    from thalweg.datastore.sharded_files import _temporary_name

    mine = _temporary_name().rpartition("-")[0]
    assert _temporary_name().rpartition("-")[0] == mine
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, _temporary_name().rpartition("-")[0].encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as file:
        theirs = file.read()
    assert theirs.startswith(".")
    assert theirs != mine


class _Native:
    """A client of the staging service whose server does not answer, or only does not have the value."""

    def __init__(self, error):
        self._error = error

    def __getattr__(self, name):
        def call(*args, **options):
            raise self._error

        return call

    def close(self):
        pass


def test_a_staging_server_that_does_not_answer_is_never_taken_for_a_value_that_is_not_there():
    pytest.importorskip("thalweg.staging")
    with ServerManager("s", "thalweg") as server, DataStore("d", server.get_server_info()) as store:
        real = store._backend._client
        store._backend._client = _Native(ServerGoneError("stage: did not answer in time"))
        try:
            for operation in (
                lambda: store.stage_write("a", b""),
                lambda: store.stage_read("a", 0),
                lambda: store.stage_read("a", 5.0),
                lambda: store.poll_staged_data("a"),
                lambda: store.wait(["a"], 0),
                lambda: store.wait(["a"], 5.0, "any"),
                lambda: store.clean_staged_data("a"),
            ):
                with pytest.raises(ServerGoneError, match="did not answer"):
                    operation()
        finally:
            store._backend._client = real
        with pytest.raises(WaitTimeoutError):
            store.stage_read("a", 0)
