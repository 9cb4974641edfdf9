"""Named consumers: what is acknowledged stays so; names are independent, members of one share."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from thalweg.errors import InvalidError, WaitTimeoutError
from thalweg.stream import Consumer, Driver, EventId, Topic, connect
from thalweg.testing.stream.promises import NOTHING_S, PATIENCE_S, MakeTopic, Promises, fill, numbers_of


def resumed(topic: Topic, name: str = "reader") -> int:
    """Return the number of the first event that a new member of the name gets."""
    with topic.consumer(name) as consumer:
        return int(consumer.pull().result(PATIENCE_S).metadata["n"])


class NamedConsumerPromises(Promises):
    """No acknowledged event comes again, and no other is skipped."""

    def test_a_name_goes_on_behind_what_it_acknowledged(self, topic: Topic) -> None:
        fill(topic, 10)
        with topic.consumer("reader") as consumer:
            events = [consumer.pull().result(PATIENCE_S) for _ in range(6)]
            events[3].acknowledge()
        assert resumed(topic) == 4
        with topic.consumer("reader") as consumer:
            consumer.acknowledge(consumer.pull_many(3).result(PATIENCE_S))
        assert resumed(topic) > 4

    def test_what_was_not_acknowledged_comes_again(self, topic: Topic) -> None:
        fill(topic, 3)
        for _ in range(2):
            assert resumed(topic) == 0

    def test_acknowledged_positions_never_go_backwards(self, topic: Topic, address: str) -> None:
        fill(topic, 10)
        with topic.consumer("reader") as consumer:
            events = [consumer.pull().result(PATIENCE_S) for _ in range(8)]
            events[6].acknowledge()
            events[2].acknowledge()
            assert consumer.lag() == {0: 3}
        assert resumed(topic) == 7
        with connect(address, timeout_s=PATIENCE_S) as other:
            again = other.open_topic(topic.name)
            with again.consumer("reader") as consumer:
                consumer.seek("first")
                consumer.pull().result(PATIENCE_S).acknowledge()
            assert resumed(again) == 7

    def test_names_are_independent(self, topic: Topic) -> None:
        fill(topic, 4)
        for name in ("one", "other"):
            with topic.consumer(name) as consumer:
                events = [consumer.pull().result(PATIENCE_S) for _ in range(4)]
                assert numbers_of(events) == [0, 1, 2, 3]
                events[-1].acknowledge()

    def test_a_name_may_begin_with_what_comes_next(self, topic: Topic) -> None:
        fill(topic, 3)
        with topic.consumer("late", begin="next") as consumer:
            fill(topic, 2, first=3)
            assert consumer.pull().result(PATIENCE_S).metadata == {"n": 3}
        with topic.consumer("late", begin="next") as consumer:
            assert consumer.pull().result(PATIENCE_S).metadata == {"n": 3}

    def test_two_members_of_a_name_share_the_events(self, make_topic: MakeTopic) -> None:
        topic = make_topic(4)
        with topic.consumer("team") as one, topic.consumer("team") as other, ThreadPoolExecutor(2) as pool:
            _settle(one, other, 4)
            readers = [pool.submit(_drain, consumer) for consumer in (one, other)]
            fill(topic, 400)
            found = [reader.result(PATIENCE_S) for reader in readers]
        assert sorted(found[0] + found[1]) == list(range(400))
        assert all(found)

    def test_what_a_member_leaves_the_others_get(self, make_topic: MakeTopic) -> None:
        topic = make_topic(2)
        with topic.consumer("team") as stays:
            with topic.consumer("team") as leaves:
                _settle(stays, leaves, 2)
            fill(topic, 20)
            assert sorted(numbers_of(stays.pull().result(PATIENCE_S) for _ in range(20))) == list(range(20))

    def test_given_partitions_are_the_only_ones_read(self, make_topic: MakeTopic) -> None:
        topic = make_topic(3)
        fill(topic, 30)
        with topic.consumer("reader", partitions=[0, 2]) as consumer:
            assert set(consumer.lag()) == {0, 2}
            events = list(consumer.events(idle_s=1.0))
        assert len(events) == 20
        assert {event.partition for event in events} == {0, 2}
        for wrong in ([], [3], [-1], ["a"]):
            with pytest.raises(InvalidError):
                topic.consumer("reader", partitions=wrong)  # type: ignore[arg-type]

    def test_a_given_partition_is_held_by_one_member(self, topic: Topic, driver: Driver) -> None:
        if not driver.capabilities.exclusive_partitions:
            pytest.skip("the driver does not declare it")
        with topic.consumer("reader", partitions=[0]):
            with pytest.raises(WaitTimeoutError, match="partition 0"):
                topic.consumer("reader", partitions=[0], timeout_s=NOTHING_S)
            topic.consumer("other", partitions=[0]).close()
        topic.consumer("reader", partitions=[0]).close()

    def test_seeking_goes_anywhere(self, topic: Topic) -> None:
        fill(topic, 10)
        time.sleep(0.02)  # times are told apart, not waited for
        between = time.time()
        time.sleep(0.02)
        fill(topic, 10, first=10)
        with topic.consumer("reader") as consumer:
            for where, expected in (
                ({"where": 0, "offset": 13}, 13),
                ({"where": "first"}, 0),
                ({"where": 0, "time_s": between}, 10),
                ({"where": 0, "offset": 5}, 5),
                ({"where": 0, "time_s": 0.0}, 0),
            ):
                consumer.seek(**where)
                event = consumer.pull().result(PATIENCE_S)
                assert (event.metadata, event.offset) == ({"n": expected}, expected)
            for end in ({"where": "next"}, {"where": 0, "offset": 20}, {"where": 0, "time_s": time.time() + 3600}):
                consumer.seek(**end)
                with pytest.raises(WaitTimeoutError):
                    consumer.pull().result(NOTHING_S)
            fill(topic, 1, first=20)
            assert consumer.pull().result(PATIENCE_S).id == EventId(0, 20)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"where": 0, "offset": 4},
            {"where": 0, "offset": -1},
            {"where": 7, "offset": 0},
            {"where": 0},
            {"where": 0, "offset": 1, "time_s": 1.0},
            {"where": "end"},
            {"where": "first", "offset": 1},
            {"where": 0, "time_s": -1.0},
        ],
        ids=str,
    )
    def test_seeking_to_nowhere_is_refused_and_changes_nothing(self, topic: Topic, wrong: dict[str, Any]) -> None:
        fill(topic, 3)
        with topic.consumer("reader") as consumer:
            consumer.pull().result(PATIENCE_S)
            with pytest.raises(InvalidError, match="seek"):
                consumer.seek(**wrong)
            assert consumer.pull().result(PATIENCE_S).metadata == {"n": 1}

    def test_lag_counts_what_is_not_acknowledged(self, topic: Topic) -> None:
        with topic.consumer("reader") as consumer:
            assert consumer.lag() == {0: 0}
            fill(topic, 5)
            assert consumer.lag() == {0: 5}
            consumer.pull().result(PATIENCE_S).acknowledge()
            assert consumer.lag() == {0: 4}


def _settle(one: Consumer, other: Consumer, partitions: int) -> None:
    """Wait until two members share the partitions evenly; there are no events to take."""
    until = time.monotonic() + PATIENCE_S
    while not len(one.lag()) == len(other.lag()) == partitions // 2:
        assert time.monotonic() < until
        for consumer in (one, other):
            with pytest.raises(WaitTimeoutError):
                consumer.pull().result(0.05)


def _drain(consumer: Consumer) -> list[int]:
    found = []
    for event in consumer.events(idle_s=3.0):
        found.append(event.metadata["n"])
        event.acknowledge()
    return found
