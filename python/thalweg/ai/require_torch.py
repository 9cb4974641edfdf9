"""torch, or an error that names the extra to install."""

from __future__ import annotations

from typing import Any

from thalweg.errors import MissingLibraryError


def require_torch() -> Any:
    """Import and return torch.

    Raises
    ------
    MissingLibraryError
        When it is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingLibraryError("AI: the library torch is not installed; pip install 'thalweg[ai]'") from error
    return torch
