"""Every error that Thalweg raises: one base class, and the built-in that a Python user expects."""

from __future__ import annotations


class ThalwegError(Exception):
    """Base of every error raised by Thalweg; the message names the operation, the value met and what is accepted."""

    def __str__(self) -> str:  # KeyError would print the repr of its argument
        return str(self.args[0]) if self.args else ""


class NotFoundError(ThalwegError, KeyError):
    """A variable, version or key that does not exist."""


class ExistsError(ThalwegError, ValueError):
    """A version that is already there; put a new version or ask for replacement."""


class InvalidError(ThalwegError, ValueError):
    """An argument outside what is accepted."""


class ShapeError(ThalwegError, ValueError):
    """Extents that do not agree."""


class DTypeError(ThalwegError, TypeError):
    """An element type that is not supported, or that does not agree."""


class FullError(ThalwegError, MemoryError):
    """The memory limit is reached and the policy is to fail, or one item is larger than the limit."""


class WaitTimeoutError(ThalwegError, TimeoutError):
    """A deadline passed; the message names whom was waited for."""


class ServerGoneError(ThalwegError, ConnectionError):
    """The server cannot be reached any more."""


class AccessError(ThalwegError, PermissionError):
    """A wrong token, or an operation that is not allowed."""


class NotSupportedError(ThalwegError, NotImplementedError):
    """Something that this technology cannot do; the message names what it can."""


class ConfigError(ThalwegError, ValueError):
    """A wrong configuration; the message gives the path of the key and the fix."""


class MissingLibraryError(ThalwegError, ImportError):
    """An optional library that is not installed; the message names the extra to install."""


class FolderInUseError(ThalwegError, BlockingIOError):
    """A result folder that another run writes into; wait for its end or give another folder."""


class ComponentFailedError(ThalwegError, RuntimeError):
    """A workflow component failed; the message has its exit status and its last lines."""


class CorruptDataError(ThalwegError, ValueError):
    """Stored bytes that are cut off, damaged, or not of the format that they should be in."""
