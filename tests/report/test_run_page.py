"""The report of a run: complete, self-contained, refused with a clear message where there is no run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from invented_run import make_ensemble, make_run
from pages import without_library
from thalweg.errors import CorruptDataError, NotFoundError
from thalweg.report import charts, write_report
from thalweg.report.recorded import Recorded
from thalweg.results import ComponentRecord, RunFolder


def test_page_names_no_address_of_the_network(tmp_path: Path) -> None:
    page = without_library(write_report(make_run(tmp_path / "run")).read_text())
    assert len(page) < 1_000_000, "the library was not taken out"
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?:https?:)?//[^"']*""", page)
    assert "@import" not in page


def test_page_shows_summary_tables_and_machine(tmp_path: Path) -> None:
    page = write_report(make_run(tmp_path / "run")).read_text()
    for words in ("surrogate error", "0.0312", "Events (paper, table 2)", "10\u202f108", "MatMulSimple2D", "cores"):
        assert words in page


def test_figures_are_embedded(tmp_path: Path) -> None:
    assert 'src="data:image/png;base64,' in write_report(make_run(tmp_path / "run")).read_text()


def test_text_of_a_run_cannot_become_markup(tmp_path: Path) -> None:
    page = without_library(write_report(make_run(tmp_path / "run", name="<script>alert(1)</script>")).read_text())
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_last_lines_of_a_failed_component_are_shown(tmp_path: Path) -> None:
    run = Recorded(make_run(tmp_path / "run")).folder
    run.components[0].status, run.components[0].error = "failed", "exit status 3"
    run.write_facts()
    page = write_report(tmp_path / "run").read_text()
    assert "last line" in page
    assert "exit status 3" in page


def test_throughput_is_bytes_by_time(tmp_path: Path) -> None:
    events = Recorded(make_run(tmp_path / "run")).events
    writes = dict(events.operations(moving=True))["solver write"]
    drawn = charts.throughput([("solver write", writes)]).data[0]
    np.testing.assert_allclose(drawn.y, 1_277_952 / writes.duration_s / 1e9)
    assert len(writes) == 20


def test_timeline_keeps_transport_when_it_must_leave_events_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = Recorded(make_run(tmp_path / "run", iterations=4000)).events
    monkeypatch.setattr(charts, "MOST_MARKS", 1000)
    figure, shown = charts.timeline(events)
    marks = {trace.name: len(trace.x) // 3 for trace in figure.data if trace.mode == "lines"}
    assert marks["write"] == 400
    assert marks["read"] == 200
    assert shown < len(events)


def test_transfers_below_1_kib_have_no_throughput(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    with run.tracer("solver") as tracer:
        tracer.record("write", "flag", run.start_ns, run.start_ns + 1000, size_bytes=1023)
        tracer.record("write", "field", run.start_ns, run.start_ns + 1000, size_bytes=1024)
    run.finish()
    rows = Recorded(tmp_path / "run").statistics().rows
    assert {row[2]: row[-1] for row in rows} == {"flag": None, "field": pytest.approx(1.024)}


def test_short_bars_stay_visible_and_data_movement_is_on_top(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    with run.tracer("solver") as tracer:
        for place, kind in enumerate(("read", "write", "delete", "train", "wait")):
            tracer.record(kind, kind, run.start_ns + place, run.start_ns + place + 1)
        tracer.record("compute", "step", run.start_ns, run.start_ns + 10**10)
    run.finish()
    figure, shown = charts.timeline(Recorded(tmp_path / "run").events)
    assert shown == 6
    strokes = [trace for trace in figure.data if trace.mode == "markers"]
    assert [trace.legendgroup for trace in strokes][-2:] == ["write", "read"]
    assert all(trace.marker.line.width >= 1 and trace.marker.opacity == 1 for trace in strokes)
    assert figure.layout.yaxis.ticktext == ("solver · compute", "transport")


def test_report_of_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"run\.json is not there"):
        write_report(tmp_path)


def test_report_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"format": "thalweg-run/999"}')
    with pytest.raises(CorruptDataError, match="thalweg-run/999"):
        write_report(tmp_path)


def test_a_failed_rank_is_told_with_its_error_and_its_log(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    for rank in (0, 1):
        with run.tracer("solver", rank) as tracer:
            tracer.record("compute", "step", run.start_ns, run.start_ns + 1000)
    (run.logs / "solver.log").write_text("".join(f"line {number}\n" for number in range(30)))
    run.components = [
        ComponentRecord("solver", "remote", 0, "stopped", -15, 1.0, "logs/solver.log"),
        ComponentRecord("solver", "remote", 1, "failed", 3, 1.0, "logs/solver.log", "exit status 3"),
        ComponentRecord("dock", "task", 0, "done", 0, 7.5),
    ]
    run.finish("failed")
    text = without_library(write_report(run.path).read_text())
    failure = text.split('<section class="card failed">')[1].split("</section>")[0]
    assert "solver[1]" in failure
    assert "exit status 3" in failure
    assert "line 29" in failure
    assert "line 9\n" not in failure
    assert text.count('<section class="card failed">') == 1, "who was stopped for it did not fail"
    assert "A row of type task stands for all tasks of its name" in text
    assert "<td>solver[0]</td>" in text


def test_members_of_an_ensemble_share_a_line_where_there_are_many(tmp_path: Path) -> None:
    many = Recorded(make_ensemble(tmp_path / "many", members=12)).events
    assert many.lanes == [*(f"simulation-{number}" for number in range(12)), "trainer"]
    assert [(name, len(events)) for name, events in many.operations(moving=True)] == [
        ("simulation (all 12) write", 240),
        ("trainer read", 1),
    ]
    few = Recorded(make_ensemble(tmp_path / "few", members=3)).events
    assert [name for name, _ in few.operations(moving=True)] == [
        *(f"simulation-{number} write" for number in range(3)),
        "trainer read",
    ]
