"""Topics: making, naming, describing, deleting; what a driver cannot do is said."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, get_args

import pytest

from thalweg.errors import ExistsError, InvalidError, NotFoundError, NotSupportedError, ThalwegError
from thalweg.stream import Driver, Topic, connect
from thalweg.stream.definition import DurabilityKind, RestKind
from thalweg.stream.drivers.transport import RetentionKind
from thalweg.testing.stream.promises import NOTHING_S, PATIENCE_S, MakeTopic, Promises, fill

_RESTS: dict[str, Any] = {"memory": "memory", "files": "files", "apart": {"data": "/tmp/thalweg-conformance-apart"}}
_RETENTIONS: dict[str, Any] = {
    "age": {"age_s": 3600},
    "size": {"size_bytes": 1 << 30},
    "acknowledged": {"acknowledged": True},
}


class TopicPromises(Promises):
    """All clients agree on what a topic is, and an answer is never an error in disguise."""

    def test_a_topic_is_there_from_making_to_deleting(self, driver: Driver) -> None:
        name = f"conformance-{uuid.uuid4().hex}"
        assert not driver.topic_exists(name)
        driver.create_topic(name, 3)
        try:
            assert driver.topic_exists(name)
            assert name in driver.list_topics()
            with pytest.raises(ExistsError, match=name):
                driver.create_topic(name)
        finally:
            driver.delete_topic(name)
        assert not driver.topic_exists(name)
        assert name not in driver.list_topics()
        for operation in (driver.open_topic, driver.describe_topic, driver.delete_topic):
            with pytest.raises(NotFoundError, match=name):
                operation(name)

    def test_other_clients_see_the_same_definition(self, driver: Driver, address: str, make_topic: MakeTopic) -> None:
        rules: dict[str, Any] = {
            "validator": {"schema": {"type": "object"}},
            "selector": {"hash": "/n"},
            "serializer": {"record": [["n", "<i8"], ["x", "<f4", [2]]]},
        }
        topic = make_topic(2, **rules)
        with connect(address, timeout_s=PATIENCE_S) as other:
            seen = other.describe_topic(topic.name)
        assert seen == driver.describe_topic(topic.name)
        assert {"validator": seen.validator, "selector": seen.selector, "serializer": seen.serializer} == rules
        assert [part.number for part in seen.partitions] == [0, 1]

    def test_a_description_counts_events(self, driver: Driver, topic: Topic) -> None:
        (before,) = driver.describe_topic(topic.name).partitions
        fill(topic, 5)
        (after,) = driver.describe_topic(topic.name).partitions
        assert (before.first, before.next, after.first, after.next) == (0, 0, 0, 5)

    def test_a_partition_can_be_added(self, driver: Driver, topic: Topic) -> None:
        fill(topic, 2)
        assert driver.add_partition(topic.name) == 1
        wider = driver.open_topic(topic.name)
        with wider.producer() as producer:
            assert producer.push({"n": 0}, partition=1).result(PATIENCE_S) == (1, 0)
        assert [part.next for part in driver.describe_topic(topic.name).partitions] == [2, 1]

    @pytest.mark.parametrize("name", ["", ".hidden", "-x", "a/b", "../x", "a b", "x" * 201, 3, None])
    def test_a_wrong_name_is_refused(self, driver: Driver, name: Any) -> None:
        for operation in (driver.create_topic, driver.open_topic, driver.topic_exists, driver.delete_topic):
            with pytest.raises(InvalidError, match="accepted"):
                operation(name)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"partitions": 0},
            {"partitions": True},
            {"rest": "tape"},
            {"rest": {"data": "relative"}},
            {"durability": "interval:0ms"},
            {"durability": "sometimes"},
            {"retention": {"age": 3}},
            {"retention": {"age_s": -1}},
            {"validator": "xml"},
            {"validator": {"schema": {"type": "nothing"}}},
            {"selector": {"hash": "no-pointer"}},
            {"serializer": {"record": [["o", "O"]]}},
            {"serializer": None},
        ],
        ids=str,
    )
    def test_a_wrong_definition_is_refused_and_leaves_nothing(self, driver: Driver, wrong: dict[str, Any]) -> None:
        name = f"conformance-{uuid.uuid4().hex}"
        with pytest.raises(InvalidError):
            driver.create_topic(name, **wrong)
        assert not driver.topic_exists(name)

    def test_what_the_driver_cannot_do_is_a_typed_error(self, driver: Driver) -> None:
        can = driver.capabilities
        cannot: list[dict[str, Any]] = [{"rest": _RESTS[kind]} for kind in set(get_args(RestKind)) - set(can.rests)]
        cannot += [{"durability": kind} for kind in set(get_args(DurabilityKind)) - set(can.durabilities)]
        cannot += [{"retention": _RETENTIONS[kind]} for kind in set(get_args(RetentionKind)) - set(can.retentions)]
        for asked in cannot:
            name = f"conformance-{uuid.uuid4().hex}"
            with pytest.raises(NotSupportedError, match="it has"):
                driver.create_topic(name, **asked)
            assert not driver.topic_exists(name)

    def test_what_the_driver_says_it_can_do_can_be_asked_for(self, driver: Driver, make_topic: MakeTopic) -> None:
        can = driver.capabilities
        on_disk = "files" if "files" in can.rests else can.rests[0]
        asked: list[dict[str, Any]] = [{"rest": _RESTS[kind]} for kind in can.rests if kind != "apart"]
        asked += [{"rest": on_disk, "durability": kind} for kind in can.durabilities]
        asked += [{"rest": on_disk, "retention": _RETENTIONS[kind]} for kind in can.retentions]
        for definition in asked:
            topic = make_topic(**definition)
            fill(topic, 3)
            (part,) = driver.describe_topic(topic.name).partitions
            assert part.next == 3
            assert part.durability.startswith(definition.get("durability", "none"))

    def test_a_deleted_topic_ends_those_who_use_it(self, driver: Driver, topic: Topic) -> None:
        fill(topic, 1)
        with topic.consumer("reader", begin="next") as consumer:
            driver.delete_topic(topic.name)
            with pytest.raises(NotFoundError):
                consumer.pull().result(PATIENCE_S)

    def test_no_answer_is_never_an_answer(
        self, driver: Driver, topic: Topic, stop_server: Callable[[], None] | None
    ) -> None:
        if stop_server is None:
            pytest.skip("no way given to stop the server")
        stop_server()
        for operation in (driver.topic_exists, driver.describe_topic, driver.open_topic, driver.delete_topic):
            with pytest.raises(ThalwegError) as caught:
                operation(topic.name)
            assert not isinstance(caught.value, NotFoundError)
        with pytest.raises(ThalwegError):
            driver.list_topics()

    def test_nothing_is_done_with_what_was_closed(self, topic: Topic) -> None:
        producer, consumer = topic.producer(), topic.consumer("reader")
        for what in (producer, consumer):
            what.close()
            what.close()
        with pytest.raises(InvalidError, match="closed"):
            producer.push({})
        with pytest.raises(InvalidError, match="closed"):
            consumer.pull().result(NOTHING_S)
        assert list(consumer) == []
