"""Examples that the documents mark as complete run as they stand."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from source_tree import ROOT

GUIDE = sorted(ROOT.glob("docs/guide/*.md"))
MARKED = re.compile(r"^<!-- runs as a test -->\n```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(block, id=f"{path.name}-{number}")
    for path in (ROOT / "README.md", *GUIDE)
    for number, block in enumerate(MARKED.findall(path.read_text()))
]
DEADLINE_S = 120


@pytest.mark.parametrize("example", EXAMPLES)
def test_complete_examples_run(example: str, tmp_path: Path) -> None:
    if re.search(r"\bAI\b", example):
        pytest.importorskip("torch")
    (tmp_path / "example.py").write_text(example)
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert done.returncode == 0, done.stderr
    for file in tmp_path.glob("runs/*/run.json"):
        facts = json.loads(file.read_text())
        assert (facts["status"], facts["backend"]) == ("done", "thalweg")
        assert len(facts["configuration"]["components"]) == len(facts["components"])


def test_readme_and_guide_have_a_complete_workflow() -> None:
    for path in (ROOT / "README.md", ROOT / "docs/guide/tour.md"):
        assert any("Workflow(" in block for block in MARKED.findall(path.read_text())), path.name


def test_guide_lists_the_kernels() -> None:
    from thalweg.kernels.registry import _HOME

    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/guide/tour.md").read_text(), flags=re.MULTILINE)
    built_in = [name for name, home in _HOME.items() if isinstance(home, str)]
    assert rows == built_in
