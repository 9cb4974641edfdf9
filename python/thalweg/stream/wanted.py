"""Getting what a consumer wants of an event's data, to where it shall land."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from thalweg.errors import InvalidError
from thalweg.stream.descriptor import DataDescriptor
from thalweg.stream.drivers.transport import RawBatch, TransportConsumer

#: Says of an event's metadata and data which part of the data is wanted; None is none.
DataSelector: TypeAlias = Callable[[Any, DataDescriptor], DataDescriptor | None]
#: Gives the writable buffer, of as many bytes as the descriptor says, where that part shall land.
DataBroker: TypeAlias = Callable[[Any, DataDescriptor], Any]


class Wanted:
    """A consumer's data selector and data broker."""

    def __init__(self, selector: DataSelector | None, broker: DataBroker | None) -> None:
        self._selector = selector
        self._broker = broker

    @property
    def whole(self) -> bool:
        """All data are wanted, wherever they land."""
        return self._selector is None and self._broker is None

    def get(self, consumer: TransportConsumer, batch: RawBatch, number: int, metadata: Callable[[], Any]) -> Any:
        """Return what is wanted of the data of event `number` of a batch; None where nothing is.

        Errors of the selector and the broker come out as they are.
        """
        size = int(batch.data_sizes[number])
        wanted = DataDescriptor(size)
        if self._selector is not None:
            chosen = self._selector(metadata(), wanted)
            if chosen is None:
                return None
            if not isinstance(chosen, DataDescriptor) or chosen.whole_bytes != size:
                raise InvalidError(
                    f"data_selector: returned {chosen!r}; expected None or what was made of the given {wanted!r}"
                )
            if size and not chosen.size_bytes:
                return None
            wanted = chosen
        if self._broker is not None:
            place = self._broker(metadata(), wanted)
            self._read(consumer, batch, number, wanted, _writable(place, wanted))
            return place
        if batch.data is not None and len(wanted.pieces) == 1:
            return batch.data[number][slice(*wanted.pieces[0])]
        landed = np.empty(wanted.size_bytes, np.uint8).data
        self._read(consumer, batch, number, wanted, landed)
        return landed

    def _read(
        self, consumer: TransportConsumer, batch: RawBatch, number: int, wanted: DataDescriptor, into: memoryview
    ) -> None:
        if not wanted.size_bytes:
            return
        if batch.data is None:
            consumer.read(batch, number, wanted.pieces, into)
            return
        data, at = batch.data[number], 0
        for begin, end in wanted.pieces:
            into[at : at + end - begin] = data[begin:end]
            at += end - begin


def _writable(place: Any, wanted: DataDescriptor) -> memoryview:
    try:
        view = memoryview(place)
    except TypeError:
        raise InvalidError(f"data_broker: returned {type(place).__name__}; expected a writable buffer") from None
    if view.readonly or not view.c_contiguous or view.nbytes != wanted.size_bytes:
        how = "read-only" if view.readonly else "contiguous" if view.c_contiguous else "strided"
        raise InvalidError(
            f"data_broker: returned a {how} buffer of {view.nbytes} bytes; "
            f"expected a writable, contiguous one of {wanted.size_bytes}"
        )
    return view.cast("B") if view.nbytes else memoryview(bytearray())
