"""Wrong calls of variables, each with the exact message that it must give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thalweg import errors
from thalweg.staging import Client, Server, Variable

Call = Callable[[Client, Variable], Any]
RECORD = np.dtype([("a", "f4"), ("b", "f4")])
CASES: list[tuple[str, Call, type[Exception], str]] = [
    (
        "put outside",
        lambda c, u: u.put(np.zeros((2, 6)), version=0, lower=(3, 0)),
        errors.ShapeError,
        'stage.put: region [3:5, 0:6] of variable "u"; accepted are regions with cells inside [0:4, 0:6]',
    ),
    (
        "put overflows",
        lambda c, u: u.put(np.zeros((2, 6)), version=0, lower=(2**64 - 1, 0)),
        errors.ShapeError,
        "stage.put: region: lower (18446744073709551615, 0) plus extent (2, 6) overflows",
    ),
    (
        "put without cells",
        lambda c, u: u.put(np.zeros((0, 6)), version=0),
        errors.ShapeError,
        'stage.put: region [0:0, 0:6] of variable "u"; accepted are regions with cells inside [0:4, 0:6]',
    ),
    (
        "put of another rank",
        lambda c, u: u.put(np.zeros(4), version=0),
        errors.ShapeError,
        'stage.put: region [0:4] of variable "u"; accepted are regions with cells inside [0:4, 0:6]',
    ),
    (
        "put of another type",
        lambda c, u: u.put(np.zeros((4, 6), "f4"), version=0),
        errors.DTypeError,
        "stage.put: elements of float32; the variable's are float64",
    ),
    (
        "put byte-swapped",
        lambda c, u: u.put(np.zeros((4, 6), ">f8"), version=0),
        errors.DTypeError,
        "stage.put: elements of type >f8 are byte-swapped; convert them with astype(dtype.newbyteorder('='))",
    ),
    (
        "put objects",
        lambda c, u: u.put(np.full((4, 6), None), version=0),
        errors.DTypeError,
        "stage.put: elements of type object cannot be staged; accepted are bool, int, uint, float, complex and void",
    ),
    (
        "put records of other fields",
        lambda c, u: c.define("r", 3, RECORD).put(np.zeros(3, [("a", "f4"), ("c", "f4")]), version=0),
        errors.DTypeError,
        "stage.put: elements of [('a', '<f4'), ('c', '<f4')]; the variable's are V8",
    ),
    (
        "put lower of another rank",
        lambda c, u: u.put(np.zeros((1, 1)), version=0, lower=(1,)),
        errors.ShapeError,
        "stage.put: lower = (1,); accepted are 2 whole numbers of at least 0",
    ),
    (
        "put lower below 0",
        lambda c, u: u.put(np.zeros((1, 1)), version=0, lower=(-1, 0)),
        errors.ShapeError,
        "stage.put: lower = (-1, 0); accepted are 2 whole numbers of at least 0",
    ),
    (
        "put lower of text",
        lambda c, u: u.put(np.zeros((1, 1)), version=0, lower="ab"),  # type: ignore[arg-type]
        errors.ShapeError,
        "stage.put: lower = 'ab'; give a whole number for each of 2 axes",
    ),
    (
        "put lower that is a number",
        lambda c, u: u.put(np.zeros((1, 1)), version=0, lower=3),  # type: ignore[arg-type]
        errors.ShapeError,
        "stage.put: lower = 3; give a whole number for each of 2 axes",
    ),
    (
        "put negative version",
        lambda c, u: u.put(np.zeros((4, 6)), version=-1),
        errors.InvalidError,
        "stage.put: version -1; accepted are 0 to 2^63 - 1",
    ),
    (
        "put huge version",
        lambda c, u: u.put(np.zeros((4, 6)), version=2**63),
        errors.InvalidError,
        "stage.put: version 9223372036854775808; accepted are 0 to 2^63 - 1",
    ),
    (
        "put sealed",
        lambda c, u: [u.seal(7), u.put(np.zeros((4, 6)), version=7)],
        errors.ExistsError,
        'stage.put: "u" version 7 is sealed already; put a new version',
    ),
    (
        "put released",
        lambda c, u: [u.put(np.zeros((4, 6)), version=7), u.release(7), u.put(np.zeros((4, 6)), version=7)],
        errors.NotFoundError,
        'stage.put: "u" version 7 is past: it was released, dropped or is not kept',
    ),
    (
        "put in negative time",
        lambda c, u: u.put(np.zeros((4, 6)), version=0, timeout_s=-1),
        errors.InvalidError,
        "stage.put: timeout_s = -1; accepted are 0 to 1e9 seconds",
    ),
    (
        "put larger than the limit",
        lambda c, u: c.define("big", 1 << 20, "f8").put(np.zeros(1 << 20), version=0),
        errors.FullError,
        "stage.put: an array of 8 MiB is larger than the memory limit of 1 MiB; raise the limit",
    ),
    (
        "loan outside",
        lambda c, u: u.loan(version=0, region=np.s_[0:5, :]),
        errors.ShapeError,
        "stage.put: cells 0:5 of an axis of 4; accepted are cells inside it",
    ),
    (
        "loan twice",
        lambda c, u: [loan := u.loan(version=0), loan.commit(), loan.commit()],
        errors.InvalidError,
        "stage.put: this loan has ended already; take a new one",
    ),
    (
        "loan discarded",
        lambda c, u: [loan := u.loan(version=0), loan.discard(), loan.commit()],
        errors.InvalidError,
        "stage.put: this loan has ended already; take a new one",
    ),
    (
        "loan sealed meanwhile",
        lambda c, u: [loan := u.loan(version=3), u.seal(3), loan.commit()],
        errors.ExistsError,
        'stage.put: "u" version 3 is sealed already; put a new version',
    ),
    (
        "get outside",
        lambda c, u: u.get(np.s_[0:5, :]),
        errors.ShapeError,
        "stage.get: cells 0:5 of an axis of 4; accepted are cells inside it",
    ),
    (
        "get without cells",
        lambda c, u: u.get(np.s_[2:2, :]),
        errors.ShapeError,
        "stage.get: cells 2:2 of an axis of 4; accepted are cells inside it",
    ),
    (
        "get from the end",
        lambda c, u: u.get(np.s_[-2:, :]),
        errors.ShapeError,
        "stage.get: cells -2:4 of an axis of 4; accepted are cells inside it",
    ),
    (
        "get with a step",
        lambda c, u: u.get(np.s_[0:4:2, :]),
        errors.ShapeError,
        "stage.get: slice(0, 4, 2) in region (slice(0, 4, 2), slice(None, None, None)); "
        "accepted are slices without a step, as in 0:4",
    ),
    (
        "get one cell",
        lambda c, u: u.get(np.s_[1, :]),
        errors.ShapeError,
        "stage.get: 1 in region (1, slice(None, None, None)); accepted are slices without a step, as in 0:4",
    ),
    (
        "get half a cell",
        lambda c, u: u.get(np.s_[0:1.5, :]),
        errors.ShapeError,
        "stage.get: slice(0, 1.5, None) in region (slice(0, 1.5, None), slice(None, None, None)); "
        "accepted are slices without a step, as in 0:4",
    ),
    (
        "get of another rank",
        lambda c, u: u.get(np.s_[0:1]),
        errors.ShapeError,
        "stage.get: region slice(0, 1, None); give a slice for each of the 2 axes",
    ),
    (
        "get of too many axes",
        lambda c, u: u.get(np.s_[..., 0:1, 0:1, 0:1]),
        errors.ShapeError,
        "stage.get: region (Ellipsis, slice(0, 1, None), slice(0, 1, None), slice(0, 1, None)); "
        "give a slice for each of the 2 axes",
    ),
    (
        "get an unknown layout",
        lambda c, u: u.get(layout="up"),
        errors.InvalidError,
        'stage.get: layout = \'up\'; accepted are "right" (row-major), "left" (column-major) and each of '
        "the axes 0 to 1 once, slowest first",
    ),
    (
        "get a layout that is none",
        lambda c, u: u.get(layout=(0, 0)),
        errors.InvalidError,
        'stage.get: layout = (0, 0); accepted are "right" (row-major), "left" (column-major) and each of '
        "the axes 0 to 1 once, slowest first",
    ),
    (
        "get a layout that is a number",
        lambda c, u: u.get(layout=1),  # type: ignore[arg-type]
        errors.InvalidError,
        'stage.get: layout = 1; accepted are "right" (row-major), "left" (column-major) and each of '
        "the axes 0 to 1 once, slowest first",
    ),
    (
        "get unknown fields",
        lambda c, u: u.get(fields="both"),
        errors.InvalidError,
        'stage: fields = \'both\'; accepted are "structs" and "arrays"',
    ),
    (
        "get by an unknown strategy",
        lambda c, u: u.get(strategy="best"),
        errors.InvalidError,
        'stage.get: strategy "best"; accepted are "rad", "rasar", "rasia" and "sahr"',
    ),
    (
        "get an unknown version",
        lambda c, u: u.get(version="oldest"),  # type: ignore[arg-type]
        errors.InvalidError,
        "stage.get: version = 'oldest'; accepted are whole numbers and \"latest\"",
    ),
    (
        "get a negative version",
        lambda c, u: u.get(version=-3),
        errors.InvalidError,
        "stage.get: version -3; accepted are 0 to 2^63 - 1",
    ),
    (
        "get into another shape",
        lambda c, u: u.get(into=np.zeros((6, 4))),
        errors.ShapeError,
        "stage.get: into of shape (6, 4) for a region of (4, 6)",
    ),
    (
        "get into another type",
        lambda c, u: u.get(into=np.zeros((4, 6), "i8")),
        errors.DTypeError,
        "stage.get: elements of int64; the variable's are float64",
    ),
    (
        "get into a read-only array",
        lambda c, u: u.get(into=np.broadcast_to(0.0, (4, 6))),
        errors.InvalidError,
        "stage.get: the given array is read-only; give one that is not",
    ),
    (
        "get into a list",
        lambda c, u: u.get(into=[0.0] * 4),  # type: ignore[arg-type]
        errors.InvalidError,
        "stage.get: into of type list; accepted are NumPy arrays",
    ),
    (
        "get of a dropped variable",
        lambda c, u: [c.drop_namespace(), u.get(timeout_s=5)],
        errors.NotFoundError,
        'stage: there is no variable "u"; define it first',
    ),
    (
        "put to a dropped variable",
        lambda c, u: [c.drop_namespace(), u.put(np.zeros((4, 6)), version=0)],
        errors.NotFoundError,
        'stage: there is no variable "u"; define it first',
    ),
    (
        "get over a closed client",
        lambda c, u: [c.close(), u.get(timeout_s=0.05)],
        errors.InvalidError,
        "stage: this client has been closed",
    ),
    (
        "seal by nobody",
        lambda c, u: c.define("two", 4, "f8", writers=2).seal(0, writer=2),
        errors.InvalidError,
        'stage.seal: writer 2 of variable "two"; accepted are 0 to 1',
    ),
    (
        "seal by a negative writer",
        lambda c, u: u.seal(0, writer=-1),
        errors.InvalidError,
        "stage.seal: writer -1 of variable 'u'; accepted are 0 and above",
    ),
    (
        "seal a negative version",
        lambda c, u: u.seal(-1),
        errors.InvalidError,
        "stage.seal: version -1; accepted are 0 to 2^63 - 1",
    ),
    (
        "seal a released version",
        lambda c, u: [u.release(2), u.seal(2)],
        errors.NotFoundError,
        'stage.seal: "u" version 2 is past: it was released, dropped or is not kept',
    ),
    (
        "reduce outside",
        lambda c, u: u.reduce(np.s_[0:5, :]),
        errors.ShapeError,
        "stage.reduce: cells 0:5 of an axis of 4; accepted are cells inside it",
    ),
    (
        "reduce into no bins",
        lambda c, u: [u.put(np.zeros((4, 6)), version=0), u.reduce(bins=(0, 1, 0))],
        errors.InvalidError,
        "stage.reduce: 0 bins from 0 to 1; accepted are 1 to 65536 from a lower to a higher edge",
    ),
    (
        "reduce into bins that end before they begin",
        lambda c, u: [u.put(np.zeros((4, 6)), version=0), u.reduce(bins=(1, 0, 4))],
        errors.InvalidError,
        "stage.reduce: 4 bins from 1 to 0; accepted are 1 to 65536 from a lower to a higher edge",
    ),
    (
        "reduce complex numbers",
        lambda c, u: [v := c.define("z", 2, "c16"), v.put(np.zeros(2, "c16"), version=0), v.reduce()],
        errors.DTypeError,
        "reduce: elements of complex128; accepted are bool, int8 to int64, uint8 to uint64, float32 and float64",
    ),
    (
        "define without cells",
        lambda c, u: c.define("v", (4, 0), "f8"),
        errors.ShapeError,
        "stage.define: domain (4, 0); accepted are extents of at least 1",
    ),
    (
        "define negative extents",
        lambda c, u: c.define("v", (4, -1), "f8"),
        errors.ShapeError,
        "stage.define: shape (4, -1); accepted are whole numbers of 0 to 2^63 - 1",
    ),
    (
        "define overflowing extents",
        lambda c, u: c.define("v", (1 << 40, 1 << 40), "f8"),
        errors.ShapeError,
        "shape: shape (1099511627776, 1099511627776) of float64 overflows; accepted are at most 2^63 - 1 bytes",
    ),
    (
        "define nine axes",
        lambda c, u: c.define("v", (2,) * 9, "f8"),
        errors.ShapeError,
        "shape: 9 dimensions; accepted are at most 8",
    ),
    (
        "define by an unknown strategy",
        lambda c, u: c.define("v", 3, "f8", strategy="best"),
        errors.InvalidError,
        'stage.define: strategy "best"; accepted are "rad", "rasar", "rasia" and "sahr"',
    ),
    (
        "define layouts of another rank",
        lambda c, u: c.define("v", (3, 3), "f8", layouts=[(0, 1, 2)]),
        errors.InvalidError,
        'stage.define: layout = (0, 1, 2); accepted are "right" (row-major), "left" (column-major) and each '
        "of the axes 0 to 1 once, slowest first",
    ),
    (
        "define nothing kept",
        lambda c, u: c.define("v", 3, "f8", keep_last=0),
        errors.InvalidError,
        "stage.define: keep_last = 0; accepted are 1 and more, or none to keep every version",
    ),
    (
        "define objects",
        lambda c, u: c.define("v", 3, object),
        errors.DTypeError,
        "stage.define: elements of type object cannot be staged; accepted are bool, int, uint, float, complex and void",
    ),
    (
        "define with another domain",
        lambda c, u: c.define("u", (4, 7), "f8"),
        errors.ExistsError,
        'stage.define: variable "u" is there already with domain (4, 6), not (4, 7)',
    ),
    (
        "define with another type",
        lambda c, u: c.define("u", (4, 6), "f4"),
        errors.ExistsError,
        'stage.define: variable "u" is there already with cells of float64, not float32',
    ),
    (
        "define with other writers",
        lambda c, u: c.define("u", (4, 6), "f8", writers=2),
        errors.ExistsError,
        'stage.define: variable "u" is there already with writers 0, not 2',
    ),
    (
        "define with another strategy",
        lambda c, u: c.define("u", (4, 6), "f8", strategy="rad"),
        errors.ExistsError,
        'stage.define: variable "u" is there already with strategy sahr, not rad',
    ),
    (
        "define with another retention",
        lambda c, u: c.define("u", (4, 6), "f8", keep_last=2),
        errors.ExistsError,
        'stage.define: variable "u" is there already with keep_last every version, not 2',
    ),
    (
        "note too much",
        lambda c, u: u.annotate(text="x" * (64 << 10)),
        errors.InvalidError,
        'stage.attribute: attribute "text" makes 65542 bytes of attributes of "u"; '
        "accepted are a name and at most 65536",
    ),
    (
        "note what is not JSON",
        lambda c, u: u.annotate(text={1, 2}),
        errors.InvalidError,
        "stage.attribute: attribute 'text' = {1, 2}; accepted are JSON values "
        "(Object of type set is not JSON serializable)",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_wrong_call_says_what_it_met_and_what_is_accepted(call: Call, kind: type[Exception], message: str) -> None:
    with Server(memory_limit_bytes=1 << 20) as server, Client(server.address, namespace="t", timeout_s=5) as client:
        u = client.define("u", (4, 6), "f8")
        with pytest.raises(kind) as caught:
            call(client, u)
        assert str(caught.value) == message
