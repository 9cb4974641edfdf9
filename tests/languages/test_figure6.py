"""The paper's figure 6: what a program of one language puts row-major, one of another gets column-major."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

import pytest

from compiled import run
from source_tree import ROOT
from thalweg.staging import Server

LANGUAGES = ("c", "cxx", "fortran", "kokkos", "python")
PAIRS = list(itertools.product(LANGUAGES, LANGUAGES))


def program(figure6: Path, language: str) -> list[str | Path]:
    """The command of the example in a language."""
    if language == "python":
        return [sys.executable, ROOT / "examples/figure6/figure6.py"]
    return [figure6 / f"figure6_{language}"]


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=[f"{w}-{r}" for w, r in PAIRS])
def test_every_language_reads_what_every_language_wrote(
    figure6: Path, server: Server, writer: str, reader: str
) -> None:
    env = {**os.environ, "THALWEG_ADDRESS": server.address}
    version = str(PAIRS.index((writer, reader)))
    run(*program(figure6, writer), "put", version, env=env, timeout_s=60)
    said = run(*program(figure6, reader), "get", version, env=env, timeout_s=60)
    assert said == "0 of 24 cells are wrong\n"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_reader_that_meets_other_cells_says_so(figure6: Path, language: str) -> None:
    import numpy as np

    from thalweg.staging import Client

    with Server(memory_limit_bytes=16 << 20) as server, Client(server.address) as client:
        wrong = np.fromfunction(lambda i, j: 100.0 * i + j, (4, 6))
        wrong[2, 3] += 1
        client.define("figure6", (4, 6), "float64").put(wrong, version=0)
        env = {**os.environ, "THALWEG_ADDRESS": server.address}
        with pytest.raises(AssertionError, match="1 of 24 cells are wrong"):
            run(*program(figure6, language), "get", "0", env=env, timeout_s=60)
