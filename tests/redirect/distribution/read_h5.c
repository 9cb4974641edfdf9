/* read_h5 FILE : what `write_h5` wrote; with MPI in the compiler, by all ranks together. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int rank = 0, ranks = 1, wrote = 0;
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
#ifdef H5_HAVE_PARALLEL
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
#else
  (void)argc;
#endif
  hid_t file = H5Fopen(argv[1], H5F_ACC_RDONLY, access);
  if (file < 0) exit(1);
  hid_t data = H5Dopen2(file, "step/rho", H5P_DEFAULT), space = H5Dget_space(data);
  hid_t number = H5Aopen(data, "ranks", H5P_DEFAULT);
  hsize_t all = 0;
  H5Sget_simple_extent_dims(space, &all, NULL);
  hsize_t each = all / (hsize_t)ranks, first = each * (hsize_t)rank;
  double *values = calloc(each, sizeof *values), sum = 0;
  hid_t memory = H5Screate_simple(1, &each, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &each, NULL);
  int wrong = H5Aread(number, H5T_NATIVE_INT, &wrote) < 0;
  wrong |= H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, transfer, values) < 0;
  wrong |= H5Aclose(number) < 0 || H5Dclose(data) < 0 || H5Fclose(file) < 0;
  for (hsize_t n = 0; n < each; n++) sum += values[n];
  free(values);
#ifdef H5_HAVE_PARALLEL
  double own = sum;
  MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  H5Pclose(access);
  MPI_Finalize();
#endif
  if (rank == 0) printf("%d ranks wrote %llu values, sum %.1f\n", wrote, (unsigned long long)all, sum);
  return wrong;
}
