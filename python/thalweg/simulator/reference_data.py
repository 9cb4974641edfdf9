"""The reference data that come with the simulator."""

from __future__ import annotations

import csv
from pathlib import Path

#: Node lists and published results; README.md in it says where they come from.
FOLDER = Path(__file__).parent / "reference"


def table(name: str) -> list[dict[str, str]]:
    """Rows of a table of tab-separated values, such as ``mfnetsim/synthetic.tsv``."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))
