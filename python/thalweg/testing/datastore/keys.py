"""Any text is a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from thalweg.datastore import DataStore
from thalweg.errors import (
    InvalidError,
)
from thalweg.testing.datastore.promises import Promises


class KeyPromises(Promises):
    """Keys are told apart whatever characters they have; what is no key is refused."""

    @pytest.mark.parametrize(
        "key",
        [
            "a",
            "a/b/c",
            "../x",
            ".",
            "..",
            ".hidden",
            "with space",
            "ümläut/日本",
            "%2F",
            "a:b{c}*?",
            "k" * 1024,
            "a\nb",
        ],
    )
    def test_any_text_is_a_key_of_its_own(self, store: DataStore, key: str) -> None:
        store.stage_write(key, b"mine")
        store.stage_write(key[:-1] + "~", b"other")
        assert bytes(store.stage_read(key, timeout_s=0)) == b"mine"
        assert store.poll_staged_data(key)
        assert store.clean_staged_data(key)
        assert not store.poll_staged_data(key)

    def test_long_keys_that_differ_only_at_their_end_are_different(self, store: DataStore) -> None:
        store.stage_write("k" * 1000 + "a", b"a")
        store.stage_write("k" * 1000 + "b", b"b")
        assert bytes(store.stage_read("k" * 1000 + "a")) == b"a"

    @pytest.mark.parametrize("key", ["", "a\0b", "k" * 1025, "\ud800", None, 3, b"bytes"])
    def test_a_wrong_key_is_refused_by_every_operation(self, store: DataStore, key: Any) -> None:
        operations: list[Callable[[], Any]] = [
            lambda: store.stage_write(key, b""),
            lambda: store.stage_read(key, timeout_s=0),
            lambda: store.poll_staged_data(key),
            lambda: store.clean_staged_data(key),
            lambda: store.wait([key], timeout_s=0),
            lambda: store.stage_write_many({"fine": b"", key: b""}),
            lambda: store.stage_read_many([key], timeout_s=0),
        ]
        for operation in operations:
            with pytest.raises(InvalidError):
                operation()
        assert not store.poll_staged_data("fine")
