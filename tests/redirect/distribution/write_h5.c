/* write_h5 FILE : a packed dataset in a group, with an attribute, by HDF5; with MPI in the compiler, by all ranks together. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

enum { EACH = 512 };

int main(int argc, char **argv) {
  int rank = 0, ranks = 1;
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER), layout = H5Pcreate(H5P_DATASET_CREATE);
#ifdef H5_HAVE_PARALLEL
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
#else
  (void)argc;
  H5Pset_deflate(layout, 4);
#endif
  hsize_t all = (hsize_t)EACH * ranks, each = EACH, first = (hsize_t)EACH * rank, chunk = EACH / 2;
  H5Pset_chunk(layout, 1, &chunk);
  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (file < 0) exit(1);
  hid_t group = H5Gcreate2(file, "step", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(1, &all, NULL);
  hid_t data = H5Dcreate2(group, "rho", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
  hid_t one = H5Screate(H5S_SCALAR), number = H5Acreate2(data, "ranks", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT);
  double values[EACH];
  for (int n = 0; n < EACH; n++) values[n] = (double)first + n;
  hid_t memory = H5Screate_simple(1, &each, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &each, NULL);
  int wrong = H5Awrite(number, H5T_NATIVE_INT, &ranks) < 0;
  wrong |= H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, transfer, values) < 0;
  wrong |= H5Aclose(number) < 0 || H5Dclose(data) < 0 || H5Gclose(group) < 0 || H5Fclose(file) < 0;
#ifdef H5_HAVE_PARALLEL
  H5Pclose(access);
  MPI_Finalize();
#endif
  return wrong;
}
