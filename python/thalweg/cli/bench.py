"""``thalweg bench``: Thalweg measured against others and against the machine's limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thalweg.cli.bench_ensemble import ensemble
from thalweg.cli.bench_relayout import relayout
from thalweg.cli.bench_sim import sim
from thalweg.cli.bench_staging import staging
from thalweg.cli.bench_stream import stream
from thalweg.cli.outcome import FAILED, command
from thalweg.cli.output import JsonOption

if TYPE_CHECKING:
    from thalweg.bench.contender import Contender
    from thalweg.cli.output import Output

SIZES = "4KiB,64KiB,0.4MB,1MiB,1.2MB,4MB,8MB,32MB,128MB"


def register(app: typer.Typer) -> None:
    """Add ``bench`` with one subcommand a benchmark."""
    group = typer.Typer(no_args_is_help=True, help="Measure beside the limits of the machine, in the same run.")
    group.callback()(lambda: None)
    group.command("transport")(transport)
    group.command("relayout")(relayout)
    group.command("staging")(staging)
    group.command("stream")(stream)
    group.command("ensemble")(ensemble)
    group.command("sim")(sim)
    app.add_typer(group, name="bench")


@command
def transport(
    sizes: Annotated[
        str, typer.Option("--sizes", metavar="SIZE,SIZE,…", help="KB, MB: 10³, 10⁶; KiB, MiB: 2¹⁰, 2²⁰.")
    ] = SIZES,
    backends: Annotated[
        str | None,
        typer.Option(
            "--backends", metavar="NAME,NAME,…", help="Contenders. [dim]\\[default: all that are installed][/dim]"
        ),
    ] = None,
    peers: Annotated[bool, typer.Option("--peers", help="Measure the peers of benchmarks/peers too.")] = False,
    peers_folder: Annotated[Path | None, typer.Option("--peers-folder", help="Where the peers' files are.")] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Interleaved rounds; medians are over them.")] = 5,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Also draw throughput and latency by size (PNG).")
    ] = None,
    json_path: JsonOption = None,
) -> None:
    """Put, loan, view, get and put-to-consumer latency between two processes, for every transport and size.

    Data is random and incompressible; a checksum is verified on a sample. Contenders take turns in every round,
    and so do memcpy and a Unix-socket round trip: all ratios are taken within a round.

    Examples:

        thalweg bench transport --sizes 4KiB,1MiB,8MB --backends thalweg,redis

        thalweg bench transport --peers --json transport.json --figure transport.png
    """
    from thalweg.bench.rounds import measure
    from thalweg.bench.rows import limits_of, rows
    from thalweg.cli.output import Output
    from thalweg.cli.progress import live
    from thalweg.errors import InvalidError
    from thalweg.sizes import parse_sizes

    output = Output(json_path)
    sizes_bytes = sorted(set(parse_sizes(sizes)))
    for size_bytes in sizes_bytes:
        if size_bytes % 8:
            raise InvalidError(f"bench: size {size_bytes} bytes is not a multiple of 8, the size of an element")
    folder = peers_folder or (_peers_folder() if peers else None)
    contenders = _chosen(backends.split(",") if backends else None, folder, output)
    with live() as tell:
        measured = measure(
            contenders, sizes_bytes, rounds, lambda note, done, total: tell("transport", done, total, note)
        )
    found = rows(measured)
    limits = limits_of(measured)
    _print(output, found, limits)
    if figure is not None:
        from thalweg.bench.figure import draw

        output.line(f"figure    {draw(found, limits, figure)}")
    output.write(found, limits)
    for message in measured.failures.values():
        output.line(f"failed    {message}")
    if measured.failures:
        raise typer.Exit(FAILED)


def _peers_folder() -> Path:
    """``benchmarks/peers`` of the source tree that this package is in, else of the current folder."""
    import thalweg

    tree = Path(thalweg.__file__).parents[2] / "benchmarks" / "peers"
    return tree if tree.is_dir() else Path("benchmarks/peers")


def _chosen(names: list[str] | None, folder: Path | None, output: Output) -> list[tuple[Contender, str]]:
    """Contenders with their locators: those named, else all that can run here; the others are said, not hidden."""
    from thalweg.bench.contenders import find, own, peers
    from thalweg.errors import InvalidError, MissingLibraryError

    known: dict[str, str] = {name: name for name in own()}
    if folder is not None:
        known |= peers(folder)
    wanted = [name.strip() for name in names] if names else list(known)
    if names and folder is not None:
        wanted += [name for name in known if name not in wanted and "::" in known[name]]
    chosen = []
    for name in wanted:
        if name not in known:
            raise InvalidError(f"bench: --backends: no contender {name!r}; there are {', '.join(known)}")
        contender = find(known[name])
        missing = contender.available()
        if missing is None:
            chosen.append((contender, known[name]))
        elif names and name in names:
            raise MissingLibraryError(f"bench: {name} cannot run here: {missing}")
        else:
            output.line(f"left out  {name}: {missing}")
    if not chosen:
        raise MissingLibraryError("bench: no contender can run here; thalweg doctor says what is missing")
    return chosen


def _print(output: Output, found: list[dict[str, Any]], limits: dict[str, Any]) -> None:
    from thalweg.bench.contender import OPERATIONS
    from thalweg.sizes import format_size

    compared = any(row["of_iceoryx2"] is not None for row in found)
    for operation in (known for known in OPERATIONS if any(row["operation"] == known for row in found)):
        columns = ["backend", "size", "median µs", "p99 µs", "GB/s", "of memcpy", "round trips"]
        output.table(
            operation,
            columns + (["of iceoryx2"] if compared else []),
            [
                [
                    row["backend"],
                    format_size(row["size_bytes"]),
                    row["median_s"] * 1e6,
                    row["p99_s"] * 1e6,
                    row["bytes_per_s"] / 1e9,
                    row["of_memcpy"],
                    row["round_trips"],
                    *([row["of_iceoryx2"]] if compared else []),
                ]
                for row in sorted(found, key=lambda row: row["size_bytes"])
                if row["operation"] == operation
            ],
        )
    output.line(
        f"limits    memcpy {limits['memcpy_bytes_per_s'] / 1e9:.2f} GB/s at the largest size; "
        f"one-byte Unix-socket round trip {limits['unix_round_trip_s'] * 1e6:.1f} µs"
    )
