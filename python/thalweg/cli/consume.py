"""``thalweg consume``: events of a topic as lines of JSON, and their data as files."""

from __future__ import annotations

import json
import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thalweg.cli.outcome import command
from thalweg.cli.stream_options import AddressOption, TokenOption, connected

if TYPE_CHECKING:
    from thalweg.stream.event import Event


@command
def consume(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Where from.")],
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Named consumer: goes on behind what it acknowledged, and acknowledges what it wrote. "
            "Default: reads without leaving a trace.",
        ),
    ] = None,
    begin: Annotated[
        Literal["first", "next"], typer.Option("--begin", help="Where to begin where nothing was acknowledged.")
    ] = "first",
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="End after so many events.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more, until interrupted.")] = False,
    idle: Annotated[
        float, typer.Option("--idle", min=0.0, metavar="SECONDS", help="End when nothing came for so long.")
    ] = 1.0,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", help="Only these partitions; may be given several times.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FOLDER", help="Write each event's data to a file there; it is made."),
    ] = None,
    only_metadata: Annotated[
        bool, typer.Option("--metadata-only", help="Print the metadata alone, as they can be produced again.")
    ] = False,
    address: AddressOption = None,
    token: TokenOption = None,
) -> None:
    """Print the events of a topic, a line of JSON each: partition, offset, metadata, bytes of data.

    Examples:

        thalweg consume losses

        thalweg consume losses --follow --name plotter | ./plot

        thalweg consume frames --data frames/ --count 100

        thalweg consume losses --metadata-only | thalweg produce copy-of-losses
    """
    from thalweg.errors import InvalidError

    written = 0
    with connected(address, token) as driver:
        opened = driver.open_topic(topic)
        if data is not None:
            try:
                data.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InvalidError(
                    f"consume: --data {data}: {error.strerror}; give a folder, or where one can be made"
                ) from None
        consumer = opened.consumer(
            name or f"command-line-{os.getpid()}-{secrets.token_hex(4)}", partitions=partition, begin=begin
        )
        try:
            events = consumer if follow else consumer.events(idle)
            for event in events:
                sys.stdout.write(json.dumps(_line(event, only_metadata, data), default=repr) + "\n")
                if follow:
                    sys.stdout.flush()
                if name is not None:
                    event.acknowledge()
                written += 1
                if written == count:
                    break
        finally:
            consumer.close(forget=name is None)


def _line(event: Event, only_metadata: bool, folder: Path | None) -> Any:
    metadata = event.metadata
    if isinstance(metadata, bytes | memoryview):
        metadata = bytes(metadata).decode(errors="replace")
    if folder is not None:
        path = folder / f"{event.partition:04d}-{event.offset:012d}"
        path.write_bytes(event.data if event.data is not None else b"")
    if only_metadata:
        return metadata
    line = {
        "partition": event.partition,
        "offset": event.offset,
        "metadata": metadata,
        "data_bytes": len(event.data or b""),
    }
    return line if folder is None else {**line, "file": str(path)}
