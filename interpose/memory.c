/* Files that HDF5 keeps in its own memory (its driver "core"). */
#include "redirect.h"

hdf5_place_t hdf5_place(hid_t list, bool made, void *(*find)(const char *, const void *), const void *of) {
#define H5(name, ...) ((int (*)(__VA_ARGS__))find(#name, of))
  if (list == 0) return HDF5_IN_A_FILE;
  void *tell = NULL, *whom = NULL;
  size_t step = 0, given = 0;
  unsigned backed = 0; /* a whole one, or its first byte */
  H5(H5Eget_auto2, hid_t, void **, void **)(0, &tell, &whom);
  H5(H5Eset_auto2, hid_t, void *, void *)(0, NULL, NULL);
  bool core = H5(H5Pget_fapl_core, hid_t, size_t *, unsigned *)(list, &step, &backed) >= 0;
  bool image = core && H5(H5Pget_file_image, hid_t, void **, size_t *)(list, NULL, &given) >= 0 && given > 0;
  H5(H5Eset_auto2, hid_t, void *, void *)(0, tell, whom);
  if (!core || backed) return core ? HDF5_IN_BOTH : HDF5_IN_A_FILE;
  return made || image ? HDF5_IN_MEMORY : HDF5_READ_INTO_MEMORY;
#undef H5
}
