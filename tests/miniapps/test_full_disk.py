"""A file system that is full is told, and nothing half-written stays."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest

from thalweg import DataStore, ServerManager
from thalweg.errors import ConfigError, FullError

SIZE_BYTES = 4 << 20


@pytest.fixture
def small_disk(tmp_path):
    """Yield a file system of 4 MiB of its own."""
    if os.getuid() != 0:
        pytest.skip("mounting a small file system needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE_BYTES}", "tmpfs", str(disk)], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.parametrize("backend", ["node-local", "filesystem"])
def test_a_full_disk_is_told_and_the_value_that_was_there_stays(backend, small_disk):
    with ServerManager("s", {"type": backend, "path": str(small_disk)}) as server:
        path = server.get_server_info()["path"]
        with DataStore("d", server.get_server_info()) as store:
            store.stage_write("a", np.full(1000, 7.0))
            for key in ("b", "a"):
                with pytest.raises(FullError) as told:
                    store.stage_write(key, np.zeros(SIZE_BYTES, np.uint8))
                assert str(told.value) == (
                    f"stage_write: key '{key}': {SIZE_BYTES} bytes: {path}: No space left on device; "
                    "clean staged data that is not needed any more, or give `path` more room"
                )
            assert not store.poll_staged_data("b")
            assert store.stage_read("a", 0).tolist() == [7.0] * 1000
            store.stage_write("c", np.zeros(SIZE_BYTES // 2, np.uint8))  # the failed writes hold no room
    assert list(small_disk.iterdir()) == []


def test_a_disk_that_is_full_at_the_start_is_a_clear_error(small_disk):
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "filling").write_bytes(bytes(2 * SIZE_BYTES))
    with pytest.raises(
        ConfigError, match=r"^ServerManager: path: .* cannot be written: No space left on device; give a directory"
    ):
        ServerManager("s", {"type": "node-local", "path": str(small_disk)}).start_server()
    assert [entry.name for entry in small_disk.iterdir()] == ["filling"]
