"""Which Kokkos `thalweg doctor` finds, and what it says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from thalweg.cli.kokkos import find_kokkos, read_kokkos

CONFIG = """\
#define KOKKOS_VERSION 40301
#define KOKKOS_ENABLE_SERIAL
/* #undef KOKKOS_ENABLE_OPENMP */
#define KOKKOS_ENABLE_CUDA
#define KOKKOS_ENABLE_CUDA_LAMBDA
"""


def kokkos_in(prefix: Path, under: str, text: str = CONFIG) -> Path:
    folder = prefix / under
    folder.mkdir(parents=True)
    (folder / "KokkosCore_config.h").write_text(text)
    return folder


@pytest.mark.parametrize("under", ["include", "include/kokkos", "include/trilinos"])
def test_release_and_backends_are_read(tmp_path: Path, under: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = kokkos_in(tmp_path, under)
    monkeypatch.setenv("Kokkos_ROOT", str(tmp_path))
    found = find_kokkos()
    assert found is not None
    assert found == ("4.3.1", ["Serial", "CUDA"], folder)


def test_the_root_goes_before_the_prefix_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = kokkos_in(tmp_path / "a", "include"), kokkos_in(tmp_path / "b", "include")
    monkeypatch.setenv("CMAKE_PREFIX_PATH", f"{tmp_path / 'nowhere'}:{tmp_path / 'b'}")
    found = find_kokkos()
    assert found is not None and found.include == second
    monkeypatch.setenv("Kokkos_ROOT", str(tmp_path / "a"))
    found = find_kokkos()
    assert found is not None and found.include == first


def test_what_says_no_release_is_no_kokkos(tmp_path: Path) -> None:
    assert read_kokkos(tmp_path / "KokkosCore_config.h") is None
    assert read_kokkos(kokkos_in(tmp_path, "include", "/* nothing */\n") / "KokkosCore_config.h") is None
