"""The result folder of a run: its events, its timeline, its facts."""

from __future__ import annotations

from thalweg.results.folder import Artifact, ComponentRecord, ResultTable, RunFolder
from thalweg.results.statistics import component_rows, statistics
from thalweg.results.tracer import Tracer, current_tracer, set_current_tracer

__all__ = [
    "Artifact",
    "ComponentRecord",
    "ResultTable",
    "RunFolder",
    "Tracer",
    "component_rows",
    "current_tracer",
    "set_current_tracer",
    "statistics",
]
