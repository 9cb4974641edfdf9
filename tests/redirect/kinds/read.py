"""Prints all that is in a file, each way of coming to it: argument: its name."""

import sys

import h5py

name = sys.argv[1]
h5py.File(name).close()
with h5py.File(name) as file:
    print(file.filename, file.driver, file.mode, dict(file.attrs), list(file["model/state"]))

    def show(path, found):
        data = isinstance(found, h5py.Dataset)
        value = found[()] if data else found.dtype if isinstance(found, h5py.Datatype) else ""
        if "pointer" not in path and "region" not in path:
            print(path, value, dict(found.attrs) if path != "scale" and path != "chunked" else "")
        if data:
            print(found.chunks, found.compression, found.fillvalue, found.maxshape, found.dtype)
            print(found.id.get_storage_size(), found.id.get_offset())

    file.visititems(show)
    print(file[file["pointer"][()]].name, file[file["region"][()]].name, file["chunked"][file["region"][()]])
    print(file["soft"][:], file["moved"] == file["model/state/z"], file["away"][()], file["away"].file.filename)
    print(file.get("soft", getlink=True).path, file.get("away", getlink=True).filename, "gone" in file)
    print(file["virtual"][:], file["chunked"].dims[0][0].name, list(file["copied/state"].items()))
    packed = file["packed"].id
    print(h5py.h5o.get_info(file["moved"].id).rc, packed.get_num_chunks(), packed.get_chunk_info(0))
    print(file.id.get_filesize(), file.libver, h5py.h5f.get_obj_count(file.id, h5py.h5f.OBJ_ALL))
with h5py.File("memory", "w", driver="core", backing_store=False) as memory, h5py.File(name) as file:
    file.copy("model/state", memory)
    print(list(memory["state"]), memory["state/x"].attrs["unit"])
