"""The staging service: named, versioned n-d arrays shared between processes, without a copy on one node."""

from thalweg.staging.client import Client, Entry, Loan
from thalweg.staging.server import Server
from thalweg.staging.subscription import Subscription
from thalweg.staging.variable import Pattern, Reduction, RegionLoan, Variable, VersionState

__all__ = [
    "Client",
    "Entry",
    "Loan",
    "Pattern",
    "Reduction",
    "RegionLoan",
    "Server",
    "Subscription",
    "Variable",
    "VersionState",
]
