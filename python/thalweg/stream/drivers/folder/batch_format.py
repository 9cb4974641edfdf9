"""The form of a batch in a partition file; see docs/formats/stream-files.md."""

from __future__ import annotations

import dataclasses
import struct
import zlib
from collections.abc import Sequence

import numpy as np

from thalweg.stream.packed import Buffer, Ends

HEAD_BYTES = 32
HEADER_BYTES = 64
TRAILER_BYTES = 16
PIECE_BYTES = 64 << 10
FORMAT = 1
_HEAD = struct.Struct("<8sII8sQ")
_HEADER = struct.Struct("<4sIQQQIIQQ8x")
_TRAILER = struct.Struct("<Q4sI")
MAGIC = b"EVTS"


def padding(size_bytes: int) -> int:
    """How many zeros follow, up to the next multiple of 8."""
    return -size_bytes % 8


def encode_head(salt: bytes, time_ns: int) -> bytes:
    """Return the head of a partition file."""
    rest = salt + struct.pack("<Q", time_ns)
    return _HEAD.pack(b"THWG-EVT", FORMAT, zlib.crc32(rest), salt, time_ns)


def decode_head(head: bytes) -> bytes | None:
    """Return the salt of a partition file, None when it is none of this format."""
    if len(head) < HEAD_BYTES:
        return None
    magic, version, crc, salt, _ = _HEAD.unpack(head[:HEAD_BYTES])
    good = magic == b"THWG-EVT" and version == FORMAT and crc == zlib.crc32(head[16:HEAD_BYTES])
    return bytes(salt) if good else None


@dataclasses.dataclass(frozen=True)
class Header:
    """What stands before a batch: where it is, its events, and how long its parts are."""

    place: int
    first: int
    time_ns: int
    count: int
    table_crc: int
    metadata_bytes: int
    data_bytes: int

    @property
    def pieces(self) -> int:
        """How many pieces of the data have a checksum each."""
        return -(-self.data_bytes // PIECE_BYTES)

    @property
    def table_bytes(self) -> int:
        """Bytes between header and data: ends, metadata, checksums, padding."""
        bare = 16 * self.count + self.metadata_bytes + padding(self.metadata_bytes) + 4 * self.pieces
        return bare + padding(bare)

    @property
    def data_place(self) -> int:
        """Where in the file the data begin."""
        return self.place + HEADER_BYTES + self.table_bytes

    @property
    def end(self) -> int:
        """Where in the file the batch ends."""
        return self.data_place + self.data_bytes + padding(self.data_bytes) + TRAILER_BYTES

    def encode(self, salt: bytes) -> bytes:
        """Return its bytes."""
        fields = (self.place, self.first, self.time_ns, self.count, self.table_crc)
        packed = _HEADER.pack(MAGIC, 0, *fields, self.metadata_bytes, self.data_bytes)
        return MAGIC + struct.pack("<I", zlib.crc32(packed[8:], zlib.crc32(salt))) + packed[8:]

    @classmethod
    def decode(cls, encoded: bytes, salt: bytes, place: int) -> Header | None:
        """Return the header that stands at a place, None when there is no good one."""
        if len(encoded) < HEADER_BYTES or encoded[:4] != MAGIC:
            return None
        _, crc, *fields = _HEADER.unpack(encoded[:HEADER_BYTES])
        if crc != zlib.crc32(encoded[8:HEADER_BYTES], zlib.crc32(salt)) or fields[0] != place or not fields[3]:
            return None
        return cls(*fields)


def encode_trailer(place: int, salt: bytes) -> bytes:
    """Return what ends the batch that begins at a place."""
    return _TRAILER.pack(place, b"ENDS", zlib.crc32(struct.pack("<Q4s", place, b"ENDS"), zlib.crc32(salt)))


def decode_trailer(encoded: bytes, salt: bytes) -> int | None:
    """Return where the batch begins that these bytes end, None when they end none."""
    if len(encoded) < TRAILER_BYTES:
        return None
    place, magic, _ = _TRAILER.unpack(encoded)
    return int(place) if magic == b"ENDS" and encode_trailer(place, salt) == encoded else None


def encode_batch(
    salt: bytes,
    place: int,
    first: int,
    time_ns: int,
    metadata: Sequence[Buffer],
    metadata_ends: Ends,
    data: Sequence[Buffer],
    data_ends: Ends,
) -> tuple[Header, list[Buffer]]:
    """Return a batch's header and its parts as they are written, without copying the data.

    Parameters
    ----------
    metadata, data : sequence of buffers
        What is laid one behind the other; where each event's end is in `metadata_ends` and `data_ends`.
    """
    metadata_bytes, data_bytes = int(metadata_ends[-1]), int(data_ends[-1])
    table: list[Buffer] = [
        np.ascontiguousarray(metadata_ends, "<u8").data.cast("B"),
        np.ascontiguousarray(data_ends, "<u8").data.cast("B"),
        *metadata,
        bytes(padding(metadata_bytes)),
        b"".join(struct.pack("<I", crc) for crc in _checks(data)),
    ]
    header = Header(place, first, time_ns, len(metadata_ends), 0, metadata_bytes, data_bytes)
    table.append(bytes(header.table_bytes - sum(len(part) for part in table)))
    whole = b"".join(table)
    header = dataclasses.replace(header, table_crc=zlib.crc32(whole, zlib.crc32(salt)))
    ending = bytes(padding(data_bytes)) + encode_trailer(place, salt)
    return header, [header.encode(salt) + whole, *data, ending]


def decode_table(header: Header, table: memoryview, salt: bytes) -> tuple[Ends, Ends, memoryview, Ends] | None:
    """Return metadata ends, data ends, metadata and checksums of the data; None when they are damaged."""
    count, metadata_bytes = header.count, header.metadata_bytes
    if len(table) != header.table_bytes or zlib.crc32(table, zlib.crc32(salt)) != header.table_crc:
        return None
    ends = np.frombuffer(table, "<u8", 2 * count)
    begin = 16 * count
    checks = np.frombuffer(table, "<u4", header.pieces, begin + metadata_bytes + padding(metadata_bytes))
    return ends[:count], ends[count:], table[begin : begin + metadata_bytes], checks.astype(np.uint64)


def first_bad_piece(data: memoryview, checks: Ends) -> int | None:
    """Return the number of the first piece of data that is not as its checksum says."""
    for number, check in enumerate(checks.tolist()):
        if zlib.crc32(data[number * PIECE_BYTES : (number + 1) * PIECE_BYTES]) != check:
            return number
    return None


def _checks(data: Sequence[Buffer]) -> list[int]:
    """Return the CRC of each piece of what these buffers are together."""
    found: list[int] = []
    crc, room = 0, PIECE_BYTES
    for part in data:
        view, at = memoryview(part), 0
        while at < len(view):
            step = min(room, len(view) - at)
            crc = zlib.crc32(view[at : at + step], crc)
            at, room = at + step, room - step
            if not room:
                found.append(crc)
                crc, room = 0, PIECE_BYTES
    if room < PIECE_BYTES:
        found.append(crc)
    return found
