/* cases put|get CASE FILE... : a way of putting values, and what comes out of it for one who gets them by plain calls. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call)                                                            \
  do {                                                                      \
    int wrong = (call);                                                     \
    if (wrong != NC_NOERR) {                                                \
      fprintf(stderr, "%s: %s\n", #call, ncmpi_strerror(wrong));            \
      MPI_Abort(MPI_COMM_WORLD, 1);                                         \
    }                                                                       \
  } while (0)

enum { Y = 6, X = 8 };
static const MPI_Offset LARGE = ((MPI_Offset)1 << 31) + 4096;

static int is(const char *word, const char *other) { return strcmp(word, other) == 0; }

/* Values of a plane, each of which tells its place. */
static void number(int *values) {
  for (int n = 0; n < Y * X; n++) values[n] = 100 * (n / X) + n % X;
}

/* Writes the last column by plain writes, as they lie in the file. */
static void mend(int id, int field, const int *values) {
  char path[4096];
  MPI_Offset begin;
  OK(ncmpi_inq_path(id, NULL, path));
  OK(ncmpi_inq_varoffset(id, field, &begin));
  FILE *file = fopen(path, "r+");
  for (int y = 0; y < Y; y++) {
    unsigned value = __builtin_bswap32((unsigned)values[y * X + X - 1]);
    fseek(file, begin + 4 * (y * X + X - 1), SEEK_SET);
    fwrite(&value, 4, 1, file);
  }
  fclose(file);
}

static void put(const char *how, int file, int field, int rank, int ranks) {
  static int files;
  if (is(how, "less each time")) how = files++ == 0 ? "strided" : "hole";
  int values[Y * X], mine[Y * X];
  number(values);
  MPI_Offset half = Y / ranks, start[] = {rank * half, 0}, count[] = {half, X};
  if (is(how, "strided")) { /* every other column, twice */
    for (int odd = 0; odd < 2; odd++) {
      MPI_Offset from[] = {start[0], odd}, some[] = {half, X / 2}, stride[] = {1, 2};
      for (int n = 0; n < half * X / 2; n++) mine[n] = values[(start[0] + n / (X / 2)) * X + 2 * (n % (X / 2)) + odd];
      OK(ncmpi_put_vars_int_all(file, field, from, some, stride, mine));
    }
  } else if (is(how, "mapped")) { /* from memory that lies the other way round */
    MPI_Offset stride[] = {1, 1}, map[] = {1, half};
    for (int y = 0; y < half; y++)
      for (int x = 0; x < X; x++) mine[x * half + y] = values[(start[0] + y) * X + x];
    OK(ncmpi_put_varm_int_all(file, field, start, count, stride, map, mine));
  } else if (is(how, "vard") || is(how, "wrong on one")) { /* as the file's own type says */
    int wrong = is(how, "wrong on one") && rank == 1;
    MPI_Datatype part;
    int shape[] = {Y, X}, size[] = {(int)half, X}, at[] = {(int)start[0], 0};
    MPI_Type_create_subarray(2, shape, size, at, MPI_ORDER_C, wrong ? MPI_FLOAT : MPI_INT, &part);
    MPI_Type_commit(&part);
    int result = ncmpi_put_vard_all(file, field, part, values + start[0] * X, half * X, MPI_INT);
    if (!wrong) OK(result);
    else if (result == NC_NOERR) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Type_free(&part);
  } else if (is(how, "independent")) { /* rank by rank, each in calls of its own */
    OK(ncmpi_begin_indep_data(file));
    for (int y = 0; y < half; y++) {
      MPI_Offset row[] = {start[0] + y, 0}, one[] = {1, X};
      if (rank == 0) OK(ncmpi_put_vara_int(file, field, row, one, values + row[0] * X));
      else
        for (int x = 0; x < X; x++) {
          MPI_Offset place[] = {row[0], x};
          OK(ncmpi_put_var1_int(file, field, place, &values[row[0] * X + x]));
        }
    }
    OK(ncmpi_end_indep_data(file));
  } else if (strncmp(how, "hole", 4) == 0) { /* without the last column */
    MPI_Offset less[] = {half, X - 1}, map[] = {X, 1}, stride[] = {1, 1};
    OK(ncmpi_put_varm_int_all(file, field, start, less, stride, map, values + start[0] * X));
    if (is(how, "hole that is mended") && rank == 0) mend(file, field, values);
  } else {
    fprintf(stderr, "%s is no case\n", how);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void put_large(int file, int field, int rank) {
  MPI_Offset start = 0, count = rank == 0 ? LARGE : 0;
  signed char *values = calloc((size_t)LARGE, 1); /* pages of zeros, until they are written to */
  values[0] = 1;
  values[LARGE - 1] = 2;
  OK(ncmpi_put_vara_schar_all(file, field, &start, &count, values));
  free(values);
}

static void get_large(int file, int field) {
  MPI_Offset start = 0, count = LARGE;
  signed char *values = malloc((size_t)LARGE);
  OK(ncmpi_get_vara_schar_all(file, field, &start, &count, values));
  long long others = 0;
  for (MPI_Offset n = 1; n < LARGE - 1; n++) others += values[n];
  printf("%d %lld %d\n", values[0], others, values[LARGE - 1]);
  free(values);
}

static void exchange(const char *role, const char *how, const char *path) {
  int rank, ranks, file, field, large = is(how, "large");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (is(role, "put")) {
    int dims[2];
    OK(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
    OK(ncmpi_def_dim(file, "y", large ? LARGE : Y, &dims[0]));
    OK(ncmpi_def_dim(file, "x", X, &dims[1]));
    OK(ncmpi_def_var(file, "field", large ? NC_BYTE : NC_INT, large ? 1 : 2, dims, &field));
    OK(ncmpi_enddef(file));
    if (large) put_large(file, field, rank);
    else put(how, file, field, rank, ranks);
  } else {
    OK(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file));
    OK(ncmpi_inq_varid(file, "field", &field));
    if (large) {
      get_large(file, field);
    } else {
      int values[Y * X], expected[Y * X];
      number(expected);
      OK(ncmpi_get_var_int_all(file, field, values));
      printf("%s\n", memcmp(values, expected, sizeof values) == 0 ? "equal" : "differ");
    }
  }
  OK(ncmpi_close(file));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc < 4) return 2;
  for (int n = 3; n < argc; n++) exchange(argv[1], argv[2], argv[n]);
  MPI_Finalize();
  return 0;
}
