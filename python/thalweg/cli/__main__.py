"""``python -m thalweg.cli``: the command line without an installed script."""

from __future__ import annotations

from thalweg.cli import main

main()
