"""Pulling: a wait lasts as long as said, and what is not taken is not lost."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from thalweg.errors import InvalidError, ShapeError, WaitTimeoutError
from thalweg.stream import Topic
from thalweg.testing.stream.promises import NOTHING_S, PATIENCE_S, Promises, fill, numbers_of


class PullPromises(Promises):
    """Every event comes once to a consumer that goes on."""

    def test_a_pull_that_times_out_takes_nothing(self, topic: Topic) -> None:
        with topic.consumer("reader") as consumer:
            waited = consumer.pull()
            with pytest.raises(WaitTimeoutError, match=topic.name):
                waited.result(NOTHING_S)
            with pytest.raises(WaitTimeoutError):
                consumer.pull_many().result(0)
            assert not waited.done()
            fill(topic, 2)
            assert consumer.pull().result(PATIENCE_S).metadata == {"n": 0}
            assert waited.result(PATIENCE_S).metadata == {"n": 1}
            assert waited.result(0).metadata == {"n": 1}

    @pytest.mark.parametrize("timeout_s", [0.05, 1.5])
    def test_a_wait_lasts_as_long_as_said(self, topic: Topic, timeout_s: float) -> None:
        with topic.consumer("reader") as consumer:
            start = time.monotonic()
            with pytest.raises(WaitTimeoutError):
                consumer.pull().result(timeout_s)
            assert time.monotonic() - start >= timeout_s

    @pytest.mark.parametrize("timeout_s", [-1, float("nan"), float("inf"), "1", None, True], ids=repr)
    def test_a_wrong_timeout_is_refused(self, topic: Topic, timeout_s: Any) -> None:
        with topic.consumer("reader") as consumer, pytest.raises(InvalidError, match="timeout_s"):
            consumer.pull().result(timeout_s)

    def test_a_waiting_pull_gets_what_is_pushed_then(self, topic: Topic) -> None:
        with topic.consumer("reader") as consumer, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(consumer.pull().result, PATIENCE_S)
            fill(topic, 1)
            assert waiting.result(PATIENCE_S).metadata == {"n": 0}

    def test_closing_ends_a_waiting_pull(self, topic: Topic) -> None:
        with topic.consumer("reader") as consumer, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(consumer.pull().result, PATIENCE_S)
            consumer.close()
            assert isinstance(waiting.exception(PATIENCE_S), InvalidError)

    def test_batches_are_bounded_and_of_one_partition(self, topic: Topic) -> None:
        fill(topic, 500)
        with topic.consumer("reader") as consumer:
            sizes: list[int] = []
            numbers: list[int] = []
            while len(numbers) < 500:
                batch = consumer.pull_many(max_events=7).result(PATIENCE_S)
                sizes.append(len(batch))
                numbers += numbers_of(batch)
                assert batch.partition == 0
        assert max(sizes) <= 7
        assert numbers == list(range(500))

    def test_a_batch_size_bounds_what_comes_at_once(self, topic: Topic) -> None:
        fill(topic, 100)
        with topic.consumer("reader", batch_size=9) as consumer:
            assert len(consumer.pull_many(1000).result(PATIENCE_S)) <= 9

    def test_single_pulls_and_batches_can_be_mixed(self, topic: Topic) -> None:
        fill(topic, 50)
        numbers: list[int] = []
        with topic.consumer("reader") as consumer:
            while len(numbers) < 50:
                numbers += numbers_of([consumer.pull().result(PATIENCE_S)])
                if len(numbers) < 50:
                    numbers += numbers_of(consumer.pull_many(3).result(PATIENCE_S))
        assert numbers == list(range(50))

    def test_iterating_ends_when_nothing_comes_or_it_is_closed(self, topic: Topic) -> None:
        fill(topic, 5)
        with topic.consumer("reader") as consumer:
            assert numbers_of(consumer.events(idle_s=NOTHING_S)) == list(range(5))
            with pytest.raises(InvalidError, match="idle_s -1"):
                next(consumer.events(idle_s=-1))
            fill(topic, 3, first=5)
            numbers = []
            for event in consumer:
                numbers.append(event.metadata["n"])
                if len(numbers) == 3:
                    consumer.close()
            assert numbers == [5, 6, 7]

    def test_an_exception_in_a_selector_comes_to_the_caller_and_loses_nothing(self, topic: Topic) -> None:
        fill(topic, 3)
        faults = [ValueError("first"), KeyError("second")]

        def select(metadata: Any, descriptor: Any) -> Any:
            if metadata["n"] == 1 and faults:
                raise faults.pop(0)
            return descriptor.all

        with topic.consumer("reader", data_selector=select) as consumer:
            assert consumer.pull().result(PATIENCE_S).metadata == {"n": 0}
            with pytest.raises(ValueError, match="first"):
                consumer.pull().result(PATIENCE_S)
            with pytest.raises(KeyError, match="second"):
                consumer.pull_many().result(PATIENCE_S)
            numbers: list[int] = []
            while len(numbers) < 2:
                numbers += numbers_of(consumer.pull_many().result(PATIENCE_S))
            assert numbers == [1, 2]

    def test_events_can_be_awaited(self, topic: Topic) -> None:
        async def pull() -> list[int]:
            with topic.consumer("reader") as consumer:
                waiting = asyncio.ensure_future(_of(consumer.pull()))
                await asyncio.to_thread(fill, topic, 4)
                events = [await waiting]
                async for event in consumer:
                    events.append(event)
                    if len(events) == 3:
                        break
                return numbers_of([*events, *await consumer.pull_many()])

        assert asyncio.run(pull()) == [0, 1, 2, 3]

    def test_an_await_that_is_cancelled_takes_nothing(self, topic: Topic) -> None:
        async def pull() -> list[int]:
            with topic.consumer("reader") as consumer:
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(_of(consumer.pull()), NOTHING_S)
                await asyncio.to_thread(fill, topic, 2)
                return numbers_of([await consumer.pull(), await consumer.pull()])

        assert asyncio.run(pull()) == [0, 1]

    def test_waiting_lets_other_threads_run(self, topic: Topic) -> None:
        with topic.consumer("reader") as consumer:
            ran = threading.Event()
            threading.Timer(0.05, ran.set).start()
            with pytest.raises(WaitTimeoutError):
                consumer.pull().result(1.0)
            assert ran.is_set()

    def test_data_of_another_size_are_no_such_array(self, topic: Topic) -> None:
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            producer.push({}, b"seven b")
            event = consumer.pull().result(PATIENCE_S)
            assert event.array(bool).shape == (7,)
            for dtype, shape in (("f8", -1), ("u1", (2, 3)), ("u1", (2, -1))):
                with pytest.raises(ShapeError, match="7 bytes"):
                    event.array(dtype, shape)


async def _of(future: Any) -> Any:
    return await future
