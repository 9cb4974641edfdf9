/* write FILE : a record variable and a fixed one, by blocking and non-blocking calls, split in x among all ranks. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

#define OK(call)                                                          \
  do {                                                                    \
    int wrong = (call);                                                  \
    if (wrong != NC_NOERR) {                                             \
      fprintf(stderr, "%s: %s\n", #call, ncmpi_strerror(wrong));         \
      MPI_Abort(MPI_COMM_WORLD, 1);                                       \
    }                                                                     \
  } while (0)

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, file, dims[3], rho, mask, height, request[2], status[2];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  OK(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_OFFSET, MPI_INFO_NULL, &file));
  OK(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dims[0]));
  OK(ncmpi_def_dim(file, "y", 4, &dims[1]));
  OK(ncmpi_def_dim(file, "x", 4 * ranks, &dims[2]));
  OK(ncmpi_def_var(file, "rho", NC_FLOAT, 3, dims, &rho));
  OK(ncmpi_def_var(file, "mask", NC_SHORT, 2, dims + 1, &mask));
  OK(ncmpi_def_var(file, "height", NC_DOUBLE, 2, dims + 1, &height));
  OK(ncmpi_put_att_text(file, rho, "units", 6, "kg m-3"));
  OK(ncmpi_enddef(file));
  float values[16];
  int flags[16];
  double heights[16];
  for (int n = 0; n < 16; n++) {
    values[n] = 100.0f * rank + n;
    flags[n] = 1000 * rank - n; /* converted to short */
    heights[n] = 0.5 * n + rank;
  }
  for (int time = 0; time < 3; time++) {
    MPI_Offset start[] = {time, 0, 4 * rank}, count[] = {1, 4, 4};
    OK(ncmpi_put_vara_float_all(file, rho, start, count, values));
    for (int n = 0; n < 16; n++) values[n] += 0.25f;
  }
  MPI_Offset start[] = {0, 4 * rank}, count[] = {4, 4}, stride[] = {1, 1}, map[] = {1, 4}, records;
  OK(ncmpi_iput_vara_int(file, mask, start, count, flags, &request[0]));
  OK(ncmpi_iput_varm_double(file, height, start, count, stride, map, heights, &request[1])); /* transposed */
  OK(ncmpi_wait_all(file, 2, request, status));
  OK(status[0]);
  OK(status[1]);
  OK(ncmpi_inq_dimlen(file, dims[0], &records));
  if (records != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  OK(ncmpi_close(file));
  MPI_Finalize();
  return 0;
}
