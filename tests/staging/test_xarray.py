"""xarray sees live variables."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

from thalweg.errors import InvalidError, ServerGoneError
from thalweg.staging import Client, Variable

from .conftest import Process

xarray = pytest.importorskip("xarray", reason="needs the extra xarray")


def opened(client: Client, **how: object):  # type: ignore[no-untyped-def]
    """The dataset of the client's namespace."""
    return xarray.open_dataset(f"thalweg:{client.address}", namespace="t", token="correct horse", **how)


@pytest.fixture
def filled(client: Client) -> Client:
    """Three versions of two fields, one of them half there in the last, with a mesh."""
    rho = client.define("rho", (4, 6), "f8", dims=["y", "x"], units="kg/m3", long_name="density")
    t = client.define("t", (4, 6), "f4", dims=["y", "x"])
    for version in (2, 5, 9):
        rho.put(np.asfortranarray(field(version)), version=version)
        t.put(-field(version).astype("f4")[: 4 if version < 9 else 2], version=version)
    x = client.define("x", 6, "f8", dims=["x"], static=True)
    x.put(np.linspace(0, 1, 6), version=0)
    client.define("nothing", 3, "f8")
    return client


def field(version: int) -> np.ndarray:
    return np.arange(24.0).reshape(4, 6) + 100 * version


def test_a_dataset_has_the_versions_that_are_complete(filled: Client) -> None:
    with opened(filled, engine="thalweg") as ds:
        assert dict(ds.sizes) == {"version": 2, "y": 4, "x": 6}
        assert set(ds.data_vars) == {"rho", "t"} and set(ds.coords) == {"version", "x"}
        assert ds["version"].values.tolist() == [2, 5]
        assert ds["rho"].dims == ("version", "y", "x") and ds["rho"].attrs == {"units": "kg/m3", "long_name": "density"}
        assert ds["x"].values.tolist() == np.linspace(0, 1, 6).tolist()
        assert (ds["rho"].sel(version=5) == field(5)).all() and (ds["t"].values[1] == -field(5)).all()
    with opened(filled, drop_variables="t") as ds:  # found by its scheme
        assert ds["version"].values.tolist() == [2, 5, 9] and (ds["rho"][-1] == field(9)).all()


@pytest.mark.parametrize(
    "key",
    [
        np.s_[0],
        np.s_[1, 2:4, 1:5],
        np.s_[:, 3, ::2],
        np.s_[::-1, ::-2, -1],
        np.s_[0:0, :, 1:3],
        np.s_[:, 2:2],
        np.s_[[1, 0], :, [5, 1, 1]],
        np.s_[..., -3:-1],
    ],
    ids=str,
)
def test_indexing_is_numpys(filled: Client, key: object) -> None:
    with opened(filled) as ds:
        expected = xarray.DataArray(np.stack([field(2), field(5)]), dims=("version", "y", "x"))[key]
        got = ds["rho"][key]
        assert got.shape == expected.shape and (got.values == expected.values).all()


def test_only_the_region_that_is_needed_is_read(filled: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    get = Variable.get

    def seen(self: Variable, region: object = None, **how: object) -> object:
        asked.append((self.name, region, how["version"]))
        return get(self, region, **how)  # type: ignore[arg-type]

    with opened(filled) as ds:
        monkeypatch.setattr(Variable, "get", seen)
        assert ds["rho"].isel(version=0, y=slice(1, 3), x=4).values.tolist() == field(2)[1:3, 4].tolist()
    assert asked == [("rho", np.s_[1:3, 4:5], 2)]


def test_what_is_computed_is_numpys(filled: Client) -> None:
    with opened(filled) as ds:
        mean = (ds["rho"] + ds["t"]).mean(("y", "x"))
        assert mean.values.tolist() == [0, 0]
        assert float(ds["rho"].sel(x=1.0, version=2).sum()) == field(2)[:, 5].sum()
        changed = ds["rho"].isel(version=0).load().copy()
        changed[0, 0] = -1
        assert float(ds["rho"][0, 0, 0]) == 200, "what is staged stays as it is"


def test_dimensions_without_names_are_called_after_their_variable(client: Client) -> None:
    client.define("u", (2, 3), "f8").put(np.zeros((2, 3)), version=0)
    with opened(client) as ds:
        assert ds["u"].dims == ("version", "u_0", "u_1")


def test_records_keep_their_fields(client: Client) -> None:
    values = np.array([(1.0, 2), (3.0, 4)], [("a", "f8"), ("b", "i4")])
    client.define("p", 2, values.dtype, dims=["particle"]).put(values, version=0)
    with opened(client) as ds:
        assert ds["p"].values[0]["b"].tolist() == [2, 4]


def test_a_namespace_without_variables_is_an_empty_dataset(client: Client) -> None:
    with opened(client) as ds:
        assert len(ds) == 0


@pytest.mark.parametrize("dims", [["y"], ["y", "y"], ["version", "y"], "yx", ["y", "x", "z"]], ids=str)
def test_dims_that_do_not_fit_are_refused(client: Client, dims: object) -> None:
    u = client.define("u", (2, 3), "f8")
    u.put(np.zeros((2, 3)), version=0)
    u._native.annotate("dims", json.dumps(dims))  # as other languages may
    with pytest.raises(InvalidError) as caught:
        opened(client)
    assert str(caught.value) == (
        f"stage.open: dims = {dims!r} of variable 'u'; accepted are 2 different names, none of them \"version\""
    )


def test_addresses_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidError, match='an address of type int; accepted are texts such as "thalweg:unix:NAME"'):
        xarray.open_dataset(3, engine="thalweg")
    with pytest.raises(ServerGoneError):
        xarray.open_dataset("thalweg:unix:@thalweg-nobody", timeout_s=1)


def test_without_xarray_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['xarray'] = None\n"
        "from thalweg.errors import MissingLibraryError\n"
        "try:\n    import thalweg.staging.xarray_backend\n"
        "except MissingLibraryError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "staging: the library xarray is not installed; pip install 'thalweg[xarray]'"


READ_A_DATASET = """
import pickle, sys
dataset = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps((dataset["rho"][1, 1:3].values, dataset["x"].values)))
"""


def test_a_dataset_can_be_sent_to_another_process(outside: tuple[Process, str, str]) -> None:
    for address in outside[1:]:
        with Client(address, namespace="t", token="correct horse") as client:
            if address == outside[1]:
                rho = client.define("rho", (4, 6), "f8", dims=["y", "x"])
                for version in (0, 1):
                    rho.put(field(version), version=version)
                client.define("x", 6, "f8", dims=["x"], static=True).put(np.arange(6.0), version=0)
            with opened(client) as dataset:
                sent = pickle.dumps(dataset)
        program = [sys.executable, "-c", READ_A_DATASET]
        done = subprocess.run(program, input=sent, capture_output=True, timeout=60, check=True)
        cells, x = pickle.loads(done.stdout)
        assert (cells == field(1)[1:3]).all() and (x == np.arange(6.0)).all()
