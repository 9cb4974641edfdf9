"""A real Kafka broker: one process that is its own controller, on loopback or a named host."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from pydantic import Field

from thalweg.errors import ConfigError, MissingLibraryError, ServerGoneError
from thalweg.servers import kafka_jars
from thalweg.servers.child_process import start
from thalweg.servers.directories import Namespace
from thalweg.servers.kafka_probe import cluster_of
from thalweg.servers.log_tail import last_lines
from thalweg.servers.server import Server, ServerConfig

_ATTEMPTS = 3
_STOP_S = 10.0
_ASK_S = 2.0
#: As Kafka's own start script has it; no file of the machine's statistics is left when it is killed.
_JAVA = ("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:-UsePerfData", "-Djava.awt.headless=true")
_LOG = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=error",)


class KafkaConfig(ServerConfig):
    """Configuration of `kafka`."""

    host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(0, ge=0, le=65535)
    path: str | None = Field(None, min_length=1)
    heap_bytes: int = Field(1 << 30, ge=256 << 20)
    jars: str | None = Field(None, min_length=1)
    settings: dict[str, str] = Field(default_factory=dict)
    start_timeout_s: float = Field(60.0, gt=0)


class KafkaServer(Server):
    """Starts one broker; its log is in a folder of its own under `path`, which goes with it."""

    Config = KafkaConfig

    def __init__(self, name: str, config: KafkaConfig) -> None:
        self._name, self._config = name, config
        self._process: subprocess.Popen[bytes] | None = None
        self._namespace: Namespace | None = None
        self._log_fd = -1

    def start(self) -> dict[str, Any]:
        jars = self._jars()
        base = Path(self._config.path or tempfile.gettempdir())
        try:
            self._namespace = Namespace(base, self._name, 0)
        except OSError as error:
            raise ConfigError(
                f"ServerManager: path: {base} cannot be written: {error.strerror}; give a folder that can be written"
            ) from error
        self._log_fd = os.memfd_create("thalweg-kafka-log", os.MFD_CLOEXEC)
        try:
            port = self._start(self._namespace.root, jars)
        except BaseException:
            self.stop()
            raise
        host = self._config.host
        return {
            "backend": "kafka",
            "address": f"kafka:{host}:{port}",  # as `thalweg.stream.connect` takes it
            "host": host,
            "port": port,
            "namespace": self._namespace.root.name,
        }

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._namespace is not None:
            self._namespace.remove()
            self._namespace = None
        if self._log_fd >= 0:
            os.close(self._log_fd)
            self._log_fd = -1

    def _jars(self) -> Path:
        if self._config.jars is None:
            return kafka_jars.jars()
        folder = Path(self._config.jars)
        if not any(folder.glob("kafka_2*.jar")):
            raise ConfigError(f"ServerManager: jars: {folder} has no kafka_2*.jar; give the folder libs of a Kafka")
        if shutil.which("java") is None:
            raise MissingLibraryError(f"ServerManager: kafka: {kafka_jars.missing()}")
        return folder

    def _start(self, root: Path, jars: Path) -> int:
        config = self._config
        until = time.monotonic() + config.start_timeout_s
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        for _ in range(_ATTEMPTS):
            port, controller = _free_ports(config.host, config.port)
            described = root / "server.properties"
            described.write_text(_properties(config, root / "log", port, controller))
            java = ["java", *_JAVA, *_LOG, f"-Djava.io.tmpdir={root}", "-cp", f"{jars}/*"]
            self._format(
                [*java, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(described)], until
            )
            heap = [f"-Xms{config.heap_bytes}", f"-Xmx{config.heap_bytes}"]
            self._launch([*java[:1], *heap, *java[1:], "kafka.Kafka", str(described)])
            if self._answers(port, cluster, until):
                return port
            shutil.rmtree(root / "log", ignore_errors=True)
        raise ServerGoneError(f"ServerManager: kafka: {_ATTEMPTS} free ports in a row were taken before it was up")

    def _format(self, command: list[str], until: float) -> None:
        self._launch(command)
        assert self._process is not None
        try:
            status = self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._fail(f"its storage was not ready within {self._config.start_timeout_s} s")
        if status:
            self._fail(f"its storage cannot be made (status {status})")

    def _launch(self, command: list[str]) -> None:
        os.ftruncate(self._log_fd, 0)
        os.lseek(self._log_fd, 0, os.SEEK_SET)
        self._process = start(command, stdin=subprocess.DEVNULL, stdout=self._log_fd, stderr=subprocess.STDOUT)

    def _answers(self, port: int, cluster: str, until: float) -> bool:
        """Wait until this very broker is ready; False when its port was taken by another program."""
        assert self._process is not None
        while True:
            if self._process.poll() is not None:
                if "Address already in use" not in self._last_words():
                    self._fail(f"it ended with status {self._process.returncode}")
                if self._config.port:
                    raise ConfigError(
                        f"ServerManager: port: {port} on {self._config.host} is taken by another program; "
                        "give another one, or 0 for a free one"
                    )
                return False
            if cluster_of(self._config.host, port, _ASK_S) == cluster:
                return True
            if time.monotonic() > until:
                self._fail(f"no answer within {self._config.start_timeout_s} s")
            time.sleep(0.05)

    def _fail(self, problem: str) -> None:
        raise ServerGoneError(f"ServerManager: kafka: {problem}: {self._last_words()}")

    def _last_words(self) -> str:
        return last_lines(self._log_fd, without="\tat ")  # a trace of Java's calls would hide what it is about


def _properties(config: KafkaConfig, log: Path, port: int, controller: int) -> str:
    """The broker's settings: one node, no waiting for replicas or group members that cannot come."""
    broker, own = f"PLAINTEXT://{config.host}:{port}", f"CONTROLLER://{config.host}:{controller}"
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{config.host}:{controller}",
        "listeners": f"{broker},{own}",
        "advertised.listeners": broker,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": str(log),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        **config.settings,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _free_ports(host: str, wanted: int) -> tuple[int, int]:
    """The broker's port, `wanted` unless that is 0, and one for its controller."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as first, socket.socket(family, kind, protocol) as second:
            first.bind(address)
            second.bind(address)
            return wanted or int(first.getsockname()[1]), int(second.getsockname()[1])
    except OSError as error:
        raise ConfigError(f"ServerManager: host: {host!r} is not an address of this machine: {error}") from error
