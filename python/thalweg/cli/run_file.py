"""``thalweg run FILE``: the workflow that a TOML or JSON file describes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption, Output

_LONGEST_RESULT = 60


def run_file(file: str) -> Callable[..., None]:
    """Return the command that runs `file`."""

    @command
    def run_this(
        folder: Annotated[
            Path | None, typer.Option("--folder", help="Result folder. [dim]\\[default: runs/NAME-NNN][/dim]")
        ] = None,
        replace: Annotated[bool, typer.Option("--replace", help="Replace an earlier run in the folder.")] = False,
        timeout: Annotated[
            float | None, typer.Option("--timeout", metavar="SECONDS", help="Stop everything after so long.")
        ] = None,
        logs: Annotated[bool, typer.Option("--logs", help="Show what components print, on standard error.")] = False,
        json_path: JsonOption = None,
    ) -> None:
        """Run the workflow of this file, and report on it.

        Example:

            thalweg run workflow.toml --folder runs/mine --timeout 600
        """
        from thalweg.cli.pattern_run import next_folder
        from thalweg.cli.progress import live
        from thalweg.errors import ConfigError
        from thalweg.report import write_report
        from thalweg.results import RunFolder, component_rows
        from thalweg.workflow import Workflow

        where = folder or next_folder(Path(file).stem)
        if not replace and (where / "run.json").exists():
            raise ConfigError(f"run {file}: {where} holds an earlier run; give another --folder, or --replace")
        workflow = Workflow.from_file(file, folder=where, replace=replace)
        page, output = where / "report.html", Output(json_path)
        try:
            with live() as tell:
                results = workflow.launch(
                    timeout,
                    lambda told: tell(told.component, told.done, told.total, told.note),
                    _show_line if logs else None,
                )
        except BaseException:
            if (where / "events.parquet").exists():
                output.line(f"report    {write_report(where)}")
            raise
        write_report(where)
        run = RunFolder.open(where)
        output.table(
            "Components",
            ["component", "type", "status", "elapsed s", "log", "result"],
            [
                [entry.name, entry.type, entry.status, entry.elapsed_s, entry.log, _shown(results, entry.name)]
                for entry in run.components
            ],
        )
        output.line(f"report    {page}")
        output.write(component_rows(where))

    return run_this


def _show_line(component: str, line: str) -> None:
    print(f"{component} | {line}", file=sys.stderr, flush=True)


def _shown(results: Mapping[str, Any], name: str) -> str:
    """What a component returned, on one short line; nothing for None."""
    result: Any = results
    for part in [name] if name in results else name.split("/"):
        result = result.get(part) if isinstance(result, Mapping) else None
    text = "" if result is None else " ".join(repr(result).split())
    return text if len(text) <= _LONGEST_RESULT else f"{text[: _LONGEST_RESULT - 1]}…"
