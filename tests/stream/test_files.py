"""The driver files: the form on disk, what a killed writer leaves, damage, several processes."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from source_tree import ROOT
from thalweg import stream
from thalweg.errors import CorruptDataError, InvalidError, NotFoundError, ServerGoneError, WaitTimeoutError
from thalweg.stream.drivers.folder.batch_format import encode_batch, encode_head
from thalweg.stream.drivers.folder.positions import encode_position

SALT = (0x1122334455667788).to_bytes(8, "little")
PATIENCE_S = 60.0


@pytest.fixture
def driver(tmp_path):
    with stream.connect(f"files:{tmp_path}") as driver:
        yield driver


@pytest.fixture
def topic(driver):
    driver.create_topic("t")
    return driver.open_topic("t")


def example(number):
    text = (ROOT / "docs/formats/stream-files.md").read_text()
    block = re.findall(r"^```hex\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)[number]
    return bytes.fromhex("".join(line[6:] for line in block.splitlines()))


def push(topic, *numbers, data=b""):
    with topic.producer() as producer:
        for number in numbers:
            producer.push({"n": number}, data).result(PATIENCE_S)


def pulled(topic, name="reader"):
    with topic.consumer(name) as consumer:
        return [event.metadata["n"] for event in consumer.events(idle_s=0.2)]


def test_the_example_in_the_document_is_what_is_written():
    _, parts = encode_batch(
        SALT,
        32,
        0,
        2000,
        [b'{"n":1}', b'{"n":2}'],
        np.array([7, 14], np.uint64),
        [b"abc"],
        np.array([3, 3], np.uint64),
    )
    assert encode_head(SALT, 1000) + b"".join(parts) == example(0)
    assert encode_position(2, 32) == example(1)


def test_the_example_in_the_document_is_read(topic, tmp_path):
    (tmp_path / "t/0.events").write_bytes(example(0))
    with topic.consumer("reader") as consumer:
        batch = consumer.pull_many().result(PATIENCE_S)
    assert batch.metadata == [{"n": 1}, {"n": 2}]
    assert [bytes(data) for data in batch.data] == [b"abc", b""]
    (tmp_path / "t/consumers/reader/0.position").write_bytes(example(1))
    push(topic, 3)
    assert pulled(topic) == [3]


def test_a_torn_tail_is_cut_off_wherever_the_writer_was_killed(topic, tmp_path):
    path = tmp_path / "t/0.events"
    push(topic, 0, 1)
    good = path.read_bytes()
    push(topic, 2, data=b"data" * 10)
    whole = path.read_bytes()
    for cut in range(len(good), len(whole)):
        path.write_bytes(whole[:cut])
        assert pulled(topic, f"before-{cut}") == [0, 1] if cut % 16 == 0 else True
        push(topic, 3)
        assert len(path.read_bytes()) < len(whole)
        with topic.consumer(f"after-{cut}") as consumer:
            found = [consumer.pull().result(PATIENCE_S).metadata["n"] for _ in range(3)]
        assert found == [0, 1, 3]


def test_flipped_bits_cost_the_batch_that_they_are_in(topic, tmp_path):
    path = tmp_path / "t/0.events"
    push(topic, 0)
    begin = len(path.read_bytes())
    push(topic, 1, data=b"datadata")
    end = len(path.read_bytes())
    push(topic, 2)
    whole = path.read_bytes()
    for at in range(begin, end - 16):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with topic.consumer(f"reader-{at}") as consumer:
            assert consumer.pull().result(PATIENCE_S).metadata == {"n": 0}
            with pytest.raises(CorruptDataError, match=r"0\.events.*pull again"):
                consumer.pull().result(PATIENCE_S)
            assert consumer.pull().result(PATIENCE_S).id == (0, 2)
        push(topic, 3)
        with topic.consumer(f"reader-{at}") as consumer:
            consumer.seek(0, offset=3)
            assert consumer.pull().result(PATIENCE_S).metadata == {"n": 3}


def test_a_position_that_is_damaged_skips_nothing(topic, tmp_path):
    push(topic, 0, 1, 2)
    with topic.consumer("reader") as consumer:
        consumer.pull_many().result(PATIENCE_S).acknowledge()
    path = tmp_path / "t/consumers/reader/0.position"
    stored = path.read_bytes()
    for damaged in (b"", stored[:-1], b"x" + stored[1:], stored[:9] + b"\x09" + stored[10:]):
        path.write_bytes(damaged)
        assert pulled(topic) == [0, 1, 2]


def test_a_part_of_large_data_is_read_alone(topic, tmp_path):
    data = np.random.default_rng(5).integers(0, 255, 8 << 20, np.uint8).tobytes()
    push(topic, 0, data=data)
    path = tmp_path / "t/0.events"
    with path.open("r+b") as file:
        file.seek(-(1 << 20), os.SEEK_END)
        file.write(b"damaged")
    for where, good in ((100_000, True), ((7 << 20) + 5000, False)):
        select = lambda _, descriptor, where=where: descriptor.range(where, where + 70_000)  # noqa: E731
        with topic.consumer(f"reader-{where}", data_selector=select) as consumer:
            if good:
                assert bytes(consumer.pull().result(PATIENCE_S).data) == data[where : where + 70_000]
            else:
                with pytest.raises(CorruptDataError):
                    consumer.pull().result(PATIENCE_S)


WRITER = """
import sys
import time
from thalweg import stream
address, start = sys.argv[1], int(sys.argv[2])
with stream.connect(address) as driver, driver.open_topic("t").producer() as producer:
    for number in range(start, start + 300):
        producer.push({"n": number})
        if number % 50 == 0:
            producer.flush()
"""


def test_processes_that_append_at_once_lose_nothing(driver, topic, tmp_path):
    starts = (0, 1000, 2000)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, f"files:{tmp_path}", str(start)]) for start in starts]
    with topic.consumer("reader") as consumer:
        events = [consumer.pull().result(PATIENCE_S) for _ in range(900)]
    assert [writer.wait(PATIENCE_S) for writer in writers] == [0, 0, 0]
    assert [event.offset for event in events] == list(range(900))
    for start in starts:
        own = [event.metadata["n"] for event in events if start <= event.metadata["n"] < start + 1000]
        assert own == list(range(start, start + 300))


ENDLESS = """
import sys
import time
from thalweg import stream
with stream.connect(sys.argv[1]) as driver, driver.open_topic("t").producer() as producer:
    number = 0
    while True:
        for number in range(number, number + 20):
            producer.push({"n": number}, b"x" * 5000)
        producer.flush()
        number += 1
        print(number, flush=True)
"""


def test_what_was_appended_survives_a_writer_that_is_killed(topic, tmp_path):
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", ENDLESS, f"files:{tmp_path}"], stdout=subprocess.PIPE)
        appended = [int(writer.stdout.readline()) for _ in range(5)][-1]
        writer.kill()
        writer.wait(PATIENCE_S)
        writer.stdout.close()
        before = topic._transport.describe("t").partitions[0].next
        push(topic, -1)
        with topic.consumer("reader") as consumer:
            numbers = [event.metadata["n"] for event in consumer.events(idle_s=0.5)]
            consumer.seek(0, offset=before)
            consumer.pull().result(PATIENCE_S).acknowledge()
        assert numbers[-1] == -1
        assert numbers[:-1] == list(range(len(numbers) - 1))
        assert len(numbers) - 1 >= appended


MEMBER = """
import sys
import time
from thalweg import stream
with stream.connect(sys.argv[1]) as driver, driver.open_topic("t").consumer("reader") as consumer:
    print(consumer.pull().result(60).metadata["n"], flush=True)
    sys.stdin.read()
"""


def test_the_partitions_of_a_member_that_is_killed_go_to_the_others(topic, tmp_path):
    push(topic, 0, 1)
    member = subprocess.Popen(
        [sys.executable, "-c", MEMBER, f"files:{tmp_path}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert member.stdout.readline() == b"0\n"
    with topic.consumer("reader") as consumer:
        assert consumer.lag() == {}
        member.kill()
        member.communicate(timeout=PATIENCE_S)
        assert consumer.pull().result(PATIENCE_S).metadata == {"n": 0}


def test_a_new_process_finds_everything(driver, topic, tmp_path):
    push(topic, 0, 1, 2)
    with topic.consumer("reader") as consumer:
        consumer.pull().result(PATIENCE_S).acknowledge()
    code = f"""
from thalweg import stream
with stream.connect("files:{tmp_path}") as driver, driver.open_topic("t").consumer("reader") as consumer:
    print([event.metadata["n"] for event in consumer.events(idle_s=0.2)])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[1, 2]\n"


def test_files_that_are_no_streams_are_refused(driver, topic, tmp_path):
    for text in ("", "{", "[]", '{"format": 2}', '{"format": 1}'):
        (tmp_path / "t/topic.json").write_text(text)
        with pytest.raises(CorruptDataError, match=r"topic\.json"):
            driver.open_topic("t")


@pytest.mark.parametrize("address", ["files:relative", "files:", "nowhere:x", "files", "", 3])
def test_a_wrong_address_is_refused(address):
    with pytest.raises(InvalidError, match="connect"):
        stream.connect(address)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidError, match="give a folder"):
        stream.connect(f"files:{tmp_path}/file")


def test_only_creating_a_topic_makes_the_folder(tmp_path):
    folder = tmp_path / "new/folder"
    with stream.connect(f"files:{folder}") as driver:
        for look in (driver.list_topics, lambda: driver.open_topic("t"), lambda: driver.delete_topic("t")):
            with pytest.raises(NotFoundError, match=f"there is no such folder as {folder}"):
                look()
        assert not folder.parent.exists()
        driver.create_topic("t")
        assert driver.list_topics() == ["t"]


def test_a_folder_that_went_is_a_server_that_is_gone(driver, topic, tmp_path):
    shutil.rmtree(tmp_path)
    with pytest.raises(ServerGoneError, match="not there any more"):
        driver.list_topics()


def test_a_push_blocks_no_longer_than_said_and_takes_nothing_then(topic, tmp_path):
    with topic.producer(batch_size=1, max_num_batches=2, timeout_s=1.0) as producer:
        producer.push({"n": 0}).result(PATIENCE_S)
        with (tmp_path / "t/0.events").open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            start, pushed = time.monotonic(), []
            with pytest.raises(WaitTimeoutError, match="2 batches were under way"):
                for number in range(1, 10):
                    pushed.append(producer.push({"n": number}))
                    start = time.monotonic()
            assert time.monotonic() - start >= 0.5
            with pytest.raises(WaitTimeoutError, match="held the lock"):
                producer.flush(PATIENCE_S)
    late = [future.exception(PATIENCE_S) is None for future in pushed]
    assert pulled(topic) == [0, *(number for number, appended in enumerate(late, 1) if appended)]


FULL = """
import resource, sys
from thalweg import stream
from thalweg.errors import FullError
with stream.connect(sys.argv[1]) as driver, driver.open_topic("t").producer() as producer:
    producer.push({"n": 0}).result()
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    assert isinstance(producer.push({"n": 1}, b"x" * 200_000).exception(), FullError)
    assert producer.push({"n": 2}).result() == (0, 1)
    try:
        producer.flush()
    except FullError as error:
        print(error)
"""


def test_an_event_for_which_there_is_no_room_leaves_nothing(topic, tmp_path):
    code = [sys.executable, "-c", FULL, f"files:{tmp_path}"]
    done = subprocess.run(code, capture_output=True, text=True, check=True)
    assert "0.events" in done.stdout
    assert "ulimit -f" in done.stdout
    assert pulled(topic) == [0, 2]
