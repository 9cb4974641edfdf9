"""Runs side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from invented_run import make_run
from thalweg.errors import InvalidError
from thalweg.report import charts, compare, compared_operations


def test_page_has_both_runs_and_what_differs(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "quick"), make_run(tmp_path / "slow", slower=2.0)]
    page = compare(runs, tmp_path / "out" / "compare.html").read_text()
    for words in ("quick", "slow", "configuration.model.width", "solver write", "iteration_mean_s"):
        assert words in page
    assert "configuration.scale" not in page, "the same in both"


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "a", name="same"), make_run(tmp_path / "b", name="same")]
    page = compare(runs, tmp_path / "compare.html").read_text()
    assert "same (1)" in page
    assert "same (2)" in page


def test_one_run_is_no_comparison(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="1 folder was given; expected two or more"):
        compare([make_run(tmp_path / "run")], tmp_path / "compare.html")


def test_operations_are_beside_those_of_the_first_run(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "quick"), make_run(tmp_path / "slow", slower=2.0)]
    table = compared_operations(runs)
    assert table.columns == ["operation", "run", "events", "median / ms", "p99 / ms", "GB/s", "median : quick"]
    assert [row[:3] for row in table.rows] == [
        ["solver write", "quick", 20],
        ["solver write", "slow", 20],
        ["trainer read", "quick", 10],
        ["trainer read", "slow", 10],
    ]
    assert [row[6] for row in table.rows] == pytest.approx([1, 2, 1, 2], rel=0.01)
    quick, slow = table.rows[:2]
    assert quick[5] == pytest.approx(2 * slow[5], rel=0.01)
    assert quick[3] <= quick[4]


def test_throughput_of_runs_has_a_logarithmic_axis() -> None:
    figure = charts.bars(["write"], [("a", [0.001]), ("b", [None])], "operation", "throughput / (GB/s)", axis="log")
    assert figure.layout.yaxis.type == "log"
    assert figure.layout.yaxis.range[0] < -3, "the shortest bar has a height"
