"""Runs the example: ``python examples/streams/provenance``."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from provenance.run import main

    sys.exit(main())
