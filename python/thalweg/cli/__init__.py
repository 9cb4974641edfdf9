"""The command line: one command a file; what a command needs is imported when it runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def main() -> None:
    """Run the command that the process was called with, and exit with its status."""
    from thalweg.cli import bench, compare, consume, demo, doctor, produce, redirect, report, run, serve, sim, topic

    app = typer.Typer(
        name="thalweg",
        help="The data path between simulation and AI: compose, run and measure coupled workflows.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command("demo")(demo.demo)
    run.register(app, sys.argv[1:])
    bench.register(app)
    app.command("compare")(compare.compare)
    app.command("report")(report.report)
    app.command("serve")(serve.serve)
    app.command("redirect")(redirect.redirect)
    topic.register(app)
    app.command("produce")(produce.produce)
    app.command("consume")(consume.consume)
    sim.register(app)
    app.command("doctor")(doctor.doctor)
    app.callback()(_options)
    app()


def _version(asked: bool) -> None:
    if asked:
        import thalweg

        print(thalweg.__version__)
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the program itself."""
