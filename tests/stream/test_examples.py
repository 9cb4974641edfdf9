"""The examples of streams: what they find, over every driver; nothing stays behind them, also when interrupted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from left_behind import nothing_left
from source_tree import ROOT
from thalweg import ServerManager, stream
from thalweg.servers import kafka_jars

EXAMPLES = ROOT / "examples" / "streams"
DEADLINE_S = 120
SMALL = {
    "tekapp": "--scale 0.06 --slices 6 --pixels 64 --window 750 --iterations 60",
    "task_queue": "--scale 0.05 --sizes 1KB,1MB",
    "provenance": "--scale 0.05 --producers 3 --batches 4 --step-ms 5 --systems stream,redis",
}


def run(name, folder, *words):
    """Run an example small; return its result and the folder of its pictures."""
    command = [
        sys.executable,
        str(EXAMPLES / name),
        *SMALL[name].split(),
        *words,
        "--output",
        str(folder),
        "--json",
        "-",
    ]
    with nothing_left() as mark:
        done = subprocess.run(
            command, env=mark.env, cwd=folder, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
    assert done.returncode == 0, done.stderr
    assert "| " in done.stderr
    return json.loads(done.stdout)


def assert_is_picture(path: Path):
    assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000


@pytest.mark.parametrize("driver", ["native", "files"])
def test_tekapp_reconstructs_the_phantom(driver, tmp_path):
    pytest.importorskip("scipy")
    address = ["--address", f"files:{tmp_path}/topics"] if driver == "files" else []
    (tmp_path / "topics").mkdir()
    result = run("tekapp", tmp_path, *address)
    first, last = result["quality"]
    assert [first["projections"], last["projections"]] == [45, 90]
    assert last["sirt"]["rmse"] < first["sirt"]["rmse"] < 0.3
    assert last["den"]["rmse"] < last["sirt"]["rmse"]
    assert last["den"]["psnr_db"] > 14
    costs = {row["component"]: row for row in result["costs"] if row["system"] == "stream"}
    assert {name: (row["events"], row["size_bytes"]) for name, row in costs.items()} == {
        "DAQ [P]": (90, 6 * 64 * 4),
        "DIST [C]": (90, 6 * 64 * 4),
        "DIST [P]": (180, 3 * 64 * 4),
        "SIRT [C]": (180, 3 * 64 * 4),
        "SIRT [P]": (4, 3 * 64 * 64 * 4),
        "DEN [C]": (4, 3 * 64 * 64 * 4),
    }
    assert ("zeromq" in result["left_out"]) == (find_spec("zmq") is None)
    for picture in ("images", "costs"):
        assert_is_picture(tmp_path / f"{picture}.png")
    assert driver == "native" or topics_of(address[1]) == []


def test_a_projection_is_the_integral_of_the_head(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from tekapp.phantom import head, projection

    image = head(3, 256)
    for angle, axis in ((0.0, 1), (1.5707963267948966, 2)):
        found, expected = projection(3, 256, angle), image.sum(axis) * (2 / 256)
        assert abs(found - expected).mean() < 0.005


@pytest.mark.parametrize("driver", ["native", "files"])
def test_task_queue_performs_every_task(driver, tmp_path):
    (tmp_path / "topics").mkdir()
    address = ["--address", f"files:{tmp_path}/topics"] if driver == "files" else []
    result = run("task_queue", tmp_path, *address)
    systems = ["stream"] if "redis" in result["left_out"] else ["stream", "redis"]
    assert [(row["system"], row["size_bytes"], row["tasks"]) for row in result["latencies"]] == [
        (system, size_bytes, 10) for size_bytes in (1000, 1_000_000) for system in systems
    ]
    for row in result["latencies"]:
        before, after = row["roughness"]
        assert all(a < 0.5 * b for a, b in zip(after, before, strict=True))
        assert row["task_launch_us"]["median"] > 0 and row["result_comm_us"]["median"] > 0
    assert_is_picture(tmp_path / "latencies.png")
    assert driver == "native" or topics_of(address[1]) == []


@pytest.mark.parametrize("driver", ["native", "files"])
def test_provenance_has_every_step(driver, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from provenance.training import losses, rate

    (tmp_path / "topics").mkdir()
    address = ["--address", f"files:{tmp_path}/topics"] if driver == "files" else []
    result = run("provenance", tmp_path, *address)
    record = result["record"]
    assert record["steps"] == {"0": 15, "1": 15, "2": 15}
    final = {rate(number): list(losses(number, 15))[-1] for number in range(3)}
    assert record["best_rate"] == min(final, key=final.get) and record["best_loss"] == final[record["best_rate"]]
    assert record["events"] == 12 and record["data_bytes"] == 3 * (100_000 + 250_000 + 500_000 + 1_000_000)
    systems = ["stream"] if "redis" in result["left_out"] else ["stream", "redis"]
    assert [(row["system"], row["profile"], row["events"]) for row in result["shares"]] == [
        (system, profile, 12) for system in systems for profile in ("light", "heavy")
    ]
    assert all(0 < row["share"] < 1 for row in result["shares"])
    assert_is_picture(tmp_path / "shares.png")
    assert driver == "native" or topics_of(address[1]) == []


@pytest.fixture(scope="module")
def broker():
    pytest.importorskip("confluent_kafka")
    if problem := kafka_jars.missing():
        pytest.skip(problem)
    settings = {"message.max.bytes": "4000000"}
    with ServerManager("examples", {"type": "kafka", "heap_bytes": 512 << 20, "settings": settings}) as server:
        yield "kafka:{host}:{port}".format(**server.get_server_info())


@pytest.mark.parametrize("name", SMALL)
def test_an_example_runs_over_kafka(name, broker, tmp_path):
    result = run(name, tmp_path, "--address", broker, *(("--systems", "stream") if name == "provenance" else ()))
    assert result["address"] == broker
    if name == "tekapp":
        assert result["quality"][-1]["den"]["psnr_db"] > 14
    elif name == "task_queue":
        assert {row["tasks"] for row in result["latencies"]} == {10}
    else:
        assert result["record"]["steps"] == {"0": 15, "1": 15, "2": 15}
    assert topics_of(broker) == []


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_example_leaves_nothing(name, number, tmp_path):
    with nothing_left() as mark, stream.connect(f"files:{tmp_path}") as driver:
        words = ["--scale", "100", "--address", f"files:{tmp_path}", "--output", str(tmp_path / "pictures")]
        process = subprocess.Popen(
            [sys.executable, str(EXAMPLES / name), *words], env=mark.env, stderr=subprocess.PIPE, text=True
        )
        try:
            until_events(driver, process)
            process.send_signal(number)
            _, said = process.communicate(timeout=DEADLINE_S)
        finally:
            process.kill()
        assert process.returncode == 128 + number, said
        assert "Traceback" not in said
        assert driver.list_topics() == []


def until_events(driver, process):
    """Wait until some topic has events."""
    while process.poll() is None:
        for name in driver.list_topics():
            if any(part.next for part in driver.describe_topic(name).partitions):
                return
        with_pause(process)
    raise AssertionError(process.communicate()[1])


def with_pause(process):
    """Give the example a moment, less when it ends."""
    try:
        process.wait(0.05)
    except subprocess.TimeoutExpired:
        return


def topics_of(address):
    """Return the topics that are left there."""
    with stream.connect(address) as driver:
        return driver.list_topics()


def test_an_address_where_nobody_is_is_told(tmp_path):
    with nothing_left() as mark:
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / "task_queue"), "--address", "unix:@nobody", "--output", str(tmp_path)],
            env=mark.env,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and "nobody" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("name", SMALL)
def test_help_shows_examples(name):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), "--help"], capture_output=True, text=True, timeout=DEADLINE_S, check=True
    )
    assert "examples:" in done.stdout and f"python examples/streams/{name} --" in done.stdout


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
def test_what_is_missing_is_left_out_with_a_line(tmp_path):
    hidden = tmp_path / "bin"
    hidden.mkdir()
    words = [*SMALL["provenance"].split(), "--output", str(tmp_path), "--json", "-"]
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "provenance"), *words],
        env={**os.environ, "PATH": str(hidden)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "left out: redis: there is no program redis-server" in done.stderr
    assert set(json.loads(done.stdout)["left_out"]) == {"redis"}
