"""The jars of a Kafka broker: fetched once with Maven, kept in the user's cache."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from thalweg.errors import MissingLibraryError, WaitTimeoutError
from thalweg.servers.child_process import start

VERSION = "4.3.1"
_FETCH_S = 600.0
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>thalweg</groupId><artifactId>broker</artifactId><version>1</version>
<dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
</dependencies></project>
"""


def missing() -> str | None:
    """Say what to install for a broker to run here; None when everything is there, or can be fetched."""
    if shutil.which("java") is None:
        return "there is no program 'java'; install Java 17 or newer (Debian: apt-get install default-jre-headless)"
    if not _home().is_dir() and shutil.which("mvn") is None:
        return (
            f"the jars of Kafka {VERSION} are not in {_home()} and there is no program 'mvn' to fetch them; "
            "install Maven (Debian: apt-get install maven), or set jars to the folder libs of a Kafka that is installed"
        )
    return None


def jars() -> Path:
    """Return the folder of the jars; they are fetched when they are not there yet.

    Raises
    ------
    MissingLibraryError
        Without Java or Maven, or when Maven cannot fetch; the message has its last words.
    WaitTimeoutError
        When that takes longer than ten minutes.
    """
    problem = missing()
    if problem is not None:
        raise MissingLibraryError(f"ServerManager: kafka: {problem}")
    home = _home()
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        until = time.monotonic() + _FETCH_S
        with _alone(home.with_name(f".{home.name}.lock"), until):
            if not home.is_dir():  # another process may have been quicker
                _fetch(home, until)
    return home


def _home() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "thalweg" / f"kafka-{VERSION}"


@contextlib.contextmanager
def _alone(lock: Path, until: float) -> Iterator[None]:
    """Hold a lock that the kernel gives back when its holder dies."""
    with open(lock, "w") as held:
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise WaitTimeoutError(
                        f"ServerManager: kafka: another process fetches the jars for longer than {_FETCH_S:.0f} s; "
                        f"it holds {lock}"
                    ) from None
                time.sleep(0.1)
        yield


def _fetch(home: Path, until: float) -> None:
    """Fetch into a folder beside `home`, which appears by a rename; what a killed fetch left is removed first."""
    unfinished = home.with_name(f".{home.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    try:
        (unfinished / "pom.xml").write_text(_POM)
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime"]
        with start(
            [*command, "-DoutputDirectory=libs"],
            cwd=unfinished,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as maven:
            try:
                said, _ = maven.communicate(timeout=until - time.monotonic())
            except subprocess.TimeoutExpired:
                maven.kill()
                raise WaitTimeoutError(
                    f"ServerManager: kafka: Maven did not fetch the jars within {_FETCH_S:.0f} s"
                ) from None
            except BaseException:
                maven.kill()
                raise
        if maven.returncode:
            lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
            raise MissingLibraryError(
                f"ServerManager: kafka: Maven cannot fetch Kafka {VERSION}: {' | '.join(lines[:3]) or 'no word'}; "
                "check its network settings, or set jars to the folder libs of a Kafka that is installed"
            )
        (unfinished / "libs").rename(home)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
