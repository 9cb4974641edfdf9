"""``thalweg run FILE``: a workflow from a file runs, tells what came of it, and refuses clearly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import thalweg

STEPS = "def square(x):\n    return x * x\n\n\ndef fail():\n    raise ValueError('bad viscosity')\n"
FLOW = """
name = "flow"
[[components]]
name = "square"
function = "steps:square"
args = { x = 7 }
[[components]]
name = "{name}"
{what}
dependencies = ["square"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "steps.py").write_text(STEPS)
    return tmp_path


def test_a_workflow_file_runs_and_tells_what_came_of_it(folder: Path) -> None:
    (folder / "flow.toml").write_text(FLOW.replace("{name}", "hello").replace("{what}", 'command = ["echo", "hello"]'))
    done = thalweg("run", "flow.toml", "--folder", "out", "--json", "out.json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    (row,) = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("square")]
    assert row[:3] == ["square", "local", "done"]
    assert row[-1] == "49"
    assert (folder / "out" / "logs" / "hello.log").read_text() == "hello\n"
    assert (folder / "out" / "report.html").exists()
    assert json.loads((folder / "out.json").read_text())["command"][1:3] == ["run", "flow.toml"]
    again = thalweg("run", "flow.toml", "--folder", "out", cwd=folder)
    assert again.returncode == 2
    assert again.stderr == (
        "thalweg: error: run flow.toml: out holds an earlier run; give another --folder, or --replace\n"
    )
    assert thalweg("run", "flow.toml", "--folder", "out", "--replace", cwd=folder).returncode == 0


def test_a_component_that_fails_gives_status_1_its_last_lines_and_a_report(folder: Path) -> None:
    (folder / "flow.toml").write_text(FLOW.replace("{name}", "bad").replace("{what}", 'function = "steps:fail"'))
    done = thalweg("run", "flow.toml", "--folder", "out", cwd=folder)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert (
        lines[0] == "thalweg: error: Workflow 'flow': component 'bad' failed: exit status 1: ValueError: bad viscosity"
    )
    assert lines[1] == "last lines of out/logs/bad.log:"
    assert (folder / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("flow.toml", None, "Workflow: there is no file flow.toml; give a dict or the path of a .json or .toml file"),
        ("flow.toml", "a = [", "Workflow: flow.toml is not TOML: Invalid value (at end of document)"),
        ("flow.json", "[]", "Workflow: flow.json holds a list at the top; expected a table of keys"),
        ("flow.toml", 'nmae = "x"', "Workflow: nmae: unknown key; did you mean 'name'?"),
        ("flow.toml", "", "Workflow: components: is missing; add it"),
        ("flow.toml", "components = []", "Workflow 'flow': has no components; declare one with @w.component(...)"),
    ],
)
def test_a_wrong_file_is_refused(folder: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (folder / name).write_text(text)
    done = thalweg("run", name, "--folder", "out", cwd=folder)
    assert (done.returncode, done.stderr) == (2, f"thalweg: error: {message}\n")
    assert not (folder / "out").exists()
