"""Pushing: what comes out is what went in, in order, under the numbers that the futures told."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

from thalweg.errors import DTypeError, FullError, InvalidError
from thalweg.stream import EventId, Topic
from thalweg.testing.stream.promises import PATIENCE_S, MakeTopic, Promises, numbers_of

LARGE_BYTES = 20 << 20


class PushPromises(Promises):
    """An event is there once, whole, where its future says."""

    @pytest.mark.parametrize("metadata", [{"a": [1, 2.5, None, "ü"]}, [], "text", 0, None, True, {}], ids=repr)
    @pytest.mark.parametrize("data", [None, b"", b"x", bytes(range(256)) * 40], ids=lambda d: str(d and len(d)))
    def test_an_event_comes_out_as_it_went_in(self, topic: Topic, metadata: Any, data: Any) -> None:
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            assert producer.push(metadata, data).result(PATIENCE_S) == EventId(0, 0)
            event = consumer.pull().result(PATIENCE_S)
            assert (event.metadata, bytes(event.data), event.id) == (metadata, data or b"", (0, 0))

    def test_metadata_and_data_may_be_of_no_length(self, topic: Topic) -> None:
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            producer.push(b"")
            producer.push(b"", b"")
            producer.push(b"", b"data")
            producer.flush(PATIENCE_S)
            events = [consumer.pull().result(PATIENCE_S) for _ in range(3)]
        assert [bytes(event.metadata_bytes) for event in events] == [b""] * 3
        assert [event.metadata for event in events] == [None] * 3
        assert [bytes(event.data) for event in events] == [b"", b"", b"data"]

    def test_bytes_are_taken_as_serialised(self, topic: Topic) -> None:
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            for encoded in (b'{"n": 1}', bytearray(b'{"n": 1}'), memoryview(b'{"n": 1}')):
                producer.push(encoded)
                assert consumer.pull().result(PATIENCE_S).metadata == {"n": 1}

    def test_segments_are_laid_one_behind_the_other(self, topic: Topic) -> None:
        strided = np.arange(12, dtype="<i2").reshape(3, 4).T
        segments = [b"ab", b"", bytearray(b"c"), memoryview(b"defg")[::2], np.float64(1.5), strided, np.empty(0)]
        expected = b"abcdf" + np.float64(1.5).tobytes() + strided.tobytes()
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            producer.push({}, segments)
            assert bytes(consumer.pull().result(PATIENCE_S).data) == expected

    def test_an_array_comes_back_as_an_array(self, topic: Topic) -> None:
        array = np.random.default_rng(1).normal(size=(5, 3))
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            producer.push({}, array)
            back = consumer.pull().result(PATIENCE_S).array("f8", (5, 3))
        assert (back == array).all()

    def test_large_data_come_whole(self, topic: Topic) -> None:
        data = np.random.default_rng(2).integers(0, 255, LARGE_BYTES, np.uint8)
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            for _ in range(2):
                producer.push({"n": 1}, data)
            producer.flush(PATIENCE_S)
            for number in range(2):
                event = consumer.pull().result(PATIENCE_S)
                assert event.offset == number
                assert (event.array(np.uint8) == data).all()

    def test_data_over_the_limit_are_refused(self, topic: Topic) -> None:
        limit = topic._transport.capabilities.data_bytes_max
        if limit is None:
            pytest.skip("the driver declares no limit")
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            with pytest.raises(FullError):
                producer.push({"n": 1}, np.zeros(limit + (4 << 20), np.uint8)).result(PATIENCE_S)
            producer.push({"n": 2})
            assert consumer.pull().result(PATIENCE_S).metadata == {"n": 2}

    @pytest.mark.parametrize("data", [3, "text", object(), np.array([{}], object), [b"a", "b"]], ids=repr)
    def test_data_without_bytes_are_refused(self, topic: Topic, data: Any) -> None:
        with topic.producer() as producer, pytest.raises(DTypeError):
            producer.push({}, data)

    @pytest.mark.parametrize("partition", [-1, 2, 1.0, "0", True], ids=repr)
    def test_a_partition_out_of_range_is_refused(self, make_topic: MakeTopic, partition: Any) -> None:
        with make_topic(2).producer() as producer:
            for push in (producer.push, producer.push_many):
                with pytest.raises(InvalidError, match="accepted are 0 to 1"):
                    push([], None, partition)

    @pytest.mark.parametrize("batch_size", [0, 1, 7])
    @pytest.mark.parametrize("max_num_batches", [1, 8])
    def test_order_holds_within_a_partition(self, make_topic: MakeTopic, batch_size: int, max_num_batches: int) -> None:
        topic = make_topic(3)
        with topic.producer(batch_size=batch_size, max_num_batches=max_num_batches) as producer:
            futures = [producer.push({"n": number}, partition=number % 3) for number in range(600)]
            ids = [future.result(PATIENCE_S) for future in futures]
        assert ids == [(number % 3, number // 3) for number in range(600)]
        with topic.consumer("reader", batch_size=batch_size) as consumer:
            events = [consumer.pull().result(PATIENCE_S) for _ in range(600)]
        for partition in range(3):
            own = [event for event in events if event.partition == partition]
            assert [event.offset for event in own] == list(range(200))
            assert numbers_of(own) == list(range(partition, 600, 3))

    def test_several_threads_may_push(self, topic: Topic) -> None:
        with topic.producer(batch_size=16) as producer:

            def push(start: int) -> None:
                for number in range(start, start + 200):
                    producer.push({"n": number})

            threads = [threading.Thread(target=push, args=(start,)) for start in (0, 1000, 2000)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE_S)
        with topic.consumer("reader") as consumer:
            numbers = numbers_of(consumer.pull().result(PATIENCE_S) for _ in range(600))
        for start in (0, 1000, 2000):
            assert [number for number in numbers if start <= number < start + 1000] == list(range(start, start + 200))

    def test_a_flush_returns_when_all_futures_are_done(self, topic: Topic) -> None:
        with topic.producer() as producer:
            futures = [producer.push({"n": number}) for number in range(100)]
            producer.flush(PATIENCE_S)
            assert all(future.done() for future in futures)
            assert [future.result(0).offset for future in futures] == list(range(100))
            assert futures[0].exception(0) is None

    def test_a_producer_that_ends_its_block_has_appended_all(self, topic: Topic) -> None:
        with topic.producer() as producer:
            futures = [producer.push({"n": number}) for number in range(100)]
        assert all(future.done() for future in futures)

    def test_a_push_can_be_awaited(self, topic: Topic) -> None:
        async def push() -> list[EventId]:
            with topic.producer() as producer:
                ids = list(await asyncio.gather(*(_of(producer.push({"n": n})) for n in range(20))))
                producer.push({"n": 20})
                await producer.flushed(PATIENCE_S)
                return ids

        assert [event.offset for event in asyncio.run(push())] == list(range(20))


async def _of(future: Any) -> Any:
    return await future
