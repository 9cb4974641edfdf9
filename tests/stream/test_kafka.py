"""The driver kafka without a broker."""

from __future__ import annotations

import pytest

from thalweg import stream
from thalweg.errors import InvalidError, ServerGoneError, WaitTimeoutError

pytest.importorskip("confluent_kafka")


@pytest.mark.parametrize("address", ["kafka:", "kafka:host", "kafka:host:port"])
def test_a_wrong_address_is_refused(address):
    with pytest.raises(InvalidError, match="connect"):
        stream.connect(address)


def test_a_broker_that_is_not_there_is_an_error_in_time():
    with pytest.raises((ServerGoneError, WaitTimeoutError), match=r"kafka:127\.0\.0\.1:1"):
        stream.connect("kafka:127.0.0.1:1", timeout_s=1.0)
