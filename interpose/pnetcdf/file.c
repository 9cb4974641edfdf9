/* Files that PnetCDF has open and that are redirected: what their headers say, and their bytes as memory. */
#define _GNU_SOURCE
#include "open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 4096, MAPPINGS_KEPT = 8 };

static file_t *open_files[FILES_MAX];

/* Mappings of contents that were used before: the service hands contents out again, and their pages are at hand. */
static struct {
  ino_t content;
  char *at;
  size_t bytes;
} kept[MAPPINGS_KEPT];
static int next_kept;
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;

file_t *file_of(int id) { return id >= 0 && id < FILES_MAX ? open_files[id] : NULL; }

static void forget_variables(file_t *file) {
  for (int n = 0; n < file->variables; n++) free(file->variable[n].shape);
  free(file->variable);
  file->variable = NULL;
  file->variables = 0;
}

void file_defined(file_t *file) {
  NC_REAL(ncmpi_inq, int (*)(int, int *, int *, int *, int *));
  NC_REAL(ncmpi_inq_recsize, int (*)(int, offset_t *));
  NC_REAL(ncmpi_inq_format, int (*)(int, int *));
  int variables = 0, format = 0;
  forget_variables(file);
  real_ncmpi_inq(file->id, NULL, &variables, NULL, &file->unlimited);
  real_ncmpi_inq_recsize(file->id, &file->record_bytes);
  real_ncmpi_inq_format(file->id, &format);
  file->before_cdf5 = format != 5;
  // Not by ncmpi_inq_num_rec_vars: of a file that was opened, 1.12.3 tells what was in memory before, to each process another.
  file->has_records = file->unlimited >= 0;
  file->variable = calloc((size_t)variables + 1, sizeof *file->variable);
  file->variables = file->variable ? variables : 0;
  for (int n = 0; n < file->variables; n++) file->variable[n].dims = -1;
}

variable_t *variable_of(file_t *file, int number) {
  if (number < 0 || number >= file->variables) return NULL;
  variable_t *variable = &file->variable[number];
  if (variable->dims >= 0) return variable;
  NC_REAL(ncmpi_inq_var, int (*)(int, int, char *, int *, int *, int *, int *));
  NC_REAL(ncmpi_inq_varoffset, int (*)(int, int, offset_t *));
  NC_REAL(ncmpi_inq_varndims, int (*)(int, int, int *));
  NC_REAL(ncmpi_inq_dimlen, int (*)(int, int, offset_t *));
  int type, dims;
  if (real_ncmpi_inq_varndims(file->id, number, &dims)) return NULL;
  int over[dims + 1];
  if (real_ncmpi_inq_var(file->id, number, NULL, &type, NULL, over, NULL)) return NULL;
  // While it is being defined, nothing is known but its shape.
  if (real_ncmpi_inq_varoffset(file->id, number, &variable->begin) && !file->defining) return NULL;
  variable->shape = calloc((size_t)dims + 1, sizeof *variable->shape);
  if (!variable->shape) return NULL;
  variable->type = (file_type_t)type;
  variable->record = dims > 0 && over[0] == file->unlimited;
  for (int d = 0; d < dims; d++)
    if (d > 0 || !variable->record) real_ncmpi_inq_dimlen(file->id, over[d], &variable->shape[d]);
  variable->dims = dims;
  return variable;
}

/* As the library finds out itself. */
static bool is_safe(void) {
  const char *mode = getenv("PNETCDF_SAFE_MODE");
  return mode && *mode != '0';
}

static void file_handed_over(session_t *session) {
  for (int id = 0; id < FILES_MAX; id++) {
    file_t *file = open_files[id];
    if (!file || file->session != session || !file->writable || file->over) continue;
    if (!file->defining) written_tell(file);
    file->over = true;
    file_together(file); // all of a component's processes have said so
  }
}

void file_opened(int id, session_t *session, bool writable, bool made, mpi_t comm) {
  file_t *file = id >= 0 && id < FILES_MAX ? calloc(1, sizeof *file) : NULL;
  if (!file) {
    session_release(session); // everything goes through the library then, which is right, and slower
    return;
  }
  NC_REAL(MPI_Comm_dup, int (*)(mpi_t, mpi_t *));
  session_is_handed_over = file_handed_over;
  *file = (file_t){.id = id, .session = session, .made = made, .writable = writable, .defining = made, .unlimited = -1};
  file->bytes = session_descriptor(session);
  real_MPI_Comm_dup(comm, &file->comm);
  open_files[id] = file;
  if (!made) file_defined(file);
  file->found = file->variables;
  file->headed = !made;
  file->safe = is_safe();
  if (!writable) holes_learn(file);
}

static ino_t content_of(const file_t *file) {
  struct stat found;
  return fstat(file->bytes, &found) == 0 ? found.st_ino : 0;
}

/* Takes a mapping over that was kept for this content. */
static void take_kept(file_t *file) {
  ino_t content = content_of(file);
  pthread_mutex_lock(&keeping);
  for (int n = 0; n < MAPPINGS_KEPT; n++) {
    if (kept[n].at && kept[n].content == content) {
      file->mapped = kept[n].at;
      file->mapped_bytes = kept[n].bytes;
      kept[n].at = NULL;
      break;
    }
  }
  pthread_mutex_unlock(&keeping);
}

static void keep(file_t *file) {
  if (!file->mapped) return;
  pthread_mutex_lock(&keeping);
  __typeof__(kept[0]) *place = &kept[next_kept++ % MAPPINGS_KEPT];
  if (place->at) munmap(place->at, place->bytes);
  place->content = content_of(file);
  place->at = file->mapped;
  place->bytes = file->mapped_bytes;
  pthread_mutex_unlock(&keeping);
  file->mapped = NULL;
}

char *file_at(file_t *file, offset_t at, offset_t size, bool grow) {
  offset_t end = at + size;
  if (!file->mapped) take_kept(file);
  if ((size_t)end > file->mapped_bytes || !file->mapped) {
    size_t wanted = ((size_t)end + ((size_t)end >> 2) + (1 << 20)) & ~(size_t)4095;
    char *made = file->mapped ? mremap(file->mapped, file->mapped_bytes, wanted, MREMAP_MAYMOVE)
                              : mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, file->bytes, 0);
    if (made == MAP_FAILED) return NULL;
    file->mapped = made;
    file->mapped_bytes = wanted;
  }
  if (grow && size > 0) {
    struct stat found;
    if (fstat(file->bytes, &found) < 0) return NULL;
    // This makes a file longer and never shorter, whoever else does so at the same time.
    if (found.st_size < end && fallocate(file->bytes, 0, end - 1, 1) < 0) return NULL;
  }
  return file->mapped + at;
}

/* The number of records stands behind the four bytes that tell the format: in 4 bytes, in CDF-5 in 8. */
static void *records_at(file_t *file) {
  struct stat found; // one process writes the header, perhaps later than another one asks
  if (!file->has_header) file->has_header = fstat(file->bytes, &found) == 0 && found.st_size >= 12;
  return file->has_header && file_at(file, 0, 12, false) ? file->mapped + 4 : NULL;
}

static offset_t records_in_header(file_t *file, const void *at) {
  if (!file->before_cdf5) return (offset_t)__builtin_bswap64(__atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE));
  uint32_t records = __builtin_bswap32(__atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE));
  return records == UINT32_MAX ? 0 : records;
}

/* The library may write a header with a lower number, that of the records it wrote itself: for a moment only, as who calls it
   puts the number right again (file_has_records). No file loses records while it is open, so what was seen once is true. */
offset_t file_records(file_t *file) {
  const void *at = file->headed ? records_at(file) : NULL;
  offset_t records = at ? records_in_header(file, at) : 0;
  if (records > file->records) file->records = records;
  return file->records;
}

void file_has_records(file_t *file, offset_t records) {
  if (records > file->records) file->records = records;
  void *at = file->headed && records > 0 ? records_at(file) : NULL;
  for (offset_t known; at && (known = records_in_header(file, at)) < records;) {
    if (file->before_cdf5) {
      uint32_t before = __builtin_bswap32((uint32_t)known), after = __builtin_bswap32((uint32_t)records);
      if (__atomic_compare_exchange_n((uint32_t *)at, &before, after, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
    } else {
      uint64_t before = __builtin_bswap64((uint64_t)known), after = __builtin_bswap64((uint64_t)records);
      if (__atomic_compare_exchange_n((uint64_t *)at, &before, after, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
    }
  }
}

void file_together(file_t *file) {
  NC_REAL(MPI_Barrier, int (*)(mpi_t));
  if (file->comm) real_MPI_Barrier(file->comm);
}

/* Has the library write the first value of a record as it is. All processes. */
static void rewrite(file_t *file, int number, const variable_t *variable, offset_t record) {
  static const char *const names[] = {"", "schar", "text", "short", "int", "float", "double", "uchar", "ushort", "uint", "longlong", "ulonglong"};
  static const memory_t memory[] = {TEXT, SCHAR, TEXT, SHORT, INT, FLOAT, DOUBLE, UCHAR, USHORT, UINT, LONGLONG, ULONGLONG};
  char name[64];
  snprintf(name, sizeof name, "ncmpi_put_vara_%s_all", names[variable->type]);
  int (*real)(int, int, const offset_t *, const offset_t *, const void *) = real_function(name, __builtin_return_address(0));
  offset_t start[variable->dims], count[variable->dims];
  for (int d = 0; d < variable->dims; d++) {
    start[d] = d == 0 ? record : 0;
    count[d] = 1;
  }
  uint64_t value = 0;
  const char *at = file_at(file, variable->begin + record * file->record_bytes, (offset_t)file_bytes(variable->type), true);
  if (at) out_of_file(variable->type, memory[variable->type], 0)(at, &value, 1, memory_fill(memory[variable->type]));
  real(file->id, number, start, count, &value);
}

/* Its ncmpi_inq_dimlen calls ncmpi_inq_dim by name, which is the one here, and knows more. */
offset_t file_records_of_library(file_t *file) {
  NC_REAL(ncmpi_inq_dim, int (*)(int, int, char *, offset_t *));
  offset_t known = 0;
  real_ncmpi_inq_dim(file->id, file->unlimited, NULL, &known);
  return known;
}

void file_teach_records(file_t *file) {
  if (!file->writable || !file->has_records || file->defining || file->independent) return;
  file_together(file);
  offset_t known = file_records_of_library(file), records = file_records(file);
  for (int n = 0; known < records && n < file->variables; n++) {
    variable_t *variable = variable_of(file, n);
    if (!variable || !variable->record) continue;
    rewrite(file, n, variable, records - 1);
    break;
  }
}

const void *file_fill_of(file_t *file, int number) {
  NC_REAL(ncmpi_inq_var_fill, int (*)(int, int, int *, void *));
  variable_t *variable = variable_of(file, number);
  if (!variable->fill_known && real_ncmpi_inq_var_fill(file->id, number, NULL, &variable->fill) != NC_NOERR)
    memcpy(&variable->fill, file_fill(variable->type), file_bytes(variable->type));
  variable->fill_known = true;
  return &variable->fill;
}

void file_cut(file_t *file) {
  offset_t end = 0;
  NC_REAL(ncmpi_inq_header_extent, int (*)(int, offset_t *));
  real_ncmpi_inq_header_extent(file->id, &end);
  file_together(file);
  offset_t records = file->has_records ? file_records(file) : 0;
  for (int n = 0; n < file->variables; n++) {
    const variable_t *v = variable_of(file, n);
    if (!v) return;
    offset_t bytes = (offset_t)file_bytes(v->type);
    for (int d = v->record ? 1 : 0; d < v->dims; d++) bytes *= v->shape[d];
    offset_t last = v->record ? (records > 0 ? v->begin + (records - 1) * file->record_bytes + bytes : 0) : v->begin + bytes;
    if (last > end) end = last;
  }
  end = (end + 3) & ~(offset_t)3; // values are padded
  struct stat found;
  if (fstat(file->bytes, &found) == 0 && found.st_size > end && ftruncate(file->bytes, end) < 0) return;
}

int file_closed(file_t *file) {
  NC_REAL(MPI_Comm_free, int (*)(mpi_t *));
  keep(file);
  forget_variables(file);
  written_forget(file);
  if (file->comm) real_MPI_Comm_free(&file->comm);
  requests_forget(file);
  open_files[file->id] = NULL;
  session_t *session = file->session;
  free(file);
  return session_release(session);
}
