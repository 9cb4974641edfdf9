"""``thalweg bench staging`` at small sizes: its rows, what it refuses, and that it leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import DEADLINE_S, PROGRAM, descendants, thalweg
from left_behind import nothing_left
from thalweg.bench.staging.crew import Crew
from thalweg.bench.staging.domain import Block, blocks, check, core, values
from thalweg.bench.staging.parallel_hdf5 import found
from thalweg.bench.staging.roles import Serving
from thalweg.errors import ComponentFailedError, CorruptDataError, MissingLibraryError

FIELDS = {
    *("figure", "strategy", "reader", "delay_s", "servers", "subset", "write_s", "read_s", "server_memory_bytes"),
}
SMALL = ("--domain", "12x10x8", "--steps", "3", "--delays", "0", "--repeats", "1")
DATA_BYTES = 12 * 10 * 8 * 8 * 3


def rows_of(tmp_path: Path, *options: str) -> list[dict[str, Any]]:
    """Rows of a run at a small size, which must leave nothing behind."""
    with nothing_left():
        done = thalweg("bench", "staging", *SMALL, *options, "--json", "out.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    rows: list[dict[str, Any]] = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert all(row.keys() >= FIELDS and row["write_s"] > 0 and row["read_s"] > 0 for row in rows)
    return rows


def test_every_strategy_has_a_row_for_both_readers(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "--figure", "7", "--delays", "0,0.01", "--out", "out.png")
    assert [(row["delay_s"], row["strategy"], row["reader"]) for row in rows] == [
        (delay_s, strategy, reader)
        for delay_s in (0, 0.01)
        for strategy in ("rad", "rasar", "rasia", "sahr")
        for reader in ("first", "second")
    ]
    assert {row["figure"] for row in rows} == {7} and {row["servers"] for row in rows} == {2}
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_servers_are_what_figure_8_varies(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "--figure", "8", "--servers", "1,2", "--strategies", "rad,sahr")
    assert [row["servers"] for row in rows] == [1] * 4 + [2] * 4


def test_memory_follows_what_is_read_or_what_is_written(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "--figure", "9", "--subsets", "4", "--strategies", "rad,rasar,rasia", "--out", "out.html")
    held = {row["strategy"]: (row["server_memory_bytes"], row["replica_bytes"]) for row in rows}
    subset_bytes = 4**3 * 8 * 3
    assert held["rad"] == (DATA_BYTES, 0)
    assert held["rasar"] == (DATA_BYTES + subset_bytes, subset_bytes)
    assert held["rasia"] == (2 * DATA_BYTES, DATA_BYTES)
    page = (tmp_path / "out.html").read_text()
    assert "<svg" in page and page.count("<tr>") == 1 + len(rows) and "src=" not in page


def test_files_are_compared_with_as_many_processes(tmp_path: Path) -> None:
    methods = ["homogeneous", "rad", "sahr", "binary-files"]
    rows = rows_of(tmp_path, "--figure", "10", "--processes", "1,4", "--strategies", ",".join(methods))
    assert [(row["writers"], row["readers"], row["strategy"]) for row in rows[::2]] == [
        (writers, readers, method) for writers, readers in ((1, 1), (4, 2)) for method in methods
    ]
    assert all((row["server_memory_bytes"] is None) == (row["strategy"] == "binary-files") for row in rows)


def test_parallel_hdf5_runs_where_it_was_built(tmp_path: Path) -> None:
    try:
        found()
    except MissingLibraryError as error:
        pytest.skip(str(error))
    rows = rows_of(tmp_path, "--figure", "10", "--processes", "2", "--strategies", "parallel-hdf5")
    assert [row["reader"] for row in rows] == ["first", "second"]


def test_without_a_compiler_binary_files_say_what_to_install(tmp_path: Path) -> None:
    command = [*PROGRAM, "bench", "staging", *SMALL, "--figure", "10", "--strategies", "binary-files"]
    env = {**os.environ, "PATH": str(tmp_path), "CXX": ""}
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, cwd=tmp_path, env=env)
    assert (done.returncode, done.stderr) == (
        2,
        "thalweg: error: bench staging: binary-files need a C++ compiler: install g++, or set CXX\n",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--figure", "6"], "--figure 6; accepted are 7, 8, 9 and 10"),
        (["--strategies", "rad,magic"], "--strategies 'magic'; accepted are rad, rasar, rasia, sahr"),
        (["--figure", "10", "--strategies", "rasia"], "accepted are homogeneous, rad, sahr, binary-files"),
        (["--domain", "8x8"], "--domain '8x8'; accepted are one or three whole numbers"),
        (["--domain", "8x0x8"], "--domain '0'; accepted are whole numbers from 1 to"),
        (["--domain", "100000"], "--domain, --steps: 8 steps of"),
        (["--steps", "1"], "--steps 1; accepted are whole numbers from 2"),
        (["--writers", "0"], "--writers '0'; accepted are whole numbers from 1 to"),
        (["--writers", "60", "--domain", "2"], "60 writers share 2×2×2 cells, and some would have none"),
        (["--subsets", "1"], "2 readers share 1×1×1 cells, and some would have none"),
        (["--subsets", "1000"], "--subsets '1000'; accepted are whole numbers from 1 to 192"),
        (["--servers", "1,none"], "--servers 'none'; accepted are whole numbers from 1 to"),
        (["--delays", "-1"], "--delays '-1'; accepted are seconds from 0 to 600"),
        (["--delays", "nan"], "--delays 'nan'; accepted are seconds"),
        (["--lag", "-1"], "--lag -1.0; accepted are numbers from 0 to 10"),
        (["--processes", "2"], "--processes 2 has no effect with --figure 7; give figure 10, or leave --processes out"),
        (["--figure", "10", "--writers", "2"], "--writers 2 has no effect with --figure 10; give figure 7, 8 or 9"),
        (["--figure", "10", "--readers", "2"], "--readers 2 has no effect with --figure 10"),
        (["--figure", "10", "--servers", "2"], "--servers 2 has no effect with --figure 10"),
        (["--figure", "10", "--lag", "0"], "--lag 0.0 has no effect with --figure 10"),
        (["--repeats", "0"], "--repeats '0'; accepted are whole numbers from 1 to 1000"),
        (["--out", "out.gif"], "--out out.gif ends in '.gif'; accepted are .png and .html"),
        (["--out", "nowhere/out.png"], "--out: no folder"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_measured_is_refused(options: list[str], message: str, tmp_path: Path) -> None:
    done = thalweg("bench", "staging", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("thalweg: error: bench staging: ") and message in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("end", "options", "status"),
    [
        (signal.SIGINT, ["--figure", "7"], 130),
        (signal.SIGTERM, ["--figure", "10", "--strategies", "binary-files"], 130),
        (signal.SIGKILL, ["--figure", "7"], -signal.SIGKILL),
    ],
)
def test_an_ended_benchmark_leaves_nothing(
    end: signal.Signals, options: list[str], status: int, tmp_path: Path
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    command = [*PROGRAM, "bench", "staging", *SMALL, "--delays", "0.05", "--repeats", "1000", *options]
    with nothing_left(folder) as mark:
        env = {**mark.env, "TMPDIR": str(folder)}
        with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=-1, stderr=-1, text=True) as run:
            try:
                while len(descendants(run.pid)) < 6:
                    assert run.poll() is None, run.communicate()
                    os.sched_yield()
                run.send_signal(end)
                _, errors = run.communicate(timeout=DEADLINE_S)
            finally:
                run.kill()
    assert run.returncode == status
    assert errors == ("thalweg: interrupted\n" if status == 130 else "")


def test_a_process_that_ends_is_named() -> None:
    with nothing_left(), Crew() as crew:
        crew.order({"server 0": Serving(memory_bytes=1 << 24, replica_bytes=1 << 23, workers=1)})
        for pid in descendants(os.getpid()):
            if b"thalweg.bench.staging.rank" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
        with pytest.raises(ComponentFailedError, match="the server 0 ended without a word, exit status -9"):
            crew.results(["server 0"], 60.0)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6, 7, 8])
def test_blocks_cover_each_cell_once(ranks: int) -> None:
    covered = np.zeros((9, 8, 11), dtype=int)
    parts = blocks(Block((0, 0, 0), covered.shape), ranks)
    for part in parts:
        covered[part.slices] += 1
    assert len(parts) == ranks and (covered == 1).all()


def test_the_core_is_in_the_middle() -> None:
    assert core((10, 8, 4), 6) == Block((2, 1, 0), (6, 6, 4))


def test_a_wrong_cell_and_a_wrong_layout_are_found() -> None:
    domain, block = (4, 5, 6), Block((2, 0, 0), (2, 5, 6))
    got = values(domain, block) + 0.5
    check(domain, block, 1, got, "right", "reader 0")
    with pytest.raises(CorruptDataError, match="reader 0 got strides"):
        check(domain, block, 1, got, "left", "reader 0")
    got[1, 4, 5] = -1.0
    with pytest.raises(CorruptDataError, match=r"got -1.0 in cell \(3, 4, 5\) of step 1; expected 119.5"):
        check(domain, block, 1, got, "right", "reader 0")
