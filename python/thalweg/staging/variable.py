"""A variable: an n-d array with many versions, put and got by regions in the layout that each side needs."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thalweg.errors import InvalidError, ShapeError
from thalweg.staging.beside import Beside
from thalweg.staging.loan import Loan
from thalweg.staging.region import LayoutLike, VersionLike, axes, box, corner, number, which

if TYPE_CHECKING:
    from thalweg import _native
    from thalweg.staging.subscription import Subscription


class VersionState(NamedTuple):
    """One version of a variable."""

    version: int
    cells: int
    complete: bool
    seals: int
    pieces: int
    replicas: int


class Pattern(NamedTuple):
    """A region that is read in a layout again and again."""

    lower: tuple[int, ...]
    extent: tuple[int, ...]
    axes: tuple[int, ...]
    gets: int


class Reduction(NamedTuple):
    """What was found in a region, where its data are."""

    version: int
    cells: int
    min: int | float
    max: int | float
    sum: int | float
    mean: float
    histogram: npt.NDArray[np.int64] | None


class Variable:
    """A variable of the staging service; made by `Client.define` or `Client.open`. Threads may share it.

    Regions are given as slices, ``numpy.s_[0:4, :]``; axis 0 is the slowest of the domain, whatever the layout.

    Attributes
    ----------
    name : str
    shape : tuple of int
        Cells of the domain along each axis.
    dtype : dtype
    strategy : str
        Where its data are reorganised: ``"rad"``, ``"rasar"``, ``"rasia"`` or ``"sahr"``.
    keep_last : int or None
        How many complete versions are kept.
    writers : int
        How many writers must seal a version before it can be read; 0: a region can be read where it is complete.
    """

    def __init__(self, native: _native.Variable) -> None:
        self._native = native
        self.name = native.name
        self.shape = tuple(native.domain)
        kind, size, fields = native.cell
        self.dtype: np.dtype[Any] = np.dtype(f"{kind}{size}")
        if fields:
            self.dtype = np.dtype(
                {
                    "names": [field[0] for field in fields],
                    "formats": [f"{field[1]}{field[2]}" for field in fields],
                    "offsets": [field[3] for field in fields],
                    "itemsize": size,
                }
            )
        self.strategy = native.strategy
        self.keep_last = native.keep_last
        self.writers = native.writers
        self._beside = Beside(self.name, native.end)

    def __repr__(self) -> str:
        return f"<Variable {self.name!r}: {self.shape} {self.dtype}, {self.strategy}>"

    def put(
        self,
        array: npt.NDArray[Any],
        *,
        version: int,
        lower: Sequence[int] | None = None,
        local: bool = False,
        timeout_s: float = 60.0,
    ) -> None:
        """Copy a region into the service: one copy, in the layout that the array has.

        Parameters
        ----------
        array : ndarray, of any strides
            Its shape is the region's extent.
        version : int
            The time step, at least 0.
        lower : sequence of int, optional
            The region's first cell along each axis. Default: zeros.
        local : bool
            Keep the bytes in this process, where readers of this node fetch them; they are lost when it ends.
        timeout_s : float
            How long to wait for room when memory is full and the server's policy is to block.

        Raises
        ------
        ShapeError
            When the region is not in the domain.
        DTypeError
            When the elements are of another type.
        ExistsError
            When the version is sealed.
        NotFoundError
            When the version was released or is not kept any more.
        FullError, WaitTimeoutError
            When there is no room (in time).

        Notes
        -----
        Cells that are there already stay as they are: where the regions of two puts overlap, the first one counts.
        """
        array = np.asarray(array)
        version = number("stage.put", version)
        self._native.put(array, version, corner("stage.put", lower, array.ndim), local, timeout_s)

    def loan(
        self,
        *,
        version: int,
        region: Any = None,
        layout: LayoutLike = "right",
        fields: str = "structs",
        timeout_s: float = 60.0,
    ) -> Loan:
        """Memory of the service in which to make a region in place, without any copy.

        Parameters
        ----------
        version, timeout_s
            As in `put`.
        region : slices, optional
            As ``numpy.s_[0:4, :]``. Default: the whole domain.
        layout : str or sequence of int
            ``"right"``, ``"left"``, or all axes as they are to lie, slowest first.
        fields : {"structs", "arrays"}
            Whether the fields of records lie beside each other, or each in an array of its own.
        """
        lower, extent = box("stage.put", region, self.shape)
        order = (axes("stage.put", layout, len(self.shape)), _apart(fields))
        native = self._native.loan(number("stage.put", version), lower, extent, order, timeout_s)
        return Loan(native, _typed(native.array(), self.dtype))

    def get(
        self,
        region: Any = None,
        *,
        version: VersionLike = "latest",
        layout: LayoutLike | None = None,
        fields: str = "structs",
        strategy: str | None = None,
        into: npt.NDArray[Any] | None = None,
        timeout_s: float = 60.0,
    ) -> Any:
        """Get a region, waiting until it is complete.

        Parameters
        ----------
        region : slices, optional
            As ``numpy.s_[0:4, :]``. Default: the whole domain.
        version : int or "latest"
            Which; ``"latest"``: the newest one in which the region is complete.
        layout : str or sequence of int, optional
            How it is to lie: ``"right"`` (row-major), ``"left"`` (column-major), or all axes, slowest first. Default:
            whatever costs no copy.
        fields : {"structs", "arrays"}
            Whether the fields of records are to lie beside each other, or each in an array of its own.
        strategy : str, optional
            Where to reorganise, for this get only: ``"rad"``, ``"rasar"``, ``"rasia"``, ``"sahr"``.
        into : ndarray, optional
            A writable array of the region's shape and any strides to copy into.
        timeout_s : float
            How long to wait, in seconds.

        Returns
        -------
        ndarray, or dict of ndarray with ``fields="arrays"``
            A read-only view of the service's memory where one piece or replica there holds the region as it is wanted,
            else a copy. The bytes stay as they are for as long as it lives.

        Raises
        ------
        WaitTimeoutError
            When it was not complete in time; says what is missing and who is connected.
        NotFoundError
            When the version was released, or sealed without these cells.
        ShapeError
            When the region is not in the domain.
        ServerGoneError
            When a server that holds part of it has ended.
        """
        return self._got(which("stage.get", version), region, layout, fields, strategy, into, timeout_s)[1]

    def next(
        self,
        region: Any = None,
        *,
        after: int = -1,
        layout: LayoutLike | None = None,
        strategy: str | None = None,
        timeout_s: float = 60.0,
    ) -> tuple[int, Any]:
        """The oldest version behind `after` in which the region is complete, waiting until there is one.

        Returns the version and the array, as `get`.
        """
        return self._got(("from", number("stage.get", after + 1)), region, layout, "structs", strategy, None, timeout_s)

    def _got(
        self,
        chosen: tuple[str, int],
        region: Any,
        layout: LayoutLike | None,
        fields: str,
        strategy: str | None,
        into: npt.NDArray[Any] | None,
        timeout_s: float,
    ) -> tuple[int, Any]:
        lower, extent = box("stage.get", region, self.shape)
        if into is not None:
            if not isinstance(into, np.ndarray):
                raise InvalidError(f"stage.get: into of type {type(into).__name__}; accepted are NumPy arrays")
            if list(into.shape) != extent:
                raise ShapeError(f"stage.get: into of shape {into.shape} for a region of {tuple(extent)}")
            return self._native.get_into(chosen, lower, into, strategy, timeout_s), into
        apart = _apart(fields)
        if layout is None and apart:
            layout = "right"
        order = None if layout is None else (axes("stage.get", layout, len(self.shape)), apart)
        version, array = self._native.get(chosen, lower, extent, order, strategy, timeout_s)
        return version, _typed(array, self.dtype)

    def put_beside(self, array: npt.NDArray[Any], **how: Any) -> Future[None]:
        """`put` in a thread; the array must not be written until the future is done.

        Raises `FullError` when 64 calls beside are under way; wait for one of their futures. Closing the client ends
        those that wait.
        """
        return self._beside.call(self.put, array, **how)

    def get_beside(self, region: Any = None, **how: Any) -> Future[Any]:
        """`get` in a thread; `FullError` as for `put_beside`."""
        return self._beside.call(self.get, region, **how)

    def subscribe(
        self,
        call: Callable[[int, Any], None],
        region: Any = None,
        *,
        after: int = -1,
        layout: LayoutLike | None = None,
    ) -> Subscription:
        """Call ``call(version, array)`` for each version of a region, in a thread, until it is cancelled."""
        from thalweg.staging.subscription import Subscription

        return Subscription(self, call, region, after, layout)

    def each(
        self,
        region: Any = None,
        *,
        after: int = -1,
        layout: LayoutLike | None = None,
        timeout_s: float = 60.0,
    ) -> Iterator[tuple[int, Any]]:
        """Versions of a region, in order, for ever; `WaitTimeoutError` when the next does not come in time."""
        version = after
        while True:
            version, array = self.next(region, after=version, layout=layout, timeout_s=timeout_s)
            yield version, array

    def seal(self, version: int, *, writer: int = 0) -> None:
        """Say that writer number `writer` has put all that it will of a version.

        A version that all writers have sealed takes no more puts; who waits for cells that were never put is told.
        """
        if not 0 <= writer < 1 << 32:
            raise InvalidError(f"stage.seal: writer {writer} of variable {self.name!r}; accepted are 0 and above")
        self._native.seal(number("stage.seal", version), writer)

    def release(self, version: int) -> bool:
        """Let go of a version; whether it was there. Views of it stay valid."""
        return self._native.release(number("stage.release", version))

    def versions(self) -> list[VersionState]:
        """The versions that are there, oldest first."""
        return [VersionState(*state) for state in self._native.versions()]

    def reduce(
        self,
        region: Any = None,
        *,
        version: VersionLike = "latest",
        bins: tuple[float, float, int] | None = None,
        timeout_s: float = 60.0,
    ) -> Reduction:
        """Reduce a region to numbers where its data are.

        Parameters
        ----------
        region, version, timeout_s
            As in `get`.
        bins : (float, float, int), optional
            Lower edge, upper edge and number of a histogram's bins, as `numpy.histogram` counts them.

        Notes
        -----
        Sums of integers are exact. A NaN makes least, greatest and sum NaN.
        """
        lower, extent = box("stage.reduce", region, self.shape)
        bins = None if bins is None else _bins(bins)
        found = self._native.reduce(which("stage.reduce", version), lower, extent, bins, timeout_s)
        number, count, least, greatest, total, counts = found
        histogram = None if counts is None else np.array(counts, dtype=np.int64)
        return Reduction(number, count, least, greatest, total, float(total) / count, histogram)

    @property
    def attributes(self) -> dict[str, Any]:
        """What was noted about the variable, such as ``units`` or ``dims``."""
        return {name: json.loads(text) for name, text in self._native.attributes()}

    def annotate(self, **attributes: Any) -> None:
        """Note something about the variable, JSON values, for those who read it; None removes an attribute."""
        for name, text in check_attributes(attributes, len(self.shape)).items():
            self._native.annotate(name, text)

    def patterns(self) -> list[Pattern]:
        """The regions and layouts in which it is read again and again."""
        return [
            Pattern(tuple(lower), tuple(extent), tuple(order), gets)
            for lower, extent, order, _, gets in self._native.patterns()
        ]


def check_attributes(attributes: dict[str, Any], dims: int) -> dict[str, str]:
    """The JSON texts of attributes of a variable of `dims` dimensions."""
    texts = {}
    for name, value in attributes.items():
        try:
            texts[name] = "" if value is None else json.dumps(value)
        except (TypeError, ValueError) as error:
            detail = f"attribute {name!r} = {value!r}; accepted are JSON values ({error})"
            raise InvalidError(f"stage.attribute: {detail}") from None
    names = attributes.get("dims")
    if names is not None:
        listed = isinstance(names, list | tuple) and len(names) == dims == len({n for n in names if isinstance(n, str)})
        if not listed:
            raise InvalidError(f"stage.attribute: dims = {names!r}; accepted are the names of {dims} axes, each once")
    return texts


def _bins(bins: tuple[float, float, int]) -> tuple[float, float, int]:
    try:
        lower, upper, count = bins
        edges, count = (float(lower), float(upper)), operator.index(count)
    except (TypeError, ValueError):
        count = -1
    if not 0 <= count < 1 << 32:
        raise InvalidError(
            f"stage.reduce: bins = {bins!r}; accepted are the lower and the upper edge and the number of bins"
        )
    return *edges, count


def _apart(fields: str) -> bool:
    if fields not in ("structs", "arrays"):
        raise InvalidError(f'stage: fields = {fields!r}; accepted are "structs" and "arrays"')
    return fields == "arrays"


def _typed(array: Any, dtype: np.dtype[Any]) -> Any:
    """Opaque cells as the records that they are."""
    if isinstance(array, dict) or array.dtype == dtype:
        return array
    return array.view(dtype)
