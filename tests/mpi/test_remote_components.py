"""Components of type `remote`: ranks under a real MPI launcher, their results, failures and ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

PATIENCE_S = 90.0


def run_script(mpi, folder, text, expect=0):
    """Run a program that launches a workflow, where `mpirun` is that of `mpi`; return what it printed as JSON."""
    script = Path(folder) / "main.py"
    script.write_text(textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, str(script)],
        env=dict(mpi.env),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1]) if expect == 0 else done.stderr


def gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def wait_until(condition, what):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.01)


def test_every_rank_runs_the_function_pinned_and_results_come_by_rank(mpi, tmp_path):
    told = run_script(
        mpi,
        tmp_path,
        """
        import json, os
        from thalweg import Workflow
        from thalweg.workflow import Resources
        w = Workflow("w", resources=Resources(("localhost",), tuple(os.sched_getaffinity(0))[:2], ("4", "5")))

        def work(base):
            from thalweg.ranks import current_ranks
            ranks = current_ranks()
            total = sum(ranks.gather(base + ranks.rank))
            return ranks.rank, ranks.size, total, len(os.sched_getaffinity(0)), os.environ["CUDA_VISIBLE_DEVICES"]

        w.component(type="remote", processes_per_node=2, cpus=1, gpus=1, args={"base": 10}, env={"X": "1"})(work)
        w.component(name="alone", dependencies=["work"])(lambda: __import__("thalweg.ranks").ranks.current_ranks().size)
        print(json.dumps(w.launch(timeout_s=60)))
        """,
    )
    assert told == {"work": [[0, 2, 21, 1, "4"], [1, 2, 21, 1, "5"]], "alone": 1}


def test_a_program_runs_on_every_rank(mpi, tmp_path):
    told = run_script(
        mpi,
        tmp_path,
        """
        import json
        from pathlib import Path
        from thalweg import Workflow
        w = Workflow("w", folder="run")
        say = ["sh", "-c", "echo rank of $COLOUR"]
        w.command("hello", say, type="remote", processes_per_node=3, env={"COLOUR": "red"})
        w.launch(timeout_s=60)
        print(json.dumps(Path("run/logs/hello.log").read_text().split("\\n")))
        """.replace('"run', f'"{tmp_path}/run'),
    )
    assert [line for line in told if line] == ["rank of red"] * 3


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("raise ValueError('bad viscosity')", "rank 1: ValueError: bad viscosity"),
        ("os.kill(os.getpid(), 9)", "component 'solver' failed: "),
        ("sys.exit(7)", "rank 1: SystemExit: 7"),
    ],
)
def test_a_rank_that_fails_ends_all_of_them(mpi, tmp_path, how, expected):
    error = run_script(
        mpi,
        tmp_path,
        f"""
        import os, subprocess, sys, time
        from thalweg import Workflow
        w = Workflow("w")

        @w.component(type="remote", processes_per_node=3)
        def solver():
            from thalweg.ranks import current_ranks
            ranks = current_ranks()
            child = subprocess.Popen(["sleep", "1000"])
            open(f"{tmp_path}/pids-{{ranks.rank}}", "w").write(f"{{os.getpid()}} {{child.pid}}")
            ranks.barrier()
            if ranks.rank == 1:
                {how}
            ranks.barrier()
            time.sleep(1000)

        w.launch(timeout_s=60)
        """,
        expect=1,
    )
    assert expected in error
    for rank in range(3):
        for pid in map(int, (tmp_path / f"pids-{rank}").read_text().split()):
            wait_until(lambda pid=pid: gone(pid), f"process {pid} of rank {rank} ended")


@pytest.mark.parametrize("how", ["raise ValueError('no mesh')", "os._exit(0)"])
def test_a_rank_that_fails_before_it_calls_mpi_ends_those_that_will_not_stop(mpi, tmp_path, how):
    error = run_script(
        mpi,
        tmp_path,
        f"""
        import os, signal, time
        from pathlib import Path
        from thalweg import Workflow
        w = Workflow("w")

        @w.component(type="remote", processes_per_node=2)
        def solver():
            from thalweg.ranks import launched_place
            if launched_place().rank == 1:
                while not Path("{tmp_path}/pid").exists():
                    time.sleep(0.01)
                {how}
            else:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                Path("{tmp_path}/new").write_text(str(os.getpid()))
                Path("{tmp_path}/new").rename("{tmp_path}/pid")
                time.sleep(1000)

        w.launch(timeout_s=60)
        """,
        expect=1,
    )
    assert "component 'solver' failed: " in error
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: gone(pid), f"process {pid} of rank 0 ended")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_ranks_die_with_a_launcher_that_is_interrupted_or_killed(mpi, tmp_path, number):
    script = tmp_path / "main.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import os, subprocess, time
            from thalweg import Workflow
            w = Workflow("w")

            @w.component(type="remote", processes_per_node=2)
            def solver():
                from thalweg.ranks import current_ranks
                ranks = current_ranks()
                child = subprocess.Popen(["sleep", "1000"])
                open(f"{tmp_path}/pids-{{ranks.rank}}", "w").write(f"{{os.getpid()}} {{child.pid}}")
                ranks.barrier()
                open(f"{tmp_path}/up-{{ranks.rank}}", "w")
                time.sleep(1000)

            w.launch()
            """
        )
    )
    launcher = subprocess.Popen([sys.executable, str(script)], env=dict(mpi.env), stderr=subprocess.DEVNULL)
    wait_until(lambda: len(list(tmp_path.glob("up-*"))) == 2, "both ranks run")
    launcher.send_signal(number)
    launcher.wait(timeout=PATIENCE_S)
    for rank in range(2):
        for pid in map(int, (tmp_path / f"pids-{rank}").read_text().split()):
            wait_until(lambda pid=pid: gone(pid), f"process {pid} of rank {rank} ended")


def test_ranks_submit_tasks_report_progress_and_record_events(mpi, tmp_path):
    told = run_script(
        mpi,
        tmp_path,
        f"""
        import json
        from thalweg import Workflow
        from thalweg.results import RunFolder
        from thalweg.workflow import report_progress, submit
        w = Workflow("w", folder={str(tmp_path / "run")!r})
        seen = []

        @w.component(type="remote", processes_per_node=2)
        def solver():
            from thalweg import Simulation
            from thalweg.ranks import launched_place
            place = launched_place()
            kernel = {{"name": "k", "mini_app_kernel": "AXPY", "data_size": 10, "run_count": 1}}
            with Simulation("s", {{"kernels": [kernel]}}) as simulation:
                simulation.run(3)
            report_progress(3, 3)
            return submit(pow, 10, place.rank).result()

        results = w.launch(timeout_s=60, on_progress=seen.append)
        rows = RunFolder.open({str(tmp_path / "run")!r}).events().to_pylist()
        ranks = sorted(row["rank"] for row in rows if row["kind"] == "compute")
        print(json.dumps([results["solver"], len(seen), ranks]))
        """,
    )
    assert told == [[1, 10], 1, [0, 0, 0, 1, 1, 1]]


def test_ranks_are_spread_over_the_nodes_of_the_job(mpi, tmp_path):
    """Two names of this machine stand for two nodes: the host list, the open listener and the ranks' pins are real."""
    told = run_script(
        mpi,
        tmp_path,
        """
        import json, os
        from thalweg import Workflow
        from thalweg.workflow import Resources
        cpus = tuple(os.sched_getaffinity(0))[:2]
        w = Workflow("w", resources=Resources(("localhost", "127.0.0.1"), cpus, ()))

        @w.component(type="remote", nodes=2, processes_per_node=2)
        def solver():
            from thalweg.ranks import current_ranks
            ranks = current_ranks()
            return ranks.size, sum(ranks.gather(ranks.rank))

        print(json.dumps(w.launch(timeout_s=60)))
        """,
    )
    assert told == {"solver": [[4, 6]] * 4}


def test_a_workflow_inside_a_job_starts_a_job_of_its_own(mpi):
    done = mpi.run(
        1,
        """
        import json
        from thalweg import Workflow
        w = Workflow("w")

        @w.component(type="remote", processes_per_node=2)
        def solver():
            from thalweg.ranks import current_ranks
            return current_ranks().gather(1)

        print(json.dumps(w.launch(timeout_s=60)))
        """.replace("\n        ", "\n"),
    )
    assert json.loads(done.stdout.splitlines()[-1]) == {"solver": [[1, 1]] * 2}


def test_ranks_that_never_call_back_are_named(tmp_path, monkeypatch):
    """An mpirun that starts nothing stands for one that waits for slots, or for a node that does not answer."""
    from thalweg import Workflow
    from thalweg.errors import ComponentFailedError
    from thalweg.workflow import remote

    program = tmp_path / "mpirun.openmpi"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "mpirun (Open MPI) 5.0.3" && exit\nexec sleep 1000\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(remote, "_RENDEZVOUS_S", 0.3)
    w = Workflow("w")
    w.component(name="solver", type="remote", processes_per_node=2)(lambda: None)
    with pytest.raises(ComponentFailedError, match=r"of 2 ranks, 0, 1 did not call within 0\.3 s"):
        w.launch(timeout_s=PATIENCE_S)
