"""The staging service: named, versioned n-d arrays shared between processes, without a copy on one node."""

from thalweg.staging.client import Client, Entry, Loan
from thalweg.staging.server import Server

__all__ = ["Client", "Entry", "Loan", "Server"]
