"""The page of sweeps: its figures, what did not finish, and sweeps side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from invented_run import make_run, make_sweep
from pages import without_library
from thalweg.errors import InvalidError, NotFoundError
from thalweg.report import compare_sweeps, compared_sweeps, write_sweep_report
from thalweg.results import FolderLock

AXES = {"size_bytes": [1_000_000, 4_000_000], "backend": ["thalweg", "redis"]}


def test_the_page_has_figures_readings_and_files(tmp_path: Path) -> None:
    page = write_sweep_report([make_sweep(tmp_path / "s", "one-to-one", AXES, repeats=2)])
    text = without_library(page.read_text())
    for words in ("Figure 3", "Figure 4", "Fastest at each size", "redis : thalweg", "The paper:", "8 of 8 runs done"):
        assert words in text
    for name in ("figure-3.png", "figure-3.svg", "figure-4.png", "figure-4.svg"):
        assert f'href="{name}"' in text
        assert (page.parent / name).is_file()


def test_a_page_of_two_sweeps_has_files_of_its_own_name(tmp_path: Path) -> None:
    folders = [make_sweep(tmp_path / name, "one-to-one", AXES) for name in ("a", "b")]
    write_sweep_report(folders, tmp_path / "paper.html")
    names = {path.name for path in tmp_path.glob("*.png")}
    assert names == {f"paper-figure-{number}-{sweep}.png" for number in (3, 4) for sweep in (1, 2)}


def test_failed_and_pending_runs_are_shown_as_such(tmp_path: Path) -> None:
    ends = {1: "failed", 2: "pending"}
    folder = make_sweep(tmp_path / "s", "one-to-one", AXES, status="interrupted", ends=ends)
    text = without_library(write_sweep_report([folder]).read_text())
    for words in ("2 of 4 runs done", "trainer: exit status 3", "no space left on device", "Figure 3"):
        assert words in text
    assert '<span class="status pending">' in text
    assert '<span class="status interrupted">' in text


def test_a_sweep_that_was_killed_is_not_said_to_run(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "s", "one-to-one", AXES, ends={3: "pending"})
    facts = json.loads((folder / "sweep.json").read_text())
    facts["status"] = facts["runs"][3]["status"] = "running"
    (folder / "sweep.json").write_text(json.dumps(facts))
    text = without_library(write_sweep_report([folder]).read_text())
    assert "status running" not in text
    assert "status interrupted" in text
    with FolderLock(folder):
        assert "status running" in without_library(write_sweep_report([folder]).read_text())


def test_sweeps_side_by_side(tmp_path: Path) -> None:
    before = make_sweep(tmp_path / "before", "one-to-one", AXES)
    after = make_sweep(tmp_path / "after", "one-to-one", AXES, slower=0.5, ends={3: "pending"})
    table = compared_sweeps([before, after])
    assert table.columns == ["measure", "backend", "size / MB", "before / ms", "after / ms", "after : before"]
    assert table.rows[0] == ["write", "thalweg", 1, *(pytest.approx(value) for value in (1, 0.5, 0.5))]
    assert table.rows[3] == ["write", "redis", 4, pytest.approx(16), None, None]
    text = without_library(compare_sweeps([before, after], tmp_path / "c.html").read_text())
    for words in ("Time of one write", "Time of one read", "after: redis", "after : before"):
        assert words in text
    other = make_sweep(tmp_path / "other", "many-to-one", AXES)
    with pytest.raises(InvalidError, match="hold sweeps of one-to-one, many-to-one; give sweeps of one pattern"):
        compare_sweeps([before, other], tmp_path / "c.html")


def test_a_run_is_no_sweep(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="give the folder of a sweep"):
        write_sweep_report([make_run(tmp_path / "run")])
