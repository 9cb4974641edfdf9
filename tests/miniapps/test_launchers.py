"""Command lines of the MPI launchers as text, and what a batch job gives."""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import time

import psutil
import pytest

from thalweg import Workflow
from thalweg.errors import ConfigError, MissingLibraryError
from thalweg.ranks import LOCAL_RANKS, launched_place, without_place
from thalweg.workflow import Resources, settle
from thalweg.workflow.arrivals import Arrivals, boot_mark
from thalweg.workflow.component import Component
from thalweg.workflow.guard import Guard
from thalweg.workflow.launchers import LAUNCHERS, Job, find_launcher
from thalweg.workflow.rank_groups import RankGroups
from thalweg.workflow.remote import launcher_command
from thalweg.workflow.resources import Grant, Ledger, expanded, usable_resources

PATIENCE_S = 30.0
TWO_NODES = Job(("nid001", "nid002"), 4, {"OMP_NUM_THREADS": "2", "THALWEG_TOKEN": "secret"})
HERE = Job((), 3, {"OMP_NUM_THREADS": "2"})


@pytest.mark.parametrize(
    ("name", "job", "line"),
    [
        (
            "openmpi",
            TWO_NODES,
            "mpirun --oversubscribe --bind-to none -n 8 --host nid001:4,nid002:4 -x OMP_NUM_THREADS -x THALWEG_TOKEN",
        ),
        ("openmpi", HERE, "mpirun --oversubscribe --bind-to none -n 3 -x OMP_NUM_THREADS"),
        (
            "mpich",
            TWO_NODES,
            "mpirun -n 8 -bind-to none -hosts nid001,nid002 -ppn 4 -genvlist OMP_NUM_THREADS,THALWEG_TOKEN",
        ),
        ("mpich", HERE, "mpirun -n 3 -bind-to none"),
        (
            "srun",
            TWO_NODES,
            "mpirun --nodes=2 --ntasks=8 --ntasks-per-node=4 --nodelist nid001,nid002 --overlap --cpu-bind=none "
            "--kill-on-bad-exit=1 --export=ALL,OMP_NUM_THREADS,THALWEG_TOKEN",
        ),
        (
            "srun",
            HERE,
            "mpirun --nodes=1 --ntasks=3 --ntasks-per-node=3 --overlap --cpu-bind=none --kill-on-bad-exit=1 "
            "--export=ALL,OMP_NUM_THREADS",
        ),
        ("pals", TWO_NODES, "mpirun -n 8 --ppn 4 --hosts nid001,nid002 --cpu-bind none --envall"),
        ("pals", HERE, "mpirun -n 3 --ppn 3 --cpu-bind none --envall"),
    ],
)
def test_a_launcher_is_called_like_this(name, job, line):
    assert LAUNCHERS[name].command("mpirun", job) == line.split()


@pytest.mark.parametrize("name", LAUNCHERS)
def test_no_value_of_the_environment_is_on_a_command_line(name):
    assert "secret" not in " ".join(LAUNCHERS[name].command("mpirun", TWO_NODES))
    assert LAUNCHERS[name].environment(TWO_NODES)["THALWEG_TOKEN"] == "secret"


def make_program(folder, name, says):
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("programs", "variables", "expected"),
    [
        ({"mpirun": "mpirun (Open MPI) 5.0.3"}, {}, "openmpi"),
        ({"mpirun": "HYDRA build details:"}, {}, "mpich"),
        ({"mpirun": "HYDRA build details:", "mpirun.openmpi": "mpirun (Open MPI) 4.1.4"}, {}, "mpich"),
        ({"mpiexec": "mpiexec: PALS version 1.2.12"}, {"PBS_JOBID": "1"}, "pals"),
        ({"srun": "slurm 22.05.8", "mpirun": "mpirun (Open MPI) 5.0.3"}, {"SLURM_JOB_ID": "1"}, "srun"),
        ({"srun": "slurm 22.05.8", "mpirun": "mpirun (Open MPI) 5.0.3"}, {}, "openmpi"),
    ],
)
def test_the_launcher_of_this_machine_is_found(programs, variables, expected, tmp_path, monkeypatch):
    for name, says in programs.items():
        make_program(tmp_path, name, says)
    monkeypatch.setenv("PATH", str(tmp_path))
    for variable in ("SLURM_JOB_ID", "PBS_JOBID"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    launcher, program = find_launcher(None, "solver")
    assert launcher.name == expected
    assert program.startswith(str(tmp_path))


def test_a_machine_without_a_launcher_is_told_before_anything_starts(tmp_path, monkeypatch):
    w = Workflow("w")
    w.component(name="first", type="thread")(lambda: (tmp_path / "ran").touch())
    w.component(name="solver", type="remote")(lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingLibraryError, match="component 'solver' is remote, but no MPI launcher was found"):
        w.launch()
    assert not (tmp_path / "ran").exists()


def test_node_lists_of_slurm_are_read():
    assert expanded("nid[001-003,7],login1") == ("nid001", "nid002", "nid003", "nid7", "login1")
    assert expanded("r[1-2]n[08-09]") == ("r1n08", "r1n09", "r2n08", "r2n09")
    with pytest.raises(ConfigError, match=r"the node list 'nid\[1-x\]' cannot be read at '1-x'"):
        expanded("nid[1-x]")


def test_nodes_come_from_the_batch_system(tmp_path):
    (tmp_path / "nodes").write_text("x1\nx1\nx2\n")
    assert usable_resources({"PBS_NODEFILE": str(tmp_path / "nodes")}).nodes == ("x1", "x2")
    assert usable_resources({"SLURM_JOB_NODELIST": "x[1-2]"}).nodes == ("x1", "x2")
    assert usable_resources({"CUDA_VISIBLE_DEVICES": "3,5"}).gpus == ("3", "5")
    with pytest.raises(ConfigError, match="PBS_NODEFILE names /nowhere/nodes, which cannot be read"):
        usable_resources({"PBS_NODEFILE": "/nowhere/nodes"})


def test_nothing_is_given_twice_and_all_comes_back():
    ledger = Ledger(Resources(("n1", "n2"), (0, 1, 2, 3), ("0", "1")))
    wide = Component("wide", type="remote", nodes=2, processes_per_node=2, cpus=1, gpus=1)
    first = ledger.take(wide)
    assert first.nodes == ("n1", "n2")
    assert first.cpus == ((0,), (1,))
    assert first.gpus == (("0",), ("1",))
    assert ledger.take(wide) is None
    small = ledger.take(Component("small", cpus=2))
    assert (small.nodes, small.cpus) == (("n1",), ((2, 3),))
    ledger.give_back(first)
    ledger.give_back(small)
    assert ledger.take(wide) == first


@pytest.mark.parametrize(
    ("component", "told"),
    [
        (Component("c", type="remote", nodes=3), "component 'c' asks for 3 nodes; there are 2"),
        (
            Component("c", type="remote", processes_per_node=3, gpus=1),
            r"asks for 3 GPUs a node \(1 for each of 3 processes\); each node has 2",
        ),
        (Component("c", cpus=5), r"asks for 5 CPUs a node \(5 for each of 1 processes\); each node has 4"),
    ],
)
def test_more_than_there_is_is_refused(component, told):
    with pytest.raises(ConfigError, match=told):
        Ledger(Resources(("n1", "n2"), (0, 1, 2, 3), ("0", "1"))).check(component)


def greet(arrivals, rank, group=0, token=None):
    connection = socket.create_connection(("127.0.0.1", arrivals.port), timeout=PATIENCE_S)
    numbers = rank.to_bytes(4, "little") + group.to_bytes(4, "little")
    connection.sendall((token or arrivals.token) + numbers + boot_mark())
    return connection


def taken(arrivals, count):
    """Wait for so many arrivals; return what they told."""
    found = []
    selector = selectors.DefaultSelector()
    until = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < until, f"{len(found)} of {count} ranks arrived within {PATIENCE_S} s"
        for fd, events in arrivals.interests():
            selector.register(fd, events)
        selector.select(PATIENCE_S)
        for fd, _ in list(selector.get_map().items()):
            selector.unregister(fd)
        found += arrivals.take()
    return sorted((rank, group) for connection, rank, group in found if not connection.close())


def test_strangers_keep_no_rank_out_and_nobody_is_waited_for_when_all_are_here():
    arrivals = Arrivals("127.0.0.1", 2)
    strangers = []
    for _ in range(64):  # more than are let wait
        strangers.append(socket.create_connection(("127.0.0.1", arrivals.port), timeout=PATIENCE_S))
        assert arrivals.take() == []
    ranks = [greet(arrivals, 9), greet(arrivals, 0, token=bytes(32)), greet(arrivals, 1, 77), greet(arrivals, 0, 78)]
    assert taken(arrivals, 2) == [(0, 78), (1, 77)]
    assert arrivals.interests() == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", arrivals.port), timeout=PATIENCE_S)
    for connection in (*strangers, *ranks):
        connection.close()


def test_what_a_rank_left_is_killed_when_it_ends_and_its_group_is_let_alone_then():
    guard = Guard()
    groups = RankGroups(guard)
    rank = subprocess.Popen(
        ["sh", "-c", "sleep 1000 & echo $!; read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        left = psutil.Process(int(rank.stdout.readline()))
        for group in (0, 1, os.getpgid(0), rank.pid):
            groups.add(group)
        ((leader, events),) = groups.interests()
        groups.reap()
        assert left.is_running()
        rank.stdin.close()
        selector = selectors.DefaultSelector()
        selector.register(leader, events)
        assert selector.select(PATIENCE_S)
        groups.reap()
        assert groups.interests() == []
        psutil.wait_procs([left], timeout=PATIENCE_S)
        assert not left.is_running() or left.status() == psutil.STATUS_ZOMBIE
    finally:
        groups.close()
        guard.close()
        rank.kill()
        rank.wait()
        rank.stdout.close()


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"PMI_RANK": "3", "PMI_SIZE": "4", "SLURM_PROCID": "3", "SLURM_LOCALID": "1"}, (3, 4, 1, None)),
        ({"PMI_RANK": "3", "PMI_SIZE": "4", "PALS_LOCAL_RANKID": "1"}, (3, 4, 1, "mpich")),
        ({"PMI_RANK": "3", "PMI_SIZE": "4", "PMI_LOCAL_RANK": "1"}, (3, 4, 1, "mpich")),
        ({"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "SLURM_LOCALID": "0"}, (3, 4, 1, "mpich")),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2, 1, "openmpi")),
    ],
)
def test_the_rank_on_the_node_is_known_whoever_told_the_rank(environment, place):
    assert launched_place(environment) == place
    assert without_place(environment) == {}


def test_a_rank_is_pinned_by_the_number_that_it_sees():
    assert settle._LOCAL_RANKS == LOCAL_RANKS


def test_settings_of_the_user_stay_for_a_job_inside_a_job():
    told_by_mpirun = {
        "OMPI_MCA_ess_base_vpid": "0",
        "OMPI_MCA_orte_hnp_uri": "1.0;tcp://n",
        "OMPI_COMM_WORLD_RANK": "0",
    }
    mine = {"OMPI_MCA_btl": "self,tcp", "OMPI_ALLOW_RUN_AS_ROOT": "1"}
    assert without_place({**told_by_mpirun, **mine}) == mine
    assert without_place({"OMPI_MCA_orte_tmpdir_base": "/scratch"}) == {"OMPI_MCA_orte_tmpdir_base": "/scratch"}


@pytest.mark.parametrize(
    ("nodes", "batch", "options"),
    [
        (("localhost",), {}, ""),
        (("n1.example.org",), {}, ""),
        (("n1",), {"SLURM_JOB_NODELIST": "n[1-2]"}, "--host n1:2"),
        (("n1.example.org",), {"PBS_NODEFILE": "/nodes"}, "--host n1.example.org:2"),
        (("n2",), {}, "--host n2:2"),
        (("n1", "n1.other.org"), {}, "--host n1:2,n1.other.org:2"),
    ],
)
def test_nodes_are_named_unless_it_is_this_one_alone(nodes, batch, options, tmp_path, monkeypatch):
    make_program(tmp_path, "mpirun", "mpirun (Open MPI) 5.0.3")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(socket, "gethostname", lambda: "n1.cluster")
    for variable in ("PBS_NODEFILE", "SLURM_JOB_NODELIST"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in batch.items():
        monkeypatch.setenv(variable, value)
    component = Component("c", type="remote", nodes=len(nodes), processes_per_node=2, launcher="openmpi")
    command, _ = launcher_command(component, Grant(nodes), {})
    assert " ".join(command).endswith(f"-n {2 * len(nodes)} {options}".strip())
