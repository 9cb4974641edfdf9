"""Starting and stopping the servers of staged data."""

from __future__ import annotations

from thalweg.servers.manager import SERVERS, ServerManager, register_server

__all__ = ["SERVERS", "ServerManager", "register_server"]
