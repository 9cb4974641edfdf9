"""``thalweg bench transport`` over the real transports of this machine, at the smallest size."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from command_line import DEADLINE_S, PROGRAM, descendants, thalweg
from thalweg.bench.contenders import find, own, peers

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"
FIELDS = {"backend", "size_bytes", "operation", "median_s", "p99_s", "bytes_per_s", "of_memcpy"}
ALL = [*own(), *peers(PEERS)]


@pytest.mark.parametrize("name", ALL)
def test_a_contender_delivers_what_was_put(name: str, tmp_path: Path) -> None:
    contender = find(peers(PEERS).get(name, name))
    missing = contender.available()
    if missing is not None:
        pytest.skip(missing)
    options = ["--sizes", "4KiB,1MiB", "--rounds", "1", "--backends", name, "--json", "out.json", "--figure", "out.png"]
    if name in peers(PEERS):
        only = tmp_path / "peer"
        only.mkdir()
        source = Path(peers(PEERS)[name].rpartition("::")[0])
        (only / source.name).write_text(source.read_text())
        options += ["--peers-folder", str(only)]
    done = thalweg("bench", "transport", *options, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    content = json.loads((tmp_path / "out.json").read_text())
    mine = [row for row in content["rows"] if row["backend"] == name]
    assert {(row["operation"], row["size_bytes"]) for row in mine} == {
        (operation, size) for operation in contender.operations for size in (4096, 1 << 20)
    }
    assert all(row.keys() >= FIELDS and row["median_s"] > 0 for row in mine)
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_a_contender_of_no_such_name_is_refused() -> None:
    done = thalweg("bench", "transport", "--backends", "carrier-pigeon")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "thalweg: error: bench: --backends: no contender 'carrier-pigeon'; there are thalweg, "
    )


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_benchmark_leaves_nothing_running(end: signal.Signals, tmp_path: Path) -> None:
    command = [*PROGRAM, "bench", "transport", "--sizes", "4KiB", "--rounds", "100000", "--backends", "node-local"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        try:
            while len(descendants(run.pid)) < 2:
                assert run.poll() is None, run.communicate()
                os.sched_yield()
            started = descendants(run.pid)
            run.send_signal(end)
            _, errors = run.communicate(timeout=DEADLINE_S)
        finally:
            run.kill()
    assert (run.returncode, errors) == (130, "thalweg: interrupted\n")
    assert [pid for pid in started if Path(f"/proc/{pid}").exists()] == []
