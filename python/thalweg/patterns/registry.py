"""The patterns by name; listing them imports none of them."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

    from thalweg.results import RunFolder
    from thalweg.workflow.progress import Progress


@dataclasses.dataclass(frozen=True)
class Pattern:
    """A ready-made workflow.

    Attributes
    ----------
    name, summary : str
        What it is called, and one line on what it does.
    home : str
        Package that has ``options`` (with the model `Options`) and ``pattern`` (with the function `run`).
    axes : mapping
        What a sweep may go over: the word for several, and the option.
    """

    name: str
    summary: str
    home: str
    axes: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def Options(self) -> type[BaseModel]:  # noqa: N802  a class
        """Pydantic model of the options; the descriptions of its fields are their help texts."""
        options: type[BaseModel] = importlib.import_module(f"{self.home}.options").Options
        return options

    def options(self, content: Mapping[str, Any] | None = None) -> Any:
        """Return checked options.

        Raises
        ------
        ConfigError
            With the path of the key and the fix.
        """
        from thalweg.configuration import checked

        return checked(self.Options, content or {}, self.name)

    def run(self, options: Any, folder: Path, progress: Callable[[Progress], None] | None = None) -> RunFolder:
        """Run it; blocks until it has ended. The folder must be new, empty, or of an earlier run (which is replaced).

        Raises
        ------
        ComponentFailedError
            When a component failed; the folder tells how far it came.
        """
        run: Callable[..., RunFolder] = importlib.import_module(f"{self.home}.pattern").run
        return run(options, Path(folder), progress)


PATTERNS: dict[str, Pattern] = {
    pattern.name: pattern
    for pattern in (
        Pattern(
            "navier-stokes",
            "a 2-D turbulence solver trains a Fourier neural operator on line, which then predicts unseen flows",
            "thalweg.patterns.navier_stokes",
        ),
        Pattern(
            "one-to-one",
            "one solver and one trainer, asynchronous, with the paper's times and sizes (SimAI-Bench, section 4.1)",
            "thalweg.patterns.one_to_one",
            {"sizes": "size_bytes", "backends": "backend"},
        ),
        Pattern(
            "many-to-one",
            "many solvers and one trainer that blocks for all of them (SimAI-Bench, section 4.2)",
            "thalweg.patterns.many_to_one",
            {"simulations": "simulations", "sizes": "size_bytes", "backends": "backend"},
        ),
        Pattern(
            "inference-loop",
            "solvers that ask a model every few iterations and wait for its answer",
            "thalweg.patterns.inference_loop",
            {"clients": "clients", "sizes": "size_bytes", "backends": "backend"},
        ),
        Pattern(
            "funnel",
            "simulate, train, infer, sort, resubmit: a surrogate steers dynamic tasks to the best of many candidates",
            "thalweg.patterns.funnel",
        ),
    )
}
