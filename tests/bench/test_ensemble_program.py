"""The components of ``thalweg bench ensemble`` under mpirun: what they write, and that they check what they read."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg.bench.ensemble import job
from thalweg.bench.ensemble.domain import PRESETS, Domain, Preset, shared_by
from thalweg.bench.ensemble.files import analysis, history
from thalweg.bench.ensemble.mpi import MPI, find_mpi
from thalweg.bench.ensemble.plan import Plan
from thalweg.bench.ensemble.transports.pnetcdf_disk import PnetCDFDisk
from thalweg.bench.ensemble.transports.redirect import Redirect
from thalweg.bench.ensemble.transports.transport import Case
from thalweg.errors import ComponentFailedError, MissingLibraryError

DEADLINE_S = 120


@pytest.fixture(scope="module")
def mpi() -> MPI:
    try:
        found = find_mpi()
        PnetCDFDisk().check(found)
    except MissingLibraryError as error:
        pytest.skip(str(error))
    return found


@pytest.fixture(scope="module")
def program(mpi: MPI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield mpi.compiled(PnetCDFDisk.backend, PnetCDFDisk().options(), tmp_path_factory.mktemp("program"))


def scale_alone(mpi: MPI, program: Path, domain: Domain, folder: Path) -> subprocess.CompletedProcess[str]:
    """SCALE in a world of its own, with nobody who would overwrite its analysis; its files stay."""
    files, scratch = folder / "files", folder / "job"
    files.mkdir()
    scratch.mkdir()
    plan = Plan(domain, 1, 2, False, files, scratch)
    component = [str(program), "scale", str(plan.write())]
    command = mpi.command(domain.processes, component, component)
    return subprocess.run(
        command[: command.index(":")],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        env=mpi.environment(domain.processes),
    )


@pytest.mark.parametrize(
    "domain",
    [Domain(Preset("as measured", 64, 32, 60, 7, 5), 2, 2), shared_by(PRESETS["ofp"], 3)],
    ids=["128x64", "three-processes"],
)
def test_files_are_as_long_as_the_model_says(mpi: MPI, program: Path, domain: Domain, tmp_path: Path) -> None:
    scale_alone(mpi, program, domain, tmp_path)
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "files" / "0").iterdir()}
    assert sizes == {
        "000000.hist.nc": history(domain).size_bytes,
        "000000.anal.nc": analysis(domain).size_bytes,
    }
    if domain.x == 128:
        assert sizes == {"000000.hist.nc": 40_205_336, "000000.anal.nc": 36_088_896}


def test_an_analysis_that_nobody_overwrote_is_noticed(mpi: MPI, program: Path, tmp_path: Path) -> None:
    done = scale_alone(mpi, program, shared_by(PRESETS["ofp"], 1), tmp_path)
    assert done.returncode != 0
    assert "scale: " in done.stderr and "/0/000000.anal.nc: DENS: cell " in done.stderr and "expected" in done.stderr


def test_a_component_that_fails_is_an_error_with_its_words(mpi: MPI, tmp_path: Path) -> None:
    programs, folder = tmp_path / "programs", tmp_path / "disk"
    programs.mkdir()
    folder.mkdir()
    broken = programs / "broken"
    broken.write_text('#!/bin/sh\necho "$1: the sea is dry" >&2\nexit 3\n')
    broken.chmod(0o755)
    case = Case(shared_by(PRESETS["ofp"], 1), 1)
    with pytest.raises(ComponentFailedError, match=r"pnetcdf-disk, 1 × 1 processes a component: .*the sea is dry"):
        job.run(PnetCDFDisk(), case, 2, None, mpi, broken, folder)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("replay", [True, False])
def test_redirect_has_rules_for_both_files(replay: bool, tmp_path: Path) -> None:
    tomllib = pytest.importorskip("tomllib")
    command = Redirect().launch(["mpirun", "-n", "2", "program"], tmp_path, replay)
    assert command[-4:] == ["mpirun", "-n", "2", "program"]
    rules = tomllib.loads(Path(command[command.index("--config") + 1]).read_text())
    assert {rule["match"]: rule["turns"] for rule in rules["files"]} == {
        "*.hist.nc": ["scale", "letkf"],
        "*.anal.nc": ["scale", "letkf", "letkf", "scale"],
    }
    assert [rule["replay"] for rule in rules["files"]] == [replay, replay]
    assert os.listdir(tmp_path) == ["coupling.toml"]
