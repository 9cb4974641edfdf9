"""From an address to the technology that is behind it; a technology's file is imported when it is first used."""

from __future__ import annotations

import os

from thalweg.errors import InvalidError
from thalweg.homes import Homes
from thalweg.stream.definition import check_name
from thalweg.stream.driver import Driver
from thalweg.stream.drivers.transport import StreamTransport
from thalweg.stream.future import check_timeout

_NATIVE = "thalweg.stream.drivers.native:NativeTransport"
_DRIVERS: Homes[StreamTransport] = Homes(
    "register_driver",
    "scheme",
    {
        "unix": _NATIVE,
        "tcp": _NATIVE,
        "files": "thalweg.stream.drivers.files:FilesTransport",
        "kafka": "thalweg.stream.drivers.kafka:KafkaTransport",
    },
)
#: Those that several schemes have get them with the address.
_WITH_SCHEME = ("unix", "tcp")


def register_driver(scheme: str, home: str) -> None:
    """Make a driver of one's own known; `home` is ``"package.module:Class"``, a `StreamTransport`.

    Raises
    ------
    ConfigError
        When the scheme is taken or `home` is not of that form.
    """
    _DRIVERS.register(scheme, home)


def connect(
    address: str | None = None, *, name: str = "client", token: str | None = None, timeout_s: float = 10.0
) -> Driver:
    """Connect to where topics are.

    Parameters
    ----------
    address : str, optional
        ``"unix:@name"`` or ``"tcp:HOST:PORT"`` for a Thalweg server, ``"kafka:HOST:PORT"`` for a Kafka broker,
        ``"files:/folder"`` for files in a folder without a server. Without, ``$THALWEG_ADDRESS``, else a Thalweg server
        in this process.
    name : str
        Of this client, for messages and monitoring.
    token : str, optional
        The secret of the server.
    timeout_s : float
        How long an operation without a time-out of its own blocks at most.

    Raises
    ------
    InvalidError
        When the address is not one.
    MissingLibraryError
        When a library is missing; the message names the extra.
    ServerGoneError
        When nobody answers there.
    """
    if address is None:
        address = os.environ.get("THALWEG_ADDRESS") or None
    check_name(name, "connect", "client")
    check_timeout(timeout_s, "connect")
    if address is None:
        return Driver(_DRIVERS["unix"](None, name=name, token=token, timeout_s=timeout_s), "a server in this process")
    scheme, colon, rest = address.partition(":") if isinstance(address, str) else ("", "", "")
    if not colon or not rest or scheme not in _DRIVERS:
        raise InvalidError(
            f"connect: address {address!r}; accepted are {', '.join(f'{known}:...' for known in _DRIVERS)}"
        )
    given = address if scheme in _WITH_SCHEME else rest
    return Driver(_DRIVERS[scheme](given, name=name, token=token, timeout_s=timeout_s), address)
