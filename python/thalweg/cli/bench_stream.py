"""``thalweg bench stream``: streams of events beside Kafka, Redis streams and ZeroMQ."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from thalweg.cli.outcome import FAILED, command
from thalweg.cli.output import JsonOption

if TYPE_CHECKING:
    from thalweg.bench.stream.order import Case
    from thalweg.bench.stream.rounds import Contender
    from thalweg.cli.output import Output

T = TypeVar("T", bound=str)


@command
def stream(
    systems: Annotated[
        str | None,
        typer.Option(
            "--systems",
            metavar="NAME,NAME,…",
            help="thalweg, thalweg-memory, thalweg-files, kafka, redis, zeromq, FILE::NAME. "
            "[dim]\\[default: all that can run][/dim]",
        ),
    ] = None,
    event_sizes: Annotated[
        str, typer.Option("--event-sizes", metavar="SIZE,SIZE,…", help="Of the metadata, or a small event's all.")
    ] = "1KB",
    data_sizes: Annotated[
        str, typer.Option("--data-sizes", metavar="SIZE,SIZE,…", help="Of the data behind each event's metadata.")
    ] = "0",
    partitions: Annotated[str, typer.Option("--partitions", metavar="N,N,…", help="Of a topic.")] = "1",
    durability: Annotated[
        str,
        typer.Option(
            "--durability", metavar="none|always", help="none: the kernel writes out when it likes; always: safe first."
        ),
    ] = "none",
    language: Annotated[
        str, typer.Option("--language", metavar="native|python", help="Of the clients; one, or both with a comma.")
    ] = "native,python",
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Interleaved rounds; medians are over them.")] = 3,
    volume: Annotated[
        str, typer.Option("--volume", metavar="SIZE", help="Bytes of a run, of at most half a million events.")
    ] = "500MB",
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", help="On the disk for the logs. [dim]\\[default: the system's for temporary files][/dim]"
        ),
    ] = None,
    figure: Annotated[Path | None, typer.Option("--figure", help="Also draw throughput and latency (PNG).")] = None,
    json_path: JsonOption = None,
) -> None:
    """Produce, consume, and push-to-pull latency: a producer, a consumer and a server, each a process of its own.

    Production ends when all events are acknowledged; consumption takes them from the first one on. ZeroMQ keeps
    nothing, so both are measured at once there. Latency is of single events at a slow rate. In every round the
    machine's limits are measured with the same bytes, and all ratios are taken within a round.

    Examples:

        thalweg bench stream --systems kafka,redis --event-sizes 1KB --language native

        thalweg bench stream --event-sizes 256B,1KB,4KB --json stream.json --figure stream.png
    """
    from thalweg.bench.stream.order import DURABILITIES, LANGUAGES
    from thalweg.bench.stream.rounds import measure
    from thalweg.bench.stream.rows import limits_of, rows
    from thalweg.cli.output import Output
    from thalweg.cli.progress import live
    from thalweg.errors import InvalidError
    from thalweg.sizes import parse_size

    output = Output(json_path)
    cases = _cases(event_sizes, data_sizes, partitions, _of("--durability", durability, DURABILITIES))
    contenders = _chosen(systems.split(",") if systems else None, _of("--language", language, LANGUAGES), cases, output)
    where = folder or Path(tempfile.gettempdir())
    if not where.is_dir():
        raise InvalidError(f"bench stream: --folder: no folder {where}; make it first")
    with live() as tell:
        measured = measure(
            contenders,
            cases,
            rounds,
            parse_size(volume),
            where,
            lambda note, done, total: tell("stream", done, total, note),
        )
    found = rows(measured)
    limits = limits_of(measured)
    _print(output, found, limits)
    if figure is not None and found:
        from thalweg.bench.stream.figure import draw

        output.line(f"figure    {draw(found, limits, figure)}")
    output.write(found, limits)
    for message in measured.failures.values():
        output.line(f"failed    {message}")
    if measured.failures:
        raise typer.Exit(FAILED)


def _of(option: str, text: str, accepted: Sequence[T]) -> list[T]:
    """The words of an option, each once."""
    from thalweg.errors import InvalidError

    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in accepted:
            raise InvalidError(f"bench stream: {option}: {word!r} is not accepted; give {' or '.join(accepted)}")
    return [known for known in accepted if known in words]


def _cases(event_sizes: str, data_sizes: str, partitions: str, durabilities: Sequence[Any]) -> list[Case]:
    from thalweg.bench.stream.order import STAMP_BYTES, Case
    from thalweg.errors import InvalidError
    from thalweg.sizes import parse_size, parse_sizes

    events = sorted(set(parse_sizes(event_sizes)))
    data = sorted({0 if size.strip() == "0" else parse_size(size) for size in data_sizes.split(",")})
    for option, size in [("event", min(events)), *(("data", size) for size in data if size)]:
        if size < STAMP_BYTES:
            raise InvalidError(
                f"bench stream: --{option}-sizes: {size} bytes; expected at least {STAMP_BYTES}, for a stamp"
            )
    try:
        counts = sorted({int(count) for count in partitions.split(",")})
    except ValueError:
        counts = [0]
    if counts[0] < 1:
        raise InvalidError(f"bench stream: --partitions: {partitions!r}; expected numbers from 1 on, such as 1,2,4")
    return [
        Case(event, its, count, durability)
        for durability in durabilities
        for event in events
        for its in data
        for count in counts
    ]


def _chosen(names: list[str] | None, languages: Sequence[Any], cases: list[Case], output: Output) -> list[Contender]:
    """Contenders: those named, else all that can run here; the others are said, not hidden."""
    from thalweg.bench.stream.contenders import SYSTEMS, find
    from thalweg.bench.stream.rounds import Contender
    from thalweg.errors import MissingLibraryError

    chosen = []
    for language in languages:
        for locator in (name.strip() for name in names or SYSTEMS):
            system = find(locator)
            missing = system.missing() or system.missing_for(language)
            if missing is None and not any(system.fits(case) for case in cases):
                missing = f"it has no durability {cases[0].durability}, or fewer partitions"
            if missing is None:
                chosen.append(Contender(system, language, locator))
            else:
                output.line(f"left out  {system.name} ({language}): {missing}")
    if not chosen:
        raise MissingLibraryError("bench stream: nothing that was asked for can run here")
    return chosen


def _print(output: Output, found: list[dict[str, Any]], limits: dict[str, Any]) -> None:
    from thalweg.bench.stream.rows import OPERATIONS, in_common
    from thalweg.sizes import format_size

    for operation in OPERATIONS:
        latency = operation == "latency"
        shown = [row for row in found if row["operation"] == operation]
        if not shown:
            continue
        columns = ["system", "language", "durability", "event", "data", "partitions"]
        if latency:
            columns += ["median µs", "p99 µs", "push µs", "round trips", "times Kafka"]
        else:
            columns += ["events/s", "GB/s", "client µs/event", "of append" if operation == "produce" else "of read"]
            columns += ["of memcpy", "times Kafka"]
        output.table(
            operation,
            columns,
            [
                [
                    *(row[name] for name in ("system", "language", "durability")),
                    format_size(row["event_bytes"]),
                    format_size(row["data_bytes"]) if row["data_bytes"] else "–",
                    row["partitions"],
                    *(
                        (row["median_s"] * 1e6, row["p99_s"] * 1e6, row["push_mean_s"] * 1e6, row["round_trips"])
                        if latency
                        else (
                            round(row["events_per_s"]),
                            row["bytes_per_s"] / 1e9,
                            row["client_cpu_s"] * 1e6,
                            row["of_append" if operation == "produce" else "of_read"],
                            row["of_memcpy"],
                        )
                    ),
                    row["vs_kafka"],
                ]
                for row in sorted(shown, key=_order)
            ],
        )
    if not in_common(found):
        output.line("no common language: rows are not comparable; the lines on what was left out say what is missing")
    names = ("append", "read", "memory_write", "memory_read", "memcpy")
    append, read, write_memory, read_memory, copy = (limits[f"{name}_bytes_per_s"] / 1e9 for name in names)
    synced_us, trip_us = limits["append_fdatasync_s"] * 1e6, limits["unix_round_trip_s"] * 1e6
    output.line(
        f"limits    append {append:.2f}, read {read:.2f}, a new file in memory {write_memory:.2f} and "
        f"{read_memory:.2f}, memcpy {copy:.2f} GB/s; append and fdatasync {synced_us:.0f} µs; Unix-socket round trip "
        f"{trip_us:.1f} µs"
    )


def _order(row: dict[str, Any]) -> tuple[object, ...]:
    return (row["language"], row["durability"], row["event_bytes"] + row["data_bytes"], row["partitions"])
