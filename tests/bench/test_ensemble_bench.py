"""``thalweg bench ensemble`` at small sizes: its rows, what it refuses, and that it leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from command_line import DEADLINE_S, PROGRAM, descendants, thalweg
from left_behind import nothing_left
from thalweg.bench.c_library import options as library_options
from thalweg.bench.ensemble.mpi import find_mpi
from thalweg.bench.ensemble.transports.pnetcdf_tmpfs import PnetCDFTmpfs
from thalweg.errors import MissingLibraryError

FIELDS = {
    *("preset", "transport", "ensembles", "processes", "replay", "moved_bytes", "file_bytes", "transfer_s", "io_s"),
}
SMALL = ("--preset", "ofp", "--cycles", "3", "--rounds", "1")
FILES = ("--transports", "pnetcdf-tmpfs,pnetcdf-disk")


@pytest.fixture(autouse=True)
def _pnetcdf() -> None:
    try:
        PnetCDFTmpfs().check(find_mpi())
    except MissingLibraryError as error:
        pytest.skip(str(error))


def rows_of(tmp_path: Path, *options: str) -> list[dict[str, Any]]:
    """Rows of a run at a small size, which must leave nothing behind."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with nothing_left(folder):
        done = thalweg(
            "bench", "ensemble", *SMALL, "--disk-folder", str(folder), *options, "--json", "out.json", cwd=tmp_path
        )
    assert (done.returncode, done.stderr) == (0, "")
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["limits"]["memcpy_bytes_per_s"] > 0
    rows: list[dict[str, Any]] = content["rows"]
    assert all(
        row.keys() >= FIELDS and 0 < row["transfer_s"] < row["io_s"] for row in rows if "pnetcdf" in row["transport"]
    )
    return rows


def test_every_transport_has_a_row_for_each_case(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, *FILES, "--ensembles", "1,2", "--processes", "1x2,2", "--figure", "out.png")
    assert [(row["grid"], row["ensembles"], row["transport"]) for row in rows] == [
        (grid, ensembles, transport)
        for grid in ([1, 2], [2, 1])
        for ensembles in (1, 2)
        for transport in ("pnetcdf-tmpfs", "pnetcdf-disk")
    ]
    assert {row["replay"] for row in rows} == {None} and {row["preset"] for row in rows} == {"ofp"}
    # 20 variables of history and twice 11 of analysis, 8 × 8 cells of 4 bytes a process
    for row in rows:
        assert row["moved_bytes"] == row["ensembles"] * row["processes"] * (13 * 60 + 7 + 2 * 11 * 60) * 8 * 8 * 4
        assert row["file_bytes"] > row["moved_bytes"]
        assert row["transfer_s"] == pytest.approx(row["scale_transfer_s"] + row["letkf_transfer_s"], rel=0.5)
    for tmpfs, disk in zip(rows[::2], rows[1::2], strict=True):
        assert tmpfs["faster_than_tmpfs"] == disk["faster_than_disk"] == 1.0
        assert tmpfs["faster_than_disk"] == pytest.approx(1 / disk["faster_than_tmpfs"])
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_the_staging_service_exchanges_the_same_values(tmp_path: Path) -> None:
    try:
        find_mpi().require("thalweg.h", library_options(), "run make languages")
    except MissingLibraryError as error:
        pytest.skip(str(error))
    rows = rows_of(tmp_path, "--transports", "staging", "--ensembles", "2", "--processes", "2")
    assert [(row["transport"], row["faster_than_tmpfs"]) for row in rows] == [("staging", None)]


def test_the_papers_tables_are_printed_beside_the_models(tmp_path: Path) -> None:
    done = thalweg("bench", "ensemble", "--tables", "--json", "out.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1,537 MiB" in done.stdout and "1871.00" in done.stdout and "no" not in done.stdout.split()
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert len(rows) == 20 and all(row["agrees"] for row in rows)


def test_without_an_mpi_it_says_what_to_install(tmp_path: Path) -> None:
    command = [*PROGRAM, "bench", "ensemble", *SMALL, *FILES]
    env = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, cwd=tmp_path, env=env)
    assert done.returncode == 2
    assert done.stderr.startswith("thalweg: error: bench ensemble: there is no mpirun") and "apt-get" in done.stderr


def test_without_pnetcdf_it_says_what_to_install(tmp_path: Path) -> None:
    """A compiler that finds no header: the launcher is there, and PnetCDF is not."""
    fake = tmp_path / "mpicc.openmpi"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    command = [*PROGRAM, "bench", "ensemble", *SMALL, *FILES]
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, cwd=tmp_path, env=env)
    assert done.returncode == 2
    assert "does not find pnetcdf.h; install PnetCDF (Debian: apt-get install libpnetcdf-dev)" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--preset", "tokyo"], "--preset 'tokyo'; accepted are ofp, olympics"),
        (["--transports", "redirect,magic"], "--transports 'magic'; accepted are redirect, staging, pnetcdf-tmpfs"),
        (["--ensembles", "1,none"], "--ensembles 'none'; accepted are whole numbers from 1 to"),
        (["--ensembles", "0"], "--ensembles '0'; accepted are whole numbers from 1 to"),
        (["--processes", "-2"], "--processes '-2'; accepted are whole numbers from 1 to"),
        (["--processes", "2x"], "--processes '2x'; accepted are whole numbers from 1 to 4096, or two such as 1x2"),
        (["--processes", "1x2x3"], "--processes '1x2x3'; accepted are"),
        (["--ensembles", "4096", "--processes", "4096"], "processes a component; expected at most"),
        (["--ensembles", "4096", "--processes", "1"], "of memory; "),
        (["--cycles", "1"], "--cycles 1; accepted are whole numbers from 2 to"),
        (["--rounds", "0"], "--rounds 0; accepted are whole numbers from 1 to"),
        (["--disk-folder", "nowhere"], "--disk-folder: no folder"),
        ([*FILES, "--disk-folder", "/dev/shm"], "--disk-folder /dev/shm is on tmpfs; accepted is a folder on a disk"),
        (["--figure", "out.gif"], "--figure out.gif ends in '.gif'; accepted is .png"),
        (["--figure", "nowhere/out.png"], "--figure: no folder"),
    ],
    ids=lambda value: "_".join(value).replace("/", "") if isinstance(value, list) else "",
)
def test_what_cannot_be_measured_is_refused(options: list[str], message: str, tmp_path: Path) -> None:
    done = thalweg("bench", "ensemble", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("thalweg: error: bench ensemble: ") and message in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("end", "transport", "status"),
    [
        (signal.SIGINT, "pnetcdf-disk", 130),
        (signal.SIGTERM, "pnetcdf-tmpfs", 130),
        (signal.SIGKILL, "pnetcdf-disk", -signal.SIGKILL),
        (signal.SIGKILL, "pnetcdf-tmpfs", -signal.SIGKILL),
    ],
)
def test_an_ended_benchmark_leaves_nothing(end: signal.Signals, transport: str, status: int, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = [*PROGRAM, "bench", "ensemble", "--preset", "ofp", "--cycles", "100000", "--ensembles", "1"]
    with nothing_left(folder) as mark:
        options = ["--transports", transport, "--disk-folder", str(folder)]
        env = {**mark.env, "TMPDIR": str(folder)}
        with subprocess.Popen([*command, *options], cwd=tmp_path, env=env, stdout=-1, stderr=-1, text=True) as run:
            try:
                while len(ranks(run.pid)) < 4:
                    assert run.poll() is None, run.communicate()
                run.send_signal(end)
                _, complaints = run.communicate(timeout=DEADLINE_S)
            finally:
                run.kill()
    assert run.returncode == status
    assert complaints == ("thalweg: interrupted\n" if status == 130 else "")


def ranks(pid: int) -> list[int]:
    """The components' processes below one."""
    found = []
    for below in descendants(pid):
        try:
            program = Path(os.readlink(f"/proc/{below}/exe")).name
        except OSError:  # it has just ended
            continue
        if program.startswith("ensemble-"):
            found.append(below)
    return found
