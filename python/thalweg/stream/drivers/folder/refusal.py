"""What the operating system refuses, as errors that say what to do."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from thalweg.errors import AccessError, FullError, InvalidError, NotFoundError, ServerGoneError, ThalwegError

_FULL = "give the folder more room, or delete topics that are not needed any more"
_NO_ACCESS = "run as a user who may write there"
_NO_ANSWER = "see whether the file system is still mounted on this node"
_ADVICE: dict[int, tuple[type[ThalwegError], str]] = {
    errno.ENOSPC: (FullError, _FULL),
    errno.EDQUOT: (FullError, _FULL),
    errno.EFBIG: (FullError, "use more partitions, or raise the limit on the size of a file (ulimit -f)"),
    errno.EMFILE: (FullError, "close producers and consumers, or raise the limit (ulimit -n)"),
    errno.ENOENT: (NotFoundError, "see list_topics for those that are there"),
    errno.EACCES: (AccessError, _NO_ACCESS),
    errno.EPERM: (AccessError, _NO_ACCESS),
    errno.EROFS: (AccessError, _NO_ACCESS),
    errno.ENOTDIR: (InvalidError, "give a folder"),
    errno.EEXIST: (InvalidError, "give a folder"),
    errno.EIO: (ServerGoneError, _NO_ANSWER),
    errno.ESTALE: (ServerGoneError, _NO_ANSWER),
}


@contextlib.contextmanager
def refusals(operation: str) -> Iterator[None]:
    """Turn errors of the operating system into ours."""
    try:
        yield
    except OSError as error:
        if isinstance(error, ThalwegError):
            raise
        kind, advice = _ADVICE.get(error.errno or 0, (ServerGoneError, _NO_ANSWER))
        where = f" {error.filename}:" if error.filename else ""
        raise kind(f"{operation}:{where} {error.strerror}; {advice}") from error
