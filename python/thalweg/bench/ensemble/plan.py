"""The plan of one job: what the program reads, as text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from thalweg.bench.ensemble.domain import Domain
from thalweg.bench.ensemble.files import analysis, history
from thalweg.bench.ensemble.netcdf import File

#: No wait of the program for the other component is longer.
TIMEOUT_S = 60.0
_CELL_BYTES = {"f4": 4, "f8": 8}


@dataclass(frozen=True)
class Plan:
    """One job of two components.

    Attributes
    ----------
    domain : Domain
        Of each ensemble, in each component.
    cycles : int
        Cycles, the first of which is not counted.
    joint : bool
        Whether both components are in one MPI world. Else each has its own, and `meet` says whether they wait for
        each other, by a file, where those of a joint world do.
    folder : Path
        The files'; it has a folder for each cycle.
    scratch : Path
        Where times, and what components meet by, go.
    address : str
        The server's, for the staging service.
    """

    domain: Domain
    ensembles: int
    cycles: int
    joint: bool
    folder: Path
    scratch: Path
    meet: bool = False
    address: str = "-"

    @property
    def result(self) -> Path:
        """Where times go, with the component's name as another ending."""
        return self.scratch / "seconds"

    def write(self) -> Path:
        """Write the plan, and make the folders of its cycles; return the plan's path."""
        for cycle in range(self.cycles):
            (self.folder / str(cycle)).mkdir()
        path = self.scratch / "plan"
        path.write_text("\n".join([*self._job(), *_lines(history(self.domain)), *_lines(analysis(self.domain))]) + "\n")
        return path

    def _job(self) -> list[str]:
        return [
            f"ensembles {self.ensembles}",
            f"grid {self.domain.px} {self.domain.py}",
            f"cycles {self.cycles}",
            f"world {'joint' if self.joint else 'own'}",
            f"timeout_s {TIMEOUT_S:g}",
            f"folder {self.folder}",
            f"result {self.result}",
            f"line {self.scratch / 'line' if self.meet else '-'}",
            f"address {self.address}",
        ]


def _lines(file: File) -> list[str]:
    lines = [f"file {file.kind}"]
    for one in file.dimensions:
        lines.append(f"dim {one.name} {one.length} {one.along.value} {one.lead} {one.cells}")
    for variable in file.variables:
        over = " ".join(dimension.name for dimension in variable.dimensions)
        lines.append(f"var {variable.name} {variable.role.value} {_CELL_BYTES[variable.dtype]} {over}")
    return lines
