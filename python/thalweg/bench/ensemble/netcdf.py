"""What a CDF-2 file consists of, and how long PnetCDF makes it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

#: The header, every fixed-size variable and the record section begin at a multiple of it; the program asks for that
#: with the hint ``nc_var_align_size``.
ALIGNMENT_BYTES = 512
#: Bytes of the magic number and the count of records; of a list's tag and length, which stand for no list too.
_START_BYTES, _LIST_BYTES = 8, 8
_WORD_BYTES, _OFFSET_BYTES = 4, 8
_SIZES_BYTES = {"f4": 4, "f8": 8}


class Along(Enum):
    """Which axis of the process grid shares a dimension."""

    NONE = "-"
    X = "x"
    Y = "y"


@dataclass(frozen=True)
class Dimension:
    """One dimension of a file.

    Attributes
    ----------
    length : int
        Cells; 0 for the record dimension, of which every file has one record.
    along : Along
        The process grid's axis that shares it.
    lead : int
        Cells before those of the first process: a halo, or the western or southern boundary. The first process writes
        these too, the last one what is left behind its own; nobody reads either.
    cells, processes : int
        Cells of each process, and how many share it.
    """

    name: str
    length: int
    along: Along = Along.NONE
    lead: int = 0
    cells: int = 0
    processes: int = 1

    @property
    def asked(self) -> int:
        """Cells of all processes together, in one record: what is read of it."""
        return (self.length or 1) if self.along is Along.NONE else self.cells * self.processes


class Role(Enum):
    """What becomes of a variable."""

    #: Written whole by the first process of an ensemble, read by nobody.
    AXIS = "axis"
    #: Written by every process, read by nobody.
    FIELD = "field"
    #: Written by every process, and read by both sides' counterparts.
    ASKED = "asked"


@dataclass(frozen=True)
class Variable:
    """One variable of a file, dimensions slowest first; ``f4`` or ``f8``."""

    name: str
    role: Role
    dimensions: tuple[Dimension, ...]
    dtype: str = "f4"

    @property
    def is_record(self) -> bool:
        """Whether its first dimension is the record dimension."""
        return self.dimensions[0].length == 0

    @property
    def size_bytes(self) -> int:
        """Bytes of all cells, with one record."""
        return math.prod(dimension.length or 1 for dimension in self.dimensions) * _SIZES_BYTES[self.dtype]

    @property
    def asked_bytes(self) -> int:
        """Bytes of what the processes that read it get together: all but leading and trailing cells."""
        if self.role is not Role.ASKED:
            return 0
        return math.prod(dimension.asked for dimension in self.dimensions) * _SIZES_BYTES[self.dtype]


@dataclass(frozen=True)
class File:
    """A file of one ensemble and cycle.

    Attributes
    ----------
    kind : str
        ``hist`` or ``anal``, as in its name.
    """

    kind: str
    dimensions: tuple[Dimension, ...]
    variables: tuple[Variable, ...]

    @property
    def written_bytes(self) -> int:
        """Bytes of all variables."""
        return sum(variable.size_bytes for variable in self.variables)

    @property
    def asked_bytes(self) -> int:
        """Bytes of what is read of it, by all processes together."""
        return sum(variable.asked_bytes for variable in self.variables)

    @property
    def header_bytes(self) -> int:
        """Bytes of the header, which has no attributes.

        References
        ----------
        The NetCDF classic format specification, variant with 64-bit offsets.
        """
        size = _START_BYTES + 3 * _LIST_BYTES
        for dimension in self.dimensions:
            size += _name_bytes(dimension.name) + _WORD_BYTES
        for variable in self.variables:
            shape = _WORD_BYTES * (1 + len(variable.dimensions))
            size += _name_bytes(variable.name) + shape + _LIST_BYTES + 2 * _WORD_BYTES + _OFFSET_BYTES
        return size

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole file with one record."""
        end = _aligned(self.header_bytes)
        for variable in self.variables:
            if not variable.is_record:
                end = _aligned(end) + variable.size_bytes
        records = [variable.size_bytes for variable in self.variables if variable.is_record]
        return _aligned(end) + sum(records) if records else end


def _name_bytes(name: str) -> int:
    return _WORD_BYTES + -(-len(name) // _WORD_BYTES) * _WORD_BYTES


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
