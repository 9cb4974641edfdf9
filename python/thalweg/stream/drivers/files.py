"""The driver `files`: topics as files in a folder that all see, without a server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from thalweg.errors import InvalidError
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
    Begin,
    Capabilities,
    Ordering,
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
        with refusals("connect"):
            self._root.mkdir(parents=True, exist_ok=True)

    def create(self, topic: str, definition: TopicDefinition) -> None:
        self._topic(topic).create(definition)

    def delete(self, topic: str) -> None:
        self._topic(topic).delete()

    def topics(self) -> list[str]:
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

    def producer(
        self,
        topic: str,
        partitions: int,
        *,
        name: str,
        batch_size: int,
        max_num_batches: int,
        ordering: Ordering,
        timeout_s: float,
    ) -> TransportProducer:
        return FolderProducer(
            self._topic(topic),
            name=name,
            batch_size=batch_size,
            max_num_batches=max_num_batches,
            timeout_s=timeout_s,
        )

    def consumer(
        self,
        topic: str,
        *,
        name: str,
        partitions: Sequence[int] | None,
        begin: Begin,
        batch_size: int,
        max_num_batches: int,
        whole: bool,
        timeout_s: float,
    ) -> TransportConsumer:
        return FolderConsumer(self._topic(topic), name, partitions, begin, batch_size, whole, timeout_s)

    def close(self) -> None:
        pass

    def _topic(self, name: str) -> TopicFolder:
        return TopicFolder(self._root, name)


def _next(path: Path) -> int:
    """Return the number that the next event in a partition file gets."""
    file = PartitionFile(path)
    try:
        return file.end()[1]
    finally:
        file.close()
