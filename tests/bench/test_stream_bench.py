"""``thalweg bench stream``: turns, rows, checks of what arrives, systems that fail, real ones at a tiny size."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from command_line import DEADLINE_S, PROGRAM, descendants, thalweg
from left_behind import nothing_left
from thalweg.bench.stream.contenders import SYSTEMS, find
from thalweg.bench.stream.limits import Limits
from thalweg.bench.stream.order import Case, Order
from thalweg.bench.stream.rounds import Contender, Measured, Sample, events_of, measure
from thalweg.bench.stream.rows import in_common, limits_of, rows
from thalweg.bench.stream.sides import Heard
from thalweg.errors import CorruptDataError, InvalidError

FAKES = Path(__file__).with_name("fake_streams.py")
FIELDS = {
    *("system", "durability", "event_bytes", "data_bytes", "partitions", "operation"),
    *("events_per_s", "bytes_per_s", "median_s", "p99_s", "of_append", "of_read", "of_memcpy", "vs_kafka"),
}
CASE = Case(event_bytes=100, data_bytes=0, partitions=1, durability="none")
VOLUME_BYTES = 200_000


def fakes(*names: str) -> list[Contender]:
    return [Contender(find(f"{FAKES}::{name}"), "python", f"{FAKES}::{name}") for name in names]


def measured(folder: Path, *names: str, cases: list[Case], rounds: int = 1) -> Measured:
    found = measure(fakes(*names), cases, rounds, VOLUME_BYTES, folder)
    assert list(folder.iterdir()) == [], "a file was left behind"
    return found


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_every_round_measures_every_case_and_the_limits(tmp_path: Path) -> None:
    before = children()
    cases = [CASE, Case(100, 5000, 1, "none"), Case(100, 0, 3, "always")]
    found = measured(tmp_path, "good", "live", cases=cases, rounds=2)
    assert found.failures == {}
    assert [(sample.round, sample.case, sample.system) for sample in found.samples] == [
        (turn, case, name)
        for turn in (0, 1)
        for case in cases
        for name in ("good", "live")
        if name == "good" or case.partitions == 1
    ]
    assert set(found.limits) == {(turn, case) for turn in (0, 1) for case in cases}
    for sample in found.samples:
        assert list(sample.produced.stamps_ns) == sorted(sample.produced.stamps_ns)
        assert list(sample.consumed.stamps_ns) == sorted(sample.consumed.stamps_ns)
        assert (sample.pulled is None) == (sample.case.partitions > 1)
        assert sample.pulled is None or min(sample.pulled.latencies_ns) > 0
    assert children() == before, "a side was left behind"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "losing",
            "the side to consume ended with status 1: bench stream: an event of 1000 bytes arrived with the stamp 1",
        ),
        ("damaging", "arrived with the stamp 18446744073709551615; expected 1000 bytes and the stamp 0"),
        ("dying", "the side to consume ended with status 7: it ended without a word"),
        ("unstartable", "unstartable: it has no server"),
    ],
)
def test_a_failing_system_is_named_and_the_others_go_on(name: str, message: str, tmp_path: Path) -> None:
    import re

    before = children()
    found = measured(tmp_path, name, "good", cases=[CASE])
    assert list(found.failures) == [f"{name} (python)"]
    assert re.search(message, found.failures[f"{name} (python)"])
    assert {sample.system for sample in found.samples} == {"good"}
    assert children() == before, "a side was left behind"


def test_an_order_is_told_in_words_and_read_again() -> None:
    order = Order("pull", "unix:@a", "t", 7, Case(100, 5000, 3, "always"), 20)
    assert Order.parse(order.words()) == order
    with pytest.raises(InvalidError, match=r"a side was told \['rest'\]; expected one of"):
        Order.parse(["rest"])


def test_batches_and_runs_grow_shorter_with_size() -> None:
    assert [Order("produce", "", "", 1, Case(100, data, 1, "none")).batch for data in (0, 1_000_000, 10**8)] == [
        *(1000, 15, 1)
    ]
    assert events_of(CASE, 10**9) == 500_000
    assert events_of(Case(100, 0, 1, "always"), 10**9) == 100_000
    assert events_of(Case(1000, 10**7, 1, "none"), 10**9) == 99


def test_rows_are_medians_of_rounds_and_ratios_are_taken_within_a_round() -> None:
    def sample(turn: int, system: str, seconds: float, latency_ns: int) -> Sample:
        heard = Heard((0, int(seconds * 5e8), int(seconds * 1e9)), 0.5, ())
        pushed = Heard((0, 10**9), 0.1, (), 0.0005)
        pulled = Heard((0, 10**9), 0.1, (10**9,) + (latency_ns,) * 9)
        return Sample(turn, system, "native", CASE, 1000, heard, heard, pushed, pulled)

    limits = {
        (turn, CASE): Limits(1e9, speed, 2 * speed, 5e5, 6e5, 1e-4, 1e-5) for turn, speed in enumerate((1e6, 2e6, 4e6))
    }
    timed = [("good", (0.1, 0.2, 0.4)), ("kafka", (0.4, 0.8, 1.6))]
    samples = [
        sample(turn, system, seconds, int(seconds * 1e6))
        for system, times in timed
        for turn, seconds in enumerate(times)
    ]
    found = {(row["system"], row["operation"]): row for row in rows(Measured(samples, limits))}
    produced, latency = found["good", "produce"], found["good", "latency"]
    assert produced.keys() >= FIELDS
    assert (produced["events_per_s"], produced["bytes_per_s"]) == pytest.approx((5000, 500_000))
    assert produced["median_s"] == pytest.approx(0.2 / 1000)
    # 1 000 000, 500 000 and 250 000 bytes/s of 1, 2 and 4 million
    assert produced["of_append"] == pytest.approx(0.25)
    assert found["good", "consume"]["of_read"] == pytest.approx(0.125)
    assert (produced["of_read"], produced["round_trips"]) == (None, None)
    assert produced["vs_kafka"] == latency["vs_kafka"] == pytest.approx(4)
    assert latency["median_s"] == pytest.approx(0.2e-3)
    assert latency["p99_s"] == pytest.approx(0.4e-3), "the first tenth is not counted"
    assert latency["round_trips"] == pytest.approx(20)
    assert latency["push_mean_s"] == pytest.approx(0.00005)
    assert limits_of(Measured(samples, limits))["append_bytes_per_s"] == 2e6


@pytest.mark.parametrize(
    ("measured", "common"),
    [
        ([], True),
        ([("a", "native"), ("a", "python")], True),
        ([("a", "native"), ("b", "native")], True),
        ([("a", "native"), ("b", "python")], False),
        ([("a", "native"), ("a", "python"), ("b", "python")], True),
    ],
)
def test_systems_are_compared_in_a_language_that_two_share(measured: list[tuple[str, str]], common: bool) -> None:
    assert in_common([{"system": system, "language": language} for system, language in measured]) is common


def test_an_event_that_was_not_sent_is_refused() -> None:
    from thalweg.bench.stream.side import check, stamped

    check(stamped(3, 50), 50, 3)
    with pytest.raises(
        CorruptDataError, match="of 50 bytes arrived with the stamp 3; expected 50 bytes and the stamp 4"
    ):
        check(stamped(3, 50), 50, 4)


def test_the_command_writes_rows_and_a_figure(tmp_path: Path) -> None:
    names = ",".join(f"{FAKES}::{name}" for name in ("good", "kafka", "absent"))
    options = ["--systems", names, "--language", "python", "--event-sizes", "256B,1KB", "--data-sizes", "0,4KB"]
    options += ["--partitions", "1,2", "--rounds", "1", "--volume", "100KB", "--folder", str(tmp_path)]
    done = thalweg("bench", "stream", *options, "--json", "out.json", "--figure", "out.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "left out  absent (python): there is no Python library no_such_library; pip install" in done.stdout
    content = json.loads((tmp_path / "out.json").read_text())
    assert {(row["system"], row["event_bytes"], row["data_bytes"], row["operation"]) for row in content["rows"]} == {
        (system, event, data, operation)
        for system in ("good", "kafka")
        for event in (256, 1000)
        for data in (0, 4000)
        for operation in ("produce", "consume", "latency")
    }
    assert all(row.keys() >= FIELDS and row["vs_kafka"] > 0 for row in content["rows"])
    assert content["limits"].keys() >= {"memcpy_bytes_per_s", "append_bytes_per_s", "unix_round_trip_s"}
    assert (tmp_path / "out.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--systems", "pigeon"], "bench stream: no system 'pigeon'; there are thalweg, thalweg-memory, thalweg-files"),
        (["--durability", "maybe"], "bench stream: --durability: 'maybe' is not accepted; give none or always"),
        (["--language", "cobol"], "bench stream: --language: 'cobol' is not accepted; give native or python"),
        (["--event-sizes", "4B"], "bench stream: --event-sizes: 4 bytes; expected at least 8"),
        (["--partitions", "0"], "bench stream: --partitions: '0'; expected numbers from 1 on"),
        (["--partitions", "two"], "bench stream: --partitions: 'two'; expected numbers from 1 on"),
    ],
)
def test_a_wrong_option_is_refused(options: list[str], message: str) -> None:
    done = thalweg("bench", "stream", *options)
    assert done.returncode == 2
    assert done.stderr.startswith(f"thalweg: error: {message}")


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_benchmark_leaves_nothing(end: signal.Signals, tmp_path: Path) -> None:
    command = [*PROGRAM, "bench", "stream", "--systems", f"{FAKES}::good", "--language", "python"]
    command += ["--rounds", "100000", "--volume", "1MB", "--folder", str(tmp_path)]
    with (
        nothing_left(tmp_path) as mark,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=mark.env) as run,
    ):
        try:
            while not descendants(run.pid):
                assert run.poll() is None, run.communicate()
                os.sched_yield()
            run.send_signal(end)
            _, errors = run.communicate(timeout=DEADLINE_S)
        finally:
            run.kill()
        assert (run.returncode, errors) == (130, "thalweg: interrupted\n")


@pytest.mark.parametrize("durability", ["none", "always"])
@pytest.mark.parametrize("language", ["native", "python"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_real_system_delivers_what_was_produced(name: str, language: Any, durability: Any, tmp_path: Path) -> None:
    system = find(name)
    missing = system.missing() or system.missing_for(language)
    if missing is not None:
        pytest.skip(missing)
    cases = [Case(*case, durability) for case in ((100, 0, 1), (1000, 100_000, 1), (100, 0, 3))]
    cases = [case for case in cases if system.fits(case)]
    if not cases:
        pytest.skip(f"{name} has no durability {durability}")
    found = measure([Contender(system, language, name)], cases, 1, 2_000_000, tmp_path)
    assert found.failures == {}
    assert [sample.case for sample in found.samples] == cases
    assert list(tmp_path.iterdir()) == []
