"""Ways in which the components exchange data, by name; a new one is a file and a line here."""

from thalweg.bench.ensemble.transports.transport import Transport
from thalweg.homes import Homes

TRANSPORTS: Homes[Transport] = Homes(
    "bench ensemble",
    "transport",
    {
        "redirect": "thalweg.bench.ensemble.transports.redirect:Redirect",
        "staging": "thalweg.bench.ensemble.transports.staging:Staging",
        "pnetcdf-tmpfs": "thalweg.bench.ensemble.transports.pnetcdf_tmpfs:PnetCDFTmpfs",
        "pnetcdf-disk": "thalweg.bench.ensemble.transports.pnetcdf_disk:PnetCDFDisk",
    },
)

__all__ = ["TRANSPORTS", "Transport"]
