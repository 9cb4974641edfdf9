"""Tasks that components submit: futures of their results, failures that nobody can miss, nothing left running."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import as_completed
from pathlib import Path

import psutil
import pytest

from thalweg import Workflow
from thalweg.errors import ComponentFailedError, ConfigError, InvalidError, WaitTimeoutError
from thalweg.workflow import Tasks, submit

PATIENCE_S = 60.0


def launched(function, **options):
    w = Workflow("w", **options)
    w.component(name="steer")(function)
    return w.launch(timeout_s=PATIENCE_S)["steer"]


@pytest.mark.parametrize("kind", ["local", "thread"])
def test_a_component_gets_the_results_of_its_tasks(kind):
    w = Workflow("w")

    @w.component(type=kind)
    def steer():
        futures = {submit(pow, number, 2): number for number in range(200)}
        return all(future.result() == futures[future] ** 2 for future in as_completed(futures))

    assert w.launch(timeout_s=PATIENCE_S) == {"steer": True}


def test_tasks_run_in_processes_that_are_used_again():
    def steer():
        return {submit(os.getpid).result() for _ in range(20)} | {os.getpid()}

    assert len(launched(steer, task_processes=1)) == 2


def test_tasks_that_wait_for_tasks_of_their_own_do_not_block_them():
    def steer():
        def outer(number):
            return sum(submit(pow, inner, 1).result() for inner in range(number))

        return [future.result() for future in [submit(outer, 4) for _ in range(5)]]

    assert launched(steer, task_processes=1) == [6] * 5


def test_a_component_is_done_when_its_tasks_are(tmp_path):
    def steer(path):
        def work(path):
            time.sleep(0.2)
            Path(path).write_text("done")

        submit(work, path)

    w = Workflow("w")
    w.component(args={"path": str(tmp_path / "trace")})(steer)
    w.component(name="after", dependencies=["steer"], args={"path": str(tmp_path / "trace")})(
        lambda path: Path(path).read_text()
    )
    assert w.launch(timeout_s=PATIENCE_S)["after"] == "done"


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("raise", "task 'dock' failed: ValueError: bad ligand"),
        ("kill", "task 'dock' failed: killed by signal SIGKILL (9)"),
        ("hang", "task 'dock' failed: did not end within 0.5 s"),
    ],
)
def test_a_task_that_fails_tells_its_future_why(how, told):
    def steer(how):
        def dock(how):
            print("docking", flush=True)
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "hang":
                time.sleep(1000)
            raise ValueError("bad ligand")

        future = Tasks("dock", timeout_s=0.5 if how == "hang" else None).submit(dock, how)
        error = future.exception()
        return str(error), submit(pow, 2, 2).result()

    w = Workflow("w")
    w.component(args={"how": how})(steer)
    message, after = w.launch(timeout_s=PATIENCE_S)["steer"]
    assert message.startswith(told)
    assert "docking" in message
    assert after == 4


def test_a_failure_that_nobody_looked_at_fails_the_component():
    def steer():
        Tasks("dock").submit(divmod, 1, 0)

    with pytest.raises(ComponentFailedError, match=r"'steer' failed: exit status 1: task 'dock' failed: ZeroDivision"):
        launched(steer)


def test_a_task_is_tried_again_as_often_as_it_may(tmp_path):
    def steer(path):
        def flaky(path):
            tries = int(Path(path).read_text()) + 1 if Path(path).exists() else 1
            Path(path).write_text(str(tries))
            if tries < 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return tries

        return Tasks("flaky", retries=2).submit(flaky, path).result()

    w = Workflow("w")
    w.component(args={"path": str(tmp_path / "tries")})(steer)
    assert w.launch(timeout_s=PATIENCE_S) == {"steer": 3}


def test_tasks_end_with_the_component_that_submitted_them(tmp_path):
    def steer(path):
        def endless(path):
            Path(path + ".tmp").write_text(json.dumps(os.getpid()))
            os.rename(path + ".tmp", path)
            time.sleep(1000)

        submit(endless, path)
        until = time.monotonic() + 30
        while not Path(path).exists() and time.monotonic() < until:
            time.sleep(0.01)
        raise RuntimeError("enough")

    w = Workflow("w")
    w.component(args={"path": str(tmp_path / "pid")})(steer)
    with pytest.raises(ComponentFailedError, match="RuntimeError: enough"):
        w.launch(timeout_s=PATIENCE_S)
    pid = json.loads((tmp_path / "pid").read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_cancelled_task_that_waits_is_never_started(tmp_path):
    def steer(folder):
        def mark(path, gate):
            Path(path).write_text("")
            while not Path(gate).exists():
                time.sleep(0.005)

        first = submit(mark, f"{folder}/first", f"{folder}/gate")
        second = submit(mark, f"{folder}/second", f"{folder}/gate")
        while not Path(folder, "first").exists():
            time.sleep(0.005)
        assert second.cancel()
        submit(pow, 1, 1)  # queued behind: when it has run, the cancelled one would have
        Path(folder, "gate").write_text("")
        first.result()
        return second.cancelled()

    w = Workflow("w", task_processes=1)
    w.component(args={"folder": str(tmp_path)})(steer)
    assert w.launch(timeout_s=PATIENCE_S) == {"steer": True}
    assert not (tmp_path / "second").exists()


def test_tasks_are_in_the_run_folder_by_their_name(tmp_path):
    def steer():
        def simulate(number):
            from thalweg import Simulation

            kernel = {"name": "k", "mini_app_kernel": "AXPY", "data_size": 10, "run_count": 1}
            Simulation("s", {"kernels": [kernel]}).run(1)
            return number

        assert [submit(simulate, number).result() for number in range(3)] == [0, 1, 2]
        bad = Tasks("dock").submit(divmod, 1, 0)
        assert bad.exception() is not None

    w = Workflow("w", folder=tmp_path / "run")
    w.component()(steer)
    w.launch(timeout_s=PATIENCE_S)
    from thalweg.results import RunFolder

    folder = RunFolder.open(tmp_path / "run")
    events = [row for row in folder.events().to_pylist() if row["kind"] == "compute"]
    assert [row["component"] for row in events] == ["simulate"] * 3
    states = {record.name: (record.type, record.status, record.error) for record in folder.components}
    assert states["simulate"] == ("task", "done", None)
    assert states["dock"][:2] == ("task", "failed")
    assert states["dock"][2].startswith("1 of 1 tasks failed; the last: ZeroDivisionError")


def test_what_cannot_be_a_task_is_refused():
    with pytest.raises(InvalidError, match="no component runs this code"):
        submit(pow, 1, 1)
    with pytest.raises(ConfigError, match="Tasks: retries is -1; give an integer of 0 or more"):
        Tasks(retries=-1)
    with pytest.raises(ConfigError, match="Tasks: timeout_s is 0; give seconds, more than 0, or None"):
        Tasks(timeout_s=0)

    def steer():
        import threading

        try:
            submit(print, threading.Lock())
        except InvalidError as error:
            return str(error)

    assert launched(steer).startswith("submit: task 'print' cannot be sent to another process: ")


@pytest.mark.parametrize("kind", ["local", "thread"])
def test_arguments_and_results_larger_than_a_socket_takes_arrive(kind):
    w = Workflow("w")

    @w.component(type=kind)
    def steer():
        def outer(data):
            return submit(bytes, 9_000_000).result() + data

        return len(submit(outer, b"x" * 7_000_000).result())

    assert w.launch(timeout_s=PATIENCE_S) == {"steer": 16_000_000}


def test_no_task_gets_an_answer_that_was_meant_for_an_earlier_one(tmp_path):
    def steer(folder):
        def first(folder):  # ends while its own task runs, which is answered when `second` waits for another
            def slow(gate):
                while not Path(gate).exists():
                    time.sleep(0.005)
                return "of the first"

            submit(slow, f"{folder}/gate").cancel()
            return os.getpid()

        def second(folder):
            future = submit(str, "of the second")
            Path(folder, "gate").touch()
            return os.getpid(), future.result()

        return submit(first, folder).result(), submit(second, folder).result()

    w = Workflow("w", task_processes=1)
    w.component(args={"folder": str(tmp_path)})(steer)
    assert w.launch(timeout_s=PATIENCE_S)["steer"][1][1] == "of the second"


@pytest.mark.parametrize("kind", ["local", "thread"])
def test_a_callback_of_a_future_may_submit_and_wait(kind):
    w = Workflow("w")

    @w.component(type=kind)
    def steer():
        follow_up = []
        future = submit(pow, 2, 2)
        future.add_done_callback(lambda done: follow_up.append(submit(pow, done.result(), 2)))
        future.result()
        while not follow_up:
            time.sleep(0.005)
        return follow_up[0].result()

    assert w.launch(timeout_s=PATIENCE_S) == {"steer": 16}


def test_a_callback_that_never_returns_does_not_stop_the_launcher():
    w = Workflow("w", grace_s=0.1)

    @w.component(type="thread")
    def steer():
        import threading

        submit(pow, 1, 1).add_done_callback(lambda done: threading.Event().wait(60))
        threading.Event().wait(60)

    with pytest.raises(WaitTimeoutError, match="'steer' did not end within 1 s"):
        w.launch(timeout_s=1)


def test_threads_of_a_component_submit_and_report():
    from concurrent.futures import ThreadPoolExecutor

    from thalweg.workflow import report_progress

    w = Workflow("w")
    seen = []

    @w.component()
    def steer():
        def work(number):
            report_progress(4, 4)
            return submit(pow, number, 2).result()

        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(work, range(20)))

    assert w.launch(timeout_s=PATIENCE_S, on_progress=seen.append)["steer"] == [number**2 for number in range(20)]
    assert seen


def test_a_process_that_a_component_forks_is_told_that_it_cannot_submit():
    def steer():
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                submit(pow, 1, 1)
            except InvalidError as error:
                os.write(write, str(error).encode())
            os._exit(0)
        return os.read(read, 1000).decode()

    assert launched(steer).startswith("submit: no component runs this code")


@pytest.mark.parametrize("how", ["close", "none"])
def test_a_task_or_component_may_do_away_with_its_output(how):
    def steer(how):
        def silent(how):
            import sys

            if how == "close":
                sys.stdout.close()
            else:
                sys.stdout = None
            return 5

        return submit(silent, how).result() + submit(silent, how).result() + silent(how)

    w = Workflow("w")
    w.component(args={"how": how})(steer)
    assert w.launch(timeout_s=PATIENCE_S) == {"steer": 15}


def test_a_task_does_not_fail_because_an_idle_process_was_killed():
    def steer():
        results = []
        for number in range(10):
            os.kill(submit(os.getpid).result(), signal.SIGKILL)
            results.append(submit(pow, number, 2).result())
        return results

    assert launched(steer, task_processes=1) == [number**2 for number in range(10)]


def test_what_a_failed_task_submitted_ends_with_it(tmp_path):
    def steer(folder):
        def outer(folder):
            def endless(folder):
                Path(folder, "pid.tmp").write_text(str(os.getpid()))
                os.rename(f"{folder}/pid.tmp", f"{folder}/pid")
                time.sleep(1000)

            submit(endless, folder)
            while not Path(folder, "pid").exists():
                time.sleep(0.005)
            raise ValueError("enough")

        assert "enough" in str(submit(outer, folder).exception())
        pid = int(Path(folder, "pid").read_text())
        until = time.monotonic() + 30
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < until
            time.sleep(0.01)
        return "gone"

    w = Workflow("w")
    w.component(args={"folder": str(tmp_path)})(steer)
    assert w.launch(timeout_s=PATIENCE_S) == {"steer": "gone"}


def test_a_running_task_that_is_cancelled_is_killed_and_not_tried_again(tmp_path):
    def steer(folder):
        def endless(folder):
            Path(folder, f"try-{os.getpid()}").touch()
            time.sleep(1000)

        future = Tasks("endless", retries=5).submit(endless, folder)
        while not list(Path(folder).glob("try-*")):
            time.sleep(0.005)
        assert future.cancel()
        return submit(pow, 3, 2).result()

    w = Workflow("w", task_processes=1, folder=tmp_path / "run")
    w.component(args={"folder": str(tmp_path)})(steer)
    assert w.launch(timeout_s=PATIENCE_S) == {"steer": 9}
    assert len(list(tmp_path.glob("try-*"))) == 1
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert [(entry["name"], entry["status"]) for entry in facts["components"]] == [("steer", "done"), ("pow", "done")]


def test_thousands_of_tasks_are_cancelled_at_once():
    def steer():
        gate = submit(time.sleep, 0.2)
        futures = [submit(pow, number, 2) for number in range(5000)]
        cancelled = sum(future.cancel() for future in futures)
        gate.result()
        return cancelled > 4000, submit(pow, 2, 2).result()

    assert launched(steer, task_processes=1) == (True, 4)
