"""``thalweg redirect``: programs that exchange files exchange memory, without a change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.outcome import FAILED, command
from thalweg.cli.output import JsonOption


@command
def redirect(
    program: Annotated[
        list[str],
        typer.Argument(
            metavar="-- COMMAND [: COMMAND]…", help="What to run; parts between single colons run together."
        ),
    ],
    config: Annotated[
        Path, typer.Option("--config", metavar="FILE", help="TOML or JSON: which files, and which components.")
    ],
    service: Annotated[
        str | None,
        typer.Option(
            "--service",
            metavar="ADDRESS",
            help="A running `thalweg serve`. Default: a service that ends with the command.",
        ),
    ] = None,
    coupling: Annotated[
        str, typer.Option("--coupling", metavar="NAME", help="What this coupling is called at that service.")
    ] = "default",
    look: Annotated[
        bool, typer.Option("--look", help="Only look at what is there: ncdump of a running exchange, say.")
    ] = False,
    joint_world: Annotated[
        bool, typer.Option("--joint-world", help="Leave the parts of an mpiexec command in one MPI_COMM_WORLD.")
    ] = False,
    vol: Annotated[
        bool,
        typer.Option(
            "--vol", help="HDF5's files only (1.14 or newer), by a plugin of HDF5 (VOL) instead of a preloaded library."
        ),
    ] = False,
    json_path: JsonOption = None,
) -> None:
    """Run programs whose files stay in memory: they read what others write, when it is complete, or in their turn.

    The configuration names files, and, where they are used more than once, whose turn it is:

        deadline_s = 60

        [components]
        model = "model*"
        analysis = "analyse.py"

        [[files]]
        match = "*.nc"
        turns = ["model", "analysis"]

    Examples:

        thalweg redirect --config coupling.toml -- mpiexec -n 2 ./model : -n 1 ./analysis

        thalweg redirect --config coupling.toml -- ./model : python analyse.py

        thalweg redirect --vol --config coupling.toml -- python model.py : python analyse.py

        thalweg serve --socket @run
        thalweg redirect --service unix:@run --config coupling.toml -- ./model
        thalweg redirect --service unix:@run --config coupling.toml --look -- ncdump -h step3.nc
    """
    from thalweg.cli.output import Output
    from thalweg.redirect import Coupling, launch

    output = Output(json_path)
    outcomes = launch(
        Coupling.load(config), program, service=service, name=coupling, look=look, split=not joint_world, vol=vol
    )
    output.write([{"component": o.component, "status": o.status, "wall_s": o.wall_s} for o in outcomes], limits={})
    failed = [o for o in outcomes if o.failure]
    for outcome in failed:
        who = f"component {outcome.component!r}" if outcome.component else repr(program[0])
        typer.echo(f"thalweg: redirect: {who} failed: {outcome.failure}", err=True)
    if failed:
        raise typer.Exit(FAILED)
