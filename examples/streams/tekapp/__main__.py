"""Runs the example: ``python examples/streams/tekapp``."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from tekapp.run import main

    sys.exit(main())
