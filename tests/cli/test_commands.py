"""Every command: its help, its exit status, its messages, its JSON."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import thalweg
from invented_run import make_run, make_sweep
from thalweg.cli.examination import mpi_version
from thalweg.cli.output import Output, text

COMMANDS = ["demo", "compare", "report", "serve", "doctor", "bench transport", "run"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_explains_with_an_example(command: str) -> None:
    done = thalweg(*command.split(), "--help")
    assert done.returncode == 0
    assert f"thalweg {command}" in done.stdout
    assert command == "run" or "Example" in done.stdout


def test_brackets_in_help_and_tables_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    shown = thalweg("redirect", "--help").stdout
    assert "[components]" in shown and "[[files]]" in shown
    Output(None).table("Missing", ["hint"], [["pip install 'thalweg[ai]'"]])
    assert "pip install 'thalweg[ai]'" in capsys.readouterr().out


def test_the_demo_says_that_pytorch_is_missing_before_it_starts(tmp_path: Path) -> None:
    without = "import sys; sys.modules['torch'] = None; from thalweg.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", without, "demo"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "thalweg: error: demo: PyTorch is missing, which trains the surrogate; pip install 'thalweg[ai]'\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_version_is_printed() -> None:
    import thalweg as package

    assert thalweg("--version").stdout == package.__version__ + "\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["bench", "transport", "--sizes", "4Kx"],
            2,
            "size: '4Kx' is not a size; expected a number and a unit, such as 4KiB, 1.2MB or 8MiB",
        ),
        (
            ["bench", "transport", "--sizes", "1001"],
            2,
            "bench: size 1001 bytes is not a multiple of 8, the size of an element",
        ),
        (["compare", "one"], 2, "compare: 1 folder was given; expected two or more"),
        (
            ["report", "nowhere"],
            2,
            "report: nowhere does not exist; give the folder of a run or of a sweep, such as runs/demo",
        ),
        (
            ["compare", "nowhere", "elsewhere"],
            2,
            "compare: nowhere does not exist; give the folder of a run or of a sweep, such as runs/demo",
        ),
        (
            ["serve", "--listen", "127.0.0.1:0"],
            2,
            "serve: --listen needs a shared secret; set THALWEG_TOKEN or give --token",
        ),
        (
            ["serve", "--memory-limit", "much"],
            2,
            "size: 'much' is not a size; expected a number and a unit, such as 4KiB, 1.2MB or 8MiB",
        ),
    ],
)
def test_an_error_is_one_clear_message(arguments: list[str], status: int, message: str, tmp_path: Path) -> None:
    done = thalweg(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr == f"thalweg: error: {message}\n"


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["report"], ["bench", "transport", "--rounds", "0"], ["serve", "--when-full", "explode"]],
)
def test_wrong_use_exits_with_2(arguments: list[str]) -> None:
    done = thalweg(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_json_path_without_a_folder_is_refused_before_any_work(tmp_path: Path) -> None:
    done = thalweg("doctor", "--json", "missing/out.json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"thalweg: error: --json: no folder {tmp_path / 'missing'}; make it first\n"


def test_doctor_writes_only_json_to_standard_output() -> None:
    done = thalweg("doctor", "--json", "-")
    content = json.loads(done.stdout)
    assert set(content) == {"command", "machine", "version", "limits", "rows"}
    assert content["command"] == ["thalweg", "doctor", "--json", "-"]
    assert content["limits"]["memcpy_bytes_per_s"] > 1e6
    assert content["limits"]["unix_round_trip_s"] > 0
    assert {frozenset(row) for row in content["rows"]} == {
        frozenset({"item", "found", "version", "needed_for", "how_to_get"})
    }
    assert {"python", "redis-server", "torch", "hiredis", "memfd"} <= {row["item"] for row in content["rows"]}


def test_doctor_fits_a_usual_terminal_and_tells_of_everything_used() -> None:
    done = thalweg("doctor", "--json", "-")
    assert max(map(len, done.stderr.splitlines())) <= 100
    items = {row["item"] for row in json.loads(done.stdout)["rows"]}
    assert {"Open MPI", "MPICH", "srun", "mpi4py", "h5py", "h5py with MPI", "redis-server", "dragonhpc"} <= items
    assert {"chromium", "CuPy", "dpnp", "GPUs", "cmake", "gfortran", "Kokkos"} <= items


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n", "4.1.4"),
        ("HYDRA build details:\n    Version:                                 4.0.2\n", "4.0.2"),
        ("mpirun: command of something else 1.2.3\n", None),
    ],
)
def test_an_mpi_is_known_by_what_its_launcher_says(answer: str, version: str | None) -> None:
    assert mpi_version(answer) == version


def test_folders_without_a_run_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    run = make_run(tmp_path / "run")
    (make_run(tmp_path / "cut") / "events.parquet").unlink()
    make_sweep(tmp_path / "sweep", "one-to-one", {"backend": ["thalweg"]})
    wanted = "give the folder of a run or of a sweep, such as runs/demo"
    for arguments, message in (
        (["report", "empty"], f"report: empty holds neither run.json nor sweep.json; {wanted}"),
        (["report", "file"], f"report: file is a file; {wanted}"),
        (["compare", run.name, "empty"], f"compare: empty holds neither run.json nor sweep.json; {wanted}"),
        (
            ["report", "cut"],
            "report: cut holds a run that goes on, or was killed before it was merged (no events.parquet); "
            "wait for its end, or run it again",
        ),
        (["compare", "run", "sweep"], "compare: run is a run, sweep is a sweep; give runs only, or sweeps only"),
    ):
        done = thalweg(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"thalweg: error: {message}\n")


def test_sweeps_are_reported_together_and_compared(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_sweep(tmp_path / name, "one-to-one", {"backend": ["thalweg", "redis"]})
    done = thalweg("report", "a", "b", "--out", "both.html", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "both.html").exists()
    done = thalweg("compare", "a", "b", "--out", "compare.html", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "compare.html").exists()
    rows = json.loads(done.stdout)["rows"]
    assert {(row["sweep"], row["backend"]) for row in rows} == {
        (folder, backend) for folder in ("a", "b") for backend in ("thalweg", "redis")
    }


def test_piped_output_has_no_colours_and_no_progress() -> None:
    done = thalweg("doctor")
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (55_630.4, "55,630"),
        (-12_345.6, "-12,346"),
        (0.000123456, "0.0001235"),
        (4_777_642_752, "4,777,642,752"),
        (9_999, "9999"),
        (9_999.6, "10,000"),
        (math.inf, "–"),
        (None, "–"),
        (True, "yes"),
    ],
)
def test_numbers_of_tables_are_read_by_people(value: object, shown: str) -> None:
    assert text(value) == shown


def test_report_and_compare_write_pages_and_rows(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_run(tmp_path / name)
    done = thalweg("report", "a", "--json", "rows.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "a" / "report.html").exists()
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert [(row["component"], row["iterations"], row["backend"]) for row in rows] == [
        ("solver", 200, "thalweg"),
        ("trainer", 100, "thalweg"),
    ]
    done = thalweg("compare", "a", "b", "--out", "both.html", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0
    assert [row["run"] for row in json.loads(done.stdout)["rows"]] == ["a", "a", "b", "b"]
    assert "median : a" in done.stderr
    assert (tmp_path / "both.html").exists()
