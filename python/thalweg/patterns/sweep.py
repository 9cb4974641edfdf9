"""One pattern run for every combination of some options."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from thalweg.configuration import checked
from thalweg.errors import ConfigError, ThalwegError
from thalweg.patterns.registry import Pattern
from thalweg.results.sweep_folder import SweepFolder, SweepRun
from thalweg.workflow.progress import Progress


def run_sweep(
    pattern: Pattern,
    options: Mapping[str, Any],
    axes: Mapping[str, Sequence[Any]],
    folder: Path,
    *,
    repeats: int = 1,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> SweepFolder:
    """Run `pattern` for every combination of the values on `axes`; blocks until all have ended.

    A run that fails is recorded, and the sweep goes on with the next.

    Parameters
    ----------
    options : mapping
        Options that all runs share; the others keep their defaults.
    axes : mapping
        Values by option, such as ``{"backend": ["thalweg", "redis"], "size_bytes": [400_000, 4_000_000]}``.
    folder : Path
        The sweep's folder (docs/formats/sweep-folder.md).
    repeats : int
        How often each combination runs, each time with another seed.
    resume : bool
        Keep what is done of the sweep in the folder, and run the rest.

    Returns
    -------
    SweepFolder
        Its status is ``failed`` when a run failed.

    Raises
    ------
    ConfigError
        When an option or one of the values is not accepted; nothing has run then.
    ExistsError, InvalidError, FolderInUseError
        For a folder that cannot be used (`SweepFolder.create`).
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise ConfigError(f"sweep: repeats is {repeats!r}; give an integer of 1 or more")
    known = set(pattern.axes.values())
    for option, values in axes.items():
        if option not in known:
            raise ConfigError(
                f"sweep: {pattern.name} cannot be swept over {option!r}; accepted are {', '.join(sorted(known))}"
            )
        if not values or len(set(values)) != len(values):
            raise ConfigError(f"sweep: {option}: is {list(values)!r}; give one or more values, each once")
    for values in itertools.product(*axes.values()):  # every run, before the first
        chosen: Any = checked(pattern.Options, {**options, **dict(zip(axes, values, strict=True))}, pattern.name)
        staged = getattr(chosen, "staged", None)
        if staged is not None:
            staged.check(pattern.name, chosen.backend, folder)
    sweep = SweepFolder.create(folder, pattern.name, options, axes, repeats, resume=resume)
    status = "interrupted"
    try:
        for number, run in enumerate(sweep.runs):
            if run.status != "done":
                _perform(pattern, sweep, run, number, progress)
        status = "done" if all(run.status == "done" for run in sweep.runs) else "failed"
    finally:
        sweep.finish(status)
    return sweep


def _perform(
    pattern: Pattern,
    sweep: SweepFolder,
    run: SweepRun,
    number: int,
    progress: Callable[[Progress], None] | None,
) -> None:
    point = dict(run.point)
    repeat = point.pop("repeat")
    content = {**sweep.options, **point}
    if "seed" in pattern.Options.model_fields:
        content["seed"] = int(content.get("seed", 0)) + repeat - 1
    if progress is not None:
        told = ", ".join(f"{key} {value}" for key, value in run.point.items())
        progress(Progress("sweep", number, len(sweep.runs), told))
    run.status, run.error = "running", None
    sweep.write()
    start = time.monotonic()
    try:
        pattern.run(pattern.options(content), sweep.path / run.folder, progress)
        run.status = "done"
    except Exception as error:  # whatever it is, the other runs are of use
        told = str(error) if isinstance(error, ThalwegError) else f"{type(error).__name__}: {error}"
        run.status, run.error = "failed", told
    except BaseException:
        run.status = "interrupted"
        raise
    finally:
        run.elapsed_s = time.monotonic() - start
        sweep.write()
    if progress is not None:
        progress(Progress("sweep", number + 1, len(sweep.runs), ""))
