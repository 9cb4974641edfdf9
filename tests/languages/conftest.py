"""The faces of other languages, built once a session, and the programs that use them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compiled import build, built_faces
from source_tree import ROOT
from thalweg.staging import Server


@pytest.fixture(scope="session")
def package() -> Path:
    """The built faces, as `find_package(thalweg)` finds them in the build tree."""
    return built_faces()


@pytest.fixture(scope="session")
def programs(package: Path) -> Path:
    """The test programs."""
    return build(ROOT / "tests/languages/programs", ROOT / "build" / "language-tests", package)


@pytest.fixture(scope="session")
def figure6(package: Path) -> Path:
    """The example of the paper's figure 6 in the compiled languages."""
    return build(ROOT / "examples/figure6", ROOT / "build" / "figure6", package)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One server for the programs of a module."""
    with Server(memory_limit_bytes=64 << 20) as server:
        yield server
