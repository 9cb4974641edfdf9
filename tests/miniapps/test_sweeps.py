"""Sweeps run every combination once, go on where they stopped, and refuse what cannot run before anything does."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from thalweg.errors import ComponentFailedError, ConfigError, CorruptDataError, ExistsError, InvalidError, NotFoundError
from thalweg.patterns import PATTERNS
from thalweg.patterns.sweep import run_sweep
from thalweg.results import SweepFolder, sweep_measures, sweep_rows

AXES = {"size_bytes": [40_000, 80_000], "backend": ["thalweg", "node-local"]}
SMALL = {"scale": 0.001, "solver_iteration_s": 0.001, "trainer_iteration_s": 0.001, "write_every": 2}


class Imagined:
    """A pattern that writes down what it is asked to run, in place of running it."""

    def __init__(self, fails=()):
        self.pattern = PATTERNS["one-to-one"]
        self.name, self.axes, self.Options = self.pattern.name, self.pattern.axes, self.pattern.Options
        self.options = self.pattern.options
        self.ran, self.fails = [], set(fails)

    def run(self, options, folder, progress=None):
        self.ran.append((options.size_bytes, options.backend, options.seed))
        if (options.size_bytes, options.backend) in self.fails:
            raise ComponentFailedError("the disk is full")


def test_contenders_run_next_to_each_other_and_repeats_outermost(tmp_path):
    imagined = Imagined()
    sweep = run_sweep(imagined, {"seed": 7}, AXES, tmp_path / "s", repeats=2)
    once = [(40_000, "thalweg"), (40_000, "node-local"), (80_000, "thalweg"), (80_000, "node-local")]
    assert imagined.ran == [(*point, 7) for point in once] + [(*point, 8) for point in once]
    assert sweep.status == "done"
    assert [run.status for run in SweepFolder.open(tmp_path / "s").runs] == ["done"] * 8


def test_a_run_that_fails_is_told_and_the_others_run(tmp_path):
    imagined = Imagined(fails=[(40_000, "node-local")])
    sweep = run_sweep(imagined, {}, AXES, tmp_path / "s")
    assert sweep.status == "failed"
    assert len(imagined.ran) == 4
    (failed,) = [run for run in sweep.runs if run.status == "failed"]
    assert (failed.point["backend"], failed.error) == ("node-local", "the disk is full")


def test_a_run_that_fails_in_an_unknown_way_is_told_too(tmp_path):
    imagined = Imagined()
    ran = []

    def run(options, folder, progress=None):
        ran.append(options)
        if len(ran) == 2:
            raise ZeroDivisionError("division by zero")

    imagined.run = run
    sweep = run_sweep(imagined, {}, AXES, tmp_path / "s")
    assert [run.status for run in sweep.runs] == ["done", "failed", "done", "done"]
    assert sweep.runs[1].error == "ZeroDivisionError: division by zero"
    assert sweep.status == "failed"


def test_a_sweep_goes_on_where_it_stopped_and_may_grow(tmp_path):
    run_sweep(Imagined(fails=[(40_000, "node-local")]), {}, AXES, tmp_path / "s")
    again = Imagined()
    grown = {"size_bytes": [*AXES["size_bytes"], 120_000], "backend": ["thalweg", "node-local"]}
    sweep = run_sweep(again, {}, grown, tmp_path / "s", resume=True)
    assert again.ran == [(40_000, "node-local", 0), (120_000, "thalweg", 0), (120_000, "node-local", 0)]
    assert sweep.status == "done"
    assert len({run.folder for run in sweep.runs}) == len(sweep.runs) == 6


def test_a_sweep_is_neither_overwritten_nor_mixed_with_another(tmp_path):
    run_sweep(Imagined(), {}, AXES, tmp_path / "s")
    with pytest.raises(ExistsError, match="holds a sweep; give another folder, or resume it"):
        run_sweep(Imagined(), {}, AXES, tmp_path / "s")
    with pytest.raises(InvalidError, match=r"holds a sweep with scale None, asked for is 0\.5; resume it with"):
        run_sweep(Imagined(), {"scale": 0.5}, AXES, tmp_path / "s", resume=True)
    other = Imagined()
    other.name = "many-to-one"
    with pytest.raises(InvalidError, match="holds a sweep of 'one-to-one', not of 'many-to-one'"):
        run_sweep(other, {}, AXES, tmp_path / "s", resume=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    with pytest.raises(InvalidError, match="holds files that are not of a sweep"):
        run_sweep(Imagined(), {}, AXES, tmp_path / "mine")


@pytest.mark.parametrize(
    ("axes", "repeats", "told"),
    [
        ({"matrix": [1, 2]}, 1, "one-to-one cannot be swept over 'matrix'; accepted are backend, size_bytes"),
        ({"backend": ["thalweg", "redsi"]}, 1, "one-to-one: backend: 'redsi' is not a backend"),
        ({"size_bytes": [400, 401]}, 1, "one-to-one: size_bytes: is 401; should be a multiple of 4"),
        ({"size_bytes": [400, 400]}, 1, r"size_bytes: is \[400, 400\]; give one or more values, each once"),
        ({"size_bytes": []}, 1, r"size_bytes: is \[\]; give one or more values, each once"),
        ({"size_bytes": [400]}, 0, "sweep: repeats is 0; give an integer of 1 or more"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_does(axes, repeats, told, tmp_path):
    imagined = Imagined()
    with pytest.raises(ConfigError, match=told):
        run_sweep(imagined, {}, axes, tmp_path / "s", repeats=repeats)
    assert imagined.ran == []
    assert not (tmp_path / "s").exists()


def test_a_folder_that_is_no_sweep_is_told(tmp_path):
    with pytest.raises(NotFoundError, match="give the folder of a sweep"):
        SweepFolder.open(tmp_path)
    (tmp_path / "sweep.json").write_text('{"format": "thalweg-sweep/9"}')
    with pytest.raises(CorruptDataError, match="has format 'thalweg-sweep/9'; this version reads 'thalweg-sweep/1'"):
        SweepFolder.open(tmp_path)
    (tmp_path / "sweep.json").write_text('{"format": "thalweg-sweep/1"}')
    with pytest.raises(CorruptDataError, match="is not as documented: 'pattern'"):
        SweepFolder.open(tmp_path)


def test_real_runs_give_measures_by_combination(tmp_path):
    pytest.importorskip("torch")
    sweep = run_sweep(PATTERNS["one-to-one"], SMALL, {"backend": ["thalweg", "node-local"]}, tmp_path / "s", repeats=2)
    assert sweep.status == "done"
    rows = sweep_measures(tmp_path / "s")
    assert [(row["backend"], row["repeats"], row["size_bytes"]) for row in rows] == [
        ("thalweg", 2, 1277952),
        ("node-local", 2, 1277952),
    ]
    for row in rows:
        assert row["write_bytes_per_s"] == pytest.approx(1277952 / row["write_s"])
        assert 0 < row["read_s"] < 1
        assert row["compute_s"] == pytest.approx(0.001, rel=0.5)
    assert {row["repeat"] for row in sweep_rows(tmp_path / "s")} == {1, 2}


def test_an_interrupted_sweep_says_so_and_leaves_nothing_running(tmp_path):
    pytest.importorskip("torch")
    script = tmp_path / "main.py"
    script.write_text(
        textwrap.dedent(
            f"""
            from pathlib import Path
            from thalweg.patterns import PATTERNS
            from thalweg.patterns.sweep import run_sweep
            axes = {{"backend": ["thalweg", "node-local"]}}
            def tell(progress):
                if progress.component == "solver":
                    Path({str(tmp_path / "up")!r}).touch()
            run_sweep(PATTERNS["one-to-one"], {{"scale": 1.0}}, axes, Path({str(tmp_path / "s")!r}), progress=tell)
            """
        )
    )
    sweep = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE)
    while not (tmp_path / "up").exists():
        assert sweep.poll() is None, sweep.communicate()
        os.sched_yield()
    sweep.send_signal(signal.SIGINT)
    sweep.communicate(timeout=60)
    facts = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert facts["status"] == "interrupted"
    assert [run["status"] for run in facts["runs"]] == ["interrupted", "pending"]
    taken_up = SweepFolder.create(
        Path(tmp_path / "s"), "one-to-one", {"scale": 1.0}, {"backend": ["thalweg", "node-local"]}, 1, resume=True
    )
    assert [dataclasses.asdict(run)["status"] for run in taken_up.runs] == ["pending", "pending"]
    taken_up.finish("interrupted")
