"""A key-value store of files in shard directories, which `node-local` and `filesystem` share."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import mmap
import os
import secrets
import time
import urllib.parse
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from thalweg.datastore.backend import MISSING, Backend, How, enough
from thalweg.datastore.directory_watch import DirectoryWatch, dependable
from thalweg.datastore.staged_value import Array, Header, Packed, destination, unpack, writable_bytes
from thalweg.errors import AccessError, CorruptDataError, ExistsError, FullError, ServerGoneError, ThalwegError

_LONGEST_NAME = 180
_FIRST_READ = 4096
_MAP_FROM_BYTES = 64 * 1024
_IDLE_WATCHES = 4
_FULL = "clean staged data that is not needed any more, or give `path` more room"
_OPEN_FILES = "close DataStores and files that are not needed any more, or raise the limit (ulimit -n)"
_NO_ANSWER = "the file system does not answer; see whether it is still mounted on this node"
_NO_ACCESS = "run as the user who started the server, on a file system that can be written"
_ADVICE: dict[int, tuple[type[ThalwegError], str]] = {
    errno.ENOSPC: (FullError, _FULL),
    errno.EDQUOT: (FullError, _FULL),
    errno.EFBIG: (FullError, "stage smaller values, or raise the limit on the size of a file (ulimit -f)"),
    errno.EMFILE: (FullError, _OPEN_FILES),
    errno.ENFILE: (FullError, "the whole node has too many open files; end programs, or raise fs.file-max"),
    errno.ENOMEM: (FullError, "the node's memory is used up; clean staged data or end programs"),
    errno.EEXIST: (ExistsError, "another program made a file of that name; try again"),
    errno.EACCES: (AccessError, _NO_ACCESS),
    errno.EPERM: (AccessError, _NO_ACCESS),
    errno.EROFS: (AccessError, _NO_ACCESS),
    errno.EIO: (ServerGoneError, _NO_ANSWER),
    errno.ESTALE: (ServerGoneError, _NO_ANSWER),
    errno.ENOTCONN: (ServerGoneError, _NO_ANSWER),
}


def file_name(key: str) -> str:
    """Return the name of the file that holds `key`; see docs/formats/staged-value.md."""
    quoted = urllib.parse.quote(key, safe="")
    if quoted.startswith("."):
        quoted = "%2E" + quoted[1:]
    if len(quoted) > _LONGEST_NAME:
        quoted = quoted[:100] + "~" + hashlib.sha256(key.encode()).hexdigest()
    return quoted + ".v"


class ShardedFiles(Backend):
    """Files in ``<namespace>/<CRC-32 of the key modulo shards>/``, written under another name, then renamed.

    `reads_by_mapping` says how large values are read: as a mapped view (no copy; right for memory file systems), or
    into fresh memory (right for network file systems, on which a mapping can fail later).
    """

    reads_by_mapping: ClassVar[bool]

    def __init__(self, server_info: Mapping[str, Any]) -> None:
        self._root = Path(server_info["path"])
        self._shards = [self._root / f"{number:x}" for number in range(int(server_info["shards"]))]
        if not self._root.is_dir():
            raise ServerGoneError(f"{self.name}: {self._root} is not there; start the server first (ServerManager)")
        self._use_inotify = dependable(self._root)
        self._idle: deque[DirectoryWatch] = deque()

    def write(self, key: str, value: Packed, *, checksum: bool) -> None:
        header, payload = value.encode(checksum)
        target = self._path(key)
        temporary = target.parent / _temporary_name()
        with self._errors(f"stage_write: key {key!r}: {payload.nbytes} bytes"):
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                try:
                    _write_all(fd, header.encode(), payload)
                finally:
                    os.close(fd)
                os.replace(temporary, target)
            except BaseException:
                with contextlib.suppress(OSError):
                    temporary.unlink()
                raise

    def read(self, key: str, *, into: Array | None, allow_pickle: bool) -> Any:
        source = f"stage_read: key {key!r}"
        with self._errors(source):
            try:
                fd = os.open(self._path(key), os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                self._check()
                return MISSING
        try:
            size = os.fstat(fd).st_size
            start = os.pread(fd, _FIRST_READ, 0)
            length = Header.length(start, source)
            if length > len(start):
                start = os.pread(fd, length, 0)
            header = Header.decode(start, source)
            if size - length != header.size_bytes:
                raise CorruptDataError(f"{source}: has {size - length} bytes, its header says {header.size_bytes}")
            if into is not None:
                target = destination(into, header, source)
                if target is not None and header.checksum is None:
                    _read_all(fd, target, length, source)
                    return into
            payload = self._payload(fd, start, length, size, source)
        finally:
            os.close(fd)
        value = unpack(header, payload, source=source, allow_pickle=allow_pickle)
        if into is not None:
            np.copyto(into, value, casting="no")
            return into
        return value

    def exists(self, key: str) -> bool:
        if os.path.exists(self._path(key)):
            return True
        self._check()
        return False

    def delete(self, key: str) -> bool:
        with self._errors(f"clean_staged_data: key {key!r}"):
            try:
                os.unlink(self._path(key))
            except FileNotFoundError:
                self._check()
                return False
            return True

    def wait(self, keys: Sequence[str], timeout_s: float, how: How) -> list[str]:
        until = time.monotonic() + timeout_s
        paths = {key: self._path(key) for key in keys}
        ready = [key for key, path in paths.items() if os.path.exists(path)]
        if enough(ready, keys, how) or timeout_s <= 0:
            return ready
        with self._watching() as watch:
            try:
                watch.watch(path.parent for path in paths.values())
            except FileNotFoundError:
                raise self._gone() from None
            while True:
                ready = [key for key, path in paths.items() if os.path.exists(path)]
                if enough(ready, keys, how) or time.monotonic() >= until:
                    return ready
                if not ready:
                    self._check()
                watch.sleep(until)

    @contextlib.contextmanager
    def _watching(self) -> Iterator[DirectoryWatch]:
        """A watch for this thread alone, kept for the next wait."""
        try:
            watch = self._idle.pop()
        except IndexError:
            watch = DirectoryWatch(use_inotify=self._use_inotify)
        try:
            yield watch
        finally:
            if len(self._idle) < _IDLE_WATCHES:
                self._idle.append(watch)
            else:
                watch.close()

    def close(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _path(self, key: str) -> Path:
        return self._shards[zlib.crc32(key.encode()) % len(self._shards)] / file_name(key)

    def _payload(self, fd: int, start: bytes, length: int, size: int, source: str) -> memoryview:
        if size <= len(start):
            return memoryview(start)[length:size]
        if self.reads_by_mapping and size >= _MAP_FROM_BYTES:
            flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
            return memoryview(mmap.mmap(fd, size, flags=flags, prot=mmap.PROT_READ))[length:]
        payload = writable_bytes(size - length)
        _read_all(fd, payload, length, source)
        return payload

    @contextlib.contextmanager
    def _errors(self, operation: str) -> Iterator[None]:
        """Turn what the operating system refuses into errors that say what to do."""
        try:
            yield
        except FileNotFoundError:
            raise self._gone() from None
        except OSError as error:
            kind, advice = _ADVICE.get(error.errno or 0, (None, ""))
            if kind is None:
                raise
            raise kind(f"{operation}: {self._root}: {error.strerror}; {advice}") from error

    def _check(self) -> None:
        if not self._root.is_dir():
            raise self._gone()

    def _gone(self) -> ServerGoneError:
        return ServerGoneError(f"{self.name}: {self._root} is not there any more; its server was stopped")


def _temporary_name() -> str:
    """Return a name that no other process uses, on any node that shares the file system."""
    return f".{_token}-{next(_count)}"


def _renew_token() -> None:
    """A process id would not do: containers and nodes have the same ones. A forked child needs a token of its own."""
    global _token, _count
    _token, _count = secrets.token_hex(8), itertools.count()


_token: str
_count: itertools.count[int]
_renew_token()
os.register_at_fork(after_in_child=_renew_token)


def _write_all(fd: int, header: bytes, payload: memoryview) -> None:
    parts = [memoryview(header), payload] if payload.nbytes else [memoryview(header)]
    while parts:
        written = os.writev(fd, parts)
        while parts and written >= parts[0].nbytes:
            written -= parts.pop(0).nbytes
        if parts:
            parts[0] = parts[0][written:]


def _read_all(fd: int, target: memoryview, offset: int, source: str) -> None:
    done = 0
    while done < target.nbytes:
        count = os.preadv(fd, [target[done:]], offset + done)
        if count == 0:
            raise CorruptDataError(f"{source}: is cut off after {done} of {target.nbytes} bytes")
        done += count
