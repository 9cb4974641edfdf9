"""``thalweg serve``: staging and streams for many processes and, over TCP, for many nodes."""

from __future__ import annotations

import contextlib
import functools
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import socketpair
from typing import Annotated, Literal

import typer

from thalweg.cli.outcome import command
from thalweg.cli.output import JsonOption


@command
def serve(
    socket: Annotated[
        str | None,
        typer.Option("--socket", metavar="NAME", help="Unix socket; @NAME is abstract. Default: a fresh one."),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help="Serve other nodes too; port 0 takes a free one."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token", envvar="THALWEG_TOKEN", help="Shared secret; needed with --listen. Best given as $THALWEG_TOKEN."
        ),
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option("--memory-limit", metavar="SIZE", help="Most memory for staged data, such as 4GiB.")
    ] = None,
    when_full: Annotated[
        Literal["block", "fail", "drop_oldest"], typer.Option("--when-full", help="What a put meets at the limit.")
    ] = "block",
    spill: Annotated[
        str | None,
        typer.Option(
            "--spill", metavar="DIR", help="Folder of a file that the oldest data move to when memory is short."
        ),
    ] = None,
    spill_limit: Annotated[
        str | None, typer.Option("--spill-limit", metavar="SIZE", help="Most bytes in that file; needed with --spill.")
    ] = None,
    replica_limit: Annotated[
        str | None,
        typer.Option(
            "--replica-limit", metavar="SIZE", help="Most memory for copies in other layouts. Default: half of all."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", help="Most threads that reorganise, reduce and move data. Default: 1 to 4."
        ),
    ] = None,
    streams: Annotated[
        str | None,
        typer.Option(
            "--streams",
            metavar="DIR",
            help="Folder where topics rest in files. Without: in memory, gone with the server.",
        ),
    ] = None,
    stream_memory: Annotated[
        str | None, typer.Option("--stream-memory", metavar="SIZE", help="Most memory for events that rest in it.")
    ] = None,
    file_memory: Annotated[
        str | None, typer.Option("--file-memory", metavar="SIZE", help="Most memory for redirected files.")
    ] = None,
    json_path: JsonOption = None,
) -> None:
    """Serve staged data and streams until interrupted; prints the address that clients need.

    Examples:

        thalweg serve

        thalweg serve --socket @climate --memory-limit 4GiB --when-full drop_oldest

        THALWEG_TOKEN=a-long-secret thalweg serve --listen 0.0.0.0:7000

        thalweg serve --memory-limit 4GiB --spill /scratch --spill-limit 64GB --workers 2

        thalweg serve --socket @run --streams /scratch/topics
    """
    from thalweg.cli.output import Output
    from thalweg.errors import ConfigError
    from thalweg.sizes import parse_size

    if listen is not None and not _is_place(listen):
        raise ConfigError(
            f"serve: --listen {listen!r}; accepted is HOST:PORT, such as 0.0.0.0:7000, with port 0 for a free one"
        )
    if listen and not token:
        raise ConfigError("serve: --listen needs a shared secret; set THALWEG_TOKEN or give --token")
    if (spill is None) != (spill_limit is None):
        raise ConfigError("serve: --spill and --spill-limit belong together; give both, or neither")
    if spill is not None and not Path(spill).is_dir():
        raise ConfigError(f"serve: --spill {spill}: there is no such folder")
    sizes = (memory_limit, replica_limit, spill_limit, stream_memory, file_memory)
    limit, replicas, spilled, held, files = (parse_size(text) if text else None for text in sizes)
    if streams is not None:
        streams = str(Path(streams).absolute())
    if socket is not None and not socket.startswith("@"):
        socket = str(Path(socket).absolute())  # clients are started in other folders
    output = Output(json_path)
    from thalweg.staging import Server

    with Server(
        memory_limit_bytes=limit,
        when_full=when_full,
        socket=socket,
        listen=listen,
        token=token,
        replica_limit_bytes=replicas,
        spill=(spill, spilled) if spill is not None and spilled is not None else None,
        workers=workers,
        stream_folder=streams,
        stream_memory_bytes=held,
        file_memory_bytes=files,
    ) as server:
        row = {
            "address": server.address,
            "tcp_address": server.tcp_address,
            "memory_limit_bytes": limit,
            "when_full": when_full,
            "spill_folder": spill,
            "spill_limit_bytes": spilled,
            "replica_limit_bytes": replicas,
            "workers": workers,
            "stream_folder": streams,
            "stream_memory_bytes": held,
            "file_memory_bytes": files,
            "stream_notes": server.stream_notes(),
        }
        with _interruption() as interrupted:
            output.write([row], limits={}, one_line=True)
            if json_path != "-":
                tcp = f" and {server.tcp_address}" if server.tcp_address else ""
                output.line(f"serving at {server.address}{tcp}")
                output.line(f"clients here:        export THALWEG_ADDRESS='{server.address}'")
                if server.tcp_address:
                    output.line(f"on other nodes:      export THALWEG_ADDRESS='{server.tcp_address}' THALWEG_TOKEN=…")
                for note in server.stream_notes():
                    output.line(f"note: {note}")
                output.line("Ctrl-C ends the service")
            interrupted()
    if json_path != "-":
        output.line("stopped")


def _is_place(listen: str) -> bool:
    """Whether it names a host and a port."""
    found = re.fullmatch(r".+:(\d{1,5})", listen)
    return found is not None and int(found[1]) < 1 << 16


@contextlib.contextmanager
def _interruption() -> Iterator[Callable[[], object]]:
    """A function that blocks until SIGINT or SIGTERM, in whatever thread, also when it came before the call."""
    near, far = socketpair()
    with near, far:
        far.setblocking(False)
        earlier = {end: signal.signal(end, lambda number, frame: None) for end in (signal.SIGINT, signal.SIGTERM)}
        signal.set_wakeup_fd(far.fileno())
        try:
            yield functools.partial(near.recv, 1)
        finally:
            signal.set_wakeup_fd(-1)
            for end, handler in earlier.items():
                signal.signal(end, handler)
