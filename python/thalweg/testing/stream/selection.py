"""Data selectors and data brokers: which part of the data comes, and where it lands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thalweg.errors import InvalidError
from thalweg.stream import DataDescriptor, Topic
from thalweg.testing.stream.promises import PATIENCE_S, Promises, fill

SHAPE = (40, 50, 60)


def volume() -> Any:
    """Return an array that no block looks like another of."""
    return np.arange(np.prod(SHAPE), dtype="<f4").reshape(SHAPE)


class SelectionPromises(Promises):
    """What is wanted comes, and nothing else."""

    @pytest.mark.parametrize(
        ("lower", "extent"),
        [
            ((0, 0, 0), SHAPE),
            ((3, 4, 5), (6, 7, 8)),
            ((3, 0, 0), (2, 50, 60)),
            ((39, 49, 59), (1, 1, 1)),
            ((0, 10, 0), (40, 3, 60)),
            ((1, 1, 1), (0, 3, 3)),
        ],
    )
    def test_a_block_comes_as_it_lies_in_the_array(self, topic: Topic, lower: Any, extent: Any) -> None:
        def select(metadata: Any, descriptor: DataDescriptor) -> DataDescriptor:
            return descriptor.block(metadata["shape"], "<f4", lower, extent)

        with topic.producer() as producer, topic.consumer("reader", data_selector=select) as consumer:
            producer.push({"shape": SHAPE}, volume())
            data = consumer.pull().result(PATIENCE_S).data
        where = tuple(slice(low, low + length) for low, length in zip(lower, extent, strict=True))
        if 0 in extent:
            assert data is None
        else:
            assert (np.frombuffer(data, "<f4").reshape(extent) == volume()[where]).all()

    def test_ranges_are_laid_one_behind_the_other(self, topic: Topic) -> None:
        data = np.random.default_rng(4).integers(0, 255, 300_000, np.uint8).tobytes()
        ranges = [(10, 20), (65_530, 65_550), (299_999, 300_000), (0, 0), (5, 200_000), (3, 4)]
        select = lambda metadata, descriptor: descriptor.ranges(ranges)  # noqa: E731
        with topic.producer() as producer, topic.consumer("reader", data_selector=select) as consumer:
            producer.push({}, [data[:1000], data[1000:]])
            producer.push({}, data)
            for _ in range(2):
                found = bytes(consumer.pull().result(PATIENCE_S).data)
                assert found == b"".join(data[begin:end] for begin, end in ranges)

    def test_a_selector_chooses_by_the_metadata(self, topic: Topic) -> None:
        def select(metadata: Any, descriptor: DataDescriptor) -> DataDescriptor | None:
            choices = [None, descriptor.none, descriptor.all, descriptor.range(0, 1)]
            return choices[int(metadata["n"]) % 4]

        fill(topic, 40)
        found: list[Any] = []
        with topic.consumer("reader", data_selector=select) as consumer:
            while len(found) < 20:
                event = consumer.pull().result(PATIENCE_S)
                found.append(event.data)
            while len(found) < 40:
                found += consumer.pull_many(8).result(PATIENCE_S).data
        for number, data in enumerate(found):
            expected = [None, None, str(number).encode(), str(number)[:1].encode()][number % 4]
            assert (data if data is None else bytes(data)) == expected

    def test_data_land_where_the_broker_says(self, topic: Topic) -> None:
        places = [np.zeros((2, 60), "<f4"), np.zeros((2, 60), "<f4")]
        left = list(places)
        with (
            topic.producer() as producer,
            topic.consumer(
                "reader",
                data_selector=lambda metadata, descriptor: descriptor.block(SHAPE, "<f4", (1, 2, 0), (1, 2, 60)),
                data_broker=lambda metadata, descriptor: left.pop(0),
            ) as consumer,
        ):
            for factor in (1, 2):
                producer.push({}, volume() * np.float32(factor))
            for number in range(2):
                assert consumer.pull().result(PATIENCE_S).data is places[number]
        assert (places[0] == volume()[1, 2:4]).all()
        assert (places[1] == volume()[1, 2:4] * 2).all()

    def test_a_broker_without_a_selector_gets_all(self, topic: Topic) -> None:
        fill(topic, 12)
        broker = lambda metadata, descriptor: bytearray(descriptor.size_bytes)  # noqa: E731
        found: list[Any] = []
        with topic.consumer("reader", data_broker=broker) as consumer:
            while len(found) < 12:
                found += consumer.pull_many().result(PATIENCE_S).data
        assert found == [bytearray(str(number).encode()) for number in range(12)]

    @pytest.mark.parametrize("place", [b"x", bytearray(2), 3, None, np.zeros(4, np.uint8)[::2]], ids=repr)
    def test_a_wrong_place_is_refused_and_loses_nothing(self, topic: Topic, place: Any) -> None:
        fill(topic, 1)
        places = [place, bytearray(1)]
        with topic.consumer("reader", data_broker=lambda metadata, descriptor: places.pop(0)) as consumer:
            with pytest.raises(InvalidError, match="data_broker"):
                consumer.pull().result(PATIENCE_S)
            assert consumer.pull().result(PATIENCE_S).data == b"0"

    @pytest.mark.parametrize("chosen", [True, b"", DataDescriptor(77), (0, 1)], ids=repr)
    def test_a_wrong_choice_is_refused(self, topic: Topic, chosen: Any) -> None:
        fill(topic, 1)
        with (
            topic.consumer("reader", data_selector=lambda metadata, descriptor: chosen) as consumer,
            pytest.raises(InvalidError, match="data_selector"),
        ):
            consumer.pull().result(PATIENCE_S)

    def test_parts_outside_the_data_are_refused(self) -> None:
        descriptor = DataDescriptor(24)
        for begin, end in ((-1, 2), (3, 2), (0, 25)):
            with pytest.raises(InvalidError, match="bytes"):
                descriptor.range(begin, end)
        for shape, lower, extent in (((2, 2), (0, 0), (1, 1)), ((2, 3), (1, 1), (1, 3)), ((2, 3), (0,), (1,))):
            with pytest.raises(InvalidError, match="block"):
                descriptor.block(shape, "<f4", lower, extent)
