"""``thalweg demo``: the main job, a solver whose fields train a surrogate while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption
from thalweg.errors import MissingLibraryError


@command
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Result folder; an earlier demo in it is replaced.")] = Path(
        "runs/demo"
    ),
    json_path: JsonOption = None,
) -> None:
    """Train a surrogate of a Navier–Stokes solver on line, and report on it.

    The solver streams its vorticity fields to a trainer over Thalweg's own staging service; the surrogate is then
    tried on fields that it has not seen. Takes under two minutes on two cores.

    Examples:

        thalweg demo

        thalweg demo --folder runs/mine --json -
    """
    import importlib.util

    from thalweg.cli.output import Output
    from thalweg.cli.pattern_run import perform

    if importlib.util.find_spec("torch") is None:
        raise MissingLibraryError("demo: PyTorch is missing, which trains the surrogate; pip install 'thalweg[ai]'")
    perform("navier-stokes", {}, folder, replace=True, output=Output(json_path))
