"""The client of the staging service."""

from __future__ import annotations

import builtins
import difflib
import json
import operator
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from thalweg import _native
from thalweg.errors import ExistsError, InvalidError, ShapeError
from thalweg.staging.loan import Loan
from thalweg.staging.region import LayoutLike, axes
from thalweg.staging.variable import Variable, check_attributes

ADDRESS_VARIABLE = "THALWEG_ADDRESS"
TOKEN_VARIABLE = "THALWEG_TOKEN"


class Entry(NamedTuple):
    """One version of one variable in a listing."""

    name: str
    version: int
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int


class Client:
    """A connection to the staging service. Threads may share it; a forked child must make its own.

    Parameters
    ----------
    address : str, optional
        ``"unix:NAME"`` or ``"tcp:HOST:PORT"``; several with commas between, the same for every client, when servers
        share the domain of each variable. Default: the environment's ``THALWEG_ADDRESS``; without one, a private server
        is started in this process.
    namespace : str
        Keys of different namespaces never meet; give each run its own.
    name : str, optional
        What this client is called in messages to people. Default: the program's name.
    token : str, optional
        The server's secret; needed over TCP. Default: the environment's ``THALWEG_TOKEN``.
    timeout_s : float
        How long to try to connect, in seconds.

    Raises
    ------
    ServerGoneError
        When no server answers.
    AccessError
        When the token is wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.staging import Client
    >>> with Client(namespace="example") as client:
    ...     client.put("u", np.arange(6.0).reshape(2, 3), version=7)
    ...     view = client.get("u", version=7)
    >>> view.shape, view.flags.writeable
    ((2, 3), False)
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        namespace: str = "default",
        name: str | None = None,
        token: str | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        self._native = _native.Client(
            address or os.environ.get(ADDRESS_VARIABLE) or None,
            namespace=namespace,
            name=name or Path(sys.argv[0] or "python").name or "python",
            token=token or os.environ.get(TOKEN_VARIABLE, ""),
            timeout_s=timeout_s,
        )

    @property
    def address(self) -> str:
        """The server's address, for other processes to connect to."""
        return self._native.address

    def put(self, name: str, value: Any, *, version: int = 0, replace: bool = False, timeout_s: float = 60.0) -> None:
        """Copy an array, or plain bytes, into the service: one copy, whatever its strides.

        Parameters
        ----------
        name : str
            The variable, 1 to 250 bytes.
        value : ndarray or bytes-like
            An array of any strides, of bool, int, uint, float, complex or void elements in the machine's byte order; or
            contiguous bytes.
        version : int
            The time step, at least 0.
        replace : bool
            Whether an existing version may be replaced, at once for all readers; who holds a view keeps the old one.
        timeout_s : float
            How long to wait for room when memory is full and the server's policy is to block.

        Raises
        ------
        ExistsError
            When that version is there and `replace` is false.
        FullError
            When there is no room and the policy is to fail, or the array is larger than the limit.
        WaitTimeoutError
            When there was no room in time.
        DTypeError
            For elements that cannot be staged.
        """
        array, plain = _array_of("stage.put", value)
        self._native.put(name, array, version, replace, plain, timeout_s)

    def loan(
        self,
        name: str,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike,
        *,
        version: int = 0,
        replace: bool = False,
        timeout_s: float = 60.0,
    ) -> Loan:
        """Memory of the service in which to make an array in place, without any copy.

        Parameters
        ----------
        name, version, replace, timeout_s
            As in `put`.
        shape : int or sequence of int
            Extents, slowest axis first (row-major).
        dtype : dtype
            The element type.

        Examples
        --------
        >>> with Client(namespace="example") as client, client.loan("v", (2, 2), "f8", replace=True) as array:
        ...     array[...] = 1.0
        """
        extents = _extents("stage.put", shape)
        native = self._native.loan(name, extents, np.dtype(dtype), version, replace, timeout_s)
        return Loan(native, native.array())

    def get(self, name: str, *, version: int = 0, timeout_s: float = 60.0, into: npt.NDArray[Any] | None = None) -> Any:
        """Get an array, waiting until it is put.

        Parameters
        ----------
        name, version
            As in `put`.
        timeout_s : float
            How long to wait for it.
        into : ndarray, optional
            A writable array of the same shape and dtype, of any strides, to copy into.

        Returns
        -------
        ndarray or memoryview
            Without `into`: a read-only view of the service's memory (a copy only over TCP), row-major; a memoryview for
            plain bytes. The bytes stay as they are for as long as the view lives, also when the version is replaced or
            deleted meanwhile. With `into`: that array.

        Raises
        ------
        WaitTimeoutError
            When it was not put in time; names who is connected.
        ShapeError, DTypeError
            When `into` differs.
        ServerGoneError
            When the server has ended.
        """
        if into is None:
            return self._native.get(name, version, timeout_s)
        if isinstance(into, np.ndarray):
            self._native.get_into(name, into, version, timeout_s, False)
        else:
            target = np.frombuffer(into, dtype=np.uint8)
            self._native.get_into(name, target, version, timeout_s, True)
        return into

    def exists(self, name: str, *, version: int = 0) -> bool:
        """Whether a version is there now. On one node it takes no message."""
        return self._native.exists(name, version)

    def wait(
        self,
        keys: Sequence[str | tuple[str, int]],
        *,
        how: Literal["all", "any"] = "all",
        timeout_s: float = 60.0,
    ) -> builtins.list[tuple[str, int]]:
        """Wait, without polling, until all or any of several versions are there.

        Parameters
        ----------
        keys : sequence of str or (str, int)
            Names (version 0) or names with versions; at most 512 with ``"any"``.
        how : {"all", "any"}
            How many of them to wait for.
        timeout_s : float
            How long, in seconds.

        Returns
        -------
        list of (str, int)
            Those that are there.
        """
        if how not in ("all", "any"):
            raise InvalidError(f'stage.wait: how = {how!r}; accepted are "all" and "any"')
        if isinstance(keys, str):
            raise InvalidError(f"stage.wait: keys = {keys!r}; give a list of names, as in [{keys!r}]")
        pairs = [(key, 0) if isinstance(key, str) else (key[0], int(key[1])) for key in keys]
        return [pairs[i] for i in self._native.wait(pairs, how == "all", timeout_s)]

    def delete(self, name: str, *, version: int = 0) -> bool:
        """Remove a version; whether it was there. Views of it stay valid."""
        return self._native.delete(name, version)

    def list(self) -> builtins.list[Entry]:
        """All arrays of their own in the namespace, in order of name and version; for variables see `variables`."""
        return [
            Entry(name, version, dtype, tuple(shape), size) for name, version, dtype, shape, size in self._native.list()
        ]

    def define(
        self,
        name: str,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike,
        *,
        strategy: str = "sahr",
        layouts: Sequence[LayoutLike] = (),
        keep_last: int | None = None,
        writers: int = 0,
        timeout_s: float = 60.0,
        **attributes: Any,
    ) -> Variable:
        """Define a variable, or agree with the one that is there.

        Parameters
        ----------
        name : str
            1 to 250 bytes.
        shape : int or sequence of int
            Cells of its domain along each axis, slowest first; up to 8 axes.
        dtype : dtype
            Of one cell; with fields for records.
        strategy : {"sahr", "rad", "rasar", "rasia"}
            Where data are brought into the layout that a reader wants: by the server for what was read before
            (``"sahr"``), in the reader (``"rad"``), by the server when first asked (``"rasar"``) or as soon as data
            arrive (``"rasia"``).
        layouts : sequence
            The layouts that ``"rasia"`` prepares; a get adds its own.
        keep_last : int, optional
            How many complete versions are kept. Default: all, until they are released.
        writers : int
            How many writers must `Variable.seal` a version before it can be read. Default 0: a region can be read where
            it is complete.
        timeout_s : float
            How long to wait for the server.
        **attributes
            Noted for those who read it, JSON values: ``units="m/s"``, ``dims=["z", "y", "x"]``.

        Raises
        ------
        ExistsError
            When it is there and differs.

        Examples
        --------
        >>> with Client(namespace="example") as client:
        ...     rho = client.define("rho", (4, 6), "f8", units="kg/m3")
        ...     rho.put(np.zeros((2, 6)), version=0)
        ...     rho.put(np.ones((2, 6)), version=0, lower=(2, 0))
        ...     column_major = rho.get(version=0, layout="left")
        >>> column_major.flags.f_contiguous, float(column_major.sum())
        (True, 12.0)
        """
        extents = _extents("stage.define", shape)
        check_attributes(attributes, len(extents))
        for attribute in attributes:
            if meant := difflib.get_close_matches(attribute, _OPTIONS, n=1, cutoff=0.8):
                detail = (
                    f"attribute {attribute!r} of variable {name!r}; is {meant[0]!r} meant? else note it with annotate"
                )
                raise InvalidError(f"stage.define: {detail}")
        keep_last = None if keep_last is None else _counted("keep_last", keep_last)
        orders = [axes("stage.define", layout, len(extents)) for layout in layouts]
        native = self._native.define(
            name, extents, np.dtype(dtype), strategy, orders, keep_last, _counted("writers", writers), timeout_s
        )
        variable = Variable(native)
        there = variable.attributes if attributes else {}
        for attribute, value in attributes.items():
            if there.get(attribute, value) != json.loads(json.dumps(value)):
                detail = f"variable {name!r} is there already with {attribute} = {there[attribute]!r}, not {value!r}"
                raise ExistsError(f"stage.define: {detail}; change it with annotate")
        variable.annotate(**attributes)
        return variable

    def open(self, name: str, *, timeout_s: float = 60.0) -> Variable:
        """A variable, waiting until somebody has defined it."""
        return Variable(self._native.open(name, timeout_s))

    def variables(self) -> builtins.list[str]:
        """The names of the variables in the namespace."""
        return self._native.variables()

    def drop_namespace(self) -> int:
        """Remove everything in the namespace, variables too; how many versions it was."""
        return self._native.drop_namespace()

    def stats(self) -> dict[str, int]:
        """Counters of the whole service."""
        return self._native.stats()

    def close(self) -> None:
        """End the connection. Views that were got through it stay valid."""
        self._native.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


#: What `Client.define` takes beside attributes.
_OPTIONS = ("strategy", "layouts", "keep_last", "writers", "timeout_s")


def _counted(what: str, value: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 32:
        raise InvalidError(f"stage.define: {what} = {value!r}; accepted are whole numbers below 2^32")
    return number


def _extents(operation: str, shape: int | Sequence[int]) -> list[int]:
    """Extents along each axis."""
    try:
        extents = [operator.index(n) for n in (shape if isinstance(shape, Sequence) else [shape])]
    except TypeError:
        extents = [-1]
    if not all(0 <= n < 1 << 63 for n in extents):
        raise ShapeError(f"{operation}: shape {shape!r}; accepted are whole numbers of 0 to 2^63 - 1")
    return extents


def _array_of(operation: str, value: Any) -> tuple[npt.NDArray[Any], bool]:
    """The array to copy from, and whether it stands for plain bytes."""
    if isinstance(value, np.ndarray):
        return value, False
    try:
        return np.frombuffer(value, dtype=np.uint8), True
    except (TypeError, ValueError, BufferError) as error:
        raise InvalidError(
            f"{operation}: a value of type {type(value).__name__}; accepted are NumPy arrays and contiguous bytes "
            f"({error})"
        ) from None
