"""Tables I and II of the paper, row by row from the model, with the paper's own accounting."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.bench.ensemble.domain import Preset, shared_by
from thalweg.bench.ensemble.traffic import traffic

#: Processes of one component in one ensemble, for which the tables hold; both components have as many.
PROCESSES = 128
_MIB, _MIB_OF_GIB = 1 << 20, 1 << 10

#: What the paper prints: processes of both components → GiB a cycle by DTF and by files.
PRINTED: dict[str, dict[int, tuple[float, float]]] = {
    "ofp": {
        256: (0.06, 0.15),
        512: (0.12, 0.30),
        1024: (0.24, 0.60),
        2048: (0.48, 1.20),
        4096: (0.97, 2.41),
        8192: (1.94, 4.81),
        16384: (3.88, 9.63),
        32768: (7.75, 19.25),
        65536: (15.50, 38.50),
        131072: (31.00, 77.00),
    },
    "olympics": {
        256: (1.50, 3.65),
        512: (3.00, 7.31),
        1024: (6.00, 14.62),
        2048: (12.01, 29.23),
        4096: (24.02, 58.47),
        8192: (48.03, 116.94),
        16384: (96.06, 233.88),
        32768: (192.13, 467.75),
        65536: (384.25, 935.50),
        131072: (768.50, 1871.00),
    },
}
NAMES = {"ofp": "I", "olympics": "II"}


@dataclass(frozen=True)
class Account:
    """MiB of a cycle of one ensemble of 128 + 128 processes, as the paper counts them.

    Each is cut to whole MiB, and of history one variable in three dimensions is not counted as read.
    """

    history: int
    analysis: int
    history_read: int
    analysis_read: int

    @property
    def moved(self) -> int:
        """What DTF moves: LETKF's reads of both files, and SCALE's of the analysis."""
        return self.history_read + 2 * self.analysis_read

    @property
    def files(self) -> int:
        """What goes through files: both written, then history read, and analysis read, overwritten and read."""
        return self.history + self.analysis + self.history_read + 3 * self.analysis_read


@dataclass(frozen=True)
class TableRow:
    """One row: GiB a cycle by the model, with the paper's accounting, and as the paper prints them."""

    preset: str
    processes: int
    moved_gib: float
    file_gib: float
    printed_moved_gib: float
    printed_file_gib: float

    @property
    def agrees(self) -> bool:
        """Whether both are what the paper prints, to its two decimals."""
        return _same(self.moved_gib, self.printed_moved_gib) and _same(self.file_gib, self.printed_file_gib)


def account(preset: Preset) -> Account:
    """Count a cycle as the paper does.

    Examples
    --------
    >>> from thalweg.bench.ensemble.domain import PRESETS
    >>> account(PRESETS["olympics"]).moved, account(PRESETS["olympics"]).files
    (1537, 3742)
    """
    bytes_of = traffic(shared_by(preset, PROCESSES))
    uncounted = preset.kmax * preset.jmax * preset.imax * PROCESSES * 4
    return Account(
        bytes_of.history // _MIB,
        bytes_of.analysis // _MIB,
        (bytes_of.history_read - uncounted) // _MIB,
        bytes_of.analysis_read // _MIB,
    )


def table(preset: Preset) -> list[TableRow]:
    """Return every row of the preset's table; each ensemble adds as much as the first."""
    counted = account(preset)
    rows = []
    for processes, (moved, files) in PRINTED[preset.name].items():
        ensembles = processes // (2 * PROCESSES)
        gib = ensembles / _MIB_OF_GIB
        rows.append(TableRow(preset.name, processes, counted.moved * gib, counted.files * gib, moved, files))
    return rows


def _same(gib: float, printed: float) -> bool:
    """To the two decimals printed; half a hundredth may have been rounded either way."""
    return abs(gib - printed) <= 0.005 + 1e-9
