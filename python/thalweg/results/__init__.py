"""The result folder of a run: its events, its timeline, its facts."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.results.folder import Artifact, ComponentRecord, ResultTable, RunFolder
    from thalweg.results.folder_lock import FolderLock
    from thalweg.results.summaries import component_rows, gb_per_s, iteration_times, statistics
    from thalweg.results.sweep_folder import SweepFolder, SweepRun
    from thalweg.results.sweep_summaries import SweepPoint, measures_of, sweep_measures, sweep_points, sweep_rows
    from thalweg.results.tracer import Tracer, current_tracer, set_current_tracer

_HOME = {
    "Artifact": "folder",
    "ComponentRecord": "folder",
    "FolderLock": "folder_lock",
    "ResultTable": "folder",
    "RunFolder": "folder",
    "SweepFolder": "sweep_folder",
    "SweepPoint": "sweep_summaries",
    "SweepRun": "sweep_folder",
    "Tracer": "tracer",
    "component_rows": "summaries",
    "current_tracer": "tracer",
    "gb_per_s": "summaries",
    "iteration_times": "summaries",
    "measures_of": "sweep_summaries",
    "set_current_tracer": "tracer",
    "statistics": "summaries",
    "sweep_measures": "sweep_summaries",
    "sweep_points": "sweep_summaries",
    "sweep_rows": "sweep_summaries",
}

__all__ = [
    "Artifact",
    "ComponentRecord",
    "FolderLock",
    "ResultTable",
    "RunFolder",
    "SweepFolder",
    "SweepPoint",
    "SweepRun",
    "Tracer",
    "component_rows",
    "current_tracer",
    "gb_per_s",
    "iteration_times",
    "measures_of",
    "set_current_tracer",
    "statistics",
    "sweep_measures",
    "sweep_points",
    "sweep_rows",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for only: a component that traces needs neither NumPy nor Arrow."""
    if name in _HOME:
        return getattr(importlib.import_module(f"thalweg.results.{_HOME[name]}"), name)
    raise AttributeError(f"module 'thalweg.results' has no attribute {name!r}; it has {', '.join(__all__)}")
