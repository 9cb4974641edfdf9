"""Ready-made workflows, one command each."""

from __future__ import annotations

from thalweg.patterns.registry import PATTERNS, Pattern
from thalweg.workflow.progress import Progress

__all__ = ["PATTERNS", "Pattern", "Progress"]
