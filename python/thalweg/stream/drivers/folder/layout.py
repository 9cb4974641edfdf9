"""Which file of a topic is where in the folder."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from pathlib import Path

from thalweg.errors import CorruptDataError, ExistsError, NotFoundError, ServerGoneError
from thalweg.stream.definition import PartitionDefinition, TopicDefinition
from thalweg.stream.drivers.folder.lock_file import lock
from thalweg.stream.drivers.folder.partition_file import make_partition_file
from thalweg.stream.drivers.folder.refusal import refusals

_FORMAT = 1


class TopicFolder:
    """The folder of a topic within that of all."""

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        self._root = root
        self._folder = root / name

    def exists(self) -> bool:
        """Tell whether the topic is there.

        Raises
        ------
        ServerGoneError
            When the folder of all topics is not.
        """
        with refusals("open_topic"):
            try:
                os.stat(self._folder / "topic.json")
                return True
            except FileNotFoundError:
                if not self._root.is_dir():
                    raise ServerGoneError(f"files: the folder {self._root} is not there any more") from None
                return False

    def definition(self) -> TopicDefinition:
        """Return what the topic is.

        Raises
        ------
        NotFoundError
            When it is not there.
        CorruptDataError
            When its file cannot be understood.
        """
        if not self.exists():
            raise NotFoundError(f"topic {self.name!r} is not there in {self._root}; create it first")
        path = self._folder / "topic.json"
        with refusals("open_topic"):
            text = path.read_text(encoding="utf-8")
        try:
            stored = json.loads(text)
            if stored["format"] != _FORMAT:
                raise ValueError(f"format {stored['format']!r}; known is {_FORMAT}")
            return TopicDefinition(
                tuple(PartitionDefinition("files", part["durability"]) for part in stored["partitions"]),
                stored["validator"],
                stored["selector"],
                stored["serializer"],
            )
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptDataError(f"open_topic: {path}: {error!r}") from None

    def create(self, definition: TopicDefinition) -> None:
        """Make the topic, whole or not at all.

        Raises
        ------
        ExistsError
            When it is there.
        """
        with refusals(f"create_topic {self.name!r}"):
            fresh = self._root / f".new-{secrets.token_hex(8)}"
            fresh.mkdir()
            try:
                for number in range(len(definition.partitions)):
                    make_partition_file(fresh / f"{number}.events")
                (fresh / "topic.json").write_text(_encode(definition), encoding="utf-8")
                try:
                    os.rename(fresh, self._folder)
                except OSError:
                    if self.exists():
                        raise ExistsError(f"create_topic: topic {self.name!r} is there already; open it") from None
                    raise
            except BaseException:
                shutil.rmtree(fresh, ignore_errors=True)
                raise

    def add_partition(self, partition: PartitionDefinition, timeout_s: float) -> int:
        """Add a partition and return its number."""
        self.definition()
        with refusals(f"add_partition {self.name!r}"):
            fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                lock(fd, timeout_s, f"add_partition {self.name!r}")
                old = self.definition()
                number = len(old.partitions)
                self.events(number).unlink(missing_ok=True)  # left by one that was killed before it named it
                make_partition_file(self.events(number))
                new = TopicDefinition((*old.partitions, partition), old.validator, old.selector, old.serializer)
                fresh = self._folder / "topic.json.new"
                fresh.write_text(_encode(new), encoding="utf-8")
                os.replace(fresh, self._folder / "topic.json")
                return number
            finally:
                os.close(fd)

    def delete(self) -> None:
        """Remove the topic."""
        self.definition()
        with refusals(f"delete_topic {self.name!r}"):
            gone = self._root / f".deleted-{secrets.token_hex(8)}"
            os.rename(self._folder, gone)
            shutil.rmtree(gone, ignore_errors=True)

    def events(self, partition: int) -> Path:
        """Return the path of a partition's file."""
        return self._folder / f"{partition}.events"

    def consumer_folder(self, name: str) -> Path:
        """Return the folder of a named consumer."""
        return self._folder / "consumers" / name


def topics_in(root: Path) -> list[str]:
    """Return the names of the topics in a folder, sorted."""
    with refusals("list_topics"):
        try:
            names = os.listdir(root)
        except FileNotFoundError:
            raise ServerGoneError(f"files: the folder {root} is not there any more") from None
    return sorted(name for name in names if not name.startswith(".") and TopicFolder(root, name).exists())


def _encode(definition: TopicDefinition) -> str:
    return json.dumps(
        {
            "format": _FORMAT,
            "validator": definition.validator,
            "selector": definition.selector,
            "serializer": definition.serializer,
            "partitions": [{"durability": partition.durability} for partition in definition.partitions],
        },
        indent=1,
    )
