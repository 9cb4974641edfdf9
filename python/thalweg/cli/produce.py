"""``thalweg produce``: lines of JSON, or files, as events of a topic."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption
from thalweg.cli.stream_options import AddressOption, TokenOption, connected

_FLUSH_S = 300.0


@command
def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Where to.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE…]", help="One event each: the content is the data, the metadata say its name."),
    ] = None,
    lines: Annotated[
        Path | None,
        typer.Option("--lines", metavar="PATH|-", help="Metadata of one event a line. Default: -, the input."),
    ] = None,
    metadata: Annotated[
        str | None, typer.Option("--metadata", metavar="JSON", help="What the metadata of FILEs say beside the name.")
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", help="Where to; default: the topic's selector says.")
    ] = None,
    address: AddressOption = None,
    token: TokenOption = None,
    json_path: JsonOption = None,
) -> None:
    """Append events to a topic: a line of JSON each, or a file each.

    Every event is there when the command ends well; what could not be appended is an error.

    Examples:

        echo '{"step": 1, "loss": 0.5}' | thalweg produce losses

        thalweg produce frames scan-*.h5 --metadata '{"experiment": 7}'

        thalweg produce losses --lines history.jsonl --json -
    """
    from thalweg.cli.output import Output, counted
    from thalweg.cli.progress import live
    from thalweg.errors import InvalidError

    _check_sources(files, lines, metadata)
    output = Output(json_path)
    events = _of_files(files, metadata) if files else _of_lines(lines)
    count = size_bytes = 0
    start = time.monotonic()
    with connected(address, token) as driver:
        opened = driver.open_topic(topic)
        with opened.producer("command-line") as producer, live() as tell:
            try:
                for where, value, data in events:
                    try:
                        producer.push(value, data, partition=partition)
                    except InvalidError as error:
                        raise InvalidError(f"produce: {where}: {error}; those before it are appended") from None
                    count += 1
                    size_bytes += len(data) if data is not None else 0
                    if count % 1000 == 0:
                        tell("produce", count, count, f"{count} events")
            except InvalidError:
                producer.flush(_FLUSH_S)  # what is wrong is said with those before it appended
                raise
            producer.flush(_FLUSH_S)
    elapsed_s = time.monotonic() - start
    output.line(f"produced  {counted(count, 'event')} with {size_bytes} bytes of data to {topic} in {elapsed_s:.2f} s")
    row = {"topic": topic, "events": count, "data_bytes": size_bytes, "elapsed_s": elapsed_s}
    output.write([row], limits={})


def _check_sources(files: list[Path] | None, lines: Path | None, metadata: str | None) -> None:
    from thalweg.cli.output import counted
    from thalweg.errors import ConfigError

    if files and lines is not None:
        raise ConfigError(f"produce: --lines {lines} with {counted(len(files), 'FILE')}; give either, or produce twice")
    if metadata is not None and not files:
        raise ConfigError(
            f"produce: --metadata {metadata!r} without a FILE; it says more about FILEs, lines say theirs"
        )


def _of_lines(path: Path | None) -> Iterator[tuple[str, Any, bytes | None]]:
    import json

    from thalweg.errors import InvalidError

    source = sys.stdin.buffer if path is None or str(path) == "-" else _opened(path)
    with source:
        for number, line in enumerate(source, 1):
            if line.strip():
                try:
                    yield f"line {number}", json.loads(line), None
                except ValueError as error:
                    raise InvalidError(
                        f"produce: line {number} is no JSON ({error}); those before it are appended"
                    ) from None


def _opened(path: Path) -> Any:
    from thalweg.errors import InvalidError

    try:
        return path.open("rb")
    except OSError as error:
        raise InvalidError(f"produce: {error}") from None


def _of_files(files: list[Path], metadata: str | None) -> Iterator[tuple[str, Any, bytes | None]]:
    import json

    from thalweg.errors import InvalidError

    try:
        more = json.loads(metadata) if metadata else {}
    except ValueError as error:
        raise InvalidError(f"produce: --metadata {metadata!r} is no JSON ({error})") from None
    if not isinstance(more, dict):
        raise InvalidError(f"produce: --metadata {metadata!r}; accepted is a JSON object")
    for path in files:
        with _opened(path) as file:
            content = file.read()
        yield str(path), {"name": path.name, "size_bytes": len(content), **more}, content
