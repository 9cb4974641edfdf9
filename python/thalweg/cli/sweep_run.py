"""One sweep of a pattern, from the options that have several values to its printed findings."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from thalweg.cli.outcome import FAILED
from thalweg.cli.output import Output
from thalweg.cli.progress import live
from thalweg.errors import ConfigError, ExistsError, InvalidError
from thalweg.sizes import parse_sizes


def swept(pattern: Any, values: dict[str, Any], repeats: str | None) -> tuple[dict[str, list[Any]], int]:
    """Take the options that have several values out of `values`; return them by option, and the repeats.

    Several words for one option, of which one value was given, become that option.

    Raises
    ------
    ConfigError
        When an option is given both as one and as several values, or repeats is no number.
    """
    from thalweg.cli.model_options import flag

    axes: dict[str, list[Any]] = {}
    for word, option in pattern.axes.items():
        text = values.pop(word, None)
        if text is None:
            continue
        if word != option and values.get(option) is not None:
            raise ConfigError(f"run {pattern.name}: {flag(option)} and --{word} are both given; give one of them")
        several = parse_sizes(text) if option.endswith("_bytes") else _checked(pattern, option, text)
        if len(several) == 1:
            values[option] = several[0]
        else:
            axes[option] = several
    if repeats is None:
        return axes, 1
    if not repeats.isdigit() or int(repeats) < 1:
        raise ConfigError(f"run {pattern.name}: --repeats: is {repeats!r}; give an integer of 1 or more")
    return axes, int(repeats)


def perform_sweep(
    name: str,
    options: Mapping[str, Any],
    axes: Mapping[str, Sequence[Any]],
    repeats: int,
    folder: Path,
    *,
    resume: bool,
    replace: bool,
    output: Output,
) -> None:
    """Run a sweep into a folder, write its report, print its tables, and exit with its status.

    Raises
    ------
    ConfigError
        When a value is refused, or the folder holds a sweep that is to be kept.
    """
    from thalweg.patterns import PATTERNS
    from thalweg.patterns.sweep import run_sweep
    from thalweg.report import sweep_tables, write_sweep_report
    from thalweg.results import SweepFolder, sweep_rows

    if replace and resume:
        raise ConfigError(f"run {name}: --replace and --resume are both given; give one of them")
    if replace:
        _remove(folder)
    if resume and (folder / "sweep.json").exists():  # what is not given again is as it was
        earlier = SweepFolder.open(folder)
        options, axes = {**earlier.options, **options}, {**earlier.axes, **axes}
        repeats = max(repeats, earlier.repeats)
    try:
        with live() as tell:

            def progress(entry: Any) -> None:
                tell(entry.component, entry.done, entry.total, entry.note)
                if entry.component == "sweep" and not sys.stderr.isatty() and entry.note:
                    print(f"run {entry.done + 1:g} of {entry.total:g}: {entry.note}", file=sys.stderr, flush=True)

            sweep = run_sweep(PATTERNS[name], options, axes, folder, repeats=repeats, resume=resume, progress=progress)
    except KeyboardInterrupt:
        if (folder / "sweep.json").exists():
            runs = SweepFolder.open(folder).runs
            done = sum(run.status == "done" for run in runs)
            again = f"thalweg run {name} --folder {folder} --resume"
            print(f"thalweg: {done} of {len(runs)} runs are done; go on with: {again}", file=sys.stderr)
        raise
    except ExistsError:
        raise ConfigError(
            f"run {name}: {folder} holds an earlier sweep; give another --folder, --resume or --replace"
        ) from None
    page = write_sweep_report([folder])
    for table in sweep_tables([folder]):
        output.table(table.title, table.columns, table.rows)
    failed = [run for run in sweep.runs if run.status != "done"]
    for run in failed:
        output.line(f"{run.folder} {run.status}: {run.error}")
    if failed:
        output.line(f"go on   thalweg run {name} --folder {folder} --resume")
    output.line(f"report    {page}")
    output.write(sweep_rows(folder))
    if failed:
        raise typer.Exit(FAILED)


def _checked(pattern: Any, option: str, text: str) -> list[Any]:
    """The values of a list as the option's type has them."""
    from thalweg.configuration import checked

    several = [part.strip() for part in text.split(",") if part.strip()]
    if not several:
        raise ConfigError(f"run {pattern.name}: {option}: is empty; give one or more values")
    return [getattr(checked(pattern.Options, {option: part}, pattern.name), option) for part in several]


def _remove(folder: Path) -> None:
    """Remove an earlier sweep, and nothing else."""
    from thalweg.results import FolderLock

    if not folder.exists():
        return
    if any(folder.iterdir()) and not (folder / "sweep.json").exists():
        raise InvalidError(f"run: {folder} holds files that are not of a sweep; give an empty or new folder")
    lock = FolderLock(folder)
    shutil.rmtree(folder / "runs", ignore_errors=True)
    for path in (
        folder / "sweep.json",
        folder / "report.html",
        *folder.glob("figure-*.png"),
        *folder.glob("figure-*.svg"),
    ):
        path.unlink(missing_ok=True)
    lock.release()
