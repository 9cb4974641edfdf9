"""A result folder that is finished however the run ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thalweg.results import RunFolder


@contextlib.contextmanager
def recorded_run(pattern: str, options: Any, folder: Path) -> Iterator[RunFolder]:
    """Yield a new result folder; write it as done, failed or interrupted at the end.

    Raises
    ------
    InvalidError
        When the folder holds something else than an earlier run.
    """
    record = RunFolder(
        folder, pattern=pattern, backend=options.backend, configuration=options.model_dump(), replace=True
    )
    try:
        yield record
    except KeyboardInterrupt:
        record.finish("interrupted")
        raise
    except BaseException as error:
        record.summary.setdefault("error", str(error))
        record.finish("failed")
        raise
    record.finish("done")
