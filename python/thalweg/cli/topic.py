"""``thalweg topic`` and ``thalweg partition``: what topics there are, and what they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thalweg.cli import topic_folder
from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption
from thalweg.cli.stream_options import (
    AddressOption,
    DropAcknowledgedOption,
    DurabilityOption,
    KeepAgeOption,
    KeepSizeOption,
    RestOption,
    TokenOption,
    connected,
    rest_of,
    retention_of,
)

if TYPE_CHECKING:
    from thalweg.stream.definition import TopicDescription

_SELECTORS = ("round_robin", "random", "explicit")

NameArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.")]


def register(app: typer.Typer) -> None:
    """Add ``topic create|list|describe|delete|check|repair`` and ``partition add``."""
    topics = typer.Typer(no_args_is_help=True, help="Make, list, describe, delete, check and repair topics of events.")
    topics.callback()(lambda: None)
    topics.command("create")(create)
    topics.command("list")(list_topics)
    topics.command("describe")(describe)
    topics.command("delete")(delete)
    topic_folder.register(topics)
    app.add_typer(topics, name="topic")
    partitions = typer.Typer(no_args_is_help=True, help="Add partitions to topics.")
    partitions.callback()(lambda: None)
    partitions.command("add")(add)
    app.add_typer(partitions, name="partition")


@command
def create(
    name: NameArgument,
    partitions: Annotated[int, typer.Option("--partitions", "-p", help="How many partitions.")] = 1,
    rest: RestOption = None,
    durability: DurabilityOption = None,
    keep_age: KeepAgeOption = None,
    keep_size: KeepSizeOption = None,
    drop_acknowledged: DropAcknowledgedOption = False,
    validator: Annotated[
        str | None,
        typer.Option(
            "--validator", metavar="json|@SCHEMA", help="Accepted metadata: any JSON, or by a JSON Schema file."
        ),
    ] = None,
    selector: Annotated[
        str,
        typer.Option(
            "--selector",
            metavar="round_robin|random|explicit|hash:/POINTER",
            help="Which partition an event goes to; hash: events of one value go to one partition.",
        ),
    ] = "round_robin",
    serializer: Annotated[
        str,
        typer.Option(
            "--serializer", metavar="json|messagepack|@FILE", help="How metadata are written; a JSON file of fields."
        ),
    ] = "json",
    address: AddressOption = None,
    token: TokenOption = None,
    json_path: JsonOption = None,
) -> None:
    """Make a topic.

    Examples:

        thalweg topic create frames --partitions 4 --rest files --durability interval:50ms

        thalweg topic create tasks --validator @task.schema.json --selector hash:/worker --keep-size 10GB
    """
    from thalweg.cli.output import Output, counted

    output = Output(json_path)
    with connected(address, token) as driver:
        driver.create_topic(
            name,
            partitions,
            rest=rest_of(rest),
            durability=durability,
            retention=retention_of(keep_age, keep_size, drop_acknowledged),
            validator=None if validator is None else _rule("--validator", validator, ("json",), "schema"),
            selector=_selector(selector),
            serializer=_rule("--serializer", serializer, ("json", "messagepack"), "record"),
        )
        described = driver.describe_topic(name)
    output.line(f"created   {name} with {counted(len(described.partitions), 'partition')} at {address}")
    output.write(_rows(described), limits={})


@command
def list_topics(address: AddressOption = None, token: TokenOption = None, json_path: JsonOption = None) -> None:
    """List topics.

    Example:

        thalweg topic list --address unix:@run
    """
    from thalweg.cli.output import Output

    output = Output(json_path)
    with connected(address, token) as driver:
        found = [driver.describe_topic(name) for name in driver.list_topics()]
    rows = [
        {
            "topic": topic.name,
            "partitions": len(topic.partitions),
            "events": sum(part.next - part.first for part in topic.partitions),
            "rest": _text(topic.partitions[0].rest),
            "durability": topic.partitions[0].durability,
        }
        for topic in found
    ]
    output.table(
        "topics", ["topic", "partitions", "events", "rest", "durability"], [list(row.values()) for row in rows]
    )
    output.write(rows, limits={})


@command
def describe(
    name: NameArgument, address: AddressOption = None, token: TokenOption = None, json_path: JsonOption = None
) -> None:
    """Say what a topic is: its partitions with their events, and its rules.

    Example:

        thalweg topic describe frames --json -
    """
    from thalweg.cli.output import Output

    output = Output(json_path)
    with connected(address, token) as driver:
        found = driver.describe_topic(name)
    rows = _rows(found)
    for rule in ("validator", "selector", "serializer"):
        output.line(f"{rule:<11}{_text(getattr(found, rule))}")
    columns = ["partition", "rest", "durability", "retention", "first", "next", "events"]
    output.table(name, columns, [[row[column] for column in columns] for row in rows])
    output.write(rows, limits={})


@command
def delete(
    name: NameArgument, address: AddressOption = None, token: TokenOption = None, json_path: JsonOption = None
) -> None:
    """Remove a topic with all its events.

    Example:

        thalweg topic delete frames
    """
    from thalweg.cli.output import Output

    output = Output(json_path)
    with connected(address, token) as driver:
        driver.delete_topic(name)
    output.line(f"deleted   {name}")
    output.write([{"topic": name}], limits={})


@command
def add(
    name: NameArgument,
    rest: RestOption = None,
    durability: DurabilityOption = None,
    keep_age: KeepAgeOption = None,
    keep_size: KeepSizeOption = None,
    drop_acknowledged: DropAcknowledgedOption = False,
    address: AddressOption = None,
    token: TokenOption = None,
    json_path: JsonOption = None,
) -> None:
    """Add a partition to a topic; what is not said is as in its last one.

    Example:

        thalweg partition add frames --rest /fast/disk
    """
    from thalweg.cli.output import Output

    output = Output(json_path)
    with connected(address, token) as driver:
        number = driver.add_partition(
            name,
            rest=rest_of(rest),
            durability=durability,
            retention=retention_of(keep_age, keep_size, drop_acknowledged),
        )
        described = driver.describe_topic(name)
    output.line(f"added     partition {number} of {name}")
    output.write(_rows(described), limits={})


def _rows(topic: TopicDescription) -> list[dict[str, Any]]:
    return [
        {
            "topic": topic.name,
            "partition": part.number,
            "rest": _text(part.rest),
            "durability": part.durability,
            "retention": _kept(part.retention),
            "first": part.first,
            "next": part.next,
            "events": part.next - part.first,
            "validator": topic.validator,
            "selector": topic.selector,
            "serializer": topic.serializer,
        }
        for part in topic.partitions
    ]


def _kept(retention: Any) -> str:
    from thalweg.sizes import format_size

    parts = [
        f"{retention.age_s:g} s" if retention.age_s is not None else "",
        format_size(retention.size_bytes) if retention.size_bytes is not None else "",
        "until acknowledged" if retention.acknowledged else "",
    ]
    return ", ".join(part for part in parts if part) or "all"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _selector(text: str) -> Any:
    """Return the rule of a selector; ``hash:/POINTER`` hashes what is there in the metadata."""
    from thalweg.errors import ConfigError

    word, colon, pointer = text.partition(":")
    if word == "hash" and colon and pointer[:1] in ("", "/"):
        return {"hash": pointer}
    if text not in _SELECTORS:
        raise ConfigError(f"--selector: {text!r} is not accepted; give {', '.join(_SELECTORS)} or hash:/POINTER")
    return text


def _rule(option: str, text: str, words: tuple[str, ...], kind: str) -> Any:
    """Return a rule; ``@FILE`` is the JSON in a file."""
    from pathlib import Path

    from thalweg.errors import ConfigError

    if text in words:
        return text
    if not text.startswith("@"):
        raise ConfigError(
            f"{option}: {text!r} is not accepted; give {', '.join(words)} or @FILE, with the {kind} in it"
        )
    try:
        return {kind: json.loads(Path(text[1:]).read_text())}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{option} {text}: {error}; expected a file with JSON") from None
