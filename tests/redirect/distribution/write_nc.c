/* write_nc FILE MODE : a record variable, a fixed one and attributes, by netCDF's C library; MODE is nc_create's, a number. */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

#define OK(call)                                               \
  do {                                                         \
    int wrong = (call);                                        \
    if (wrong != NC_NOERR) {                                   \
      fprintf(stderr, "%s: %s\n", #call, nc_strerror(wrong));  \
      return 1;                                                \
    }                                                          \
  } while (0)

int main(int argc, char **argv) {
  int file, dims[2], rho, mask, mode = argc > 2 ? (int)strtol(argv[2], NULL, 0) : 0;
  OK(nc_create(argv[1], mode, &file));
  OK(nc_def_dim(file, "time", NC_UNLIMITED, &dims[0]));
  OK(nc_def_dim(file, "x", 1000, &dims[1]));
  OK(nc_def_var(file, "rho", NC_DOUBLE, 2, dims, &rho));
  OK(nc_def_var(file, "mask", NC_SHORT, 1, dims + 1, &mask));
  if (mode & NC_NETCDF4) OK(nc_def_var_deflate(file, rho, 1, 1, 4));
  OK(nc_put_att_text(file, rho, "units", 6, "kg m-3"));
  OK(nc_enddef(file));
  double values[1000];
  int flags[1000]; /* converted to short */
  for (size_t time = 0; time < 3; time++) {
    for (int n = 0; n < 1000; n++) values[n] = 0.5 * n + (double)time, flags[n] = n - 500;
    size_t start[] = {time, 0}, count[] = {1, 1000};
    OK(nc_put_vara_double(file, rho, start, count, values));
  }
  OK(nc_put_var_int(file, mask, flags));
  OK(nc_redef(file)); /* moves what a classic file has behind its header */
  OK(nc_put_att_text(file, NC_GLOBAL, "title", 12, "redefinition"));
  OK(nc_enddef(file));
  OK(nc_close(file));
  return 0;
}
