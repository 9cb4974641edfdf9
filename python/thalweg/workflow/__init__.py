"""Running the components of a workflow in the order of their dependencies."""

from __future__ import annotations

from thalweg.workflow.inside import report_progress, stop_requested
from thalweg.workflow.progress import Progress
from thalweg.workflow.resources import Resources
from thalweg.workflow.tasks import TaskFuture, Tasks, submit
from thalweg.workflow.workflow import Workflow

__all__ = ["Progress", "Resources", "TaskFuture", "Tasks", "Workflow", "report_progress", "stop_requested", "submit"]
