"""Options that every command about streams has: where the topics are, and how partitions are to be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from thalweg.stream.driver import Driver

AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        "-a",
        envvar="THALWEG_ADDRESS",
        metavar="ADDRESS",
        help="unix:NAME, tcp:HOST:PORT, kafka:HOST:PORT or files:/FOLDER.",
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option("--token", envvar="THALWEG_TOKEN", help="The server's secret. Best given as $THALWEG_TOKEN."),
]
RestOption = Annotated[
    str | None,
    typer.Option("--rest", metavar="memory|files|/FOLDER", help="Where events rest; a folder: the data apart in it."),
]
DurabilityOption = Annotated[
    str | None,
    typer.Option("--durability", metavar="none|interval:TIME|always", help="When an event survives the machine."),
]
KeepAgeOption = Annotated[float | None, typer.Option("--keep-age", metavar="SECONDS", help="Events that are older go.")]
KeepSizeOption = Annotated[
    str | None, typer.Option("--keep-size", metavar="SIZE", help="The oldest events go beyond so much, such as 10GB.")
]
DropAcknowledgedOption = Annotated[
    bool, typer.Option("--drop-acknowledged", help="Events go that every named consumer has acknowledged.")
]


def connected(address: str | None, token: str | None, timeout_s: float = 10.0) -> Driver:
    """Return a connection.

    Raises
    ------
    ConfigError
        Without an address: a server in this process would end with the command.
    """
    from thalweg import stream
    from thalweg.errors import ConfigError

    if not address:
        raise ConfigError("where are the topics? give --address or set THALWEG_ADDRESS; thalweg serve starts a server")
    return stream.connect(address, name="command-line", token=token, timeout_s=timeout_s)


def rest_of(rest: str | None) -> Any:
    """Return where events rest, as the library takes it."""
    from thalweg.errors import ConfigError

    if rest is None or rest in ("memory", "files"):
        return rest
    if not rest.startswith("/"):
        raise ConfigError(f"--rest: {rest!r} is not accepted; give memory, files or /FOLDER")
    return {"data": rest}


def retention_of(age_s: float | None, size: str | None, acknowledged: bool) -> dict[str, Any] | None:
    """Return what is kept, as the library takes it; None where nothing was said."""
    from thalweg.errors import ConfigError, InvalidError
    from thalweg.sizes import parse_size

    if age_s is None and size is None and not acknowledged:
        return None
    if age_s is not None and not 0 < age_s < math.inf:
        raise ConfigError(f"--keep-age: {age_s:g} is not accepted; give seconds above 0")
    try:
        size_bytes = None if size is None else parse_size(size)
    except InvalidError as error:
        raise ConfigError(f"--keep-size: {error}") from None
    return {"age_s": age_s, "size_bytes": size_bytes, "acknowledged": acknowledged}
