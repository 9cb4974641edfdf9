"""iceoryx2: zero-copy publish–subscribe; its subscriber polls, or is woken by an event of its own."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.bench.contender import OPERATIONS, TIMEOUT_S, Array, Consumer, Contender, Producer, polled
from thalweg.errors import WaitTimeoutError


def _prefix(place: str) -> str:
    """What iceoryx2's files in /dev/shm begin with, so that those of this run can be removed."""
    return f"{Path(place).name}_"


def _services(place: str, size_bytes: int) -> tuple[Any, Any, Any]:
    """Node, data service and event service of one size: each size has its own, so that its memory is made once."""
    import iceoryx2 as iox

    iox.set_log_level(iox.LogLevel.Error)
    config = iox.config.default()
    config.global_cfg.root_path = iox.Path.new(place)
    config.global_cfg.prefix = iox.FileName.new(_prefix(place))
    node = iox.NodeBuilder.new().config(config).create(iox.ServiceType.Ipc)
    data = (
        node.service_builder(iox.ServiceName.new(f"thalweg/{size_bytes}"))
        .publish_subscribe(iox.Slice[ctypes.c_uint8])  # its Python binding gives a slice's length in bytes
        .payload_alignment(iox.Alignment.new(64))
        .enable_safe_overflow(False)
        .subscriber_max_buffer_size(2)
        .subscriber_max_borrowed_samples(2)
        .open_or_create()
    )
    event = node.service_builder(iox.ServiceName.new(f"thalweg/{size_bytes}/event")).event().open_or_create()
    return node, data, event


class _Publisher(Producer):
    def __init__(self, place: str, notifies: bool) -> None:
        self._place = place
        self._notifies = notifies

    def prepare(self, size_bytes: int) -> None:
        self._node, self._data, self._event = _services(self._place, size_bytes)
        self._publisher = self._data.publisher_builder().initial_max_slice_len(size_bytes).create()
        self._notifier = self._event.notifier_builder().create()

    def put(self, index: int, array: Array) -> None:
        sample = self._publisher.loan_slice_uninit(array.nbytes)
        ctypes.memmove(sample.payload_ptr, array.ctypes.data, array.nbytes)
        sample.assume_init().send()
        if self._notifies:
            self._notifier.notify()

    def loan(self, index: int, array: Array) -> Array:
        self._sample = self._publisher.loan_slice_uninit(array.nbytes)
        return np.frombuffer(self._sample.payload().as_memory_view(), np.uint64)

    def seal(self, index: int) -> None:
        self._sample.assume_init().send()
        if self._notifies:
            self._notifier.notify()

    def finish(self) -> None:
        for part in (self._notifier, self._publisher):
            part.delete()
        del self._notifier, self._publisher, self._data, self._event, self._node


class _Subscriber(Consumer):
    def __init__(self, place: str, waits: bool) -> None:
        self._place = place
        self._waits = waits
        self._samples: dict[int, Any] = {}

    def prepare(self, size_bytes: int) -> None:
        import iceoryx2 as iox

        self._node, self._data, self._event = _services(self._place, size_bytes)
        self._subscriber = self._data.subscriber_builder().create()
        self._listener = self._event.listener_builder().create()
        self._timeout = iox.Duration.from_secs_f64(TIMEOUT_S)

    def get(self, index: int) -> Array:
        receive = self._subscriber.receive
        if self._waits:
            sample = receive()
            while sample is None:
                if not self._listener.timed_wait(self._timeout):
                    raise WaitTimeoutError(f"iceoryx2: no sample {index} within {TIMEOUT_S} s")
                sample = receive()
        else:
            sample = polled(receive, f"sample {index}")
        self._samples[index] = sample
        return np.frombuffer(sample.payload().as_memory_view(), np.uint64)

    def get_into(self, index: int, into: Array) -> None:
        self.get(index)
        ctypes.memmove(into.ctypes.data, self._samples[index].payload_ptr, into.nbytes)

    def release(self, index: int) -> None:
        self._samples.pop(index).delete()
        while self._waits and self._listener.try_wait():
            pass

    def finish(self) -> None:
        for part in (self._listener, self._subscriber):
            part.delete()
        del self._listener, self._subscriber, self._data, self._event, self._node


class Iceoryx2(Contender):
    """Its subscriber spins on `receive`, the fastest that it can be."""

    name = "iceoryx2"
    operations = OPERATIONS
    polls = True

    def available(self) -> str | None:
        return None if importlib.util.find_spec("iceoryx2") else "pip install iceoryx2"

    def start(self) -> Any:
        self._folder = tempfile.mkdtemp(prefix="thalweg-bench-iox-")
        return self._folder

    def stop(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        for left in Path("/dev/shm").glob(f"{_prefix(self._folder)}*"):
            left.unlink(missing_ok=True)

    def producer(self, place: Any) -> Producer:
        return _Publisher(place, notifies=self.name != "iceoryx2")

    def consumer(self, place: Any) -> Consumer:
        return _Subscriber(place, waits=self.name != "iceoryx2")


class Iceoryx2Event(Iceoryx2):
    """Its subscriber sleeps on a listener, which the publisher notifies after each sample."""

    name = "iceoryx2-event"
    polls = False


CONTENDERS = (Iceoryx2, Iceoryx2Event)
