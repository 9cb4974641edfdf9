"""Makes everything that h5py can make in a file: argument: its name."""

import sys

import h5py
import numpy as np

name = sys.argv[1]
with h5py.File("other-" + name, "w") as file:
    file["there"], file["row"] = 1, np.arange(10)
with h5py.File("other-" + name, "r+") as file:
    file["there"][()] = 42
with h5py.File(name, "w") as file:
    file.attrs["title"] = "every kind"
    file.attrs["values"] = np.arange(4)
    group = file.create_group("model/state", track_order=True)
    for n in "zyx":
        group[n] = np.full(3, ord(n))
    group["x"].attrs["unit"] = "m"
    file.create_dataset("chunked", data=np.arange(60).reshape(6, 10), chunks=(2, 5))
    file.create_dataset("packed", data=np.arange(5000), compression="gzip", shuffle=True, fletcher32=True)
    rows = file.create_dataset("rows", (2, 3), maxshape=(None, 3), dtype="f8", fillvalue=-1)
    rows.resize((5, 3))
    rows[3] = [1, 2, 3]
    file["text"] = "löss"
    file.create_dataset("texts", data=["a", "bc", ""], dtype=h5py.string_dtype())
    ragged = file.create_dataset("ragged", (2,), dtype=h5py.vlen_dtype("i4"))
    ragged[0], ragged[1] = [1, 2, 3], [4]
    file["kind"] = np.dtype([("id", "i4"), ("at", "f8", (2,))])
    file.create_dataset("records", data=np.array([(1, (2, 3))], dtype=[("id", "i4"), ("at", "f8", (2,))]))
    file.create_dataset("colour", data=[1, 0], dtype=h5py.enum_dtype({"red": 0, "blue": 1}))
    file["pointer"] = file["model/state/x"].ref
    file["region"] = file["chunked"].regionref[1:3, 2:4]
    file["soft"] = h5py.SoftLink("/model/state/y")
    file["hard"] = file["model/state/z"]
    file["away"] = h5py.ExternalLink("other-" + name, "/there")
    file.copy("model", "copied")
    file["scale"] = np.arange(6)
    file["scale"].make_scale("row")
    file["chunked"].dims[0].attach_scale(file["scale"])
    layout = h5py.VirtualLayout((10,), "i8")
    layout[:] = h5py.VirtualSource("other-" + name, "row", (10,))
    file.create_virtual_dataset("virtual", layout)
    file.move("hard", "moved")
    file["gone"] = 1
    del file["gone"]
