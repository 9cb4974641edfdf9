"""torch, or an error that names the extra to install."""

from __future__ import annotations

from typing import Any

from thalweg.homes import library


def require_torch() -> Any:
    """Import and return torch.

    Raises
    ------
    MissingLibraryError
        When it is not installed.
    """
    return library("torch", "AI", "ai")
