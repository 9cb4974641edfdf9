/*
 * netCDF and HDF5: their opening of a file is one use of it, a turn, of whatever calls of the C library it
 * consists. Everything else they do themselves, on the bytes that these calls open.
 */
#define _GNU_SOURCE
#include "redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* What this thread's outermost library call is about: of its file there is a session as soon as it is met. */
static __thread struct {
  int depth;
  bool creates, named;
  int refused;
  uint32_t access;
  session_t *session;
  matched_t file;
} opening;

bool library_opens(void) { return opening.depth > 0; }
bool library_creates(void) { return opening.depth > 0 && opening.creates; }

static void announce(const char *path, uint32_t access) {
  if (opening.depth++ > 0) return;
  opening.creates = access > THALWEG_ACCESS_UPDATE;
  opening.refused = 0;
  opening.access = access;
  opening.session = NULL;
  opening.named = matches(AT_FDCWD, path, &opening.file);
}

static void begin(bool warm) {
  opening.session = session_hold(&opening.file, (wish_t){.access = opening.access, .turn = true, .warm = warm});
  if (!opening.session) opening.refused = errno;
}

int library_meets(const char *path, int flags) {
  if (opening.depth == 0 || !opening.named || strcmp(opening.file.path, path) != 0) return 0;
  // Who makes a file and opens it for reading looks whether there is one.
  if (opening.creates && (flags & O_ACCMODE) == O_RDONLY) return 0;
  if (!opening.session && !opening.refused) begin(false);
  // A library that must not make the file anew finds it in the way, and says so with its own error.
  if (opening.session || (opening.refused == EEXIST && !(flags & O_CREAT))) return 0;
  errno = opening.refused;
  return -1;
}

session_t *library_begins(const char *path, uint32_t access, bool warm) {
  announce(path, access);
  if (opening.depth > 1 || !opening.named) return NULL;
  begin(warm);
  return opening.session;
}

void library_goes_on(void) { opening.depth--; }

/* The library has opened the file, or not: a library that keeps it in its own memory has met none. */
static void end(void) {
  int why = errno;
  library_goes_on();
  if (opening.depth == 0 && opening.session) session_release(opening.session);
  errno = why;
}

#define OPENING(access, call) \
  announce(path, access);     \
  __typeof__(call) result = call; \
  end();                      \
  return result

/* The flags of netCDF and of PnetCDF. */
enum { NC_WRITE = 0x0001, NC_NOCLOBBER = 0x0004 };

static uint32_t nc_creates(int mode) { return mode & NC_NOCLOBBER ? THALWEG_ACCESS_EXCLUSIVE : THALWEG_ACCESS_TRUNCATE; }
static uint32_t nc_opens(int mode) { return mode & NC_WRITE ? THALWEG_ACCESS_UPDATE : THALWEG_ACCESS_READ; }

int nc_create(const char *path, int mode, int *id) {
  LIBRARY(nc_create, int (*)(const char *, int, int *));
  OPENING(nc_creates(mode), real(path, mode, id));
}

int nc__create(const char *path, int mode, size_t size, size_t *chunk, int *id) {
  LIBRARY(nc__create, int (*)(const char *, int, size_t, size_t *, int *));
  OPENING(nc_creates(mode), real(path, mode, size, chunk, id));
}

int nc_open(const char *path, int mode, int *id) {
  LIBRARY(nc_open, int (*)(const char *, int, int *));
  OPENING(nc_opens(mode), real(path, mode, id));
}

int nc__open(const char *path, int mode, size_t *chunk, int *id) {
  LIBRARY(nc__open, int (*)(const char *, int, size_t *, int *));
  OPENING(nc_opens(mode), real(path, mode, chunk, id));
}

int nc_create_par(const char *path, int mode, mpi_t comm, mpi_t info, int *id) {
  LIBRARY(nc_create_par, int (*)(const char *, int, mpi_t, mpi_t, int *));
  OPENING(nc_creates(mode), real(path, mode, comm, info, id));
}

int nc_create_par_fortran(const char *path, int mode, int comm, int info, int *id) {
  LIBRARY(nc_create_par_fortran, int (*)(const char *, int, int, int, int *));
  OPENING(nc_creates(mode), real(path, mode, comm, info, id));
}

int nc_open_par(const char *path, int mode, mpi_t comm, mpi_t info, int *id) {
  LIBRARY(nc_open_par, int (*)(const char *, int, mpi_t, mpi_t, int *));
  OPENING(nc_opens(mode), real(path, mode, comm, info, id));
}

int nc_open_par_fortran(const char *path, int mode, int comm, int info, int *id) {
  LIBRARY(nc_open_par_fortran, int (*)(const char *, int, int, int, int *));
  OPENING(nc_opens(mode), real(path, mode, comm, info, id));
}

/* The flags of HDF5. */
enum { H5F_ACC_RDWR = 1, H5F_ACC_EXCL = 4 };

static bool in_memory(hid_t list, bool made, const void *caller) {
  return hdf5_place(list, made, real_function, caller) == HDF5_IN_MEMORY;
}

#define H5_OPENING(list, access, call)                                 \
  uint32_t wanted = access;                                            \
  bool made = wanted > THALWEG_ACCESS_UPDATE;                          \
  bool alone = redirecting() && in_memory(list, made, __builtin_return_address(0)); \
  inside += alone;                                                     \
  announce(path, wanted);                                              \
  hid_t result = call;                                                 \
  end();                                                               \
  inside -= alone;                                                     \
  return result

hid_t H5Fcreate(const char *path, unsigned flags, hid_t creation, hid_t list) {
  LIBRARY(H5Fcreate, hid_t(*)(const char *, unsigned, hid_t, hid_t));
  H5_OPENING(list, flags & H5F_ACC_EXCL ? THALWEG_ACCESS_EXCLUSIVE : THALWEG_ACCESS_TRUNCATE, real(path, flags, creation, list));
}

hid_t H5Fopen(const char *path, unsigned flags, hid_t list) {
  LIBRARY(H5Fopen, hid_t(*)(const char *, unsigned, hid_t));
  H5_OPENING(list, flags & H5F_ACC_RDWR ? THALWEG_ACCESS_UPDATE : THALWEG_ACCESS_READ, real(path, flags, list));
}
