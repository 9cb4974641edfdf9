/* explicit FILE : writes it, hands it over, and closes it when its reader, the other process of the world, has read it. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <thalweg_redirect.h>

int main(int argc, char **argv) {
  int file, dim, field;
  MPI_Offset start = 0, count = 4;
  double values[] = {1, 2, 3, 4};
  MPI_Init(&argc, &argv);
  int told = thalweg_redirect_init("model");
  ncmpi_create(MPI_COMM_SELF, argv[1], NC_CLOBBER, MPI_INFO_NULL, &file);
  ncmpi_def_dim(file, "x", 4, &dim);
  ncmpi_def_var(file, "field", NC_DOUBLE, 1, &dim, &field);
  ncmpi_enddef(file);
  ncmpi_put_vara_double_all(file, field, &start, &count, values);
  int other = thalweg_redirect_transfer("no-such.nc"), over = thalweg_redirect_transfer(argv[1]);
  MPI_Barrier(MPI_COMM_WORLD); /* it has been read */
  int put = ncmpi_put_vara_double_all(file, field, &start, &count, values);
  int got = ncmpi_get_vara_double_all(file, field, &start, &count, values);
  int late = thalweg_redirect_init("another");
  printf("init %d transfer %d, of another file %d; put %s, get %s, init again %d\n", told, over, other, ncmpi_strerrno(put), ncmpi_strerrno(got), late);
  ncmpi_close(file);
  printf("finalize %d\n", thalweg_redirect_finalize());
  MPI_Finalize();
  return 0;
}
