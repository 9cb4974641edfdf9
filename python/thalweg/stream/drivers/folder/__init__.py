"""Streams as plain files in a folder that all see; see docs/formats/stream-files.md."""
