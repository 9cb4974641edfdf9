"""The binary layout of a trace file, as written in docs/formats/result-folder.md."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from thalweg.errors import CorruptDataError

MAGIC = b"THWTRC1\n"
HEADER_BYTES = 4096
CHUNK_BYTES = 1 << 20
EVENT = struct.Struct("<BBHHHqqqq")
STRING = struct.Struct("<BBHHH")
TAG_END, TAG_EVENT, TAG_STRING, TAG_PAD = 0, 1, 2, 255
KINDS = ("init", "compute", "train", "write", "read", "poll", "wait", "delete", "collective", "infer")
KIND_CODE = {kind: code for code, kind in enumerate(KINDS)}
LONGEST_STRING = 4096


class TraceHeader(NamedTuple):
    """Who wrote a trace file; ``run_start_ns`` is CLOCK_MONOTONIC."""

    component: str
    rank: int
    pid: int
    run_start_ns: int


class TraceEvent(NamedTuple):
    """One recorded event; times are CLOCK_MONOTONIC nanoseconds."""

    kind: str
    name: str
    key: str
    iteration: int
    size_bytes: int
    start_ns: int
    end_ns: int
    backend: str


def padded(size: int) -> int:
    """Round a record's size up to the 8 bytes that records are aligned to."""
    return (size + 7) & ~7


def encode_header(header: TraceHeader) -> bytes:
    """Return the first `HEADER_BYTES` of a trace file."""
    text = json.dumps(header._asdict()).encode()
    return (MAGIC + struct.pack("<I", len(text)) + text).ljust(HEADER_BYTES, b"\0")


def read_trace(path: Path) -> tuple[TraceHeader, Iterator[TraceEvent]]:
    """Read a trace file, whole or cut off by a kill.

    Raises
    ------
    CorruptDataError
        When the file does not start as a trace file does.
    """
    data = path.read_bytes()
    if len(data) < HEADER_BYTES or data[:8] != MAGIC:
        raise CorruptDataError(f"results: {path} is not a trace file: it starts with {data[:8]!r}, expected {MAGIC!r}")
    (length,) = struct.unpack_from("<I", data, 8)
    try:
        header = TraceHeader(**json.loads(data[12 : 12 + length]))
    except (ValueError, TypeError) as error:
        raise CorruptDataError(f"results: the header of {path} cannot be read: {error}") from error
    return header, _events(data)


def _events(data: bytes) -> Iterator[TraceEvent]:
    strings = {0: ""}
    position, end = HEADER_BYTES, len(data)
    while position + STRING.size <= end:
        tag = data[position]
        if tag == TAG_PAD:
            position += CHUNK_BYTES - (position - HEADER_BYTES) % CHUNK_BYTES
        elif tag == TAG_STRING:
            _, _, number, length, _ = STRING.unpack_from(data, position)
            start = position + STRING.size
            strings[number] = data[start : start + length].decode("utf-8", "replace")
            position += padded(STRING.size + length)
        elif tag == TAG_EVENT and position + EVENT.size <= end:
            _, kind, name, length, backend, iteration, size, start_ns, end_ns = EVENT.unpack_from(data, position)
            start = position + EVENT.size
            key = data[start : start + length].decode("utf-8", "replace")
            yield TraceEvent(
                KINDS[kind], strings[name], key, iteration, size, start_ns, end_ns, strings.get(backend, "")
            )
            position += padded(EVENT.size + length)
        else:
            return
