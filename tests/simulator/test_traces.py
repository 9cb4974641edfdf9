"""What traces of this project's own runs promise on a simulated machine."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from command_line import thalweg
from thalweg.datastore import DataStore
from thalweg.errors import ConfigError, CorruptDataError, InvalidError
from thalweg.results import RunFolder
from thalweg.servers import ServerManager
from thalweg.simulator import Scenario, simulate
from thalweg.simulator import operations as op
from thalweg.simulator.recorded import Run, load, save
from thalweg.simulator.trace import Trace
from thalweg.workflow import Workflow

MS = 1_000_000
SWITCH = {"network": {"topology": "single-switch", "nodes": 8}}
SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("component", "kind", "name", "key", "backend")]
    + [("rank", pa.int32())]
    + [(name, pa.int64()) for name in ("iteration", "size_bytes", "start_ns", "end_ns")]
)
#: Component, or component and rank; kind; start and end; key; bytes; and what it is called.
Event = tuple[Any, ...]


def made(folder: Path, events: Sequence[Event], components: Sequence[str] = ("solver", "trainer")) -> Path:
    """A run's folder with these events; times are in ms."""
    rows = []
    for process, kind, start, end, key, size, *name in events:
        component, rank = process if isinstance(process, tuple) else (process, 0)
        rows.append(
            {
                "component": component, "rank": rank, "kind": kind, "name": name[0] if name else kind, "key": key,
                "iteration": -1, "size_bytes": size, "start_ns": round(start * MS), "end_ns": round(end * MS),
                "backend": "thalweg",
            }
        )  # fmt: skip
    rows.sort(key=lambda row: row["start_ns"])
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), folder / "events.parquet")
    facts = {"format": "thalweg-run/1", "components": [{"name": name} for name in components]}
    (folder / "run.json").write_text(json.dumps(facts))
    return folder


def steps(trace: Trace) -> list[list[op.Operation]]:
    """What each rank does, with times in whole ns."""
    ranks = len(trace.processes)
    return [
        [("compute", round(each[1] * 1e9)) if each[0] == "compute" else each for each in trace.operations(rank, ranks)]
        for rank in range(ranks)
    ]


def run(folder: Path, **options: Any) -> Any:
    (done,) = simulate({**SWITCH, "application": [{"trace": str(folder), **options}]}).applications
    return done


PASSED_ON = [
    ("solver", "compute", 0, 5, "", 0),
    ("solver", "write", 5, 6, "field/0", 4000),
    ("trainer", "wait", 0, 6, "", 0),
    ("trainer", "read", 6.5, 9, "field/0", 4000),
    ("trainer", "train", 9, 12, "", 0),
]


def test_only_the_moving_of_data_is_the_machines(tmp_path: Path) -> None:
    folder = made(tmp_path / "run", PASSED_ON)
    trace = Trace(folder)
    assert trace.processes == [("solver", 0), ("trainer", 0)]
    assert steps(trace) == [
        [("compute", 5 * MS), op.isend(1, 4000, request=0)],
        [("compute", MS // 2), op.recv(0, 4000), ("compute", 3 * MS)],
    ]

    def bare(rank: int, ranks: int) -> Any:
        yield op.isend(1, 4000, request=0) if rank == 0 else op.recv(0, 4000)

    (alone,) = simulate({**SWITCH, "application": [{"operations": bare, "ranks": 2}]}).applications
    done = run(folder)
    assert alone.elapsed_s > 3.5e-6, "the protocol and the link take their time"
    assert done.elapsed_s == pytest.approx(5e-3 + alone.elapsed_s + 3e-3, abs=1e-11)
    assert done.compute_s == [pytest.approx(5e-3), pytest.approx(3.5e-3)]
    assert (done.name, done.messages_sent, done.bytes_sent) == ("run", 1, 4000) == ("run", *trace.messages)
    assert run(folder, compute_scale=0.5).elapsed_s == pytest.approx(4e-3 + alone.elapsed_s, abs=1e-11)
    assert run(folder, compute_scale=0).elapsed_s == pytest.approx(alone.elapsed_s, abs=1e-11)


def test_through_storage_the_reader_reads_where_the_writer_wrote(tmp_path: Path) -> None:
    events = [*PASSED_ON, ("solver", "write", 7, 8, "field/1", 500), ("solver", "write", 8, 9, "field/2", 60)]
    events += [(("trainer", 1), "read", 9, 10, "field/1", 500), (("trainer", 1), "read", 10, 11, "field/1", 500)]
    trace = Trace(made(tmp_path / "run", events), "storage")
    assert steps(trace) == [
        [("compute", 5 * MS), op.write(4000, file=1), op.isend(1, 0, request=0), ("compute", MS),
         op.write(500, at=4000, file=1), op.isend(2, 0, request=1, tag=1), op.write(60, at=4500, file=1)],
        [("compute", MS // 2), op.recv(0, 0), op.read(4000, file=1), ("compute", 3 * MS)],
        [("compute", 9 * MS), op.recv(0, 0, tag=1), op.read(500, at=4000, file=1), op.read(500, at=4000, file=1)],
    ]  # fmt: skip
    assert (trace.messages, trace.stored) == ((2, 0), (4560, 5000))
    done = run(tmp_path / "run", through="storage")
    assert (done.messages_sent, done.bytes_sent) == trace.messages
    assert all(spent > 0 for spent in done.io_s)
    # The third field is read by nobody: over the network it stays where it is, and the second travels twice.
    over = Trace(tmp_path / "run")
    assert (over.messages, over.stored) == ((3, 5000), (0, 0))
    assert "1 writes, of 60 bytes, that no other process reads" in over.notes
    assert run(tmp_path / "run").bytes_sent == 5000


def test_data_are_received_where_they_were_first_seen(tmp_path: Path) -> None:
    events = [
        ("solver", "write", 1, 2, "a", 100),
        ("solver", "write", 3, 4, "token", 7),
        ("trainer", "wait", 0, 3, "a", 0),
        ("trainer", "train", 3, 5, "", 0),
        ("trainer", "poll", 5, 5.5, "token", 0),
        ("trainer", "poll", 6, 6.5, "token", 0),
        ("trainer", "read", 7, 8, "a", 0),
        ("trainer", "delete", 8, 9, "a", 0),
    ]
    # The read does not say how much it read: what is no array has no size there.
    assert steps(Trace(made(tmp_path / "run", events)))[1] == [
        op.recv(0, 100), ("compute", 2 * MS), op.recv(0, 0, tag=1), ("compute", MS // 2 + MS // 2)
    ]  # fmt: skip


def test_polling_until_data_are_there_is_waiting(tmp_path: Path) -> None:
    polls = [("trainer", "poll", at, at + 0.1, "a", 0) for at in (1, 2, 3)]
    events = [("solver", "write", 2, 2.5, "a", 9), *polls, ("trainer", "read", 3.2, 3.3, "a", 9)]
    assert steps(Trace(made(tmp_path / "run", events)))[1] == [("compute", MS), op.recv(0, 9), ("compute", MS // 10)]
    # Looking at a flag between other work is none: here the work is not recorded.
    flag = [("trainer", "poll", at, at, "stop", 0) for at in (1, 2, 3)]
    assert steps(Trace(made(tmp_path / "run", flag)))[0] == [("compute", 3 * MS)]


def test_a_poll_sees_nothing_before_the_write_and_after_the_removal(tmp_path: Path) -> None:
    events = [
        ("solver", "write", 1, 2, "a", 9),
        ("trainer", "poll", 1.5, 1.6, "a", 0),
        ("trainer", "poll", 4.5, 4.6, "a", 0),
        ("solver", "delete", 3, 4, "a", 0),
    ]
    assert Trace(made(tmp_path / "run", events)).messages == (0, 0)
    events[2] = ("trainer", "poll", 2.5, 2.6, "a", 0)
    assert Trace(made(tmp_path / "run", events)).messages == (1, 0)


def test_what_a_key_held_when_it_was_read_is_what_moves(tmp_path: Path) -> None:
    events = [
        ("solver", "write", 1, 2, "a", 10),
        (("solver", 1), "write", 3, 4, "a", 20),
        ("solver", "write", 5, 9, "a", 30),
        ("trainer", "read", 2, 2.5, "a", 10),
        ("trainer", "read", 3.5, 4, "a", 20),
        ("trainer", "read", 6, 10, "a", 30),
        ("trainer", "read", 11, 12, "a", 30),
    ]
    received = [each[1:3] for each in steps(Trace(made(tmp_path / "run", events)))[2] if each[0] == "recv"]
    assert received == [(0, 10), (1, 20), (0, 30), (0, 30)]
    # Data that were there before their writing was told to be done; a version that another one has followed is older.
    early = [("solver", "write", 1, 3, "a", 10), ("trainer", "read", 2, 2.5, "a", 10)]
    assert Trace(made(tmp_path / "run", early)).messages == (1, 10)


def test_data_of_the_process_itself_and_of_before_do_not_cross_between_ranks(tmp_path: Path) -> None:
    events = [
        ("solver", "write", 1, 2, "a", 10),
        ("solver", "read", 2, 3, "a", 10),
        ("solver", "read", 3, 4, "mesh", 50),
        ("trainer", "read", 3, 4, "weights", 70),
        ("trainer", "read", 4, 5, "mesh", 50),
        ("solver", "write", 5, 6, "", 1000),
        ("solver", "write", 6, 7, "", 1000),
        ("trainer", "read", 6, 7, "", 800),
    ]
    trace = Trace(made(tmp_path / "run", events))
    own, other = steps(trace)
    written = [op.write(1000, file=3), op.write(1000, at=1000, file=3)]
    assert [each for each in own if each[0] != "compute"] == [op.read(50, at=0), *written]
    assert [each for each in other if each[0] != "compute"] == [op.read(70, at=50), op.read(50), op.read(800, file=6)]
    assert (trace.messages, trace.stored) == ((0, 0), (2000, 970))
    assert [note.partition(":")[0] for note in trace.notes[1:]] == [
        "3 reads of what no process of the run wrote",
        "1 writes, of 10 bytes, that no other process reads",
        "1 reads of what the process itself wrote",
        "2 writes without a key, as of files",
        "1 reads without a key, as of files",
    ]
    done = run(tmp_path / "run")
    assert done.messages_sent == 0 and all(spent > 0 for spent in done.io_s)
    assert op.read(10, file=1) in steps(Trace(tmp_path / "run", "storage"))[0]


def test_collectives_of_all_ranks_are_collectives(tmp_path: Path) -> None:
    both = [("solver", 0), ("solver", 1)]
    events = [(who, "collective", 1 + who[1], 4, "", 8000, "all_reduce") for who in both]
    events += [(who, "collective", 4, 5, "", 1000, "AllGather") for who in both]
    events += [(who, "collective", 5, 6, "", 64, "scan") for who in both]
    events += [("trainer", "collective", 1, 2, "", 8000, "AllReduce")]
    trace = Trace(made(tmp_path / "run", events))
    for rank in (0, 1):
        assert steps(trace)[rank] == [
            ("compute", (1 + rank) * MS), op.allreduce(8000, [0, 1]), op.allgather(500, [0, 1]), ("compute", MS)
        ]  # fmt: skip
    assert steps(trace)[2] == [("compute", 2 * MS)]
    assert trace.notes[1].startswith("2 collectives 'scan' of solver: not one of allreduce, allgather, barrier")
    assert trace.notes[2].startswith("1 collectives 'AllReduce' of trainer: not one of")
    assert run(tmp_path / "run").messages_sent == 2 + 2
    # One rank that did something else: no schedule would come to an end.
    torn = [("solver", "collective", 1, 2, "", 8, "barrier"), (("solver", 1), "compute", 1, 2, "", 0)]
    assert steps(Trace(made(tmp_path / "run", torn))) == [[("compute", 2 * MS)]] * 2


def test_what_several_threads_moved_at_once_counts_once(tmp_path: Path) -> None:
    events = [
        ("solver", "compute", 0, 10, "", 0),
        ("solver", "write", 2, 6, "a", 1),
        ("solver", "write", 3, 4, "b", 2),
        ("solver", "write", 5, 7, "c", 3),
        ("trainer", "read", 8, 9, "b", 2),
    ]
    assert steps(Trace(made(tmp_path / "run", events)))[0] == [
        ("compute", 2 * MS), op.isend(1, 2, request=0), ("compute", 3 * MS)
    ]  # fmt: skip


def test_threads_that_waited_at_once_do_not_wait_in_a_circle(tmp_path: Path) -> None:
    events = [
        ("solver", "write", 1, 6, "a", 10),
        ("trainer", "read", 2, 3, "a", 10),
        ("trainer", "write", 3, 4, "b", 10),
        ("solver", "read", 4, 5, "b", 10),
    ]
    assert run(made(tmp_path / "run", events)).messages_sent == 2
    both = [(("solver", rank), "collective", 1 + 5 * rank, 9, "", 0, "barrier") for rank in (0, 1)]
    events = [*both, (("solver", 0), "write", 2, 3, "a", 10), (("solver", 1), "read", 4, 5, "a", 10)]
    assert run(made(tmp_path / "run", events)).messages_sent == 2 + 1


def test_what_is_not_known_is_told(tmp_path: Path) -> None:
    events = [("solver", "migrate", 0, 2, "", 0), ("solver", "poll", 2, 3, "a", 0), ("trainer", "wait", 0, 3, "", 0)]
    assert Trace(made(tmp_path / "run", events)).notes == [
        "the run took 0.003 s until its last event",
        "1 polls and removals: they take no time",
        "1 waits for some of several keys, of 0.003 s: for which is not recorded; what the process reads, polls or "
        "removes next is waited for there",
        "1 events of the unknown kind 'migrate': their time is computing",
    ]


def test_ranks_are_in_the_order_of_components_and_lie_where_they_are_told(tmp_path: Path) -> None:
    events = [((name, rank), "compute", 0, 1, "", 0) for name in ("b", "a", "x", "c") for rank in (10, 9)]
    folder = made(tmp_path / "run", events, ["c", "a", "nobody", "b"])
    order = [(name, rank) for name in ("c", "a", "b", "x") for rank in (9, 10)]
    assert Trace(folder).processes == order
    events = [("a", "write", 0, 1, "k", 5000), ("b", "read", 1, 2, "k", 5000)]
    made(folder, events, ["a", "b"])
    (outcome,) = [
        simulate({"application": [{"trace": str(folder), "nodes": [3, 200, 7], "name": "mine"}, {"name": "milc",
        "iterations": 1, "placement": "random-nodes"}]})
    ]  # fmt: skip
    mine = outcome.applications[0]
    assert (mine.name, len(mine.compute_s), mine.bytes_sent) == ("mine", 2, 5000)
    assert sum(link.bytes_by_application[0] for link in outcome.links if link.kind == "global") >= 5000
    with pytest.raises(InvalidError, match="application run: has 1 nodes for the 2 processes of its trace; give each"):
        run(folder, nodes=[0])


def write_fields(server_info: dict[str, Any], fields: int) -> None:
    with DataStore("solver", server_info) as store:
        for number in range(fields):
            store.stage_write(f"field/{number}", np.full(500 * (1 + number), number, np.float64))
        store.wait(["enough"], 60)
        store.clean_staged_data("enough")


def read_fields(server_info: dict[str, Any], fields: int) -> None:
    with DataStore("trainer", server_info) as store:
        for number in range(fields):
            while number % 2 and not store.poll_staged_data(f"field/{number}"):
                time.sleep(0.001)
            assert store.stage_read(f"field/{number}", 60)[0] == number
        store.stage_write("enough", b"thank you")


@pytest.mark.parametrize("backend", ["thalweg", "node-local"])
def test_a_run_of_this_project_moves_what_it_moved(tmp_path: Path, backend: str) -> None:
    with ServerManager("fields", backend) as server:
        workflow = Workflow("fields", folder=tmp_path / "run")
        info = server.get_server_info()
        for name, work in (("trainer", read_fields), ("solver", write_fields)):
            workflow.component(name=name, args={"server_info": info, "fields": 6})(work)
        workflow.launch()
    events = RunFolder.open(tmp_path / "run").events().to_pylist()
    moved = [event["size_bytes"] for event in events if event["kind"] == "read"]
    assert sum(moved) == 4000 * 21
    trace = Trace(tmp_path / "run")
    assert trace.processes == [("trainer", 0), ("solver", 0)]
    assert trace.messages == (6 + 1, sum(moved)), "the fields, and the word that they were enough"
    done = run(tmp_path / "run")
    assert (done.messages_sent, done.bytes_sent) == trace.messages
    last = max(event["end_ns"] for event in events) / 1e9
    assert 0 < max(done.compute_s) <= last, "what was computed was part of the run"
    stored = run(tmp_path / "run", through="storage")
    assert (stored.messages_sent, stored.bytes_sent) == (7, 0)
    assert min(stored.io_s) > 0 and stored.compute_s == done.compute_s


@st.composite
def recorded(draw: st.DrawFn) -> list[Event]:
    """Events of a few processes, some at once; every read and wait ends after something was written under its key."""
    process, key = st.integers(0, 3), st.sampled_from("abc")
    writes = draw(
        st.lists(st.tuples(process, key, st.integers(0, 60), st.integers(0, 9), st.integers(0, 20_000)), max_size=12)
    )
    events: list[Event] = [(("p", who), "write", at, at + took, name, size) for who, name, at, took, size in writes]
    if writes:
        seeing = st.tuples(
            process, st.sampled_from(["read", "wait"]), st.sampled_from(writes), st.integers(0, 30), st.integers(0, 30)
        )
        for who, kind, (_, name, at, took, _), later, long in draw(st.lists(seeing, max_size=12)):
            end = at + took + later
            _, size = max((w[2] + w[3], n, w[4]) for n, w in enumerate(writes) if w[1] == name and w[2] + w[3] <= end)[
                1:
            ]
            events.append((("p", who), kind, max(0, end - long), end, name, size if kind == "read" else 0))
    others = st.tuples(
        process, st.sampled_from(["poll", "delete", "compute", "train"]), key, st.integers(0, 90), st.integers(0, 9)
    )
    for who, kind, name, at, took in draw(st.lists(others, max_size=10)):
        events.append((("p", who), kind, at, at + took, name if kind in ("poll", "delete") else "", 0))
    every = draw(st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["barrier", "allreduce"])), max_size=3))
    there = sorted({event[0][1] for event in events})
    for at, name in every:
        events += [(("p", who), "collective", at + 4 * who, at + 20, "", 64, name) for who in there]
    return events or [(("p", 0), "compute", 0, 1, "", 0)]


@settings(deadline=None, max_examples=60)
@given(events=recorded())
def test_every_byte_that_was_read_arrives_and_nobody_waits_for_ever(events: list[Event]) -> None:
    writes = [event for event in events if event[1] == "write"]
    crossing = read = 0
    for who, kind, _, end, key, *_ in events:
        if kind == "read":
            ended = [write for write in writes if write[4] == key and write[3] <= end]
            latest = [write for write in ended if write[3] == max(each[3] for each in ended)]
            assume(len(latest) == 1)  # of two writes that ended at one time either may have been read
            ((writer, *_, size),) = latest
            crossing, read = crossing + size * (writer != who), read + size
    with tempfile.TemporaryDirectory() as parent:
        folder = made(Path(parent) / "run", events)
        over, by_file = Trace(folder), Trace(folder, "storage")
        done, filed = run(folder), run(folder, through="storage")
    of_collectives = [done.messages_sent - over.messages[0], done.bytes_sent - over.messages[1]]
    assert of_collectives == [filed.messages_sent - by_file.messages[0], filed.bytes_sent]
    if not any(event[1] == "collective" for event in events):
        assert of_collectives == [0, 0]
    assert over.messages[1] == crossing
    assert by_file.stored == (sum(write[5] for write in writes), read)
    received = [sum(each[2] for each in rank if each[0] == "recv") for rank in steps(over)]
    assert sum(received) == crossing, "each message has its receive"
    assert done.compute_s == filed.compute_s
    assert done.elapsed_s >= max(done.compute_s)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"trace": "nowhere"}, "there is no run in 'nowhere'; give the folder of one beside the scenario"),
        ({"trace": "empty"}, "there is no run in 'empty'"),
        ({"trace": "begun"}, r"the run in 'begun' has no events.parquet, which a run writes as it ends"),
        ({"trace": "run", "ranks": 2}, "run has as many ranks as its trace has processes; leave out ranks"),
        ({"trace": "run", "program": "milc.ncptl"}, "there is no program"),
        ({"trace": "run", "operations": len}, "has operations as well as a trace; give one of them"),
        ({"trace": "run", "iterations": 2}, "run has no iterations; only milc has"),
        ({"trace": "run", "parameters": {"-n": 2}}, "run has no parameters; only a program"),
        ({"trace": "run", "through": "pigeons"}, "through: is 'pigeons'; should be 'network' or 'storage'"),
        ({"trace": "run", "compute_scale": -1}, "compute_scale: is -1; should be greater than or equal to 0"),
        ({"name": "milc", "through": "storage"}, "milc has no through; only a trace has"),
        ({"name": "milc", "compute_scale": 2}, "milc has no compute_scale; only a trace has"),
    ],
)
def test_traces_that_cannot_be_are_refused(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    made(tmp_path / "run", PASSED_ON)
    (tmp_path / "empty").mkdir()
    made(tmp_path / "begun", PASSED_ON)
    (tmp_path / "begun" / "events.parquet").unlink()
    with pytest.raises(ConfigError, match=message):
        Scenario.checked({"application": [given]}, tmp_path)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"drop": "key"}, CorruptDataError, r"events.parquet has no column 'key'; an events file has component, rank"),
        ({"size_bytes": "many"}, CorruptDataError, r"events.parquet cannot be read: .*many"),
        ({"start_ns": None}, CorruptDataError, r"column start_ns lacks 5 of its values; expected one for each event"),
        ({"start_ns": -7}, InvalidError, r"event 0 starts at -7 ns; accepted are times since the start of the run"),
        ({"end_ns": 0}, InvalidError, r"event 2 ends -5000000 ns after its start; accepted are 0 or more"),
        ({"size_bytes": -1}, InvalidError, r"event 0 moves -1 bytes; accepted are 0 or more"),
        ({"rank": -1}, InvalidError, r"event 0 is of rank -1; accepted are 0 or more"),
        ({"keep": 0}, InvalidError, r"events.parquet has no events; expected a run whose components record some"),
        ({"bytes": b"no table"}, CorruptDataError, r"events.parquet is not a Parquet file"),
        ({"facts": "[]"}, CorruptDataError, r"run.json is not that of a run: AttributeError"),
    ],
)
def test_files_that_are_not_a_runs_are_refused(
    tmp_path: Path, change: dict[str, Any], error: type[Exception], message: str
) -> None:
    folder = made(tmp_path / "run", PASSED_ON)
    path = folder / "events.parquet"
    table = pq.read_table(path)
    for what, value in change.items():
        if what == "facts":
            (folder / "run.json").write_text(value)
        elif what == "drop":
            table = table.drop_columns([value])
        elif what == "keep":
            table = table.slice(0, value)
        elif what != "bytes":
            place = table.column_names.index(what)
            kind = pa.string() if isinstance(value, str) else pa.int64()
            table = table.set_column(place, what, pa.array([value] * len(table), kind))
    pq.write_table(table, path)
    if "bytes" in change:
        path.write_bytes(change["bytes"])
    with pytest.raises(error, match=message):
        run(folder)


@pytest.mark.parametrize(
    ("events", "scale", "message"),
    [
        (
            [("trainer", "read", 1, 2, "a", 10), ("solver", "write", 3, 4, "a", 10)],
            1.0,
            r"a read of 'a' by rank 0 of trainer ended 0.002000000 s after the start, but rank 0 of solver was the "
            r"first to write it, and began at 0.003000000 s; expected reads after their writes, by one clock",
        ),
        (
            [("trainer", "train", 0, 2e6, "", 0), ("solver", "write", 3, 4, "a", 10)],
            1000.0,
            r"run: rank 0 of trainer computes for 2000 s at once, which compute_scale = 1000 makes 2e\+06 s; "
            r"accepted are up to 1e\+06 s",
        ),
    ],
    ids=["read before its write", "computing for weeks"],
)
def test_what_no_machine_can_do_is_named(tmp_path: Path, events: list[Any], scale: float, message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        Trace(made(tmp_path / "run", events), compute_scale=scale)


def test_the_command_says_what_has_no_counterpart(tmp_path: Path) -> None:
    made(tmp_path / "run", [*PASSED_ON, ("trainer", "poll", 12, 13, "a", 0)])
    (tmp_path / "traced.toml").write_text('[[application]]\ntrace = "run"\ncompute_scale = 0.25\n')
    done = thalweg("sim", "run", "traced.toml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "run: the run took 0.013 s until its last event" in done.stdout
    assert "run: 1 polls and removals: they take no time" in done.stdout
    found = load(tmp_path / "out")
    assert found.scenario["application"][0]["compute_scale"] == 0.25
    (application,) = found.outcome.applications
    assert application.notes == Trace(tmp_path / "run").notes
    scenario = Scenario.checked(found.scenario, None)
    save(Run.of("again", scenario, simulate(scenario)), tmp_path / "again")
    assert load(tmp_path / "again").outcome.applications == found.outcome.applications
