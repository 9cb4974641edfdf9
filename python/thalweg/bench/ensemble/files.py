"""The two files of a cycle: history with 89 variables, analysis with 143."""

from __future__ import annotations

from thalweg.bench.ensemble.axes import axes, grid
from thalweg.bench.ensemble.domain import HALO, Domain
from thalweg.bench.ensemble.netcdf import Dimension, File, Role, Variable

_TIME = Dimension("time", 0)
_BOUNDS = Dimension("nv", 2)


def history(domain: Domain) -> File:
    """Return the history file: no halo, axes (time, z, y, x), 20 of its variables read.

    Its variables: 51 axes; 20 in three dimensions, of which 4 have a level more; 16 in two; time and its bounds.
    """
    g = grid(domain, 0)
    variables = axes(domain, g)
    for stagger, y, x in (("", g.y, g.x), ("_uyz", g.y, g.xh), ("_xvz", g.yh, g.x), ("_uvz", g.yh, g.xh)):
        role = Role.FIELD if stagger else Role.ASKED
        variables.append(Variable(f"height{stagger}", role, (g.z, y, x)))
    for stagger, y, x in (("xyw", g.y, g.x), ("uyw", g.y, g.xh), ("xvw", g.yh, g.x), ("uvw", g.yh, g.xh)):
        variables.append(Variable(f"height_{stagger}", Role.FIELD, (g.zh, y, x)))
    for name in ("lon", "lat"):
        for stagger, y, x in (("", g.y, g.x), ("_uy", g.y, g.xh), ("_xv", g.yh, g.x), ("_uv", g.yh, g.xh)):
            variables.append(Variable(name + stagger, Role.FIELD, (y, x)))
    variables += [Variable("topo", Role.ASKED, (g.y, g.x)), Variable("lsmask", Role.FIELD, (g.y, g.x))]
    variables += [Variable("time", Role.AXIS, (_TIME,), "f8"), Variable("time_bnds", Role.AXIS, (_TIME, _BOUNDS), "f8")]
    for name in ("U", "V", "W", "T", "PRES", "QV", "QC", "QR", "QI", "QS", "QG", "RH"):
        variables.append(Variable(name, Role.ASKED, (_TIME, g.z, g.y, g.x)))
    for name in ("SFC_PRES", "PREC", "U10", "V10", "T2", "Q2"):
        variables.append(Variable(name, Role.ASKED, (_TIME, g.y, g.x)))
    return _file("hist", variables)


def analysis(domain: Domain) -> File:
    """Return the analysis file: with halo, axes (y, x, z), 11 of its variables read, overwritten and read again.

    Its variables: 51 axes; 15 in three dimensions, of which 2 have a level more; 2 of the land, 3 urban and 1 of the
    ocean; 71 in two. Names of those that nobody reads are made up: only their sizes matter.
    """
    g = grid(domain, HALO)
    variables = axes(domain, g)
    for name in ("DENS", "MOMX", "MOMY", "MOMZ", "RHOT", "QV", "QC", "QR", "QI", "QS", "QG"):
        variables.append(Variable(name, Role.ASKED, (g.y, g.x, g.z)))
    unread = {"CENTRE_01": g.z, "CENTRE_02": g.z, "FACE_01": g.zh, "FACE_02": g.zh}
    unread |= {"LAND_TEMP": g.lz, "LAND_WATER": g.lz, "URBAN_TRL": g.uz, "URBAN_TBL": g.uz, "URBAN_TGL": g.uz}
    unread |= {"OCEAN_TEMP": g.oz}
    variables += [Variable(name, Role.FIELD, (g.y, g.x, levels)) for name, levels in unread.items()]
    variables += [Variable(f"SURFACE_FIELD_{number:02d}", Role.FIELD, (g.y, g.x)) for number in range(1, 72)]
    return _file("anal", variables)


def _file(kind: str, variables: list[Variable]) -> File:
    dimensions = dict.fromkeys(dimension for variable in variables for dimension in variable.dimensions)
    return File(kind, tuple(dimensions), tuple(variables))
