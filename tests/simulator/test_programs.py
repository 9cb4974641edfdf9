"""What programs of the workload language promise on a simulated machine, and on the command line."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from command_line import thalweg
from source_tree import ROOT
from thalweg.errors import ConfigError, InvalidError
from thalweg.simulator import Scenario, simulate
from thalweg.simulator import operations as op
from thalweg.simulator.program import Program, check, given, split
from thalweg.simulator.recorded import Run, load, save
from thalweg.simulator.validation import validate

PROGRAMS = ROOT / "examples/programs"
NODES = "mfnetsim/cont-1d-1056-300p1.conf"


def run(**application: Any) -> Any:
    (done,) = simulate({"network": {"routing": "par"}, "application": [{"nodes": NODES, **application}]}).applications
    return done


@pytest.mark.parametrize(
    ("ready", "program"),
    [
        ({"name": "milc", "iterations": 2}, {"parameters": {"--iterations": 2}}),
        ({"name": "checkpoint"}, {}),
    ],
    ids=lambda value: value.get("name", ""),
)
def test_a_program_takes_as_long_as_the_ready_made_application(ready: dict[str, Any], program: dict[str, Any]) -> None:
    one, other = run(**ready), run(program=str(PROGRAMS / f"{ready['name']}.ncptl"), **program)
    assert other.name == ready["name"]
    assert (one.elapsed_s, one.messages_sent, one.bytes_sent) == (
        other.elapsed_s,
        other.messages_sent,
        other.bytes_sent,
    )
    assert one.communication_s == other.communication_s
    assert one.io_s == other.io_s


def test_the_published_counts_are_met() -> None:
    # 907,200 sends and 238,882,137,600 bytes of the published MILC run.
    assert Program(PROGRAMS / "milc.ncptl").tally(300).messages == (907_200, 238_882_137_600)
    sent, size = Program(PROGRAMS / "cosmoflow.ncptl").tally(300).messages
    assert (sent, size) == (20_920, 88_255_232_000)


def test_figure_6_runs_on_a_machine(tmp_path: Path) -> None:
    scenario = tmp_path / "figure6.toml"
    scenario.write_text(
        f"""[[application]]
program = "{PROGRAMS / "figure6.ncptl"}"
parameters = {{ reps = 2, msgsize = 100, sample = "1M" }}
nodes = [0, 1, 40, 80]
""".replace("msgsize", "numwords")
    )
    (done,) = simulate(scenario).applications
    # Two multicasts of 400 words to three others, two allreduces of 100 words by recursive doubling.
    assert (done.messages_sent, done.bytes_sent) == (2 * 3 + 2 * 8, 2 * 3 * 1600 + 2 * 8 * 400)
    assert min(done.io_s) > 0
    assert done.compute_s == pytest.approx([0.258] * 4)
    ((task, label, elapsed_ms),) = done.logged
    assert (task, label) == (0, "Elapse time (ms)")
    assert 258 < elapsed_ms < done.elapsed_s * 1e3 + 1e-9


def test_a_program_that_goes_wrong_stops_the_run_with_its_line() -> None:
    with pytest.raises(InvalidError, match=r"(?s)the torus has a place for every task.*milc.ncptl:14.*with 30 tasks"):
        run(program=str(PROGRAMS / "milc.ncptl"), ranks=30)


ALL = "all tasks reduce 25000 words to all tasks then all tasks WRITE 1K then all tasks synchronize"


def small(tmp_path: Path, text: str = ALL, **tables: Any) -> Any:
    (tmp_path / "small.ncptl").write_text(text)
    application = [{"program": str(tmp_path / "small.ncptl"), "nodes": list(range(12))}]
    return simulate({"application": application, **tables})


def test_the_algorithm_of_a_collective_can_be_named(tmp_path: Path) -> None:
    (doubling,) = small(tmp_path, mpi={"allreduce": "recursive-doubling"}).applications
    (ring,) = small(tmp_path, mpi={"allreduce": "ring"}).applications
    # Twelve ranks: four beyond eight fold and unfold, eight exchange three times. A barrier has four rounds.
    assert (doubling.messages_sent, doubling.bytes_sent) == (2 * 4 + 8 * 3 + 4 * 12, (2 * 4 + 8 * 3) * 100_000)
    assert ring.messages_sent == 12 * 22 + 4 * 12
    assert abs(ring.bytes_sent - 2 * 11 * 100_000) < 100
    with pytest.raises(ConfigError, match=r"mpi.allreduce: is 'tree'; should be 'recursive-doubling'"):
        small(tmp_path, mpi={"allreduce": "tree"})
    with pytest.raises(InvalidError, match='"recursive-doubling" needs a power of two of ranks; here are 12'):
        text = 'all tasks backend execute "MPI_Allgather(a, 1, MPI_BYTE, b, 1, MPI_BYTE, c)"'
        small(tmp_path, text, mpi={"allgather": "recursive-doubling"})


def test_large_blocking_sends_wait_for_each_other_where_messages_are_not_eager(tmp_path: Path) -> None:
    text = "all tasks t send an 8K-byte message to task (t+1) mod num_tasks"
    circle = (
        "12 ranks wait for what never comes: rank 0 of small waits for rank 1 to receive its message; .*; "
        "in a circle of small: rank 0 waits for rank 1, which waits for rank 2,"
    )
    with pytest.raises(InvalidError, match=circle):
        small(tmp_path, text)
    assert small(tmp_path, text, mpi={"rendezvous_bytes": "16KiB"}).applications[0].messages_sent == 12
    assert small(tmp_path, text, model="mfnetsim-artifact").applications[0].messages_sent == 12


def test_a_loop_over_a_time_repeats_equally_often_on_all_ranks(tmp_path: Path) -> None:
    text = "for 1 millisecond all tasks compute for 100 microseconds"
    (done,) = small(tmp_path, text).applications
    (laps,) = {round(seconds / 100e-6) for seconds in done.compute_s}
    # The first repetition begins at once, and the last one before the time is over.
    assert (laps - 1) * 100e-6 < 1e-3 < done.elapsed_s < (laps + 1) * 150e-6
    # Before each of them, and once more at the end: a barrier of four rounds, and a broadcast to eleven.
    assert done.messages_sent == (laps + 1) * (4 * 12 + 11)
    assert done.bytes_sent == (laps + 1) * 11 * 8
    again = small(tmp_path, text, threads=2)
    assert again.applications[0].elapsed_s == done.elapsed_s
    with pytest.raises(InvalidError, match=r"(?s)takes no time, so it would never end.*small.ncptl:1:5"):
        (tmp_path / "small.ncptl").write_text("for 1 second task 0 outputs 1")
        simulate({"application": [{"program": str(tmp_path / "small.ncptl"), "nodes": [0]}]})


def test_a_loop_over_a_time_is_counted_as_one_repetition_with_a_warning(tmp_path: Path) -> None:
    program = tmp_path / "timed.ncptl"
    program.write_text("for 10 seconds all tasks t send a 4 byte message to task (t+1) mod num_tasks")
    done = thalweg("sim", "check", str(program), "-n", "4", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert "how often this loop repeats shows only when it runs" in done.stderr
    rows = {row["operation"]: row["count"] for row in json.loads(done.stdout)["rows"] if "operation" in row}
    assert (rows["send"], rows["barrier"], rows["bcast"]) == (4, 2 * 4, 2 * 4)
    assert Program(program).tally(4, laps=[7]).operations["send"] == (28, 112)


def test_storage_can_be_in_the_nodes_beside_them_or_behind_the_network(tmp_path: Path) -> None:
    times = {
        arrangement: small(tmp_path, "all tasks WRITE 4K", storage={"arrangement": arrangement}).applications[0]
        for arrangement in ("node-local", "compute-side", "storage-side")
    }
    # Flash writes a page in 71 µs; in the node nothing else takes time.
    assert times["node-local"].io_s == pytest.approx([71e-6] * 12)
    assert min(times["storage-side"].io_s) > 71e-6
    assert times["compute-side"].elapsed_s > 12 * 71e-6, "twelve nodes share a burst buffer"
    with pytest.raises(ConfigError, match=r"storage.device: is 'tape'; should be 'artifact', 'ssd' or 'hdd'"):
        small(tmp_path, storage={"device": "tape"})


def test_the_devices_come_to_the_papers_table() -> None:
    rows = validate("storage-table1")
    assert len(rows) == 8
    assert all(row["within"] and abs(row["deviation"]) < 0.01 for row in rows)


@pytest.mark.parametrize(
    ("application", "message"),
    [
        ({"program": "nowhere.ncptl"}, r"there is no program 'nowhere.ncptl'; give a file beside the scenario"),
        ({"name": "lulesh"}, r"name is 'lulesh'; accepted are milc, nekbone, checkpoint, cosmoflow, or give a program"),
        ({}, r"application\[0\]: has no name; accepted are milc, nekbone, checkpoint, cosmoflow, or give a program"),
        ({"name": "milc", "ranks": 1 << 40}, r"application\[0\].ranks: is 1099511627776"),
        ({"name": "milc", "nodes": []}, r"nodes.*: is an empty list; give a compute node for each rank"),
        ({"name": "milc", "nodes": [-1]}, r"nodes.*: has -1; accepted are the numbers of compute nodes, from 0 on"),
        ({"name": "milc", "nodes": [1 << 64]}, r"nodes.*: has 18446744073709551616; accepted are"),
        ({"name": "milc", "nodes": "."}, r"there is no file '.'; give one beside the scenario"),
        ({"name": "milc", "nodes": "x" * 999}, r"there is no file 'xxx"),
        ({"name": "milc", "nodes": [0], "line": 2}, r"milc has a line, 2, of no file; give the file of nodes as well"),
        ({"name": "milc", "nodes": None, "line": 1}, r"milc has a line, 1, of no file"),
        ({"name": "milc", "ranks": 20}, r"milc has 300 ranks; only a program or operations can have others"),
        ({"program": str(PROGRAMS / "milc.ncptl"), "iterations": 3}, r"milc has no iterations; only milc has"),
    ],
)
def test_a_wrong_application_is_refused(application: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run(**application)


def test_a_wrong_parameter_is_refused() -> None:
    with pytest.raises(InvalidError, match=r"has no parameter --iteration; did you mean --iterations\?"):
        run(program=str(PROGRAMS / "milc.ncptl"), parameters={"--iteration": 3})


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.ncptl")), ids=lambda path: path.stem)
def test_every_program_that_is_shipped_is_well_formed(path: Path) -> None:
    assert [finding.shown for finding in check(path) if finding.severity == "error"] == []


def test_the_command_checks_and_counts(tmp_path: Path) -> None:
    done = thalweg("sim", "check", str(PROGRAMS / "milc.ncptl"), "-n", "300", "--json", "-", "--", "--iterations=1")
    assert done.returncode == 0, done.stderr
    rows = {row["operation"]: (row["count"], row["bytes"]) for row in json.loads(done.stdout)["rows"]}
    assert rows["isend"] == (2 * 8 * 300, 2 * 8 * 300 * 497_664)
    wrong = tmp_path / "wrong.ncptl"
    wrong.write_text("# a comment\ntask 0 sned a 4 byte message to task 1\n")
    done = thalweg("sim", "check", str(wrong), "--json", "-")
    assert done.returncode == 1
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["line"], row["column"], row["word"], row["help"]) == (2, 8, "sned", "did you mean `sends`?")
    assert "2 | task 0 sned a 4 byte message to task 1\n  |        ^^^^ expected" in done.stderr
    assert thalweg("sim", "check", str(PROGRAMS / "milc.ncptl"), "-n", "299").returncode == 1
    again = thalweg("sim", "check", str(PROGRAMS / "milc.ncptl"), "--iterations", "1", "-n", "300", "--json", "-")
    assert {row["operation"]: (row["count"], row["bytes"]) for row in json.loads(again.stdout)["rows"]} == rows
    wrong.write_text(
        "task 0 sends 2 4 byte messages to unsuspecting task 1 then task 2 receives a 8 byte message from task 1"
    )
    done = thalweg("sim", "check", str(wrong), "-n", "3")
    assert done.returncode == 0
    assert "warning: messages that nobody receives: 2 from task 0 to task 1" in done.stderr
    assert "warning: messages that are received and nobody sends: 1 from task 1 to task 2" in done.stderr
    assert thalweg("sim", "check", str(wrong), "-n", str(1 << 64)).returncode == 2
    assert thalweg("sim", "check", str(tmp_path / "nowhere.ncptl")).returncode == 2


def test_words_of_a_command_are_parameters() -> None:
    assert given(["--reps", "3", "-s=8M"]) == {"--reps": "3", "-s": "8M"}
    for words in (["--reps", "3", "mpirun", "-n", "4"], ["--reps", "3", "--", "mpirun", "-n", "4"]):
        assert split(words) == (["--reps", "3"], ["mpirun", "-n", "4"])
    for words, message in [
        (["3"], "'3' is no option"),
        (["--reps"], "--reps has no value"),
        (["-r", "1", "-r=2"], "-r is given twice"),
    ]:
        with pytest.raises(InvalidError, match=message):
            given(words)


RING = """
from thalweg.simulator import operations as op


def ring(rank, ranks):
    for _ in range(3):
        yield op.irecv((rank - 1) % ranks, 4096, request=1)
        yield op.send((rank + 1) % ranks, 4096)
        yield op.wait(1)
        yield op.compute(1e-3)
    yield op.barrier()
    yield op.write(1_000_000)


def wrong(rank, ranks):
    yield op.send((rank + 1) % ranks, -1)
"""


def test_a_function_of_a_file_gives_what_ranks_do(tmp_path):
    (tmp_path / "ring.py").write_text(RING)
    scenario = tmp_path / "ring.toml"
    scenario.write_text('[[application]]\noperations = "ring.py:ring"\nranks = 8\n')
    (found,) = simulate(scenario).applications
    assert (found.name, found.messages_sent, found.bytes_sent) == ("ring", 8 * 3 + 8 * 3, 8 * 3 * 4096)
    assert found.compute_s == [pytest.approx(3e-3)] * 8 and min(found.io_s) > 0
    done = thalweg("sim", "run", "ring.toml", "--out", "ring", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = thalweg("sim", "compare", "ring", "ring", cwd=tmp_path)
    assert "two runs are called ring" in again.stderr


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"operations": "ring.py:none"}, "ring.py has no function 'none'"),
        ({"operations": "none.py:ring"}, "there is no function 'none.py:ring'"),
        ({"operations": "ring.py:ring", "program": "ring.py"}, "has a program as well as operations"),
        ({"operations": "ring.py:ring", "iterations": 3}, "ring has no iterations; only milc has"),
        ({"operations": "ring.py:ring", "ranks": None}, "neither nodes nor ranks"),
    ],
)
def test_functions_that_cannot_be_are_refused(tmp_path, given, message):
    (tmp_path / "ring.py").write_text(RING)
    content = {"application": [{"ranks": 8, **given}]}
    with pytest.raises(ConfigError, match=message):
        Scenario.checked(content, tmp_path)


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        (lambda rank, ranks: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda rank, ranks: None, "TypeError"),
        ("send", "gave 'send'; expected an operation such as operations.send(1, 4096)"),
        (("jump", 1), 'there is no operation "jump"'),
        (("send", 1), "gave ('send', 1); expected (\"send\", to, size_bytes, tag)"),
        (op.send(1, -1), "send: size_bytes is -1; accepted are whole numbers from 0 to 1099511627776"),
        (op.send(1, 1 << 60), "send: size_bytes is 1152921504606846976; accepted are"),
        (op.send(1, 0.5), "send: size_bytes is 0.5; accepted are"),
        (op.send(9, 8), "send: to is 9; accepted are whole numbers from 0 to 1"),
        (op.send(1, 8, tag=1 << 31), "send: tag is 2147483648; accepted are"),
        (op.irecv(None, 8, request=-1), "irecv: request is -1; accepted are"),
        (op.recv(7, 8), "recv: source is 7; accepted are"),
        (op.wait("first"), "wait: request is 'first'; accepted are"),
        (op.compute(-1.0), "compute: seconds is -1.0; accepted are 0 to 1e6"),
        (op.write(8, at=-4), "write: at is -4; accepted are"),
        (op.bcast(2, 8), "bcast: root is 2; accepted are"),
        (op.barrier([0, 0, 1]), "barrier: member 0 is given twice; give each once"),
        (op.allreduce(8, [0, 3]), "allreduce: a member is 3; accepted are whole numbers from 0 to 1"),
    ],
)
def test_what_a_function_does_wrong_is_told_with_rank_operation_and_value(operations, message):
    def wrong(rank, ranks):
        return operations(rank, ranks) if callable(operations) else [operations]

    with pytest.raises(InvalidError, match=re.escape(f"rank 0 of wrong: {message}")):
        simulate({"application": [{"operations": wrong, "ranks": 2}]})


def test_a_request_that_is_begun_again_before_it_is_complete_is_refused():
    def twice(rank, ranks):
        yield op.irecv(1 - rank, 100_000, request=0)
        yield op.isend(1 - rank, 100_000, request=0)
        yield op.waitall()

    with pytest.raises(InvalidError, match="rank 0 begins request 0 before the one of that number is complete"):
        simulate({"application": [{"operations": twice, "ranks": 2}]})

    def again(rank, ranks):
        for _ in range(3):
            yield op.irecv(1 - rank, 100_000, request=0)
            yield op.isend(1 - rank, 100_000, request=1)
            yield op.waitall()

    (found,) = simulate({"application": [{"operations": again, "ranks": 2}]}).applications
    # Each message counts once, without what asks for it and answers.
    assert (found.messages_sent, found.message_latency.count, found.notes) == (6, 6, [])


def test_messages_that_nobody_receives_and_bytes_of_storage_are_told():
    def forgets(rank, ranks):
        yield op.send(1 - rank, 100)
        yield op.write(5_000)
        yield op.read(3_000, at=1_000)

    (found,) = simulate({"application": [{"operations": forgets, "ranks": 2}]}).applications
    assert found.notes == ["2 messages to its ranks were received by nobody"]
    assert (found.bytes_written, found.bytes_read) == (10_000, 6_000)


def test_ranks_that_wait_in_a_collective_are_told_its_name():
    def stuck(rank, ranks):
        if rank == 0:
            yield op.barrier()

    with pytest.raises(InvalidError, match=r"rank 0 of stuck waits for a message from rank 1 in their barrier"):
        simulate({"application": [{"operations": stuck, "ranks": 2}]})


def test_a_transfer_that_no_machine_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match=r"rank 0 of .* has a write of 1125899906842624 bytes; accepted are up to"):
        small(tmp_path, "task 0 writes 1024*1024*1024*1024*1K")


def test_what_a_program_logs_need_not_be_a_number(tmp_path: Path) -> None:
    outcome = small(tmp_path, 'task 0 logs 1/bytes_sent as "rate"')
    assert [value for _, _, value in outcome.applications[0].logged] == [math.inf]
    run = Run("small", {}, outcome)
    (save(run, tmp_path / "run") / "outcome.json").read_text().index("null")
    json.loads((tmp_path / "run/outcome.json").read_text(), parse_constant=pytest.fail)
    ((task, label, value),) = load(tmp_path / "run").outcome.applications[0].logged
    assert (task, label) == (0, "rate") and math.isnan(value)
