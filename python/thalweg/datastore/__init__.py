"""Staging values by key, over one of several backends."""

from __future__ import annotations

from thalweg.datastore.backend import MISSING, Backend, Capabilities
from thalweg.datastore.registry import BACKENDS, DEFAULT, register_backend
from thalweg.datastore.store import DataStore

__all__ = ["BACKENDS", "DEFAULT", "MISSING", "Backend", "Capabilities", "DataStore", "register_backend"]
