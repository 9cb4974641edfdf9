"""``thalweg bench relayout`` at small sizes, and what it refuses."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from command_line import thalweg

FIELDS = {"shape", "dtype", "permutation", "threads", "implementation", "bytes_per_s", "of_memcpy"}


def test_every_permutation_has_a_row_for_every_contender(tmp_path: Path) -> None:
    done = thalweg(
        *("bench", "relayout", "--shape", "17x9x33,40x21", "--threads", "1,2", "--repeats", "2", "--pages", "small"),
        *("--dtype", "float32", "--out", "out.png", "--json", "out.json"),
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    contenders = [("memcpy", 1), ("memcpy", 2), ("thalweg", 1), ("thalweg", 2), ("numpy", 1), ("naive", 1)]
    assert [
        (tuple(row["shape"]), tuple(row["permutation"]), row["implementation"], row["threads"]) for row in rows
    ] == [
        (shape, axes, *contender)
        for shape in ((17, 9, 33), (40, 21))
        for axes in itertools.permutations(range(len(shape)))
        for contender in contenders
    ]
    assert all(row.keys() >= FIELDS and row["bytes_per_s"] > 0 and row["dtype"] == "float32" for row in rows)
    assert all(row["of_memcpy"] == 1.0 for row in rows if row["implementation"] == "memcpy")
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_the_page_needs_no_other_file(tmp_path: Path) -> None:
    done = thalweg("bench", "relayout", "--shape", "8x8", "--repeats", "1", "--out", "out.html", cwd=tmp_path)
    assert done.returncode == 0
    page = (tmp_path / "out.html").read_text()
    assert "<svg" in page and page.count("<tr>") == 1 + 2 * 4 and "src=" not in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shape", "8x0"], "--shape: '0' is no whole number from 1 to"),
        (["--shape", "2x2x2x2x2x2x2"], "has 7 axes; accepted are 1 to 6"),
        (["--shape", "100000x100000x1000"], "--shape: two arrays of"),
        (["--dtype", "complex512"], "--dtype 'complex512' is no type of NumPy"),
        (["--dtype", "O"], "--dtype 'O'; accepted are bool, int, uint, float and complex"),
        (["--implementations", "thalweg,magic"], "no 'magic'; there are thalweg, memcpy, numpy, naive"),
        (["--dtype", "clongdouble"], "naive has no loop for complex256"),
        (["--threads", "1,none"], "--threads: 'none' is no whole number from 1 to 1024"),
        (["--pages", "medium"], "--pages is 'medium'; accepted are huge and small"),
        (["--out", "out.gif"], "--out out.gif ends in '.gif'; accepted are .png and .html"),
        (["--out", "nowhere/out.png"], "--out: no folder"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_measured_is_refused(options: list[str], message: str, tmp_path: Path) -> None:
    done = thalweg("bench", "relayout", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("thalweg: error: bench relayout: ") and message in done.stderr
    assert list(tmp_path.iterdir()) == []
