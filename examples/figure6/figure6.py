"""The paper's figure 6 in Python: ``figure6.py put`` puts a row-major array, ``… get`` gets it column-major."""

from __future__ import annotations

import sys

import numpy as np

from thalweg.staging import Client

EXTENTS = (4, 6)


def cells() -> np.ndarray:
    """What is put: 100 i + j in cell (i, j)."""
    return np.fromfunction(lambda i, j: 100.0 * i + j, EXTENTS)


def put(client: Client, version: int) -> None:
    """Put it, row-major."""
    client.define("figure6", EXTENTS, "float64").put(cells(), version=version)


def get(client: Client, version: int) -> int:
    """Get it column-major; the number of cells that are wrong."""
    u = client.open("figure6").get(version=version, layout="left")
    assert u.flags.f_contiguous
    return int(np.count_nonzero(u != cells()))


def main() -> int:
    """Do what the command line says."""
    if len(sys.argv) < 2 or sys.argv[1] not in ("put", "get"):
        print(f"usage: {sys.argv[0]} put|get [VERSION]", file=sys.stderr)
        return 2
    version = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with Client() as client:  # to THALWEG_ADDRESS
        if sys.argv[1] == "put":
            put(client, version)
            return 0
        wrong = get(client, version)
    print(f"{wrong} of {cells().size} cells are wrong")
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
