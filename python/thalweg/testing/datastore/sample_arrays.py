"""One array for each thing that can be special about an array."""

from __future__ import annotations

from typing import Any

import numpy as np

RECORD = np.dtype([("id", "<i4"), ("velocity", "<f8", (3,)), ("inner", [("flag", "?"), ("name", "S5")])])


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    """Return one array for each thing that can be special about an array, by name."""
    rng = np.random.default_rng(7)
    base = rng.standard_normal((6, 8, 10))
    record = np.zeros(5, RECORD)
    record["id"], record["velocity"], record["inner"]["name"] = np.arange(5), rng.random((5, 3)), b"abc"
    return {
        "float64": base,
        "float32": base.astype(np.float32),
        "float16": base.astype(np.float16),
        "int8": rng.integers(-128, 127, 100, np.int8),
        "uint64": rng.integers(0, 2**63, 100, np.uint64),
        "bool": base > 0,
        "complex128": base + 1j * base,
        "complex64": (base + 1j * base).astype(np.complex64),
        "big_endian": base.astype(">f8"),
        "big_endian_int": np.arange(10, dtype=">i2"),
        "datetime": np.arange(5).astype("M8[ns]"),
        "timedelta": np.arange(5).astype("m8[s]"),
        "bytes_text": np.array([b"ab", b"cde"]),
        "unicode_text": np.array(["für", "日本"]),
        "structured": record,
        "void": np.zeros(3, "V5"),
        "strided": base[::2, 1::3, ::-1],
        "transposed": base.T,
        "fortran": np.asfortranarray(base),
        "broadcast": np.broadcast_to(np.arange(4.0), (3, 4)),
        "zero_dimensional": np.array(3.25),
        "zero_dimensional_big_endian": np.array(7, ">i4"),
        "empty": np.zeros((0,)),
        "empty_inside": np.zeros((3, 0, 2), np.int32),
        "one_element": np.ones((1, 1, 1)),
        "eight_dimensions": rng.random((1, 2, 1, 2, 1, 2, 1, 2)),
        "large": rng.random(300_000),
    }
