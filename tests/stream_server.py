"""A `thalweg serve` process with a folder for streams, which tests kill and start again at the same addresses."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path
from types import TracebackType


class StreamServer:
    """Serves topics in `folder` over a Unix socket and TCP; killed at the end."""

    def __init__(self, folder: Path) -> None:
        self.token = "for the tests of streams"
        self._folder = folder
        self._socket = f"@streams-{secrets.token_hex(6)}"
        self._listen = "127.0.0.1:0"
        self._addresses: dict[str, str] = {}
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Return when it answers."""
        command = ["serve", "--socket", self._socket, "--listen", self._listen, "--token", self.token]
        command += ["--streams", str(self._folder), "--memory-limit", "16MiB"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "thalweg.cli", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert "serving at" in said, said + self._process.stdout.read()
        for address in said.split()[2::2]:
            self._addresses[address.partition(":")[0]] = address
        self._listen = self.address("tcp").removeprefix("tcp:")

    def address(self, link: str) -> str:
        """Return where it is reached over `link`, unix or tcp."""
        return self._addresses[link]

    def kill(self) -> None:
        """Kill it, and return when it has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def __enter__(self) -> StreamServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
