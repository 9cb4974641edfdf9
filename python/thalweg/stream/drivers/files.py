"""The driver `files`: topics as files in a folder that all see, without a server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from thalweg.errors import InvalidError, NotFoundError
from thalweg.stream.definition import (
    PartitionDefinition,
    PartitionDescription,
    TopicDefinition,
    TopicDescription,
)
from thalweg.stream.drivers.folder.consumer import FolderConsumer
from thalweg.stream.drivers.folder.layout import TopicFolder, topics_in
from thalweg.stream.drivers.folder.partition_file import PartitionFile
from thalweg.stream.drivers.folder.producer import FolderProducer
from thalweg.stream.drivers.folder.refusal import refusals
from thalweg.stream.drivers.transport import (
    Capabilities,
    ConsumerOptions,
    ProducerOptions,
    StreamTransport,
    TransportConsumer,
    TransportProducer,
)


class FilesTransport(StreamTransport):
    """Works wherever processes share a file system on which ``flock`` holds between them."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        rests=("files",),
        durabilities=("none", "always"),
        retentions=(),
        survives_restart=True,
        notifies=False,
    )

    def __init__(self, address: str | None, *, name: str, token: str | None, timeout_s: float) -> None:
        if address is None or not address.startswith("/"):
            raise InvalidError(f"connect: files:{address}; expected an absolute path, such as files:/scratch/events")
        if token is not None:
            raise InvalidError("connect: a token with files:...; the rights of the folder say who may do what")
        self._root = Path(address)
        self._timeout_s = timeout_s
        self._seen = self._is_there("connect")

    def create(self, topic: str, definition: TopicDefinition) -> None:
        if not self._seen:
            with refusals(f"create_topic {topic!r}"):
                self._root.mkdir(parents=True, exist_ok=True)
        self._topic(topic).create(definition)

    def delete(self, topic: str) -> None:
        self._topic(topic).delete()

    def topics(self) -> list[str]:
        self._check_root("list_topics")
        return topics_in(self._root)

    def describe(self, topic: str) -> TopicDescription:
        folder = self._topic(topic)
        definition = folder.definition()
        partitions = tuple(
            PartitionDescription(number, part.rest, part.durability, part.retention, 0, _next(folder.events(number)))
            for number, part in enumerate(definition.partitions)
        )
        return TopicDescription(topic, definition.validator, definition.selector, definition.serializer, partitions)

    def add_partition(self, topic: str, definition: PartitionDefinition) -> int:
        return self._topic(topic).add_partition(definition, self._timeout_s)

    def producer(self, topic: str, partitions: int, options: ProducerOptions) -> TransportProducer:
        return FolderProducer(self._topic(topic), options)

    def consumer(self, topic: str, options: ConsumerOptions) -> TransportConsumer:
        return FolderConsumer(self._topic(topic), options)

    def close(self) -> None:
        pass

    def _topic(self, name: str) -> TopicFolder:
        self._check_root(f"topic {name!r}")
        return TopicFolder(self._root, name)

    def _check_root(self, operation: str) -> None:
        """Raise NotFoundError where the folder was never there; one that went is a server that is gone."""
        if not self._seen and not self._is_there(operation):
            raise NotFoundError(
                f"{operation}: files: there is no such folder as {self._root}; create_topic makes it, "
                "or give that of topics that are there"
            )
        self._seen = True

    def _is_there(self, operation: str) -> bool:
        with refusals(operation):
            try:
                os.stat(f"{self._root}/")  # the stroke: a file in its place is refused
            except FileNotFoundError:
                return False
        return True


def _next(path: Path) -> int:
    """Return the number that the next event in a partition file gets."""
    file = PartitionFile(path)
    try:
        return file.end()[1]
    finally:
        file.close()
