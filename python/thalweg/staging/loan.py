"""A loan: memory of the service in which an array is made in place."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from thalweg.errors import InvalidError

if TYPE_CHECKING:
    from thalweg import _native


class Loan:
    """Memory of the service in which an array is made in place; made by `Client.loan` and `Variable.loan`.

    As a context manager it gives the writable array and publishes it on leaving, or gives the memory back when the
    block raised. The array is marked read-only then; arrays that were made from it (slices, views) are not, and must
    not be written any more.

    Attributes
    ----------
    array : ndarray, or dict of ndarray for records whose fields lie apart; None once discarded
    """

    def __init__(self, native: _native.Loan | _native.RegionLoan, array: Any) -> None:
        self._native: _native.Loan | _native.RegionLoan | None = native
        self.array = array

    def _close(self) -> None:
        for array in self.array.values() if isinstance(self.array, dict) else [self.array]:
            array.flags.writeable = False

    def commit(self) -> None:
        """Publish the array, once. Raises `ExistsError` when somebody else put or sealed that version meanwhile."""
        if self._native is None:
            raise InvalidError("stage.put: this loan has ended already; take a new one")
        self._close()
        self._native.commit()

    def discard(self) -> None:
        """Publish nothing. The memory is given back as soon as no array shows it any more."""
        if self._native is not None:
            self._close()
        self.array = None
        self._native = None

    def __enter__(self) -> Any:
        return self.array

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()
