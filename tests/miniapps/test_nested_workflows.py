"""Workflows inside workflows, programs as components, time limits, and workflows from files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from thalweg import ServerManager, Workflow
from thalweg.errors import ComponentFailedError, ConfigError
from thalweg.workflow import Resources

PATIENCE_S = 60.0


def trail(path, name):
    with open(path, "a") as file:
        file.write(name + "\n")
    return name


def test_a_nested_workflow_runs_as_one_node_of_the_graph(tmp_path):
    path = str(tmp_path / "trail")
    inner = Workflow("prepare")
    inner.component(name="mesh", type="thread", args={"path": path, "name": "mesh"})(trail)
    inner.component(name="split", type="thread", args={"path": path, "name": "split"}, dependencies=["mesh"])(trail)
    deeper = Workflow("deeper")
    deeper.component(name="one", type="thread", args={"path": path, "name": "one"})(trail)
    inner.nest(deeper, dependencies=["split"])
    w = Workflow("w")
    w.component(name="first", type="thread", args={"path": path, "name": "first"})(trail)
    w.nest(inner, dependencies=["first"])
    w.component(name="last", type="thread", args={"path": path, "name": "last"}, dependencies=["prepare"])(trail)
    assert w.launch(timeout_s=PATIENCE_S) == {
        "first": "first",
        "last": "last",
        "prepare": {"mesh": "mesh", "split": "split", "deeper": {"one": "one"}},
    }
    assert Path(path).read_text().split() == ["first", "mesh", "split", "one", "last"]


def test_servers_of_a_nested_workflow_run_while_it_does():
    server = ServerManager("inner", {"type": "node-local"})
    inner = Workflow("inner", servers=[server])
    inner.component(name="use", args={"info": server})(lambda info: info["backend"])
    w = Workflow("w")
    w.nest(inner)
    assert w.launch(timeout_s=PATIENCE_S) == {"inner": {"use": "node-local"}}
    assert not server.running


def test_nesting_that_makes_no_sense_is_refused():
    w, inner = Workflow("w"), Workflow("inner")
    inner.nest(w)
    with pytest.raises(ConfigError, match="'inner' would contain itself"):
        w.nest(inner)
    w.component(name="a", type="thread")(lambda: None)
    with pytest.raises(ConfigError, match="the name 'a' is taken"):
        w.nest(Workflow("a"))
    other = Workflow("other")
    other.nest(Workflow("empty"))
    with pytest.raises(ConfigError, match="Workflow 'empty': has no components"):
        other.launch()
    circle = Workflow("circle")
    part = Workflow("part")
    part.component(name="x", type="thread")(lambda: None)
    circle.component(name="a", type="thread", dependencies=["part"])(lambda: None)
    circle.nest(part, dependencies=["a"])
    with pytest.raises(ConfigError, match=r"the dependencies go in a circle: a -> part/x -> a"):
        circle.launch()


def test_a_program_is_a_component(tmp_path):
    w = Workflow("w", folder=tmp_path / "run")
    w.command("greet", ["sh", "-c", "echo $GREETING"], env={"GREETING": "hello there"})
    assert w.launch(timeout_s=PATIENCE_S) == {"greet": None}
    assert (tmp_path / "run" / "logs" / "greet.log").read_text() == "hello there\n"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["sh", "-c", "echo no mesh; exit 3"], "exit status 3\nlast lines:\n  no mesh"),
        (["sh", "-c", "kill -9 $$"], "killed by signal SIGKILL (9)"),
        (["no-such-solver"], "exit status 127\nlast lines:\n  thalweg: no-such-solver cannot be started: No such file"),
    ],
)
def test_a_program_that_fails_says_why(command, told):
    w = Workflow("w")
    w.command("solver", command)
    with pytest.raises(ComponentFailedError) as failure:
        w.launch(timeout_s=PATIENCE_S)
    assert str(failure.value).startswith(f"Workflow 'w': component 'solver' failed: {told}")


def test_a_component_that_uses_up_its_time_fails_and_is_tried_again(tmp_path):
    w = Workflow("w")
    w.command("slow", ["sh", "-c", f"echo x >> {tmp_path}/tries; sleep 1000"], timeout_s=3, retries=1)
    with pytest.raises(ComponentFailedError, match=r"component 'slow' failed: did not end within 3 s"):
        w.launch(timeout_s=PATIENCE_S)
    assert (tmp_path / "tries").read_text() == "x\nx\n"


@pytest.mark.parametrize(
    ("on_term", "cleaned"), [(": > {}/cleaned; exit 0", True), (": > {}/cleaned; exit 3", True), ("", False)]
)
def test_a_component_that_uses_up_its_time_may_tidy_up(tmp_path, on_term, cleaned):
    w = Workflow("w", grace_s=0.5 if not cleaned else 20.0)
    trap = on_term.format(tmp_path)
    w.command("slow", ["sh", "-c", f"trap '{trap}' TERM; while :; do sleep 0.05; done"], timeout_s=2)
    with pytest.raises(ComponentFailedError, match=r"component 'slow' failed: did not end within 2 s"):
        w.launch(timeout_s=PATIENCE_S)
    assert (tmp_path / "cleaned").exists() is cleaned


def test_components_are_pinned_to_cpus_and_gpus_of_their_own():
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    w = Workflow("w", resources=Resources(("localhost",), cpus, ("0", "1", "2")))

    def look():
        return sorted(os.sched_getaffinity(0)), os.environ["CUDA_VISIBLE_DEVICES"], os.environ["ZE_AFFINITY_MASK"]

    for name in ("a", "b"):
        w.component(name=name, cpus=1, gpus=1)(look)
    w.component(name="free")(lambda: sorted(os.sched_getaffinity(0)))
    results = w.launch(timeout_s=PATIENCE_S)
    assert results["free"] == list(cpus)
    assert len(results["a"][0]) == len(results["b"][0]) == 1
    assert results["a"][1] == results["a"][2]
    if len(cpus) > 1:
        assert results["a"][0] != results["b"][0]
        assert results["a"][1] != results["b"][1]


def test_components_wait_until_the_gpus_that_they_ask_for_are_free(tmp_path):
    w = Workflow("w", resources=Resources(("localhost",), tuple(os.sched_getaffinity(0)), ("0", "1")))

    def alone(folder):
        import time

        mark = Path(folder) / "inside"
        mark.touch(exist_ok=False)
        time.sleep(0.1)
        mark.unlink()

    for number in range(4):
        w.component(name=f"c{number}", gpus=2, args={"folder": str(tmp_path)})(alone)
    w.launch(timeout_s=PATIENCE_S)


def test_a_program_is_pinned_too(tmp_path):
    w = Workflow("w", folder=tmp_path / "run", resources=Resources(("localhost",), (0,), ("7",)))
    w.command(
        "look", ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES; grep Cpus_allowed_list /proc/self/status"], cpus=1, gpus=1
    )
    w.launch(timeout_s=PATIENCE_S)
    assert (tmp_path / "run" / "logs" / "look.log").read_text().split() == ["7", "Cpus_allowed_list:", "0"]


def test_a_workflow_file_may_hold_servers_programs_and_other_workflows(tmp_path):
    (tmp_path / "steps.py").write_text(
        "from thalweg import DataStore\n"
        "def write(info):\n"
        "    with DataStore('d', info) as store: store.stage_write('a', b'1')\n"
        "def read(info, key):\n"
        "    with DataStore('d', info) as store: return bytes(store.stage_read(key, 10))\n"
    )
    (tmp_path / "inner.toml").write_text('[[components]]\nname = "hello"\ncommand = ["echo", "hello"]\n')
    (tmp_path / "flow.toml").write_text(
        """
        name = "flow"
        [[servers]]
        name = "staging"
        type = "node-local"
        [[components]]
        name = "writer"
        function = "steps:write"
        args = { info = { server = "staging" } }
        [[components]]
        name = "reader"
        function = "steps:read"
        args = { info = { server = "staging" }, key = "a" }
        timeout_s = 30
        [[components]]
        name = "inner"
        workflow = "inner.toml"
        dependencies = ["writer"]
        """
    )
    results = Workflow.from_file(tmp_path / "flow.toml").launch(timeout_s=PATIENCE_S)
    assert results == {"writer": None, "reader": b"1", "inner": {"hello": None}}
    content = {"components": [{"name": "inner", "workflow": {"components": [{"name": "a", "command": ["true"]}]}}]}
    (tmp_path / "flow.json").write_text(json.dumps(content))
    assert Workflow.from_file(tmp_path / "flow.json").launch(timeout_s=PATIENCE_S) == {"inner": {"a": None}}


def test_each_workflow_file_has_the_modules_beside_it(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "steps.py").write_text(
            "import names\n\n\ndef told(base):\n    from later import LATER\n\n    return names.NAME, base, LATER\n"
        )
        (tmp_path / folder / "names.py").write_text(f"NAME = 'names of {folder}'\n")
        (tmp_path / folder / "later.py").write_text(f"LATER = 'later in {folder}'\n")
        component = {"name": "c", "function": "steps:told", "args": {"base": 1}}
        (tmp_path / folder / "wf.json").write_text(json.dumps({"components": [component]}))
    inner = [{"name": folder, "workflow": f"{folder}/wf.json"} for folder in ("one", "two")]
    (tmp_path / "outer.json").write_text(json.dumps({"components": inner}))
    path = list(sys.path)
    assert Workflow.from_file(tmp_path / "outer.json").launch(timeout_s=PATIENCE_S) == {
        "one": {"c": ("names of one", 1, "later in one")},
        "two": {"c": ("names of two", 1, "later in two")},
    }
    assert sys.path == path


def test_a_module_beside_a_workflow_file_that_fails_is_told(tmp_path):
    (tmp_path / "steps.py").write_text("1 / 0\n")
    (tmp_path / "wf.json").write_text(json.dumps({"components": [{"name": "c", "function": "steps:told"}]}))
    told = r"components\[0\].function: 'steps:told' cannot be imported: ZeroDivisionError: division by zero"
    with pytest.raises(ConfigError, match=told):
        Workflow.from_file(tmp_path / "wf.json")
