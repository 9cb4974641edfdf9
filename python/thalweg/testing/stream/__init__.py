"""The promises of a stream driver, as a test class to inherit from."""

from __future__ import annotations

from thalweg.testing.stream.columns import ColumnPromises
from thalweg.testing.stream.naming import NamedConsumerPromises
from thalweg.testing.stream.pulling import PullPromises
from thalweg.testing.stream.pushing import PushPromises
from thalweg.testing.stream.rules import RulePromises
from thalweg.testing.stream.selection import SelectionPromises
from thalweg.testing.stream.topics import TopicPromises

__all__ = ["StreamTests"]


class StreamTests(
    TopicPromises,
    PushPromises,
    ColumnPromises,
    PullPromises,
    NamedConsumerPromises,
    SelectionPromises,
    RulePromises,
):
    """Inherit, and give a fixture `address` that yields an address for `thalweg.stream.connect`.

    Optionally override `stop_server` (a fixture that yields a callable which makes the server of `address` go away).

    Examples
    --------
    ::

        class TestMine(StreamTests):
            @pytest.fixture
            def address(self, tmp_path):
                yield f"mine:{tmp_path}"
    """
