"""Conformance suites that a third party runs over its own implementations."""

from __future__ import annotations

from thalweg.testing.datastore import DataStoreTests
from thalweg.testing.stream import StreamTests

__all__ = ["DataStoreTests", "StreamTests"]
