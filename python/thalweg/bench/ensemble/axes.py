"""The 51 axes that SCALE writes into each of its files, and the dimensions that fields have."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.bench.ensemble.domain import HALO, Domain
from thalweg.bench.ensemble.netcdf import Along, Dimension, Role, Variable

#: Levels that SCALE keeps below and above the atmosphere's.
_KHALO = 2


@dataclass(frozen=True)
class Grid:
    """The dimensions of fields; a name that ends in h is of the staggered grid, half a cell off."""

    x: Dimension
    xh: Dimension
    y: Dimension
    yh: Dimension
    z: Dimension
    zh: Dimension
    oz: Dimension
    lz: Dimension
    uz: Dimension


def grid(domain: Domain, halo: int) -> Grid:
    """Return the dimensions of a file's fields.

    Without a halo the staggered axes have one cell more, the western or southern boundary; with one it is in the halo.
    """
    sizes = domain.preset
    boundary = 0 if halo else 1

    def shared(name: str, cells: int, processes: int, along: Along, lead: int) -> Dimension:
        return Dimension(name, cells * processes + lead + halo, along, lead, cells, processes)

    return Grid(
        x=shared("x", sizes.imax, domain.px, Along.X, halo),
        xh=shared("xh", sizes.imax, domain.px, Along.X, halo + boundary),
        y=shared("y", sizes.jmax, domain.py, Along.Y, halo),
        yh=shared("yh", sizes.jmax, domain.py, Along.Y, halo + boundary),
        z=Dimension("z", sizes.kmax),
        zh=Dimension("zh", sizes.kmax + 1),
        oz=Dimension("oz", 1),
        lz=Dimension("lz", sizes.lkmax),
        uz=Dimension("uz", sizes.ukmax),
    )


def axes(domain: Domain, fields: Grid) -> list[Variable]:
    """Return the 51 axes: those of fields, and centres and faces with their widths and boundary relaxation's weights.

    The horizontal grid, also under names of the whole grid (G), has the halo in either file.
    """
    sizes = domain.preset
    own = [*vars(fields).values(), *(Dimension(name, length) for name, length in _half_levels(domain).items())]
    found = [Variable(dimension.name, Role.AXIS, (dimension,)) for dimension in own]
    found += _around("Z", sizes.kmax + 2 * _KHALO)
    for suffix in ("", "G"):
        found += _around(f"X{suffix}", domain.x + 2 * HALO)
        found += _around(f"Y{suffix}", domain.y + 2 * HALO)
    for model, levels in (("O", 1), ("L", sizes.lkmax), ("U", sizes.ukmax)):
        centres, faces = Dimension(f"{model}CZ", levels), Dimension(f"{model}FZ", levels + 1)
        found += _over(centres, f"{model}CZ", f"{model}CDZ") + _over(faces, f"{model}FZ")
    return found


def _half_levels(domain: Domain) -> dict[str, int]:
    return {"ozh": 2, "lzh": domain.preset.lkmax + 1, "uzh": domain.preset.ukmax + 1}


def _around(letter: str, cells: int) -> list[Variable]:
    """Six axes: centres, their widths and weights; faces, the widths between them and weights."""
    centres, faces = Dimension(f"C{letter}", cells), Dimension(f"F{letter}", cells + 1)
    between = Dimension(f"FD{letter}", cells - 1)
    return [
        *_over(centres, f"C{letter}", f"CD{letter}", f"CBF{letter}"),
        *_over(faces, f"F{letter}", f"FBF{letter}"),
        *_over(between, f"FD{letter}"),
    ]


def _over(dimension: Dimension, *names: str) -> list[Variable]:
    return [Variable(name, Role.AXIS, (dimension,)) for name in names]
