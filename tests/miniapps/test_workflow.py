"""Components run in order, fail loudly, and leave nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from thalweg import DataStore, ServerManager, Workflow
from thalweg.errors import ComponentFailedError, ConfigError, ExistsError, WaitTimeoutError
from thalweg.workflow import report_progress, stop_requested
from thalweg.workflow.line import LauncherEnd

PATIENCE_S = 30.0


def wait_until(condition, what):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, f"not within {PATIENCE_S} s: {what}"
        threading.Event().wait(0.01)


def gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def forever(pid_file=None, child=False, ignore=False):
    if ignore:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pids = [os.getpid()]
    if child:
        pids.append(subprocess.Popen(["sleep", "1000"]).pid)
    if pid_file:
        Path(pid_file).with_suffix(".tmp").write_text(json.dumps(pids))
        Path(pid_file).with_suffix(".tmp").rename(pid_file)
    while True:
        time.sleep(1000)


def fail_after(path, how):
    until = time.monotonic() + PATIENCE_S
    while not os.path.exists(path) and time.monotonic() < until:
        time.sleep(0.005)
    print("about to fail", flush=True)
    if how == "raise":
        raise ValueError("bad viscosity")
    if how == "signal":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(7)


@pytest.mark.parametrize("kind", ["local", "thread"])
def test_components_start_after_what_they_depend_on_and_return_values(kind, tmp_path):
    w = Workflow("w")
    trail = str(tmp_path)

    def step(name, needs):
        for need in needs:
            assert (Path(trail) / need).exists()
        (Path(trail) / name).write_text("")
        return name.upper()

    for name, needs in (("d", ["b", "c"]), ("b", ["a"]), ("c", ["a"]), ("a", [])):
        w.component(name=name, type=kind, args={"name": name, "needs": needs}, dependencies=needs)(step)
    assert w.launch(timeout_s=PATIENCE_S) == {"a": "A", "b": "B", "c": "C", "d": "D"}


def test_a_local_component_runs_in_a_process_that_did_not_import_the_main_program():
    w = Workflow("w")

    @w.component()
    def look():
        return os.getpid(), sys.modules["__main__"].__dict__.get("__file__"), "pytest" in sys.modules

    pid, main, pytest_there = w.launch(timeout_s=PATIENCE_S)["look"]
    assert pid != os.getpid()
    assert (main, pytest_there) == (None, False)


def test_independent_components_run_at_the_same_time(tmp_path):
    w = Workflow("w")

    def meet(mine, other):
        (Path(mine)).write_text("")
        until = time.monotonic() + PATIENCE_S
        while not Path(other).exists():
            assert time.monotonic() < until
            time.sleep(0.005)

    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    w.component(name="a", args={"mine": a, "other": b})(meet)
    w.component(name="b", args={"mine": b, "other": a})(meet)
    w.launch(timeout_s=PATIENCE_S)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("raise", "exit status 1: ValueError: bad viscosity"),
        ("signal", "killed by signal SIGKILL (9)"),
        ("exit", "exit status 7"),
    ],
)
def test_a_failure_stops_the_others_cancels_its_dependants_and_says_why(how, told, tmp_path):
    pids = tmp_path / "pids"
    w = Workflow("w", folder=tmp_path / "run")
    w.component(name="solver", args={"path": str(pids), "how": how})(fail_after)
    w.component(name="other", args={"pid_file": str(pids), "child": True})(forever)
    w.component(name="after", dependencies=["solver"])(forever)
    w.component(name="later", dependencies=["after"])(forever)
    with pytest.raises(ComponentFailedError) as failure:
        w.launch(timeout_s=PATIENCE_S)
    message = str(failure.value)
    assert message.startswith(f"Workflow 'w': component 'solver' failed: {told}")
    assert "not started: after, later" in message
    assert "about to fail" in message
    for pid in json.loads(pids.read_text()):
        wait_until(lambda pid=pid: gone(pid), f"process {pid} ended")
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["status"] == "failed"
    states = {entry["name"]: (entry["status"], entry["exit_status"]) for entry in facts["components"]}
    assert states["solver"][0] == "failed"
    assert states["other"] == ("stopped", -signal.SIGTERM)
    assert states["after"] == states["later"] == ("cancelled", None)
    assert "about to fail" in (tmp_path / "run" / "logs" / "solver.log").read_text()


def test_a_component_that_ignores_the_request_to_stop_is_killed(tmp_path):
    pids = tmp_path / "pids"
    w = Workflow("w", grace_s=0.2)
    w.component(name="bad", args={"path": str(pids), "how": "raise"})(fail_after)
    w.component(name="stubborn", args={"pid_file": str(pids), "ignore": True})(forever)
    with pytest.raises(ComponentFailedError):
        w.launch(timeout_s=PATIENCE_S)
    (pid,) = json.loads(pids.read_text())
    wait_until(lambda: gone(pid), "the stubborn component ended")


def test_a_thread_is_asked_to_stop_when_another_component_fails():
    w = Workflow("w")
    started, asked = threading.Event(), threading.Event()

    @w.component(type="thread")
    def loop():
        started.set()
        wait_until(stop_requested, "the request to stop")
        asked.set()

    @w.component(type="thread")
    def fail():
        started.wait(PATIENCE_S)
        raise RuntimeError("no more")

    with pytest.raises(ComponentFailedError, match="component 'fail' failed: RuntimeError: no more"):
        w.launch(timeout_s=PATIENCE_S)
    assert asked.wait(PATIENCE_S)


def test_a_launch_that_takes_too_long_names_who_is_still_running(tmp_path):
    pids = tmp_path / "pids"
    w = Workflow("w")
    w.component(name="slow", args={"pid_file": str(pids)})(forever)
    with pytest.raises(WaitTimeoutError, match=r"Workflow 'w': 'slow' did not end within 1\.5 s"):
        w.launch(timeout_s=1.5)
    if pids.exists():
        (pid,) = json.loads(pids.read_text())
        wait_until(lambda: gone(pid), "the slow component ended")


def test_a_component_is_started_again_as_often_as_it_may(tmp_path):
    count = tmp_path / "count"

    def flaky(path, good):
        tries = int(Path(path).read_text()) + 1 if Path(path).exists() else 1
        Path(path).write_text(str(tries))
        if tries < good:
            raise OSError("node went away")
        return tries

    w = Workflow("w")
    w.component(name="flaky", args={"path": str(count), "good": 3}, retries=2)(flaky)
    assert w.launch(timeout_s=PATIENCE_S) == {"flaky": 3}
    count.unlink()
    w = Workflow("w")
    w.component(name="flaky", args={"path": str(count), "good": 3}, retries=1)(flaky)
    with pytest.raises(ComponentFailedError, match="OSError: node went away"):
        w.launch(timeout_s=PATIENCE_S)


def test_components_and_what_they_started_die_with_a_launcher_that_is_killed(tmp_path):
    forked = tmp_path / "forked"
    pids = tmp_path / "pids"
    script = tmp_path / "main.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import json, multiprocessing, os, subprocess, time
            from pathlib import Path
            from thalweg import ServerManager, Workflow
            server = ServerManager("s", {{"type": "node-local", "path": {str(tmp_path / "shm")!r}}})
            w = Workflow("w", servers=[server])

            @w.component()
            def first():
                pass

            @w.component(type="thread", dependencies=["first"])
            def fork():  # a child that outlives the launcher must not hide its end
                process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,))
                process.start()
                Path({str(forked)!r}).write_text(str(process.pid))

            @w.component(dependencies=["fork"])
            def forever():
                child = subprocess.Popen(["sleep", "1000"])
                Path({str(pids)!r} + ".tmp").write_text(json.dumps([os.getpid(), child.pid]))
                os.rename({str(pids)!r} + ".tmp", {str(pids)!r})
                time.sleep(1000)

            w.launch()
            """
        )
    )
    launcher = subprocess.Popen([sys.executable, str(script)])
    wait_until(pids.exists, "the component runs")
    launcher.kill()
    launcher.wait()
    try:
        for pid in json.loads(pids.read_text()):
            wait_until(lambda pid=pid: gone(pid), "the component died with its launcher")
    finally:
        os.kill(int(forked.read_text()), signal.SIGKILL)
    left = list((tmp_path / "shm").glob("thalweg-*"))
    assert len(left) == 1
    with ServerManager("next", {"type": "node-local", "path": str(tmp_path / "shm")}):
        assert left[0] not in list((tmp_path / "shm").iterdir())


def test_ctrl_c_stops_components_and_servers_and_writes_the_folder(tmp_path):
    pids = tmp_path / "pids"
    script = tmp_path / "main.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
            from test_workflow import forever
            from thalweg import ServerManager, Workflow
            server = ServerManager("s", {{"type": "node-local", "path": {str(tmp_path / "shm")!r}}})
            w = Workflow("w", folder={str(tmp_path / "run")!r}, servers=[server])
            w.component(name="forever", args={{"pid_file": {str(pids)!r}}})(forever)
            w.launch()
            """
        )
    )
    launcher = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE)
    wait_until(pids.exists, "the component runs")
    launcher.send_signal(signal.SIGINT)
    launcher.communicate(timeout=PATIENCE_S)
    (pid,) = json.loads(pids.read_text())
    wait_until(lambda: gone(pid), "the component ended")
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (facts["status"], facts["components"][0]["status"]) == ("interrupted", "interrupted")
    assert not list((tmp_path / "shm").glob("*"))


@pytest.mark.parametrize("type", ["local", "thread"])
def test_a_server_manager_among_the_arguments_arrives_as_its_info(type):
    server = ServerManager("s", {"type": "node-local"})
    w = Workflow("w", servers=[server])

    @w.component(type=type, args={"server_info": server})
    def use(server_info):
        with DataStore("d", server_info) as store:
            store.stage_write("a", b"1")
            return server_info["backend"], bytes(store.stage_read("a"))

    assert w.launch(timeout_s=PATIENCE_S) == {"use": ("node-local", b"1")}


def test_a_server_manager_that_a_component_takes_along_is_refused():
    server = ServerManager("s", {"type": "node-local"})
    w = Workflow("w", servers=[server])

    @w.component()
    def use():
        return server.get_server_info()

    with pytest.raises(ConfigError, match="stays in the process that made it; send get_server_info"):
        w.launch(timeout_s=PATIENCE_S)
    assert not server.running


def test_a_store_takes_a_manager_whose_server_runs():
    with ServerManager("s", {"type": "node-local"}) as server, DataStore("d", server) as store:
        assert store.backend == "node-local"


def test_a_folder_is_replaced_when_asked_and_says_what_was_run(tmp_path):
    for replace in (False, True):
        w = Workflow("w", tmp_path / "run", servers=[ServerManager("s", {"type": "node-local"})], replace=replace)
        w.component(name="a", type="thread", retries=1)(lambda: 7)
        assert w.launch(timeout_s=PATIENCE_S) == {"a": 7}
    with pytest.raises(ExistsError, match="replace=True"):
        again = Workflow("w", tmp_path / "run")
        again.component(name="a", type="thread")(lambda: None)
        again.launch(timeout_s=PATIENCE_S)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["backend"] == "node-local"
    assert facts["configuration"] == {
        "components": {"a": {"type": "thread", "dependencies": [], "retries": 1}},
        "servers": {"s": "node-local"},
    }
    with pytest.raises(ConfigError, match="replace is for a folder given as a path"):
        Workflow("w", replace=True)


@pytest.mark.parametrize("how", ["done", "failed"])
def test_servers_are_stopped_however_it_ends(how):
    server = ServerManager("s", {"type": "node-local"})
    w = Workflow("w", servers=[server])

    @w.component(type="thread")
    def use():
        path = Path(server.get_server_info()["path"])
        assert path.is_dir()
        if how == "failed":
            raise ValueError(path)
        return str(path)

    if how == "failed":
        with pytest.raises(ComponentFailedError) as failure:
            w.launch(timeout_s=PATIENCE_S)
        path = str(failure.value).split("ValueError: ")[1].splitlines()[0]
    else:
        path = w.launch(timeout_s=PATIENCE_S)["use"]
    assert not server.running
    assert not Path(path).exists()


def test_what_components_print_reaches_the_caller_line_by_line():
    w = Workflow("w")

    @w.component()
    def talk():
        from thalweg.workflow import submit

        print("first")
        submit(print, "from a task").result()
        sys.stdout.write("last, without an end")

    w.command("program", ["printf", "one\\ntwo"])
    seen = []
    w.launch(timeout_s=PATIENCE_S, on_log=lambda name, line: seen.append((name, line)))
    assert [line for name, line in seen if name == "talk"] == ["first", "last, without an end"]
    assert [line for name, line in seen if name == "program"] == ["one", "two"]
    assert [line for name, line in seen if name == "tasks-0"] == ["from a task"]


@pytest.mark.parametrize("kind", ["local", "thread"])
def test_progress_reaches_the_caller(kind):
    seen = []
    w = Workflow("w")

    @w.component(type=kind)
    def work():
        for number in range(1, 2001):
            report_progress(number, 2000, "steps")

    w.launch(timeout_s=PATIENCE_S, on_progress=seen.append)
    assert seen[-1] == ("work", 2000, 2000, "steps")
    assert len(seen) < 1000


def test_events_of_components_are_in_the_folder(tmp_path):
    w = Workflow("w", folder=tmp_path / "run")

    @w.component(name="solver/1")
    def solver():
        from thalweg import Simulation

        kernel = {"name": "k", "mini_app_kernel": "AXPY", "data_size": 10, "run_count": 1}
        Simulation("s", {"kernels": [kernel]}).run(5)

    w.launch(timeout_s=PATIENCE_S)
    from thalweg.results import RunFolder

    folder = RunFolder.open(tmp_path / "run")
    rows = folder.events().to_pylist()
    assert {row["component"] for row in rows} == {"solver/1"}
    assert [row["iteration"] for row in rows if row["kind"] == "compute"] == list(range(5))
    assert (folder.status, folder.components[0].status) == ("done", "done")


def test_what_cannot_be_sent_to_a_process_is_refused_before_anything_starts(tmp_path):
    w = Workflow("w")
    ran = tmp_path / "ran"
    w.component(name="first", type="thread", args={"path": str(ran)})(lambda path: Path(path).write_text(""))
    w.component(name="c", args={"lock": threading.Lock()})(lambda lock: None)
    with pytest.raises(ConfigError, match="component 'c' cannot be sent to a process of its own"):
        w.launch()
    assert not ran.exists()


def test_a_result_larger_than_a_pipe_arrives():
    w = Workflow("w")
    w.component(name="big")(lambda: b"x" * 20_000_000)
    assert len(w.launch(timeout_s=PATIENCE_S)["big"]) == 20_000_000


def test_a_workflow_comes_from_a_file(tmp_path):
    path = tmp_path / "flow.toml"
    path.write_text(
        'name = "flow"\n[[components]]\nname = "root"\nfunction = "math:sqrt"\ntype = "thread"\nargs = {}\n'
    )
    with pytest.raises(ConfigError, match="args do not fit the function"):
        Workflow.from_file(path)
    path.write_text('[[components]]\nname = "cores"\nfunction = "os:cpu_count"\n')
    assert Workflow.from_file(path).launch(timeout_s=PATIENCE_S) == {"cores": os.cpu_count()}
    path.write_text('[[components]]\nname = "cores"\nfunction = "os:cpu_cont"\n')
    with pytest.raises(ConfigError, match=r"components\[0\].function: 'os:cpu_cont' cannot be imported"):
        Workflow.from_file(path)
    path.write_text('[[components]]\nname = "cores"\nfunktion = "os:cpu_count"\n')
    with pytest.raises(ConfigError, match=r"components\[0\].funktion: unknown key; did you mean 'function'\?"):
        Workflow.from_file(path)


def test_a_thread_component_whose_recording_fails_is_a_failure_not_a_wait(tmp_path):
    w = Workflow("w", folder=tmp_path / "run")

    @w.component(type="thread")
    def first():
        import shutil

        shutil.rmtree(tmp_path / "run" / "traces", ignore_errors=True)
        (tmp_path / "run" / "traces").write_text("")

    w.component(name="second", type="thread", dependencies=["first"])(lambda: None)
    with pytest.raises((ComponentFailedError, OSError), match="second"):
        w.launch(timeout_s=PATIENCE_S)


class Unreadable:
    """Can be pickled, and fails when it is unpickled."""

    def __reduce__(self):
        return int, ("no number",)


def test_a_result_that_cannot_be_read_fails_its_component_and_is_tried_again(tmp_path):
    w = Workflow("w", folder=tmp_path / "run")
    tries = str(tmp_path / "tries")

    @w.component(retries=1)
    def solver():
        with open(tries, "a") as file:
            file.write("x")
        return Unreadable()

    with pytest.raises(
        ComponentFailedError, match="component 'solver' failed: its result cannot be read here: ValueError: invalid lit"
    ):
        w.launch(timeout_s=PATIENCE_S)
    assert Path(tries).read_text() == "xx"
    assert json.loads((tmp_path / "run" / "run.json").read_text())["components"][0]["status"] == "failed"


def test_a_line_to_a_node_that_cannot_be_reached_any_more_is_closed():
    class Lost:
        def setblocking(self, blocking):
            pass

        def recv(self, size):
            raise TimeoutError(110, "Connection timed out")

    line = LauncherEnd(Lost())
    assert line.receive() == []
    assert not line.open


def test_what_is_printed_while_the_log_is_read_stays_as_it_was():
    w = Workflow("w")
    lines = [f"line {number:08d}" for number in range(200_000)]

    @w.component()
    def talk():
        for number in range(200_000):
            print(f"line {number:08d}")

    seen = []
    w.launch(timeout_s=PATIENCE_S, on_log=lambda name, line: seen.append(line))
    assert seen == lines


def test_a_line_without_end_comes_in_parts():
    w = Workflow("w")

    @w.component()
    def talk():
        sys.stdout.write("ä" * 1_000_000 + "\n")
        sys.stdout.write("x" * 65536 + "\n" + "last")

    seen = []
    w.launch(timeout_s=PATIENCE_S, on_log=lambda name, line: seen.append(line))
    assert max(len(line.encode()) for line in seen) <= 65536
    assert "".join(seen) == "ä" * 1_000_000 + "x" * 65536 + "last"
    assert "" not in seen


@pytest.mark.parametrize("fails", [True, False])
def test_a_server_that_cannot_be_stopped_hides_nothing_and_leaves_nothing(fails, tmp_path, monkeypatch):
    first, second = (ServerManager(name, {"type": "node-local"}) for name in ("first", "second"))
    w = Workflow("w", folder=tmp_path / "run", servers=[first, second])

    @w.component(type="thread")
    def solver():
        if fails:
            raise ValueError("bad viscosity")

    def stuck():
        raise OSError("no permission")

    monkeypatch.setattr(second, "stop_server", stuck)  # ends are in reverse
    with pytest.raises(ComponentFailedError if fails else OSError) as failure:
        w.launch(timeout_s=PATIENCE_S)
    monkeypatch.undo()
    second.stop_server()
    if fails:
        assert "bad viscosity" in str(failure.value)
        assert failure.value.__notes__ == ["server 'second' could not be stopped: no permission"]
    assert not first.running
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "failed"


def test_components_with_like_names_have_logs_of_their_own(tmp_path):
    w = Workflow("w", folder=tmp_path / "run")
    for name in ("a/b", "a_b", "n" * 128, "\u00e4/" * 40):
        w.command(name, ["echo", name[:8]])
    w.launch(timeout_s=PATIENCE_S)
    records = json.loads((tmp_path / "run" / "run.json").read_text())["components"]
    for record in records:
        assert (tmp_path / "run" / record["log"]).read_text() == record["name"][:8] + "\n"
    assert records[1]["log"] == "logs/a_b.log"


def test_a_name_that_is_too_long_is_refused():
    w = Workflow("w")
    with pytest.raises(ConfigError, match=r"name is 'nnnn.*'\.\.\. with 129 bytes in UTF-8; give 128 at most"):
        w.command("n" * 129, ["true"])


def test_a_signal_in_the_middle_of_a_start_waits_until_the_process_is_known():
    from thalweg.workflow.uninterrupted import uninterrupted

    reached = []
    before = signal.getsignal(signal.SIGTERM)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt), uninterrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            reached.append("the end of the block")
        assert signal.getsignal(signal.SIGTERM) is interrupt
    finally:
        signal.signal(signal.SIGTERM, before)
    assert reached == ["the end of the block"]
