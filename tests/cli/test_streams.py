"""Topics from the command line: what is produced in one process is consumed in another."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import thalweg
from thalweg.staging import Server


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with Server(memory_limit_bytes=1 << 20, stream_folder=tmp_path / "topics", stream_memory_bytes=1 << 26) as server:
        yield server.address


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_lines_and_files_become_events_and_come_back(address: str, tmp_path: Path) -> None:
    at = ("--address", address)
    assert thalweg("topic", "create", "losses", "--rest", "files", "--durability", "always", *at).returncode == 0
    first = tmp_path / "first.bin"
    first.write_bytes(bytes(range(256)))
    source = tmp_path / "lines"
    source.write_text('{"step": 1}\n\n{"step": 2}\n')
    assert thalweg("produce", "losses", "--lines", str(source), *at).returncode == 0
    made = thalweg("produce", "losses", str(first), "--metadata", '{"of": 7}', "--json", "-", *at)
    assert json.loads(made.stdout)["rows"][0]["events"] == 1
    target = tmp_path / "new/data"
    got = lines(thalweg("consume", "losses", "--data", str(target), *at).stdout)
    assert [event["offset"] for event in got] == [0, 1, 2]
    assert got[0]["metadata"] == {"step": 1}
    assert got[2]["metadata"] == {"name": "first.bin", "size_bytes": 256, "of": 7}
    assert Path(str(got[2]["file"])).read_bytes() == bytes(range(256))


def test_a_name_goes_on_where_it_was_and_count_ends(address: str, tmp_path: Path) -> None:
    at = ("--address", address)
    thalweg("topic", "create", "numbers", *at)
    source = tmp_path / "lines"
    source.write_text("\n".join(str(number) for number in range(10)))
    thalweg("produce", "numbers", "--lines", str(source), *at)
    some = thalweg("consume", "numbers", "--name", "reader", "--count", "4", "--metadata-only", *at)
    rest = thalweg("consume", "numbers", "--name", "reader", "--metadata-only", *at)
    assert (some.stdout.split(), rest.stdout.split()) == (list("0123"), list("456789"))
    assert len(lines(thalweg("consume", "numbers", *at).stdout)) == 10


def test_topics_are_listed_described_and_deleted(address: str) -> None:
    at = ("--address", address, "--json", "-")
    thalweg("topic", "create", "one", "--partitions", "2", "--keep-size", "10MB", "--drop-acknowledged", *at)
    assert [row["topic"] for row in json.loads(thalweg("topic", "list", *at).stdout)["rows"]] == ["one"]
    added = json.loads(thalweg("partition", "add", "one", "--rest", "memory", *at).stdout)["rows"]
    assert [(row["rest"], row["retention"]) for row in added] == [
        ("files", "10 MB, until acknowledged"),
        ("files", "10 MB, until acknowledged"),
        ("memory", "10 MB, until acknowledged"),
    ]
    assert thalweg("topic", "delete", "one", *at).returncode == 0
    assert json.loads(thalweg("topic", "list", *at).stdout)["rows"] == []


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("consume", "nothing"), 1, 'there is no topic "nothing"; create it first'),
        (("topic", "create", "x", "--durability", "sometimes"), 2, "accepted are 'none', 'always' and 'interval:TIME'"),
        (("topic", "create", "x", "--validator", "@/nowhere"), 2, "expected a file with JSON"),
        (("topic", "create", "x", "--partitions", "0"), 2, "0 partitions; accepted are 1 to 4096"),
        (("topic", "create", "x", "--selector", "hash"), 2, "give round_robin, random, explicit or hash:/POINTER"),
        (("topic", "create", "x", "--selector", "hash:step"), 2, "or hash:/POINTER"),
        (("topic", "create", "x", "--validator", "{}"), 2, "--validator: '{}' is not accepted; give json or @FILE"),
        (("topic", "create", "x", "--serializer", "xml"), 2, "give json, messagepack or @FILE, with the record in it"),
        (("topic", "create", "x", "--rest", "relative"), 2, "give memory, files or /FOLDER"),
        (("topic", "create", "x", "--keep-size", "zebra"), 2, "--keep-size: size: 'zebra' is not a size"),
        (("topic", "create", "x", "--keep-age", "-1"), 2, "--keep-age: -1 is not accepted; give seconds above 0"),
        (("produce", "x", "/some/file", "--lines", "/lines"), 2, "--lines /lines with 1 FILE; give either"),
        (("produce", "x", "--metadata", '{"a": 1}'), 2, "without a FILE"),
    ],
)
def test_what_cannot_be_says_what_can(address: str, words: tuple[str, ...], status: int, said: str) -> None:
    ended = thalweg(*words, "--address", address)
    assert (ended.returncode, said in ended.stderr) == (status, True), ended.stderr


def test_a_folder_for_data_that_cannot_be_made_is_refused(address: str, tmp_path: Path) -> None:
    thalweg("topic", "create", "frames", "--address", address)
    (tmp_path / "file").touch()
    ended = thalweg("consume", "frames", "--data", str(tmp_path / "file"), "--address", address)
    assert (ended.returncode, "give a folder" in ended.stderr) == (2, True), ended.stderr


@pytest.mark.parametrize(
    ("third", "said"),
    [
        ("[", "produce: line 3 is no JSON"),
        ('{"step": "x"}', "produce: line 3: metadata: $.step: 'x' is not of type 'integer'"),
    ],
)
def test_a_line_that_is_refused_is_named_and_those_before_it_are_appended(
    address: str, tmp_path: Path, third: str, said: str
) -> None:
    at = ("--address", address)
    (tmp_path / "schema").write_text('{"properties": {"step": {"type": "integer"}}}')
    (tmp_path / "lines").write_text(f'{{"step": 1}}\n{{"step": 2}}\n{third}\n{{"step": 4}}\n')
    made = thalweg("topic", "create", "steps", "--validator", f"@{tmp_path}/schema", *at)
    assert "with 1 partition at" in made.stdout
    ended = thalweg("produce", "steps", "--lines", str(tmp_path / "lines"), *at)
    assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr
    assert "those before it are appended" in ended.stderr
    got = lines(thalweg("consume", "steps", *at).stdout)
    assert [event["metadata"] for event in got] == [{"step": 1}, {"step": 2}]


def test_without_an_address_it_says_what_to_do() -> None:
    ended = thalweg("topic", "list")
    assert ended.returncode == 2
    assert "give --address or set THALWEG_ADDRESS" in ended.stderr


def test_looking_into_a_folder_that_is_not_there_makes_none(tmp_path: Path) -> None:
    for words in (("topic", "list"), ("consume", "x"), ("topic", "delete", "x")):
        ended = thalweg(*words, "--address", f"files:{tmp_path}/none")
        assert (ended.returncode, "there is no such folder" in ended.stderr) == (1, True), ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_nobody_at_an_address_is_an_error_within_the_deadline() -> None:
    ended = thalweg("topic", "list", "--address", f"unix:@nobody-{secrets.token_hex(4)}")
    assert ended.returncode == 1
    assert "no server listens on" in ended.stderr
