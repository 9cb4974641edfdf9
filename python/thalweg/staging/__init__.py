"""The staging service: named, versioned n-d arrays shared between processes, without a copy on one node."""

from thalweg.staging.client import Client, Entry
from thalweg.staging.loan import Loan
from thalweg.staging.server import Server
from thalweg.staging.subscription import Subscription
from thalweg.staging.variable import Pattern, Reduction, Variable, VersionState

__all__ = [
    "Client",
    "Entry",
    "Loan",
    "Pattern",
    "Reduction",
    "Server",
    "Subscription",
    "Variable",
    "VersionState",
]
