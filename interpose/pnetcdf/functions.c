/* The functions of PnetCDF that open, define, wait and close: the library's own, and what a redirected file needs around them. */
#define _GNU_SOURCE
#include "forms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- files */

enum { NC_WRITE = 0x0001, NC_NOCLOBBER = 0x0004, NC_64BIT_DATA = 0x0020, NC_64BIT_OFFSET = 0x0200, NC_NETCDF4 = 0x1000 };

/* The library refuses other modes before it touches the file. */
static bool mode_makes_files(int mode) {
  return !(mode & NC_NETCDF4) && (mode & (NC_64BIT_DATA | NC_64BIT_OFFSET)) != (NC_64BIT_DATA | NC_64BIT_OFFSET);
}

/* The library tells of these, and has opened the file. */
static bool is_open(int result) {
  return result == NC_NOERR || result == NC_EMULTIDEFINE_CMODE || result == NC_EMULTIDEFINE_OMODE || result == NC_ENULLPAD;
}

int ncmpi_create(mpi_t comm, const char *path, int mode, mpi_t info, int *id) {
  LIBRARY(ncmpi_create, int (*)(mpi_t, const char *, int, mpi_t, int *));
  if (!mode_makes_files(mode)) return real(comm, path, mode, info, id);
  session_t *session = library_begins(path, mode & NC_NOCLOBBER ? THALWEG_ACCESS_EXCLUSIVE : THALWEG_ACCESS_TRUNCATE, true);
  int result = real(comm, path, mode, info, id);
  library_goes_on();
  if (session && is_open(result)) file_opened(*id, session, true, true, comm);
  else if (session) session_release(session);
  return result;
}

int ncmpi_open(mpi_t comm, const char *path, int mode, mpi_t info, int *id) {
  LIBRARY(ncmpi_open, int (*)(mpi_t, const char *, int, mpi_t, int *));
  session_t *session = library_begins(path, mode & NC_WRITE ? THALWEG_ACCESS_UPDATE : THALWEG_ACCESS_READ, false);
  int result = real(comm, path, mode, info, id);
  library_goes_on();
  if (session && is_open(result)) file_opened(*id, session, mode & NC_WRITE, false, comm);
  else if (session) session_release(session);
  return result;
}

/* A function of the library around which something is to be done for redirected files. */
#define AROUND(name, parameters, arguments, before, after)   \
  int name parameters {                                      \
    NC_REAL(name, int(*) parameters);                        \
    file_t *file = file_of(id);                              \
    if (file) before;                                        \
    int result = real_##name arguments;                      \
    if (file && result == NC_NOERR) after;                   \
    return result;                                           \
  }

static void defined(file_t *file) {
  file->defining = false;
  file->independent = false;
  file->headed = true;
  file_defined(file);
  // One process writes the header, with a number of records that the others must not have changed before.
  if (file->has_records) file_together(file);
}

AROUND(ncmpi_enddef, (int id), (id), (void)0, defined(file))
AROUND(ncmpi__enddef, (int id, offset_t header, offset_t align, offset_t free, offset_t records),
       (id, header, align, free, records), (void)0, defined(file))
AROUND(ncmpi_redef, (int id), (id), file_teach_records(file), file->defining = true)
AROUND(ncmpi_begin_indep_data, (int id), (id), (void)0, file->independent = true)
AROUND(ncmpi_fill_var_rec, (int id, int variable, offset_t record), (id, variable, record), file_teach_records(file),
       written_record(file, variable, record))

/* As many records as there are, where the library may write the number of those that it wrote itself. */
static offset_t records_before(file_t *file) {
  return file && file->writable && file->has_records ? file_records(file) : 0;
}

#define RECORDS_KEPT(name, parameters, arguments, after)    \
  int name parameters {                                     \
    NC_REAL(name, int(*) parameters);                       \
    file_t *file = file_of(id);                             \
    offset_t records = records_before(file);                \
    int result = real_##name arguments;                     \
    if (records > 0) file_has_records(file, records);       \
    if (file) after; /* also where it failed for this process alone: the others wait for it */ \
    return result;                                          \
  }

static void settled(file_t *file) {
  if (file->writable) file_together(file); // all know what each has written
}

static void collective_again(file_t *file, int result) {
  if (result == NC_NOERR) file->independent = false;
  settled(file);
}

RECORDS_KEPT(ncmpi_end_indep_data, (int id), (id), collective_again(file, result))
RECORDS_KEPT(ncmpi_sync, (int id), (id), settled(file))
RECORDS_KEPT(ncmpi_sync_numrecs, (int id), (id), settled(file))

/* What may be changed of a header while data is written. */
RECORDS_KEPT(ncmpi_rename_var, (int id, int variable, const char *name), (id, variable, name), (void)0)
RECORDS_KEPT(ncmpi_rename_dim, (int id, int dimension, const char *name), (id, dimension, name), (void)0)
RECORDS_KEPT(ncmpi_rename_att, (int id, int variable, const char *name, const char *to), (id, variable, name, to), (void)0)
RECORDS_KEPT(ncmpi_put_att, (int id, int variable, const char *name, int type, offset_t count, const void *values),
             (id, variable, name, type, count, values), (void)0)
RECORDS_KEPT(ncmpi_put_att_text, (int id, int variable, const char *name, offset_t count, const char *values),
             (id, variable, name, count, values), (void)0)
#define PUT_ATT(end, C)                                                                                          \
  RECORDS_KEPT(ncmpi_put_att_##end, (int id, int variable, const char *name, int type, offset_t count, const C *values), \
               (id, variable, name, type, count, values), (void)0)
PUT_ATT(schar, signed char)
PUT_ATT(uchar, unsigned char)
PUT_ATT(short, short)
PUT_ATT(ushort, unsigned short)
PUT_ATT(int, int)
PUT_ATT(uint, unsigned)
PUT_ATT(long, long)
PUT_ATT(float, float)
PUT_ATT(double, double)
PUT_ATT(longlong, long long)
PUT_ATT(ulonglong, unsigned long long)

int ncmpi_copy_att(int from, int variable, const char *name, int id, int to) {
  NC_REAL(ncmpi_copy_att, int (*)(int, int, const char *, int, int));
  file_t *file = file_of(id);
  offset_t records = records_before(file);
  int result = real_ncmpi_copy_att(from, variable, name, id, to);
  if (records > 0) file_has_records(file, records);
  return result;
}

/* The library knows no record that it did not write. */
static void count_records(file_t *file, int dimension, offset_t *length) {
  if (!length || file->defining || dimension != file->unlimited || dimension < 0) return;
  offset_t records = file_records(file);
  if (records > *length) *length = records;
}

AROUND(ncmpi_inq_dimlen, (int id, int dimension, offset_t *length), (id, dimension, length), (void)0,
       count_records(file, dimension, length))
AROUND(ncmpi_inq_dim, (int id, int dimension, char *name, offset_t *length), (id, dimension, name, length), (void)0,
       count_records(file, dimension, length))

static int end_file(int id, int (*real)(int)) {
  file_t *file = file_of(id);
  if (!file) return real(id);
  bool pending = requests_pending(file) > 0;
  offset_t records = records_before(file);
  if (file->made && !file->defining) file_cut(file);
  if (file->writable && !file->over) written_tell(file);
  int result = real(id);
  // The library may have written the number of records that it knows.
  if (records > 0) file_has_records(file, records);
  if (file_closed(file) < 0 && result == NC_NOERR) result = NC_EFILE;
  return result == NC_NOERR && pending ? NC_EPENDING : result;
}

int ncmpi_close(int id) {
  NC_REAL(ncmpi_close, int (*)(int));
  return end_file(id, real_ncmpi_close);
}

int ncmpi_abort(int id) {
  NC_REAL(ncmpi_abort, int (*)(int));
  return end_file(id, real_ncmpi_abort);
}

/* ---- values that the library itself puts: where a type of the program's says what they are in the file */

static void put_by_library(file_t *file) {
  written_unknown(file);
  if (file->has_records) file_has_records(file, file_records_of_library(file));
}

#define VARD(name, C, after)                                                                                     \
  RECORDS_KEPT(name, (int id, int variable, mpi_t in_file, C *values, offset_t count, mpi_t type),               \
               (id, variable, in_file, values, count, type), after)
VARD(ncmpi_put_vard, const void, put_by_library(file))
VARD(ncmpi_put_vard_all, const void, (put_by_library(file), settled(file)))

/* ---- waiting */

static int wait_for(file_t *file, bool collective, int count, int *numbers, int *statuses) {
  int wrong = file->defining ? NC_EINDEFINE : mode_check(file, collective);
  if (wrong) return wrong;
  // What other processes put in this call, or before it, can be got behind it, and all know how many records there are.
  int all = requests_counted(file, count, statuses), puts = requests_wait_puts(file, count, numbers, statuses);
  if (all) requests_wait_puts(file, all, NULL, NULL);
  if (collective && file->writable) file_together(file);
  int gets = requests_wait_gets(file, count, numbers, statuses);
  if (all) requests_wait_gets(file, all, NULL, NULL);
  if (collective && file->writable) file_together(file); // and nobody puts again before all have got
  return puts ? puts : gets;
}

CALL(ncmpi_wait, (int id, int count, int numbers[], int statuses[]), (id, count, numbers, statuses),
     wait_for(file, false, count, numbers, statuses))
CALL(ncmpi_wait_all, (int id, int count, int numbers[], int statuses[]), (id, count, numbers, statuses),
     wait_for(file, true, count, numbers, statuses))
CALL(ncmpi_cancel, (int id, int count, int *numbers, int *statuses), (id, count, numbers, statuses),
     requests_cancel(file, count, numbers, statuses))

int ncmpi_inq_nreqs(int id, int *count) {
  file_t *file = file_of(id);
  NC_REAL(ncmpi_inq_nreqs, int (*)(int, int *));
  if (!file) return real_ncmpi_inq_nreqs(id, count);
  if (count) *count = requests_pending(file);
  return NC_NOERR;
}

int ncmpi_buffer_attach(int id, offset_t bytes) {
  NC_REAL(ncmpi_buffer_attach, int (*)(int, offset_t));
  file_t *file = file_of(id);
  int result = real_ncmpi_buffer_attach(id, bytes);
  if (file && result == NC_NOERR) {
    file->attached = bytes;
    file->used = 0;
  }
  return result;
}

int ncmpi_buffer_detach(int id) {
  NC_REAL(ncmpi_buffer_detach, int (*)(int));
  file_t *file = file_of(id);
  if (file && file->attached && bputs_pending(file)) return NC_EPENDINGBPUT;
  int result = real_ncmpi_buffer_detach(id);
  if (file && result == NC_NOERR) file->attached = 0;
  return result;
}

int ncmpi_inq_buffer_usage(int id, offset_t *used) {
  NC_REAL(ncmpi_inq_buffer_usage, int (*)(int, offset_t *));
  file_t *file = file_of(id);
  int result = real_ncmpi_inq_buffer_usage(id, used);
  if (file && result == NC_NOERR && used) *used = file->used;
  return result;
}
