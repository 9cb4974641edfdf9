"""The server: staging and streams for many processes, and over TCP for many nodes."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Literal

from thalweg import _native
from thalweg.errors import InvalidError


class Server:
    """Hosts staging and streams in this process, on threads of its own.

    Parameters
    ----------
    memory_limit_bytes : int, optional
        The most memory that arrays may take, at least 1 MiB. Default: half of what is available.
    when_full : {"block", "fail", "drop_oldest"}
        What a put does when the limit is reached: wait within its deadline, raise `FullError`, or drop the oldest
        versions that nobody is reading.
    socket : str, optional
        Name of the Unix socket: a path, or ``@name`` in Linux's abstract space. Default: a fresh abstract name, which
        leaves nothing in the file system.
    listen : str, optional
        ``"host:port"`` to serve other nodes over TCP as well; port 0 takes a free one.
    token : str, optional
        Secret of at least 8 characters that clients over TCP must give; needed with `listen`. It is not encrypted on
        the way: use it within a trusted network.
    replica_limit_bytes : int, optional
        The most memory for replicas in other layouts, within `memory_limit_bytes`; they give way to what is put.
        Default: half of it.
    spill : (path, int), optional
        A folder, and how many bytes of a file there may be used: when memory is short the oldest data move into it and
        stay readable. The file has no name and is gone with the server. Default: there is none.
    workers : int, optional
        The most threads that reorganise, reduce and move data. Default: one for each core, at most 4.
    stream_folder : str or path, optional
        Where topics are kept that rest in files, with all that is known of them; they are there again when a server is
        started with this folder. Default: there is none, and topics rest in memory.
    stream_memory_bytes : int, optional
        The most memory for events that rest in memory. Default: a quarter of what is available.
    file_memory_bytes : int, optional
        The most memory for redirected files, beyond which none is made. Default: three quarters of what is available.

    Raises
    ------
    InvalidError
        For settings outside what is accepted.
    ThalwegError
        When a name or port is taken.

    Examples
    --------
    >>> from thalweg.staging import Client, Server
    >>> with Server(memory_limit_bytes=64 << 20) as server, Client(server.address) as client:
    ...     client.put("answer", b"42")
    ...     bytes(client.get("answer"))
    b'42'
    """

    def __init__(
        self,
        *,
        memory_limit_bytes: int | None = None,
        when_full: Literal["block", "fail", "drop_oldest"] = "block",
        socket: str | None = None,
        listen: str | None = None,
        token: str | None = None,
        replica_limit_bytes: int | None = None,
        spill: tuple[str | Path, int] | None = None,
        workers: int | None = None,
        stream_folder: str | Path | None = None,
        stream_memory_bytes: int | None = None,
        file_memory_bytes: int | None = None,
    ) -> None:
        numbers = {
            "memory_limit_bytes": memory_limit_bytes,
            "replica_limit_bytes": replica_limit_bytes,
            "spill": None if spill is None else spill[1],
            "workers": workers,
            "stream_memory_bytes": stream_memory_bytes,
            "file_memory_bytes": file_memory_bytes,
        }
        for name, number in numbers.items():
            if number is not None and not 0 <= number < 1 << 63:
                raise InvalidError(f"server: {name} = {number}; accepted are numbers of at least 0")
        self._native = _native.Server(
            memory_limit_bytes=memory_limit_bytes,
            when_full=when_full,
            socket=socket,
            listen=listen,
            token=token,
            replica_limit_bytes=replica_limit_bytes,
            spill=None if spill is None else (str(spill[0]), spill[1]),
            workers=workers,
            stream_folder=None if stream_folder is None else str(stream_folder),
            stream_memory_bytes=stream_memory_bytes,
            file_memory_bytes=file_memory_bytes,
        )

    @property
    def address(self) -> str:
        """The address for clients on this node, ``"unix:NAME"``."""
        return self._native.address

    @property
    def tcp_address(self) -> str | None:
        """The address for clients on other nodes, ``"tcp:HOST:PORT"``; None without `listen`."""
        return self._native.tcp_address

    def stream_notes(self) -> list[str]:
        """Return what was damaged in `stream_folder`, put aside or made again when it was opened, a sentence each."""
        return self._native.stream_notes()

    def stats(self) -> dict[str, int]:
        """Counters of the service: clients, entries, bytes held, granted, retired and taken, puts, deletes, waits."""
        return self._native.stats()

    def close(self) -> list[str]:
        """Stop serving. Clients get `ServerGoneError`; their views stay valid. Blocks until the threads have ended.

        Returns
        -------
        list of str
            Redirected files that could not be written behind memory, each with its reason.
        """
        return self._native.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
