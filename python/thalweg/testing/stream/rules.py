"""Validators, selectors and serializers: all clients follow the topic's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thalweg.errors import CorruptDataError, InvalidError, NotFoundError
from thalweg.stream import register_selector, register_serializer, register_validator
from thalweg.testing.stream.promises import NOTHING_S, PATIENCE_S, MakeTopic, Promises, numbers_of

SCHEMA = {
    "type": "object",
    "required": ["frame"],
    "properties": {"frame": {"type": "object", "properties": {"size": {"type": "array", "items": {"minimum": 1}}}}},
}


class RulePromises(Promises):
    """What a rule refuses is not appended, and the error says where it is wrong."""

    @pytest.mark.parametrize(
        ("metadata", "where"),
        [
            ({"frame": {"size": [4, 0]}}, r"\$\.frame\.size\[1\]"),
            ({"frame": 3}, r"\$\.frame"),
            ({}, r"\$: 'frame'"),
            (b'{"frame": {"size": [0]}}', r"\$\.frame\.size\[0\]"),
            (b"", r"\$"),
            (b"{", "not JSON"),
        ],
        ids=repr,
    )
    def test_metadata_that_the_schema_refuses_are_named_by_path(
        self, make_topic: MakeTopic, metadata: Any, where: str
    ) -> None:
        pytest.importorskip("jsonschema")
        topic = make_topic(validator={"schema": SCHEMA})
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            with pytest.raises(InvalidError, match=where):
                producer.push(metadata)
            with pytest.raises(InvalidError, match=where):
                producer.push_many([{"frame": {}}, metadata])
            producer.push({"frame": {"size": [1]}})
            assert numbers_of_frames(consumer, 1) == [{"size": [1]}]

    @pytest.mark.parametrize(
        ("metadata", "where"),
        [
            ({"a": [1, {"b": {1, 2}}]}, r"\$\.a\[1\]\.b"),
            ({"x": float("nan")}, r"\$\.x is nan"),
            ({"x": [np.int8(1), np.float32("nan")]}, r"\$\.x\[1\] is nan"),
            ({"x": {(1, 2): 3}}, r"\$\.x has the key"),
            (object(), r"\$ is <object"),
        ],
        ids=["set", "nan", "numpy-nan", "key", "object"],
    )
    def test_what_json_cannot_say_is_named_by_path(self, make_topic: MakeTopic, metadata: Any, where: str) -> None:
        for validator in (None, "json"):
            with make_topic(validator=validator).producer() as producer, pytest.raises(InvalidError, match=where):
                producer.push(metadata)

    @pytest.mark.parametrize("serializer", ["json", "messagepack"])
    @pytest.mark.parametrize("validator", [None, "json", {"schema": {"properties": {"n": {"type": "integer"}}}}])
    def test_numpy_scalars_are_numbers(self, make_topic: MakeTopic, serializer: str, validator: Any) -> None:
        pytest.importorskip("jsonschema")
        pytest.importorskip("msgspec")
        topic = make_topic(serializer=serializer, validator=validator)
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            producer.push({"n": np.int64(3), "all": [np.float32(0.5), (np.bool_(True), np.uint8(7))]})
            metadata = consumer.pull().result(PATIENCE_S).metadata
            assert metadata == {"n": 3, "all": [0.5, [True, 7]]}
            assert type(metadata["all"][1][0]) is bool
            with pytest.raises(InvalidError, match="metadata"):
                producer.push({"n": 1 if validator is None else np.float32("inf"), "when": np.datetime64("2026-01-01")})

    def test_bytes_are_validated_too(self, make_topic: MakeTopic) -> None:
        with make_topic(validator="json").producer() as producer:
            for wrong in (b"", b"{", b"\xff"):
                with pytest.raises(InvalidError, match="metadata"):
                    producer.push(wrong)

    def test_metadata_that_others_wrote_wrongly_are_an_error_of_the_one_event(self, make_topic: MakeTopic) -> None:
        topic = make_topic()
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            for encoded in (b'{"n":0}', b"1,2", b'{"n":2}'):
                producer.push(encoded)
            producer.flush(PATIENCE_S)
            events = [consumer.pull().result(PATIENCE_S) for _ in range(3)]
        assert numbers_of([events[0], events[2]]) == [0, 2]
        with pytest.raises(CorruptDataError, match="not JSON"):
            _ = events[1].metadata

    def test_message_pack_says_bytes_too(self, make_topic: MakeTopic) -> None:
        pytest.importorskip("msgspec")
        topic = make_topic(serializer="messagepack")
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            producer.push({"raw": b"\0\xff", "n": 2**63})
            assert consumer.pull().result(PATIENCE_S).metadata == {"raw": b"\0\xff", "n": 2**63}
            with pytest.raises(InvalidError, match="MessagePack"):
                producer.push({"raw": object()})

    def test_a_hash_sends_equal_keys_to_one_partition(self, make_topic: MakeTopic) -> None:
        topic = make_topic(4, selector={"hash": "/run/id"})
        keys = ["a", "b", 1, 2.5, None, "ü", True, "long" * 50]
        with topic.producer() as producer:
            where = [
                {producer.push({"run": {"id": key}, "n": n}).result(PATIENCE_S).partition for n in range(3)}
                for key in keys
            ]
            assert all(len(partitions) == 1 for partitions in where)
            assert len(set.union(*where)) > 1
            encoded = producer.push(b'{"run": {"id": "a"}}').result(PATIENCE_S)
            assert {encoded.partition} == where[0]
            with pytest.raises(InvalidError, match="/run/id"):
                producer.push({"run": 3})

    def test_round_robin_uses_all_partitions(self, make_topic: MakeTopic) -> None:
        with make_topic(3).producer() as producer:
            assert [producer.push({}).result(PATIENCE_S).partition for _ in range(6)] == [0, 1, 2, 0, 1, 2]

    def test_an_explicit_selector_needs_a_partition(self, make_topic: MakeTopic) -> None:
        with make_topic(2, selector="explicit").producer() as producer:
            for push in (producer.push, producer.push_many):
                with pytest.raises(InvalidError, match="no partition was given"):
                    push([{}])
            assert producer.push({}, partition=1).result(PATIENCE_S) == (1, 0)

    def test_rules_of_ones_own_are_followed(self, make_topic: MakeTopic) -> None:
        def check(metadata: Any) -> None:
            if metadata == "forbidden":
                raise ValueError("it is forbidden")

        register_validator("conformance", check)
        register_selector("conformance", lambda metadata, partitions: len(metadata) % partitions)
        register_serializer(
            "conformance", lambda value: value.upper().encode(), lambda encoded: encoded.decode().lower()
        )
        own = {"user": "conformance"}
        topic = make_topic(2, validator=own, selector=own, serializer=own)
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            assert producer.push("abc").result(PATIENCE_S) == (1, 0)
            event = consumer.pull().result(PATIENCE_S)
            assert (bytes(event.metadata_bytes), event.metadata) == (b"ABC", "abc")
            with pytest.raises(InvalidError, match="it is forbidden"):
                producer.push("forbidden")
            register_selector("conformance", lambda metadata, partitions: partitions)
            with topic.producer() as wrong, pytest.raises(InvalidError, match="chose partition 2"):
                wrong.push("abc")
            register_selector("conformance", lambda metadata, partitions: 1 // 0)
            with topic.producer() as failing, pytest.raises(ZeroDivisionError):
                failing.push("abc")

    def test_a_rule_that_is_not_registered_is_named(self, make_topic: MakeTopic) -> None:
        for rule in ("validator", "selector", "serializer"):
            with pytest.raises(NotFoundError, match=f"register_{rule}"):
                make_topic(**{rule: {"user": "nobody's"}})


def numbers_of_frames(consumer: Any, count: int) -> list[Any]:
    """Return the frames of all events that come."""
    frames = [event.metadata["frame"] for event in consumer.events(idle_s=NOTHING_S + 1)]
    assert len(frames) == count
    return frames
