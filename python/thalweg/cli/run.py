"""``thalweg run PATTERN``: a ready-made workflow; its options are those of its model."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption

_FOLDER = Annotated[
    Path | None, typer.Option("--folder", help="Result folder. [dim]\\[default: runs/PATTERN-NNN][/dim]")
]
_REPLACE = Annotated[bool, typer.Option("--replace", help="Replace an earlier run in the folder.")]


_ABOUT = """Run a ready-made workflow and report on it.

Examples:

    thalweg run navier-stokes

    thalweg run one-to-one --scale 0.05 --backend redis --folder runs/redis
"""


def register(app: typer.Typer, arguments: Sequence[str]) -> None:
    """Add ``run`` with one subcommand a pattern; a pattern's model is imported only when that pattern is called."""
    group = typer.Typer(no_args_is_help=True, help=_ABOUT)
    app.add_typer(group, name="run")
    words = [word for word in arguments if not word.startswith("-")]
    if words[:1] == ["run"]:
        from thalweg.patterns import PATTERNS

        for name, pattern in PATTERNS.items():
            called = words[1:2] == [name]
            group.command(name, help=_help(name, pattern))(_command(name, pattern) if called else _not_called)


def _command(name: str, pattern: Any) -> Any:
    """A function whose signature typer reads: the pattern's options, then those of every run."""
    from thalweg.cli.model_options import given, parameters

    def perform_pattern(folder: Path | None, replace: bool, json_path: str | None, **values: Any) -> None:
        from thalweg.cli.output import Output
        from thalweg.cli.pattern_run import next_folder, perform

        where = folder or next_folder(name)
        perform(name, given(pattern.Options, values), where, replace=replace, output=Output(json_path))

    perform_pattern.__name__ = name.replace("-", "_")
    own = [
        inspect.Parameter("folder", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_FOLDER),
        inspect.Parameter("replace", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_REPLACE),
        inspect.Parameter("json_path", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=JsonOption),
    ]
    guarded = command(perform_pattern)
    signature = inspect.Signature([*parameters(pattern.Options), *own])
    guarded.__signature__ = signature  # type: ignore[attr-defined]
    guarded.__annotations__ = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    return guarded


def _not_called() -> None:
    """Stands for a pattern in the list of patterns."""


def _help(name: str, pattern: Any) -> str:
    example = f"thalweg run {name} --folder runs/mine --json -"
    return f"{pattern.summary}\n\nExample:\n\n    {example}"
