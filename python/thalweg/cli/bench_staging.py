"""``thalweg bench staging``: the paper's synthetic workflow on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption

_COLUMNS = (
    *("strategy", "pause s", "writers", "readers", "servers", "d", "write", "first read", "second read", "waited"),
    *("memory MB", "of data"),
)


@command
def staging(
    figure: Annotated[int, typer.Option("--figure", metavar="7|8|9|10", help="Which figure of the paper.")] = 7,
    strategies: Annotated[
        str | None,
        typer.Option(
            "--strategies",
            metavar="NAME,NAME,…",
            help="rad, rasar, rasia, sahr; for figure 10 homogeneous, rad, sahr, binary-files, parallel-hdf5. "
            "[dim]\\[default: all][/dim]",
        ),
    ] = None,
    domain: Annotated[
        str, typer.Option("--domain", metavar="N|N×N×N", help="Cells along each axis, slowest first; doubles.")
    ] = "192",
    steps: Annotated[int, typer.Option("--steps", help="Time steps; the first is not in the statistics.")] = 8,
    writers: Annotated[
        int | None, typer.Option("--writers", help="Figures 7, 8, 9: processes that write. [dim]\\[default: 4][/dim]")
    ] = None,
    readers: Annotated[
        int | None,
        typer.Option(
            "--readers",
            help="Figures 7, 8, 9: processes that read, and as many second readers. [dim]\\[default: 2][/dim]",
        ),
    ] = None,
    servers: Annotated[
        str | None,
        typer.Option(
            "--servers", metavar="N,N,…", help="Figures 7, 8, 9: servers. [dim]\\[default: 2; figure 8: 1,2,4][/dim]"
        ),
    ] = None,
    processes: Annotated[
        str | None,
        typer.Option(
            "--processes",
            metavar="N,N,…",
            help="Figure 10: writers; half as many readers and servers. [dim]\\[default: 1,2,4][/dim]",
        ),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", help="Threads of a server that reorganise.")] = 1,
    delays: Annotated[
        str | None,
        typer.Option(
            "--delays",
            metavar="S,S,…",
            help="Seconds of pause in every cycle. [dim]\\[default: 0,0.1,0.25,0.5; figures 8, 9, 10: 0.1, 0.5, 0.25]"
            "[/dim]",
        ),
    ] = None,
    subsets: Annotated[
        str | None,
        typer.Option(
            "--subsets",
            metavar="D,D,…",
            help="Edge of the cube in the middle that is read. [dim]\\[default: everything; figure 9: an eighth, "
            "a quarter, half, all][/dim]",
        ),
    ] = None,
    lag: Annotated[
        float | None,
        typer.Option(
            "--lag",
            help="Figures 7, 8, 9: share of the pause by which the first reader falls behind the writer. "
            "[dim]\\[default: 0.5][/dim]",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="Interleaved rounds; medians are over all steps.")] = 3,
    into: Annotated[
        bool, typer.Option("--into", help="Readers get into arrays of theirs, used again; no get is a view then.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="Also draw the figure (.png, or .html with the table).")
    ] = None,
    json_path: JsonOption = None,
) -> None:
    """Writers, readers and second readers over a 3-D domain: I/O time by where data are reorganised.

    Writers put row-major blocks of doubles, readers get column-major ones. In every cycle a process computes, pauses
    and then moves data. A read is timed from when the writers have put the step until the data are in the reader's
    hands in its layout; cells are compared afterwards. A step takes as long as its slowest rank; the first step is
    left out.

    Figure 7 varies the pause, 8 the servers, 9 the cube that is read, 10 the processes, there also against files that a
    C++ program and parallel HDF5 write, all applications one after the other.

    Examples:

        thalweg bench staging --figure 7

        thalweg bench staging --figure 9 --domain 128 --json figure9.json --out figure9.png
    """
    from thalweg.bench.staging import settings
    from thalweg.bench.staging.figure import check, draw
    from thalweg.bench.staging.rows import pairs, readings, rows
    from thalweg.bench.staging.run import measure
    from thalweg.cli.output import Output
    from thalweg.cli.progress import live

    output = Output(json_path)
    if out is not None:
        check(out)
    wanted = settings.read(
        figure=figure,
        strategies=strategies,
        domain=domain,
        steps=steps,
        writers=writers,
        readers=readers,
        servers=servers,
        processes=processes,
        workers=workers,
        delays=delays,
        subsets=subsets,
        lag=lag,
        repeats=repeats,
        into=into,
    )
    with live() as tell:
        measured = measure(wanted, lambda note, done, total: tell(f"figure {figure}", done, total, note))
    found = rows(measured, wanted)
    output.table(
        f"figure {figure}: {'×'.join(map(str, wanted.domain))} doubles, {wanted.steps} steps; "
        "milliseconds of a time step, the first one left out",
        _COLUMNS,
        [
            [
                *(first[field] for field in ("strategy", "delay_s", "writers", "readers", "servers", "subset")),
                *(seconds * 1e3 for seconds in (first["write_s"], first["read_s"], second["read_s"], first["wait_s"])),
                *_memory(first),
            ]
            for first, second in pairs(found)
        ],
    )
    for sentence in readings(found):
        output.line(sentence)
    for method, reason in measured.left_out.items():
        output.line(f"left out  {method}: {reason}")
    if out is not None and found:
        output.line(f"figure    {draw(found, out)}")
    output.write(found)


def _memory(row: dict[str, Any]) -> tuple[float | None, float | None]:
    """What the servers held: megabytes, and the multiple of the data."""
    held = row["server_memory_bytes"]
    return (None, None) if held is None else (held / 1e6, held / row["data_bytes"])
