"""``thalweg bench relayout``: how fast arrays get into other layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption


@command
def relayout(
    shapes: Annotated[
        str, typer.Option("--shape", metavar="N×N×…,…", help="Extents in elements, slowest axis first.")
    ] = "128x128x128,256x256x256,512x512x512",
    dtype: Annotated[str, typer.Option("--dtype", metavar="NAME", help="Type of an element, as NumPy names it.")] = (
        "float64"
    ),
    threads: Annotated[
        str, typer.Option("--threads", metavar="N,N,…", help="Threads of thalweg and memcpy; the others have one.")
    ] = "1",
    implementations: Annotated[
        str, typer.Option("--implementations", metavar="NAME,NAME,…", help="Contenders; memcpy always takes part.")
    ] = "thalweg,memcpy,numpy,naive",
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Interleaved rounds; medians are over them.")] = 5,
    pages: Annotated[
        str, typer.Option("--pages", metavar="huge|small", help="Pages of the arrays; NumPy asks for huge ones.")
    ] = "huge",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="Also draw bars (.png, or .html with the table).")
    ] = None,
    json_path: JsonOption = None,
) -> None:
    """Every permutation of an array's axes, as a share of what memcpy moves in the same round.

    The array is packed, last axis fastest; each contender writes it with its axes permuted into a packed array of its
    own kind. memcpy copies the same bytes as they are: the limit. `naive` is a plain compiled loop over elements,
    `numpy` is numpy.copyto(out, array.transpose(permutation)).

    Examples:

        thalweg bench relayout

        thalweg bench relayout --shape 256x256x256 --threads 1,2 --out relayout.png

        thalweg bench relayout --shape 255x257x253,3x100000 --dtype float32 --json relayout.json
    """
    from thalweg.bench.relayout import cases, measure
    from thalweg.bench.relayout_figure import check, draw
    from thalweg.cli.output import Output
    from thalweg.cli.progress import live

    output = Output(json_path)
    if out is not None:
        check(out)
    wanted = cases(shapes, dtype, threads, implementations, pages)
    with live() as tell:
        rows = measure(wanted, repeats, lambda note, done, total: tell("relayout", done, total, note))
    for shape in dict.fromkeys(tuple(row["shape"]) for row in rows):
        output.table(
            f"{'×'.join(map(str, shape))} {wanted.dtype}, {pages} pages",
            ["permutation", "implementation", "threads", "GB/s", "of memcpy"],
            [
                [
                    "".join(map(str, row["permutation"])),
                    row["implementation"],
                    row["threads"],
                    row["bytes_per_s"] / 1e9,
                    row["of_memcpy"],
                ]
                for row in rows
                if tuple(row["shape"]) == shape
            ],
        )
    if out is not None:
        output.line(f"figure    {draw(rows, out)}")
    output.write(rows)
