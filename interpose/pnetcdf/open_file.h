/*
 * PnetCDF files that are redirected. The library itself keeps what a file is: its header, definitions, attributes, modes;
 * it writes and reads the header in the file's bytes, which are memory. Here the values of variables are put straight to
 * where the header says that they lie, and got from there.
 */
#ifndef OPEN_FILE_H
#define OPEN_FILE_H

#include "convert.h"

typedef long long offset_t; /* MPI_Offset */

enum {
  NC_NOERR = 0, NC_EBADID = -33, NC_EINVAL = -36, NC_EPERM = -37, NC_EINDEFINE = -39, NC_EINVALCOORDS = -40, NC_ENOTVAR = -49,
  NC_EGLOBAL = -50, NC_ECHAR = -56, NC_EEDGE = -57, NC_ESTRIDE = -58, NC_ERANGE = -60, NC_ENOMEM = -61,
  NC_ENULLPAD = -134, NC_ENOTINDEP = -202, NC_EINDEP = -203, NC_EFILE = -204, NC_EMULTITYPES = -208, NC_EIOMISMATCH = -209, NC_ENEGATIVECNT = -210,
  NC_EUNSPTETYPE = -211, NC_EINVAL_REQUEST = -212, NC_ENULLBUF = -215, NC_ENULLABUF = -217, NC_EPENDINGBPUT = -218,
  NC_EINSUFFBUF = -219, NC_ENULLSTART = -226, NC_EINTOVERFLOW = -221, NC_EPENDING = -236,
  NC_EMULTIDEFINE_OMODE = -251, NC_EMULTIDEFINE_CMODE = -273
};

/* A variable as the header has it. */
typedef struct {
  file_type_t type;
  int dims;
  bool record;
  offset_t begin;  /* of its first value in the file, in bytes */
  offset_t *shape; /* a record variable's first extent is 0 */
  bool fill_known;
  uint64_t fill; /* what stands for a number that does not fit, as its type has it */
} variable_t;

/* What was written of a file by this process, and, of one that it only reads, what by nobody. */
typedef struct {
  bool unknown;
  thalweg_box *parts, *holes;
  size_t count, room, hole_count;
  int *last; /* of each variable, its last part; -1: none */
  size_t last_count;
} written_t;

typedef struct request request_t;

/* Requests that are waited for, of one kind: how many, and the last one's number. */
typedef struct {
  int pending, last;
} kind_t;

typedef struct file {
  int id;
  session_t *session;
  int bytes;
  bool safe; /* the processes tell each other what is wrong with a collective call */
  bool has_header, made, writable, defining, independent, before_cdf5, has_records;
  bool over; /* for others: handed over, and not written any more */
  bool headed;           /* its header was written */
  offset_t records;      /* as many were seen */
  offset_t record_bytes; /* from one record to the next */
  int unlimited;         /* the number of the dimension; -1: none */
  int variables, found; /* found: when it was opened */
  variable_t *variable; /* as far as they were looked up; `dims` is -1 before */
  char *mapped;
  size_t mapped_bytes;
  mpi_t comm; /* a copy of the program's own */
  request_t *requests, **end; /* the last one's `next` */
  kind_t puts, gets;
  offset_t attached, used; /* the buffer of bput */
  written_t written;
} file_t;

/* ---- file.c */

/* The real PnetCDF function `name`. */
#define NC_REAL(name, type)                                                                             \
  static __typeof__(type) real_##name;                                                                  \
  if (!real_##name) real_##name = (__typeof__(type))real_function(#name, __builtin_return_address(0))

/* The redirected file that is open as `id`; NULL: none. */
HIDDEN file_t *file_of(int id);
/* Remembers a file that PnetCDF has opened or made; it holds `session` from now on. */
HIDDEN void file_opened(int id, session_t *session, bool writable, bool made, mpi_t comm);
/* Forgets it. 0, or -1 with errno when another component failed. */
HIDDEN int file_closed(file_t *file);
/* What a header says has changed. */
HIDDEN void file_defined(file_t *file);
/* A variable, looked up; NULL: there is none of this number. */
HIDDEN variable_t *variable_of(file_t *file, int number);
/* The memory of `size` bytes at `at` of the file, which becomes so long where `grow`; NULL with errno. */
HIDDEN char *file_at(file_t *file, offset_t at, offset_t size, bool grow);
/* What stands for numbers that do not fit into a variable. */
HIDDEN const void *file_fill_of(file_t *file, int number);
/* The number of records. */
HIDDEN offset_t file_records(file_t *file);
/* There are at least so many records. */
HIDDEN void file_has_records(file_t *file, offset_t records);
/* As many as the library itself knows. */
HIDDEN offset_t file_records_of_library(file_t *file);
/* Has the library itself know of the records that it did not write. All processes. */
HIDDEN void file_teach_records(file_t *file);
/* Cuts off what an earlier file had behind the end of this one. All processes. */
HIDDEN void file_cut(file_t *file);
/* Waits for the other processes that have the file open. */
HIDDEN void file_together(file_t *file);

/* ---- request.c */

/* What a program asks for: some values of a variable. */
typedef struct {
  bool put, buffered;
  const offset_t *start, *count, *stride, *map; /* NULL as in PnetCDF */
  bool whole, one;                               /* the forms without start, and without count */
  void *values;
  memory_t memory;
  bool flexible; /* `memory` is to be found out from these */
  offset_t type_count;
  mpi_t type;
  void *packed, *unpacked; /* a copy of its own, of values that are not in one run; the program's */
} ask_t;

/* Checks what is asked, as PnetCDF does. */
HIDDEN int request_check(file_t *file, int variable, const ask_t *ask);
/* The same for several places of a variable; how many values they have together. */
HIDDEN int request_check_many(file_t *file, int variable, int many, offset_t *const *starts, offset_t *const *counts, ask_t each,
                              offset_t *values);
/* How many values are asked for. */
HIDDEN offset_t request_values(file_t *file, int variable, const ask_t *ask);
/* Does it. */
HIDDEN int request_do(file_t *file, int variable, const ask_t *ask);
/* Keeps it until it is waited for; its number, for several places under one. */
HIDDEN int request_post(file_t *file, int variable, ask_t ask, int *number);
HIDDEN int request_post_many(file_t *file, int variable, int many, offset_t *const *starts, offset_t *const *counts, ask_t ask,
                             int *number);
/* Does those of `numbers`, or, for a negative count, all of a kind. */
HIDDEN int requests_wait_puts(file_t *file, int count, int *numbers, int *statuses);
HIDDEN int requests_wait_gets(file_t *file, int count, int *numbers, int *statuses);
/* The negative count that so many requests amount to; 0: some only. */
HIDDEN int requests_counted(const file_t *file, int count, bool with_statuses);
HIDDEN int requests_cancel(file_t *file, int count, int *numbers, int *statuses);
HIDDEN int requests_pending(const file_t *file);
HIDDEN void requests_forget(file_t *file);
HIDDEN int bputs_pending(const file_t *file);

/* ---- written.c: what was put into a file, and what nobody put into one that is read */

HIDDEN void written_add(file_t *file, int variable, const offset_t *start, const offset_t *count, const offset_t *stride);
/* A whole record was written. */
HIDDEN void written_record(file_t *file, int variable, offset_t record);
/* Something was written, nobody knows what. */
HIDDEN void written_unknown(file_t *file);
/* Tells the service. */
HIDDEN void written_tell(file_t *file);
HIDDEN void written_forget(file_t *file);
/* Asks the service what nobody has written. */
HIDDEN void holes_learn(file_t *file);
/* Whether some of this was written by nobody; it is said then, to the other components too. */
HIDDEN bool hole_met(file_t *file, int variable, const offset_t *start, const offset_t *count, const offset_t *stride);

/* ---- at_once.c: requests that are done before the call returns */

/* Whether calls of this kind are allowed now. */
HIDDEN int mode_check(const file_t *file, bool collective);
HIDDEN int at_once(file_t *file, int variable, bool collective, ask_t ask);
HIDDEN int at_once_many(file_t *file, int variable, bool collective, int many, offset_t *const *starts, offset_t *const *counts,
                        ask_t ask);

/* What is asked of several variables: their coordinates, values and types, each NULL where there are none. */
typedef struct {
  int many;
  const int *variables;
  offset_t *const *starts, *const *counts, *const *strides, *const *maps;
  void *const *values;
  const offset_t *type_counts;
  const void *types;
} several_t;

HIDDEN int at_once_several(file_t *file, bool collective, const several_t *several, ask_t ask);

/* ---- flexible.c: what belongs to the MPI of the program: values of its types, numbers of all its processes */

/* Finds the memory's type of a flexible ask for so many values, and packs them into one run where they are not one. */
HIDDEN int flexible_begin(file_t *file, int variable, offset_t values, ask_t *ask);
/* Unpacks what was `got`, and forgets the run. */
HIDDEN void flexible_end(file_t *file, ask_t *ask, bool got);
/* Whether a flexible ask is for nothing. */
HIDDEN bool flexible_empty(const ask_t *ask);
/* The lowest number of all processes. */
HIDDEN int lowest(file_t *file, int number);
/* One of an array of MPI's types. */
HIDDEN mpi_t type_of_many(const void *types, int n);

#endif
