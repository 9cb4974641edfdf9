"""The data behind the figures of a sweep, from invented runs whose numbers are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from invented_run import make_sweep
from thalweg.report.sweep_charts import chart
from thalweg.report.sweep_figures import SweepFigure, sweep_figures
from thalweg.report.sweep_prints import print_figure
from thalweg.results import sweep_points

SIZES = [1_000_000, 4_000_000]
BOTH = ["thalweg", "redis"]
COLOURS = {"thalweg": "#111111", "redis": "#222222"}


def figures(folder: Path, pattern: str) -> dict[int, SweepFigure]:
    return {figure.number: figure for figure in sweep_figures(pattern, sweep_points(folder), COLOURS)}


def marks(figure: SweepFigure, panel: int = 0) -> dict[str, list[tuple[float, float]]]:
    series = figure.drawing.panels[panel].series
    return {line.name: [(mark.size_mb, pytest.approx(mark.spread.median)) for mark in line.marks] for line in series}


def test_figure_3_is_bytes_by_time_of_the_median_array(tmp_path: Path) -> None:
    found = figures(make_sweep(tmp_path / "s", "one-to-one", {"size_bytes": SIZES, "backend": BOTH}), "one-to-one")
    assert sorted(found) == [3, 4]
    assert [panel.title for panel in found[3].drawing.panels] == ["write", "read"]
    assert marks(found[3]) == {"thalweg": [(1, 1.0), (4, 1.0)], "redis": [(1, 0.25), (4, 0.25)]}
    assert marks(found[3], 1) == {"thalweg": [(1, 2.0), (4, 2.0)], "redis": [(1, 0.5), (4, 0.5)]}
    assert found[3].reading.columns == ["operation", "size / MB", "fastest", "GB/s", "redis : thalweg"]
    assert found[3].reading.rows[0] == ["write", 1, "thalweg", pytest.approx(1), pytest.approx(0.25)]
    assert "The median array of each run; 5 arrays a point, which are few" in found[3].note
    assert "nothing is known of the spread" in found[3].note


def test_whiskers_go_from_the_least_to_the_most_of_the_repeats(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "s", "one-to-one", {"size_bytes": [1_000_000], "backend": BOTH}, repeats=3)
    figure = figures(folder, "one-to-one")[3]
    (mark,) = figure.drawing.panels[0].series[0].marks
    assert mark.spread == pytest.approx((1 / 1.1, 1 / 1.2, 1.0))
    assert mark.rests_on == "15 arrays in 3 runs"
    bar = chart(figure.drawing).data[0].error_y
    assert (bar.array[0], bar.arrayminus[0]) == pytest.approx((1 - 1 / 1.1, 1 / 1.1 - 1 / 1.2))
    assert bar.visible


def test_backends_whose_repeats_overlap_are_not_told_apart(tmp_path: Path) -> None:
    axes = {"size_bytes": [1_000_000], "backend": ["thalweg", "node-local"]}
    found = sweep_figures(
        "one-to-one",
        sweep_points(make_sweep(tmp_path / "s", "one-to-one", axes, repeats=2)),
        {**COLOURS, "node-local": "#333333"},
    )
    assert found[0].reading.rows[0][2] == "thalweg (or node-local)"


def test_figure_4_has_an_iteration_beside_the_transport(tmp_path: Path) -> None:
    found = figures(make_sweep(tmp_path / "s", "one-to-one", {"size_bytes": SIZES, "backend": BOTH}), "one-to-one")
    assert marks(found[4])["one iteration of the solver"] == [(1, 31.2), (4, 31.2)]
    assert marks(found[4], 1)["one iteration of the trainer"] == [(1, 61.0), (4, 61.0)]
    assert marks(found[4])["redis"] == [(1, 4.0), (4, 16.0)]
    row = found[4].reading.rows[1]
    assert row == ["write", 4, pytest.approx(31.2), pytest.approx(400 / 31.2), pytest.approx(1600 / 31.2)]


def test_figure_5_is_of_the_fewest_simulations(tmp_path: Path) -> None:
    axes = {"simulations": [4, 2], "size_bytes": SIZES, "backend": BOTH}
    found = figures(make_sweep(tmp_path / "s", "many-to-one", axes), "many-to-one")
    assert sorted(found) == [5, 6]
    assert found[5].title == "Read and write throughput, many-to-one, 2 simulations"
    assert marks(found[5])["redis"] == [(1, 0.25), (4, 0.25)]


def test_figure_6_has_a_panel_a_number_of_simulations_and_the_configured_time(tmp_path: Path) -> None:
    axes = {"simulations": [1, 8], "size_bytes": SIZES, "backend": BOTH}
    figure = figures(make_sweep(tmp_path / "s", "many-to-one", axes), "many-to-one")[6]
    assert [panel.title for panel in figure.drawing.panels] == ["1 simulation", "8 simulations"]
    assert marks(figure, 1) == {"thalweg": [(1, 69.0), (4, 69.0)], "redis": [(1, 93.0), (4, 93.0)]}
    assert figure.drawing.panels[1].reference == (61.0, "configured: 61 ms")
    assert not figure.drawing.logarithmic, "61 to 93 ms read better on a linear axis"
    low, high = figure.drawing.y_range
    assert low < 61 < 93 < high
    assert figure.reading.rows[2][:4] == [8, 1, "thalweg", pytest.approx(69)]
    assert figure.reading.rows[2][4:] == [pytest.approx(69 / 61 * 100 - 100), pytest.approx(93 / 69)]


def test_a_combination_without_results_is_a_gap(tmp_path: Path) -> None:
    axes = {"size_bytes": SIZES, "backend": BOTH}
    folder = make_sweep(tmp_path / "s", "one-to-one", axes, status="failed", ends={1: "failed", 2: "pending"})
    found = figures(folder, "one-to-one")
    assert marks(found[3]) == {"thalweg": [(1, 1.0)], "redis": [(4, 0.25)]}
    assert found[3].reading.rows[0] == ["write", 1, "thalweg", pytest.approx(1), None]
    assert found[3].reading.rows[1] == ["write", 4, "redis", pytest.approx(0.25), None]
    assert found[4].reading.rows[1][3:] == [None, pytest.approx(1600 / 31.2)]


def test_nothing_measured_is_no_figure(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "s", "one-to-one", {"backend": BOTH}, ends={0: "failed", 1: "pending"})
    assert figures(folder, "one-to-one") == {}


@pytest.mark.parametrize("axes", [{"backend": BOTH}, {"size_bytes": SIZES}])
def test_one_size_or_one_backend_is_enough(axes: dict[str, list[object]], tmp_path: Path) -> None:
    for figure in figures(make_sweep(tmp_path / "s", "one-to-one", axes), "one-to-one").values():
        low, high = figure.drawing.x_range
        assert low < high
        assert figure.drawing.y_range[0] < figure.drawing.y_range[1]
        assert len(chart(figure.drawing).data) > 0


def test_every_axis_says_its_unit_and_every_point_says_what_it_is(tmp_path: Path) -> None:
    axes = {"simulations": [1, 2, 3, 4, 5], "size_bytes": SIZES, "backend": BOTH}
    for figure in figures(make_sweep(tmp_path / "s", "many-to-one", axes), "many-to-one").values():
        drawn = chart(figure.drawing)
        assert drawn.layout.xaxis.title.text == "size of an array / MB"
        assert drawn.layout.yaxis.title.text.endswith(("/ ms", "/ (GB/s)"))
        words = drawn.data[1].text[0]
        assert words.startswith("<b>redis</b> · ")
        assert "1 MB: " in words
        assert "1 run" in words
        names = [trace.name for trace in drawn.data if trace.showlegend]
        assert names == ["thalweg", "redis"], "one legend for all panels"


def test_sizes_close_together_share_a_label(tmp_path: Path) -> None:
    sizes = [1_000_000, 1_100_000, 2_000_000]
    found = figures(make_sweep(tmp_path / "s", "one-to-one", {"size_bytes": sizes}), "one-to-one")
    assert found[3].drawing.ticks_mb == [1.0, 2.0]


def test_figures_are_files_too(tmp_path: Path) -> None:
    axes = {"simulations": [1, 2, 3, 4, 5], "size_bytes": SIZES, "backend": BOTH}
    figure = figures(make_sweep(tmp_path / "s", "many-to-one", axes, repeats=2), "many-to-one")[6]
    files = print_figure(figure.drawing, tmp_path / "figure-6")
    assert [file.name for file in files] == ["figure-6.png", "figure-6.svg"]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    drawn = files[1].read_bytes()
    assert b"<svg" in drawn
    print_figure(figure.drawing, tmp_path / "figure-6")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure-6.png", "figure-6.svg", "s"]
