"""Self-contained pages of runs, made from their result files alone."""

from __future__ import annotations

from thalweg.report.comparison import compare, compared_operations
from thalweg.report.run_page import write_report
from thalweg.report.sweep_comparison import compare_sweeps, compared_sweeps
from thalweg.report.sweep_page import sweep_tables, write_sweep_report

__all__ = [
    "compare",
    "compare_sweeps",
    "compared_operations",
    "compared_sweeps",
    "sweep_tables",
    "write_report",
    "write_sweep_report",
]
