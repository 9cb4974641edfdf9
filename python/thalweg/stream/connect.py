"""From an address to the technology that is behind it; a technology's file is imported when it is first used."""

from __future__ import annotations

import importlib
import os

from thalweg.errors import ConfigError, InvalidError
from thalweg.stream.definition import check_name
from thalweg.stream.driver import Driver
from thalweg.stream.drivers.transport import StreamTransport
from thalweg.stream.future import check_timeout

_NATIVE = "thalweg.stream.drivers.native:NativeTransport"
_HOME: dict[str, str] = {
    "unix": _NATIVE,
    "tcp": _NATIVE,
    "files": "thalweg.stream.drivers.files:FilesTransport",
    "kafka": "thalweg.stream.drivers.kafka:KafkaTransport",
}


def register_driver(scheme: str, home: str) -> None:
    """Make a driver of one's own known; `home` is ``"package.module:Class"``, a `StreamTransport`.

    Raises
    ------
    ConfigError
        When the scheme is taken or `home` is not of that form.
    """
    if scheme in _HOME:
        raise ConfigError(f"register_driver: {scheme!r} is taken; choose another scheme than {', '.join(_HOME)}")
    if home.count(":") != 1:
        raise ConfigError(f"register_driver: home {home!r} is not of the form 'package.module:Class'")
    _HOME[scheme] = home


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
        return Driver(_class(_NATIVE)(None, name=name, token=token, timeout_s=timeout_s), "a server in this process")
    scheme, colon, rest = address.partition(":") if isinstance(address, str) else ("", "", "")
    if not colon or not rest or scheme not in _HOME:
        raise InvalidError(f"connect: address {address!r}; accepted are {', '.join(f'{known}:...' for known in _HOME)}")
    transport = _class(_HOME[scheme])
    given = address if _HOME[scheme] == _NATIVE else rest
    return Driver(transport(given, name=name, token=token, timeout_s=timeout_s), address)


def _class(home: str) -> type[StreamTransport]:
    module, _, attribute = home.partition(":")
    transport: type[StreamTransport] = getattr(importlib.import_module(module), attribute)
    return transport
