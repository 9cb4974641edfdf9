/* Values of MPI types: which numbers they are, and what lies apart in the program's memory as one run. */
#define _GNU_SOURCE
#include "open_file.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/*
 * No mpi.h is included, so that one library serves every MPI. Open MPI's handles are pointers, MPICH's are integers of 32
 * bits, of which the upper half of an argument is not defined; which of them it is, a variable of Open MPI's tells.
 */
static const void *open_mpi_null(void) {
  static const void *null;
  static bool looked;
  if (!looked) null = dlsym(RTLD_DEFAULT, "ompi_mpi_datatype_null");
  looked = true;
  return null;
}

static const uint32_t MPICH_NULL = 0x0c000000;

static bool is_null(mpi_t type) {
  return open_mpi_null() ? type == (mpi_t)open_mpi_null() : (uint32_t)type == MPICH_NULL;
}

mpi_t type_of_many(const void *types, int n) {
  return open_mpi_null() ? ((const mpi_t *)types)[n] : ((const uint32_t *)types)[n];
}

int lowest(file_t *file, int number) {
  NC_REAL(MPI_Allreduce, int (*)(const void *, void *, int, mpi_t, mpi_t, mpi_t));
  static const mpi_t MPICH_INT = 0x4c000405, MPICH_MIN = 0x58000002;
  int result = number;
  mpi_t type = open_mpi_null() ? (mpi_t)dlsym(RTLD_DEFAULT, "ompi_mpi_int") : MPICH_INT;
  mpi_t min = open_mpi_null() ? (mpi_t)dlsym(RTLD_DEFAULT, "ompi_mpi_op_min") : MPICH_MIN;
  if (file->comm) real_MPI_Allreduce(&number, &result, 1, type, min, file->comm);
  return result;
}

static const struct {
  const char *name;
  memory_t memory;
} predefined[] = {
    {"MPI_CHAR", TEXT}, {"MPI_CHARACTER", TEXT}, {"MPI_SIGNED_CHAR", SCHAR}, {"MPI_INTEGER1", SCHAR}, {"MPI_INT8_T", SCHAR},
    {"MPI_UNSIGNED_CHAR", UCHAR}, {"MPI_UINT8_T", UCHAR}, {"MPI_BYTE", UCHAR}, {"MPI_SHORT", SHORT}, {"MPI_INTEGER2", SHORT},
    {"MPI_INT16_T", SHORT}, {"MPI_UNSIGNED_SHORT", USHORT}, {"MPI_UINT16_T", USHORT}, {"MPI_INT", INT}, {"MPI_INTEGER", INT},
    {"MPI_INTEGER4", INT}, {"MPI_INT32_T", INT}, {"MPI_UNSIGNED", UINT}, {"MPI_UINT32_T", UINT}, {"MPI_LONG", LONG},
    {"MPI_INTEGER8", LONGLONG}, {"MPI_OFFSET", LONGLONG}, {"MPI_INT64_T", LONGLONG}, {"MPI_LONG_LONG", LONGLONG},
    {"MPI_LONG_LONG_INT", LONGLONG}, {"MPI_UNSIGNED_LONG", ULONGLONG}, {"MPI_UINT64_T", ULONGLONG},
    {"MPI_UNSIGNED_LONG_LONG", ULONGLONG}, {"MPI_FLOAT", FLOAT}, {"MPI_REAL", FLOAT}, {"MPI_REAL4", FLOAT},
    {"MPI_DOUBLE", DOUBLE}, {"MPI_REAL8", DOUBLE}, {"MPI_DOUBLE_PRECISION", DOUBLE}};

static int memory_of_name(mpi_t type, memory_t *memory) {
  NC_REAL(MPI_Type_get_name, int (*)(mpi_t, char *, int *));
  char name[256] = "";
  int length;
  real_MPI_Type_get_name(type, name, &length);
  for (size_t n = 0; n < sizeof predefined / sizeof *predefined; n++) {
    if (strcmp(name, predefined[n].name) != 0) continue;
    *memory = predefined[n].memory;
    return NC_NOERR;
  }
  return NC_EUNSPTETYPE;
}

/* The one kind of number that a type is made of. */
static int memory_of_type(mpi_t type, memory_t *memory, bool *derived) {
  NC_REAL(MPI_Type_get_envelope, int (*)(mpi_t, int *, int *, int *, int *));
  NC_REAL(MPI_Type_get_contents, int (*)(mpi_t, int, int, int, int *, intptr_t *, void *));
  NC_REAL(MPI_Type_free, int (*)(mpi_t *));
  int integers, addresses, types, combiner;
  real_MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  *derived = types > 0;
  if (types == 0) return integers ? NC_EUNSPTETYPE : memory_of_name(type, memory);
  int *integer = malloc(((size_t)integers + 1) * sizeof *integer); // of an indexed type there may be millions
  intptr_t *address = malloc(((size_t)addresses + 1) * sizeof *address);
  mpi_t *inner = malloc((size_t)types * sizeof *inner);
  int result = integer && address && inner ? NC_NOERR : NC_ENOMEM;
  if (!result) real_MPI_Type_get_contents(type, integers, addresses, types, integer, address, inner);
  else types = 0;
  for (int n = 0; n < types; n++) {
    memory_t one;
    bool again = false;
    mpi_t part = type_of_many(inner, n);
    int wrong = memory_of_type(part, &one, &again);
    if (!result) result = wrong;
    if (!wrong && n > 0 && one != *memory) result = NC_EMULTITYPES;
    if (!wrong && n == 0) *memory = one;
    if (again) real_MPI_Type_free(&part);
  }
  free(integer);
  free(address);
  free(inner);
  return result;
}

/* The type in memory that is a variable's own. */
static memory_t memory_of_file(file_type_t type) {
  static const memory_t own[] = {TEXT, SCHAR, TEXT, SHORT, INT, FLOAT, DOUBLE, UCHAR, USHORT, UINT, LONGLONG, ULONGLONG};
  return own[type];
}

/* Puts the values into a run of their own; those that are to be got find it empty. */
static int pack(file_t *file, offset_t values, ask_t *ask) {
  NC_REAL(MPI_Pack, int (*)(const void *, int, mpi_t, void *, int, int *, mpi_t));
  NC_REAL(MPI_Type_dup, int (*)(mpi_t, mpi_t *));
  offset_t bytes = values * (offset_t)memory_bytes(ask->memory);
  if (ask->type_count > INT_MAX || bytes > INT_MAX) return NC_EINTOVERFLOW;
  ask->packed = malloc((size_t)bytes + 1);
  if (!ask->packed) return NC_ENOMEM;
  ask->unpacked = ask->values;
  ask->values = ask->packed;
  int at = 0;
  if (ask->put) {
    real_MPI_Pack(ask->unpacked, (int)ask->type_count, ask->type, ask->packed, (int)bytes, &at, file->comm);
  } else { // a copy, as the program may free its own before it waits
    mpi_t copy = 0;
    real_MPI_Type_dup(ask->type, &copy);
    ask->type = copy;
  }
  return NC_NOERR;
}

bool flexible_empty(const ask_t *ask) { return ask->flexible && ask->type_count == 0 && !is_null(ask->type); }

enum { COUNT_IGNORE = -1 };

int flexible_begin(file_t *file, int variable, offset_t values, ask_t *ask) {
  NC_REAL(MPI_Type_size, int (*)(mpi_t, int *));
  const variable_t *v = variable_of(file, variable);
  bool derived = false;
  ask->flexible = false;
  if (is_null(ask->type)) {
    ask->memory = memory_of_file(v->type);
    return NC_NOERR;
  }
  int size = 0, wrong = memory_of_type(ask->type, &ask->memory, &derived);
  if (wrong) return wrong;
  real_MPI_Type_size(ask->type, &size);
  offset_t each = size / (offset_t)memory_bytes(ask->memory);
  if (ask->type_count != COUNT_IGNORE && each * ask->type_count != values) return NC_EIOMISMATCH;
  if ((v->type == X_CHAR) != (ask->memory == TEXT)) return NC_ECHAR;
  return derived && ask->type_count != COUNT_IGNORE && values > 0 ? pack(file, values, ask) : NC_NOERR;
}

void flexible_end(file_t *file, ask_t *ask, bool got) {
  NC_REAL(MPI_Unpack, int (*)(const void *, int, int *, void *, int, mpi_t, mpi_t));
  NC_REAL(MPI_Type_size, int (*)(mpi_t, int *));
  NC_REAL(MPI_Type_free, int (*)(mpi_t *));
  if (ask->unpacked && !ask->put) {
    int size = 0, at = 0, count = (int)ask->type_count;
    real_MPI_Type_size(ask->type, &size);
    if (got) real_MPI_Unpack(ask->packed, size * count, &at, ask->unpacked, count, ask->type, file->comm);
    real_MPI_Type_free(&ask->type);
  }
  free(ask->packed);
  ask->packed = ask->unpacked = NULL;
}
