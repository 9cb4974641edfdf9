"""Many events at once: columns of metadata and data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pytest

from thalweg.errors import InvalidError, ShapeError
from thalweg.stream import EventBatch, Topic
from thalweg.testing.stream.promises import PATIENCE_S, MakeTopic, Promises

RECORD = [["n", "<i8"], ["x", "<f8"], ["tag", "S4"]]


def records(count: int) -> npt.NDArray[Any]:
    """Return records that differ."""
    found = np.zeros(count, [(field[0], field[1]) for field in RECORD])
    found["n"], found["x"] = np.arange(count), np.arange(count) / 8
    found["tag"] = [f"t{number % 7}" for number in range(count)]
    return found


def pulled(topic: Topic, count: int, **options: Any) -> list[EventBatch]:
    """Return batches of in all `count` events."""
    batches: list[EventBatch] = []
    with topic.consumer("reader", **options) as consumer:
        while sum(map(len, batches)) < count:
            batches.append(consumer.pull_many(count).result(PATIENCE_S))
    return batches


class ColumnPromises(Promises):
    """Events that are pushed together are the same as if they were pushed one by one."""

    def test_lists_come_out_as_they_went_in(self, topic: Topic) -> None:
        metadata = [{"n": number} for number in range(300)]
        data = [bytes([number % 256]) * (number % 5) for number in range(300)]
        with topic.producer() as producer:
            assert producer.push_many(metadata, data).result(PATIENCE_S) == [(0, range(300))]
        batches = pulled(topic, 300)
        assert [value for batch in batches for value in batch.metadata] == metadata
        assert [bytes(value) for batch in batches for value in batch.data] == data
        assert np.concatenate([batch.offsets for batch in batches]).tolist() == list(range(300))
        assert [event.metadata for batch in batches for event in batch] == metadata

    def test_records_cross_over_as_an_array(self, make_topic: MakeTopic) -> None:
        topic, sent = make_topic(serializer={"record": RECORD}), records(5000)
        values = np.random.default_rng(3).normal(size=(5000, 3))
        with topic.producer() as producer:
            assert producer.push_many(sent, values).result(PATIENCE_S) == [(0, range(5000))]
        batches = pulled(topic, 5000)
        back = np.concatenate([batch.metadata for batch in batches])
        assert back.dtype == sent.dtype
        assert (back == sent).all()
        assert (np.concatenate([batch.data_array("f8", (3,)) for batch in batches]) == values).all()

    def test_records_are_pushed_one_by_one_too(self, make_topic: MakeTopic) -> None:
        topic = make_topic(serializer={"record": RECORD})
        sent: list[Any] = [{"n": 1, "x": 0.5, "tag": b"a"}, (2, 1.5, b"b"), records(4)[3]]
        with topic.producer() as producer, topic.consumer("reader") as consumer:
            for value in sent:
                producer.push(value)
            found = [consumer.pull().result(PATIENCE_S).metadata for _ in sent]
        assert [value["n"] for value in found] == [1, 2, 3]
        assert [value["tag"] for value in found] == [b"a", b"b", b"t3"]

    def test_an_arrow_table_is_a_column_of_records(self, make_topic: MakeTopic) -> None:
        topic, sent = make_topic(serializer={"record": RECORD}), records(100)
        table = pyarrow.table({"n": sent["n"], "x": sent["x"], "tag": pyarrow.array(sent["tag"].tolist())})
        data = pyarrow.array([b"x" * (number % 4) for number in range(100)])
        with topic.producer() as producer:
            producer.push_many(table, data).result(PATIENCE_S)
            producer.push_many(table.to_batches()[0].slice(10, 20), data[10:30]).result(PATIENCE_S)
        batches = pulled(topic, 120)
        back = np.concatenate([batch.metadata for batch in batches])
        assert (back == np.concatenate([sent, sent[10:30]])).all()
        expected = data.to_pylist() + data[10:30].to_pylist()
        assert [bytes(value) for batch in batches for value in batch.data] == expected
        arrow = pyarrow.Table.from_batches([batch.to_arrow() for batch in batches])
        assert arrow.column("n").to_pylist() == back["n"].tolist()
        assert arrow.column("data").to_pylist() == expected
        assert arrow.column("offset").to_pylist() == list(range(120))

    def test_an_arrow_column_of_bytes_is_metadata_as_they_are(self, topic: Topic) -> None:
        texts = pyarrow.chunked_array([['{"n":0}', '{"n":1}'], ['{"n":2}']])
        with topic.producer() as producer:
            producer.push_many(texts)
            producer.push_many(pyarrow.table({"n": [3, 4]})).result(PATIENCE_S)
        metadata = [value for batch in pulled(topic, 5) for value in batch.metadata]
        assert metadata == [{"n": number} for number in range(5)]

    def test_large_data_of_many_events_come_whole(self, topic: Topic) -> None:
        data = [np.full(1 << 20, number, np.uint8) for number in range(5)]
        with topic.producer() as producer:
            assert producer.push_many([{}] * 5, data).result(PATIENCE_S) == [(0, range(5))]
            producer.push_many([{}] * 5, np.stack(data)).result(PATIENCE_S)
        batches = pulled(topic, 10)
        assert [int(value[-1]) for batch in batches for value in batch.data] == [*range(5)] * 2
        assert {len(value) for batch in batches for value in batch.data} == {1 << 20}

    @pytest.mark.parametrize("selector", ["round_robin", "random", {"hash": "/n"}], ids=str)
    def test_events_that_go_to_several_partitions_keep_their_order(self, make_topic: MakeTopic, selector: Any) -> None:
        topic, sent = make_topic(3, selector=selector, serializer={"record": RECORD}), records(900)
        with topic.producer() as producer:
            found = producer.push_many(sent, sent["n"].reshape(-1, 1)).result(PATIENCE_S)
        assert sum(len(numbers) for _, numbers in found) == 900
        batches = pulled(topic, 900)
        for partition in range(3):
            own = [batch.metadata["n"] for batch in batches if batch.partition == partition]
            assert all((np.diff(numbers) > 0).all() for numbers in [np.concatenate(own)] if own)
        for batch in batches:
            assert (batch.data_array("<i8")[:, 0] == batch.metadata["n"]).all()

    def test_one_by_one_and_together_select_the_same_partitions(self, make_topic: MakeTopic) -> None:
        for pointer in ("/n", "/x", "/tag"):
            topic, sent = make_topic(5, selector={"hash": pointer}, serializer={"record": RECORD}), records(60)
            with topic.producer() as producer:
                each = [producer.push(record).result(PATIENCE_S).partition for record in sent]
                producer.push_many(sent).result(PATIENCE_S)
            with topic.consumer("reader") as consumer:
                events = [consumer.pull().result(PATIENCE_S) for _ in range(120)]
            where: dict[int, set[int]] = {}
            for event in events:
                where.setdefault(int(event.metadata["n"]), set()).add(event.partition)
            assert where == {number: {partition} for number, partition in enumerate(each)}

    def test_no_events_are_no_events(self, topic: Topic) -> None:
        with topic.producer() as producer:
            assert producer.push_many([]).result(PATIENCE_S) == []

    def test_columns_that_do_not_agree_are_refused(self, topic: Topic, make_topic: MakeTopic) -> None:
        with topic.producer() as producer:
            for data in ([b""], np.zeros((3, 2)), np.array(1.0), pyarrow.array([b"a"])):
                with pytest.raises(ShapeError, match="of 2"):
                    producer.push_many([{}, {}], data)
            for metadata in ({"n": 1}, "text", b"bytes", 3, np.zeros((2, 2))):
                with pytest.raises(InvalidError, match="metadata"):
                    producer.push_many(metadata)
        with make_topic(serializer={"record": RECORD}).producer() as producer:
            for wrong in (np.zeros(2, [("n", "<i8")]), pyarrow.table({"n": [1]}), [{"n": 1}], [(1, 2)]):
                with pytest.raises(InvalidError, match="metadata"):
                    producer.push_many(wrong)
