"""The patterns run to their end at a small size, and their folders tell the truth."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from thalweg.errors import ConfigError, CorruptDataError
from thalweg.patterns import PATTERNS
from thalweg.patterns.payload import Payloads, verify
from thalweg.results import component_rows

BACKENDS = ["thalweg", "node-local", "filesystem", "redis"]


def test_listing_patterns_imports_nothing_heavy():
    script = (
        "import sys; from thalweg.patterns import PATTERNS\n"
        "heavy = {'numpy', 'torch', 'pydantic', 'pyarrow'}\n"
        "print([p.name for p in PATTERNS.values()], sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "['navier-stokes', 'one-to-one', 'many-to-one', 'inference-loop', 'funnel'] []"


def test_importing_the_package_imports_no_optional_library():
    optional = {"numpy", "torch", "redis", "pydantic", "pyarrow", "matplotlib"}
    script = f"import sys, thalweg; print(sorted({optional} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


@pytest.mark.parametrize("name", list(PATTERNS))
def test_every_option_is_explained(name):
    for key, field in PATTERNS[name].Options.model_fields.items():
        assert field.description, key


def test_a_spread_without_a_distribution_is_refused():
    pattern = PATTERNS["one-to-one"]
    with pytest.raises(ConfigError, match=r"solver_std_s 0\.1 has no effect with distribution 'constant'; set dist"):
        pattern.options({"solver_std_s": 0.1})
    assert pattern.options({"solver_std_s": 0.1, "distribution": "gamma"}).solver_std_s == 0.1


def test_a_damaged_payload_is_noticed():
    payloads = Payloads(4000, 1)
    first, second = payloads.next(), payloads.next()
    verify(first, "a")
    assert not np.array_equal(first, second)
    assert np.isfinite(first[:-1]).all()
    damaged = first.copy()
    damaged[17] += np.float32(1e-3)
    with pytest.raises(CorruptDataError, match="payload 'a' has the checksum"):
        verify(damaged, "a")


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_to_one_gives_the_papers_tables(backend, tmp_path):
    pytest.importorskip("torch")
    if backend == "redis" and shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    options = PATTERNS["one-to-one"].options({"scale": 0.006, "backend": backend})
    seen = []
    folder = PATTERNS["one-to-one"].run(options, tmp_path / "run", seen.append)
    assert folder.status == "done"
    rows = {row["component"]: row for row in component_rows(folder.path)}
    assert rows["trainer"]["iterations"] == 30
    assert rows["solver"]["backend"] == backend
    assert np.isfinite(folder.summary["final_loss"])
    assert rows["solver"]["bytes"] >= 2 * 1277952
    titles = [table.title for table in folder.tables]
    assert titles == ["Table 2: events", "Table 3: iteration times"]
    assert folder.tables[0].rows[0] == ["paper, original", 10108, 203, 5000, 208]
    assert {event.component for event in seen} == {"solver", "trainer"}
    facts = json.loads((folder.path / "run.json").read_text())
    for artifact in facts["artifacts"]:
        assert (folder.path / artifact["path"]).stat().st_size > 1000
    assert all(entry["status"] == "done" for entry in facts["components"])
    assert not (folder.path / "staging").exists() or not list((folder.path / "staging").iterdir())


def test_many_to_one_reads_every_simulation_in_every_update(tmp_path):
    pytest.importorskip("torch")
    options = PATTERNS["many-to-one"].options(
        {"scale": 0.02, "simulations": 3, "size_bytes": 40_000, "ahead": 1, "backend": "node-local"}
    )
    folder = PATTERNS["many-to-one"].run(options, tmp_path / "run")
    rows = {row["component"]: row for row in component_rows(folder.path)}
    assert rows["trainer"]["iterations"] == 50
    assert [rows[f"simulation-{member}"]["bytes"] for member in range(3)] == [5 * 40_000] * 3
    events = folder.events().to_pylist()
    reads = [event for event in events if event["kind"] == "read" and event["key"].startswith("ensemble/")]
    assert sorted(event["key"] for event in reads) == sorted(f"ensemble/{m}/{u}" for m in range(3) for u in range(5))
    written = {event["key"]: event["start_ns"] for event in events if event["kind"] == "write"}
    for member in range(3):  # nobody is more than one array ahead of the trainer
        for update in range(1, 5):
            assert written[f"ensemble/{member}/{update}"] >= written[f"trainer/taken/{update - 1}"]
    assert folder.summary["time_per_iteration_s"] >= 0.06
    assert folder.summary["training_s"] == pytest.approx(50 * folder.summary["time_per_iteration_s"])


def test_a_funnel_finds_more_than_chance(tmp_path):
    pytest.importorskip("torch")
    options = PATTERNS["funnel"].options(
        {"candidates": 4000, "features": 8, "rounds": 4, "per_round": 40, "simulation_s": 0.001,
         "simulation_std_s": 0.0005, "backend": "node-local"}
    )  # fmt: skip
    folder = PATTERNS["funnel"].run(options, tmp_path / "run")
    assert folder.summary["simulated_share"] == pytest.approx(160 / 4000)
    assert folder.summary["enrichment"] > 2
    rounds = folder.tables[0].rows
    assert [row[1] for row in rounds] == [40, 80, 120, 160]
    assert rounds == sorted(rounds, key=lambda row: row[3])
    kinds = {(record.name, record.type) for record in folder.components}
    assert kinds == {("steer", "local"), ("simulate", "task"), ("train", "task"), ("infer", "task")}
    with pytest.raises(ConfigError, match="rounds times per_round is 200, candidates are 100"):
        PATTERNS["funnel"].options({"candidates": 100, "rounds": 5, "per_round": 40})


def test_navier_stokes_streams_trains_and_judges(tmp_path):
    pytest.importorskip("torch")
    options = PATTERNS["navier-stokes"].options(
        {"backend": "node-local", "grid": 32, "members": 4, "iterations": 60, "width": 8, "modes": 8, "layers": 2,
         "fields_per_flow": 6, "steps": 8, "unseen_flows": 2, "threads": 1}
    )  # fmt: skip
    folder = PATTERNS["navier-stokes"].run(options, tmp_path / "run")
    summary = folder.summary
    assert summary["iterations"] == 60
    assert summary["surrogate_error"] < summary["persistence_error"]
    assert summary["fields_read"] >= 4
    assert summary["largest_courant"] < 1.5
    assert (folder.path / "surrogate.png").read_bytes()[:4] == b"\x89PNG"
    with np.load(folder.path / "fields.npz") as arrays:
        assert arrays["loss"].shape == (60,)
        shown = np.linalg.norm(arrays["predicted"] - arrays["true"]) / np.linalg.norm(arrays["true"])
        assert shown == pytest.approx(float(arrays["shown_error"]), rel=1e-5)
