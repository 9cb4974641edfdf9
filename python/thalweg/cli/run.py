"""``thalweg run``: a ready-made workflow, whose options are those of its model, or one from a file."""

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


_RESUME = Annotated[bool, typer.Option("--resume", help="Go on with the sweep that is in the folder.")]
_REPEATS = Annotated[
    str | None, typer.Option("--repeats", metavar="INTEGER", help="Run each combination so often, with other seeds.")
]

_ABOUT = """Run a ready-made workflow, or one from a TOML or JSON file, and report on it.

Several values of an option (--backends, --sizes, --simulations) or --repeats make a sweep: one run for each
combination, and one report of all.

Examples:

    thalweg run navier-stokes

    thalweg run one-to-one --scale 0.05 --backend redis --folder runs/redis

    thalweg run many-to-one --simulations 1,4 --sizes 1.2MB,8MB --backends thalweg,redis --scale 0.05

    thalweg run workflow.toml
"""


def register(app: typer.Typer, arguments: Sequence[str]) -> None:
    """Add ``run`` with one subcommand a pattern; a pattern's model is imported only when that pattern is called."""
    group = typer.Typer(no_args_is_help=True, help=_ABOUT)
    app.add_typer(group, name="run")
    words = [word for word in arguments if not word.startswith("-")]
    if words[:1] == ["run"]:
        if words[1:2] and words[1].endswith((".toml", ".json")):
            from thalweg.cli.run_file import run_file

            group.command(words[1])(run_file(words[1]))
        from thalweg.patterns import PATTERNS

        for name, pattern in PATTERNS.items():
            called = words[1:2] == [name]
            group.command(name, help=_help(name, pattern))(_command(name, pattern) if called else _not_called)


def _command(name: str, pattern: Any) -> Any:
    """A function whose signature typer reads: the pattern's options, then those of every run."""
    from thalweg.cli.model_options import given, parameters

    def perform_pattern(
        folder: Path | None,
        replace: bool,
        json_path: str | None,
        resume: bool = False,
        repeats: str | None = None,
        **values: Any,
    ) -> None:
        from thalweg.cli.output import Output
        from thalweg.cli.pattern_run import next_folder, perform
        from thalweg.cli.sweep_run import perform_sweep, swept

        where = folder or next_folder(name)
        axes, count = swept(pattern, values, repeats)
        chosen = given(pattern.Options, values)
        if axes or count > 1 or resume:
            perform_sweep(name, chosen, axes, count, where, resume=resume, replace=replace, output=Output(json_path))
        else:
            perform(name, chosen, where, replace=replace, output=Output(json_path))

    perform_pattern.__name__ = name.replace("-", "_")
    own = [
        inspect.Parameter("folder", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_FOLDER),
        inspect.Parameter("replace", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_REPLACE),
        inspect.Parameter("json_path", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=JsonOption),
    ]
    if pattern.axes:
        own += [
            *(_axis(word, option) for word, option in pattern.axes.items() if word != option),
            inspect.Parameter("repeats", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_REPEATS),
            inspect.Parameter("resume", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_RESUME),
        ]
    guarded = command(perform_pattern)
    signature = inspect.Signature([*parameters(pattern.Options), *own])
    guarded.__signature__ = signature  # type: ignore[attr-defined]
    guarded.__annotations__ = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    return guarded


def _axis(word: str, option: str) -> inspect.Parameter:
    """The option that takes several values of another, for a sweep."""
    from thalweg.cli.model_options import flag

    shown = typer.Option(f"--{word}", metavar="A,B,…", help=f"Sweep over several values of {flag(option)}.")
    return inspect.Parameter(
        word, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, shown]
    )


def _not_called() -> None:
    """Stands for a pattern in the list of patterns."""


def _help(name: str, pattern: Any) -> str:
    example = f"thalweg run {name} --folder runs/mine --json -"
    return f"{pattern.summary}\n\nExample:\n\n    {example}"
