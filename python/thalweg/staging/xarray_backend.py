"""Live variables as an xarray dataset: ``xarray.open_dataset("thalweg:ADDRESS", engine="thalweg")``."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thalweg.errors import InvalidError, MissingLibraryError, ServerGoneError
from thalweg.staging.client import Client
from thalweg.staging.variable import Variable

try:
    import xarray
    from xarray.backends import BackendArray, BackendEntrypoint
    from xarray.core import indexing
except ModuleNotFoundError as absent:
    raise MissingLibraryError("staging: the library xarray is not installed; pip install 'thalweg[xarray]'") from absent

SCHEME = "thalweg:"
#: The dimension of versions, with their numbers as its coordinate.
VERSION = "version"
#: Attributes that say how a variable appears, and are not among its ``attrs``.
OURS = ("dims", "static")
#: Connections that a process keeps for datasets that came from another one.
CLIENTS = 16


class ThalwegBackend(BackendEntrypoint):
    """Opens a namespace of the staging service; xarray finds it by its name, ``engine="thalweg"``.

    Each variable has the dimension ``version`` first, with those versions that are complete in all of them at the time
    of opening; one without a complete version is left out. One that was defined with ``static=True`` has no such
    dimension and appears with its newest version; if it is called as its one dimension, it is that dimension's
    coordinate. Dimensions are called as the attribute ``dims`` says, or ``NAME_0``, ``NAME_1``, …; all other attributes
    become ``attrs``. Data are read when they are needed, and only the region that is.
    """

    description = "Live variables of Thalweg's staging service"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "namespace", "token", "timeout_s")

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        namespace: str = "default",
        token: str | None = None,
        timeout_s: float = 60.0,
    ) -> xarray.Dataset:
        """Open a namespace.

        Parameters
        ----------
        filename_or_obj : str
            ``"thalweg:"`` and the address, as in ``"thalweg:tcp:node7:7000"``; the address alone when the engine is
            named. Without an address: the environment's ``THALWEG_ADDRESS``.
        drop_variables : str or iterable of str, optional
            Variables to leave out.
        namespace, token
            As `Client` takes them.
        timeout_s : float
            How long to try to connect, and how long one read may wait, in seconds.

        Raises
        ------
        InvalidError
            When `filename_or_obj` is no address, or ``dims`` does not fit its variable.
        ServerGoneError
            When no server answers.
        """
        if not isinstance(filename_or_obj, str):
            kind = type(filename_or_obj).__name__
            raise InvalidError(f'stage.open: an address of type {kind}; accepted are texts such as "thalweg:unix:NAME"')
        address = filename_or_obj.removeprefix(SCHEME)
        client = Client(address, namespace=namespace, token=token, timeout_s=timeout_s)
        try:
            dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
            names = [name for name in client.variables() if name not in dropped]
            variables = [client.open(name, timeout_s=timeout_s) for name in names]
            dataset = _dataset(Source(client.address, namespace, token, timeout_s), variables)
        except BaseException:
            client.close()
            raise
        dataset.set_close(Connection(client).close)
        return dataset

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether it is an address with the scheme ``thalweg:``."""
        return isinstance(filename_or_obj, str) and filename_or_obj.startswith(SCHEME)


class Source(NamedTuple):
    """Where variables are found."""

    address: str
    namespace: str
    token: str | None
    timeout_s: float


class Connection:
    """The connection that a dataset closes; one that came from another process has none of its own."""

    def __init__(self, client: Client | None = None) -> None:
        self._client = client

    def __reduce__(self) -> tuple[Any, ...]:
        return Connection, ()

    def close(self) -> None:
        """End it."""
        if self._client is not None:
            self._client.close()


class StagedArray(BackendArray):
    """Versions of a variable that are got region by region as they are indexed; in another process too, if pickled."""

    def __init__(self, source: Source, variable: Variable, versions: Sequence[int], static: bool) -> None:
        self._source, self._variable, self._versions, self._static = source, variable, versions, static
        self.shape = variable.shape if static else (len(versions), *variable.shape)
        self.dtype = variable.dtype

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self._source, self._variable.name, self._versions, self._static)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._get)

    def _get(self, key: tuple[int | slice, ...]) -> npt.NDArray[Any]:
        chosen, cells = (0, key) if self._static else (key[0], key[1:])
        if isinstance(chosen, slice):
            versions = self._versions[chosen]
            parts = [self._of_version(version, cells) for version in versions]
            return np.stack(parts) if parts else np.empty((0, *self._extent(cells)), self.dtype)
        return self._of_version(self._versions[int(chosen)], cells)

    def _extent(self, cells: tuple[int | slice, ...]) -> list[int]:
        pairs = zip(cells, self._variable.shape, strict=True)
        return [len(range(*part.indices(n))) for part, n in pairs if isinstance(part, slice)]

    def _of_version(self, version: int, cells: tuple[int | slice, ...]) -> npt.NDArray[Any]:
        box, within = [], []
        for part, n in zip(cells, self._variable.shape, strict=True):
            taken = range(*part.indices(n)) if isinstance(part, slice) else range(int(part) % n, int(part) % n + 1)
            if not taken:
                return np.empty(self._extent(cells), self.dtype)
            lowest, highest = min(taken[0], taken[-1]), max(taken[0], taken[-1])
            box.append(slice(lowest, highest + 1))
            within.append(slice(None, None, taken.step) if isinstance(part, slice) else 0)
        got: npt.NDArray[Any] = self._variable.get(tuple(box), version=version, timeout_s=self._source.timeout_s)
        return np.asarray(got[tuple(within)])


@functools.lru_cache(maxsize=CLIENTS)
def _client(source: Source) -> Client:
    return Client(source.address, namespace=source.namespace, token=source.token, timeout_s=source.timeout_s)


def _reopened(source: Source, name: str, versions: Sequence[int], static: bool) -> StagedArray:
    """An array that came from another process."""
    try:
        variable = _client(source).open(name, timeout_s=source.timeout_s)
    except ServerGoneError:
        _client.cache_clear()  # another server may stand there now
        variable = _client(source).open(name, timeout_s=source.timeout_s)
    return StagedArray(source, variable, versions, static)


def _dataset(source: Source, variables: Sequence[Variable]) -> xarray.Dataset:
    notes = {variable.name: variable.attributes for variable in variables}
    complete = {v.name: [state.version for state in v.versions() if state.complete] for v in variables}
    there = [variable for variable in variables if complete[variable.name]]
    static = {v.name for v in there if notes[v.name].get("static")}
    moving = [set(complete[v.name]) for v in there if v.name not in static]
    shared = sorted(set.intersection(*moving)) if moving else []
    data: dict[str, Any] = {}
    for variable in there:
        name, is_static = variable.name, variable.name in static
        versions = complete[name][-1:] if is_static else shared
        lazy = indexing.LazilyIndexedArray(StagedArray(source, variable, versions, is_static))
        dims = _dims(variable, notes[name].get("dims"))
        attrs = {key: value for key, value in notes[name].items() if key not in OURS}
        data[name] = xarray.Variable(dims if is_static else (VERSION, *dims), lazy, attrs)
    coords = {VERSION: (VERSION, np.array(shared, "i8"))} if moving else {}
    return xarray.Dataset(data, coords)


def _dims(variable: Variable, noted: Any) -> tuple[str, ...]:
    """What the axes of a variable are called."""
    if noted is None:
        return tuple(f"{variable.name}_{axis}" for axis in range(len(variable.shape)))
    fits = isinstance(noted, list) and len({*map(str, noted), VERSION}) == len(variable.shape) + 1 == len(noted) + 1
    if not fits:
        raise InvalidError(
            f"stage.open: dims = {noted!r} of variable {variable.name!r}; accepted are {len(variable.shape)} different "
            f'names, none of them "{VERSION}"'
        )
    return tuple(map(str, noted))
