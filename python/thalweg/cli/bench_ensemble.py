"""``thalweg bench ensemble``: two components exchange files' contents, by files and without."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thalweg.cli.outcome import FAILED, command
from thalweg.cli.output import JsonOption, counted

if TYPE_CHECKING:
    from thalweg.cli.output import Output

_COLUMNS = (
    *("transport", "replay", "ensembles", "processes", "asked MB", "files MB", "transfer ms", "I/O ms", "cycle ms"),
    *("× tmpfs", "× disk", "of memcpy"),
)


@command
def ensemble(
    preset: Annotated[
        str, typer.Option("--preset", metavar="ofp|olympics", help="Cells of a process: figure 3 or 4 of the paper.")
    ] = "olympics",
    transports: Annotated[
        str | None,
        typer.Option(
            "--transports",
            metavar="NAME,NAME,…",
            help="redirect, staging, pnetcdf-tmpfs, pnetcdf-disk. [dim]\\[default: all that can run here][/dim]",
        ),
    ] = None,
    ensembles: Annotated[
        str, typer.Option("--ensembles", metavar="N,N,…", help="Ensembles, each with files of its own.")
    ] = "1,2,4,8,16",
    processes: Annotated[
        str,
        typer.Option(
            "--processes",
            metavar="N|N×N,…",
            help="Processes of an ensemble in each component; or those along x and along y.",
        ),
    ] = "2",
    cycles: Annotated[int, typer.Option("--cycles", help="Cycles; the first is not in the statistics.")] = 11,
    rounds: Annotated[int, typer.Option("--rounds", help="Interleaved rounds; medians are over all cycles.")] = 3,
    disk_folder: Annotated[
        Path | None,
        typer.Option("--disk-folder", help="Where files on disk go. [dim]\\[default: the temporary folder][/dim]"),
    ] = None,
    tables: Annotated[
        bool, typer.Option("--tables", help="Only print tables I and II of the paper, beside the model's.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="PNG", help="Also draw transfer time against processes.")
    ] = None,
    json_path: JsonOption = None,
) -> None:
    """The I/O of SCALE-LETKF without its computation: data-transfer time of a cycle, by transport.

    In every cycle SCALE writes a history file of 89 variables and an analysis file of 143; LETKF reads 20 and 11 of
    them and overwrites those 11; SCALE reads these. Every value that was read is checked. Transfer time is that of
    put, get and wait calls: the slowest process of each component, both components added up; I/O time is from opening
    to closing. The first cycle is left out.

    Transports take turns in every round, and so does memcpy.

    Examples:

        thalweg bench ensemble --preset olympics --ensembles 1,2,4

        thalweg bench ensemble --transports pnetcdf-tmpfs,pnetcdf-disk --json ensemble.json --figure ensemble.png

        thalweg bench ensemble --tables
    """
    from thalweg.cli.output import Output
    from thalweg.cli.progress import live

    output = Output(json_path)
    if tables:
        _tables(output)
        return
    from thalweg.bench.ensemble import settings
    from thalweg.bench.ensemble.figure import check, draw
    from thalweg.bench.ensemble.rows import rows
    from thalweg.bench.ensemble.run import measure

    if figure is not None:
        check(figure)
    wanted = settings.read(
        preset=preset,
        transports=transports,
        ensembles=ensembles,
        processes=processes,
        cycles=cycles,
        rounds=rounds,
        disk_folder=disk_folder,
    )
    with live() as tell:
        measured = measure(wanted, lambda note, done, total: tell("ensemble", done, total, note))
    found = rows(measured, wanted)
    output.table(
        f"{preset}: medians of {counted(cycles - 1, 'cycle')} in {counted(rounds, 'round')}; "
        "×: how many times less transfer time than files",
        _COLUMNS,
        [_cells(row) for row in found],
    )
    limits = measured.limits
    output.line(
        f"limits    memcpy {limits['memcpy_bytes_per_s'] / 1e9:.2f} GB/s; "
        f"one-byte Unix-socket round trip {limits['unix_round_trip_s'] * 1e6:.1f} µs"
    )
    for name, reason in measured.left_out.items():
        output.line(f"left out  {name}: {reason}")
    if figure is not None:
        output.line(f"figure    {draw(found, limits, figure)}")
    output.write(found, limits)


def _cells(row: dict[str, Any]) -> list[object]:
    return [
        *(row[field] for field in ("transport", "replay", "ensembles")),
        "×".join(map(str, row["grid"])),
        *(row[field] / 1e6 for field in ("moved_bytes", "file_bytes")),
        *(row[field] * 1e3 for field in ("transfer_s", "io_s", "cycle_s")),
        *(row[field] for field in ("faster_than_tmpfs", "faster_than_disk", "of_memcpy")),
    ]


def _tables(output: Output) -> None:
    """Print what the model says about the paper's two tables; the command fails where they disagree."""
    from dataclasses import asdict

    from thalweg.bench.ensemble.domain import PRESETS
    from thalweg.bench.ensemble.tables import NAMES, account, table

    columns = ("processes", "moved GiB", "paper", "file GiB", "paper", "agrees")
    everything = []
    for preset in PRESETS.values():
        rows = table(preset)
        everything += rows
        counts = account(preset)
        output.table(
            f"table {NAMES[preset.name]}, {preset.name}: 256 ranks {counts.moved:,} MiB; files {counts.files:,} MiB",
            columns,
            [
                [
                    row.processes,
                    *(f"{row.moved_gib:.3f}", f"{row.printed_moved_gib:.2f}"),
                    *(f"{row.file_gib:.3f}", f"{row.printed_file_gib:.2f}"),
                    row.agrees,
                ]
                for row in rows
            ],
        )
    output.write([{**asdict(row), "agrees": row.agrees} for row in everything])
    if not all(row.agrees for row in everything):
        raise typer.Exit(FAILED)
