"""Live progress on a terminal; silence anywhere else."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

Tell = Callable[[str, float, float, str], None]


@contextlib.contextmanager
def live() -> Iterator[Tell]:
    """A function ``tell(component, done, total, note)`` that draws one bar a component while the context lasts.

    Nothing is written unless standard error is a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda component, done, total, note: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=8) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(component: str, done: float, total: float, note: str) -> None:
            if component not in tasks:
                tasks[component] = bars.add_task(component, total=total, note=note)
            bars.update(tasks[component], completed=done, total=total, note=note)

        yield tell
