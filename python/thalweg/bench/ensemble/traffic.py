"""How many bytes a cycle moves: only what is asked for, or everything that goes through files."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.bench.ensemble.domain import Domain
from thalweg.bench.ensemble.files import analysis, history


@dataclass(frozen=True)
class Traffic:
    """Bytes of one cycle of one ensemble, cells of variables only.

    Attributes
    ----------
    history, analysis : int
        What SCALE writes into each file.
    history_read, analysis_read : int
        What is asked for of each. LETKF reads both, writes as much analysis as it has read, and SCALE reads that.
    """

    history: int
    analysis: int
    history_read: int
    analysis_read: int

    @property
    def moved_bytes(self) -> int:
        """What one component asks the other for."""
        return self.history_read + 2 * self.analysis_read

    @property
    def file_bytes(self) -> int:
        """What is written to files and read from them."""
        return self.history + self.analysis + self.history_read + 3 * self.analysis_read


def traffic(domain: Domain) -> Traffic:
    """Return the bytes that a cycle of one ensemble moves.

    Examples
    --------
    >>> from thalweg.bench.ensemble.domain import PRESETS, shared_by
    >>> bytes_of = traffic(shared_by(PRESETS["ofp"], 128))
    >>> round(bytes_of.moved_bytes / 2**20, 2), round(bytes_of.file_bytes / 2**20, 2)
    (65.84, 159.14)
    """
    past, future = history(domain), analysis(domain)
    return Traffic(past.written_bytes, future.written_bytes, past.asked_bytes, future.asked_bytes)
