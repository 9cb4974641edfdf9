/* Requests: some values of a variable, put to where they lie in the file, or got from there; at once, or when waited for. */
#define _GNU_SOURCE
#include "open_file.h"

#include <stdlib.h>
#include <string.h>

struct request {
  request_t *next;
  int number, variable;
  ask_t ask;
  bool done; /* its values are where they belong already */
  bool told; /* that some do not fit, when it was posted */
  offset_t buffered;
  request_t *part; /* more values under the same number */
  offset_t coordinates[]; /* start, count, stride and map */
};

/* The extent of a dimension for what is asked: records can be put where there are none yet. */
static offset_t extent(file_t *file, const variable_t *v, int d) {
  return d == 0 && v->record ? file_records(file) : v->shape[d];
}

/* What is asked in full: for each dimension where it begins, how many, how far apart. */
static void expand(file_t *file, const variable_t *v, const ask_t *ask, offset_t *start, offset_t *count, offset_t *stride) {
  for (int d = 0; d < v->dims; d++) {
    start[d] = ask->whole ? 0 : ask->start[d];
    count[d] = ask->whole ? extent(file, v, d) : ask->one ? 1 : ask->count[d];
    stride[d] = ask->stride ? ask->stride[d] : 1;
  }
}

/* Where something begins: as far as the end itself when nothing is asked from there. */
static bool begins_inside(offset_t start, offset_t count, offset_t extent) {
  return start >= 0 && (start < extent || (start == extent && count <= 0));
}

static bool ends_inside(offset_t start, offset_t count, offset_t stride, offset_t extent) {
  if (count > extent - start) return false;
  return count <= 0 || stride <= 0 || (count - 1) <= (extent - 1 - start) / stride;
}

/* The order is PnetCDF's: programs that make several mistakes hear of the same one. */
static int check_coordinates(file_t *file, const variable_t *v, const ask_t *ask) {
  if (!ask->start || ask->start[0] < 0) return NC_EINVALCOORDS;
  bool endless = v->record && ask->put;
  if (v->record && file->before_cdf5 && ask->start[0] > UINT32_MAX) return NC_EINVALCOORDS;
  for (int d = endless ? 1 : 0; d < v->dims; d++)
    if (!begins_inside(ask->start[d], ask->one || !ask->count ? 1 : ask->count[d], extent(file, v, d))) return NC_EINVALCOORDS;
  if (ask->one) return NC_NOERR;
  if (!ask->count) return NC_EEDGE;
  for (int d = 0; d < v->dims; d++) {
    if (ask->count[d] < 0) return NC_ENEGATIVECNT;
    if (d == 0 && endless) continue;
    if (!ends_inside(ask->start[d], ask->count[d], ask->stride ? ask->stride[d] : 1, extent(file, v, d))) return NC_EEDGE;
  }
  for (int d = 0; d < v->dims && ask->stride; d++)
    if (ask->stride[d] <= 0) return NC_ESTRIDE;
  return NC_NOERR;
}

int request_check(file_t *file, int number, const ask_t *ask) {
  if (ask->put && (!file->writable || file->over)) return NC_EPERM;
  if (number == -1) return NC_EGLOBAL;
  const variable_t *v = variable_of(file, number);
  if (!v) return NC_ENOTVAR;
  if (!ask->flexible && (v->type == X_CHAR) != (ask->memory == TEXT)) return NC_ECHAR;
  if (ask->buffered && !file->attached) return NC_ENULLABUF;
  return ask->whole || v->dims == 0 ? NC_NOERR : check_coordinates(file, v, ask);
}

offset_t request_values(file_t *file, int number, const ask_t *ask) {
  const variable_t *v = variable_of(file, number);
  offset_t values = 1;
  for (int d = 0; d < v->dims && !ask->one; d++) values *= ask->whole ? extent(file, v, d) : ask->count[d];
  return values;
}

/* Whether `count` values fit into the file. */
static bool fit(convert_t *convert, const char *values, offset_t count, size_t each, const void *fill) {
  enum { AT_ONCE = 512 };
  char scratch[AT_ONCE * 8];
  bool all = true;
  for (offset_t n = 0; n < count; n += AT_ONCE)
    all &= convert(values + n * (offset_t)each, scratch, (size_t)(count - n < AT_ONCE ? count - n : AT_ONCE), fill);
  return all;
}

/* Does what is asked, or only finds out whether all values fit. */
static int go_through(file_t *file, int number, const ask_t *ask, bool only_look) {
  const variable_t *v = variable_of(file, number);
  if (!v) return NC_ENOTVAR;
  int room = v->dims + 1; // a scalar has no dimensions, and an array has one element
  offset_t start[room], count[room], stride[room], in_file[room], in_memory[room], at[room];
  expand(file, v, ask, start, count, stride);
  offset_t size = (offset_t)file_bytes(v->type), bytes = size, values = 1, first = v->begin, last = v->begin + size;
  for (int d = v->dims - 1; d >= 0; d--) {
    bool by_record = d == 0 && v->record;
    offset_t step = by_record ? file->record_bytes : bytes;
    in_file[d] = step * stride[d];
    in_memory[d] = (ask->map ? ask->map[d] : values) * (offset_t)memory_bytes(ask->memory);
    values *= count[d];
    if (!by_record) bytes *= v->shape[d];
    first += start[d] * step;
    if (count[d] > 0) last += (start[d] + (count[d] - 1) * stride[d]) * step;
    at[d] = 0;
  }
  if (values == 0) return NC_NOERR;
  if (!ask->put && hole_met(file, number, start, count, stride)) return NC_EFILE;
  char *base = only_look ? NULL : file_at(file, first, last - first, true);
  if (!base && !only_look) return NC_EFILE;
  convert_t *convert = ask->put ? into_file(ask->memory, v->type, file->before_cdf5)
                                : out_of_file(v->type, ask->memory, file->before_cdf5);
  if (!convert) return NC_ECHAR;
  const void *fill = ask->put ? file_fill_of(file, number) : memory_fill(ask->memory);
  // The innermost dimensions that lie as one run on both sides.
  int outer = v->dims;
  offset_t run = 1, memory_size = (offset_t)memory_bytes(ask->memory);
  while (outer > 0 && in_file[outer - 1] == run * size && in_memory[outer - 1] == run * memory_size) run *= count[--outer];
  bool all = true;
  char *memory = ask->values;
  for (offset_t place = 0;;) {
    all &= only_look ? fit(convert, memory, run, (size_t)memory_size, fill)
           : ask->put ? convert(memory, base + place, (size_t)run, fill)
                      : convert(base + place, memory, (size_t)run, fill);
    int d = outer - 1;
    for (; d >= 0; d--) {
      place += in_file[d];
      memory += in_memory[d];
      if (++at[d] < count[d]) break;
      place -= in_file[d] * count[d];
      memory -= in_memory[d] * count[d];
      at[d] = 0;
    }
    if (d < 0) break;
  }
  if (ask->put && !only_look) {
    written_add(file, number, start, count, stride);
    if (v->record) file_has_records(file, start[0] + (count[0] - 1) * stride[0] + 1);
  }
  return all ? NC_NOERR : NC_ERANGE;
}

int request_do(file_t *file, int number, const ask_t *ask) { return go_through(file, number, ask, false); }

/* A copy of the values, as far as they lie apart: what stands behind them in the program's memory may change at once. */
static int copy_values(const variable_t *v, ask_t *ask) {
  offset_t last = 0, values = 1;
  for (int d = v->dims - 1; d >= 0; d--) {
    last += (ask->count[d] - 1) * (ask->map ? ask->map[d] : values);
    values *= ask->count[d];
  }
  size_t bytes = (size_t)(last + 1) * memory_bytes(ask->memory);
  void *copy = malloc(bytes);
  if (!copy) return NC_ENOMEM;
  ask->values = ask->packed = memcpy(copy, ask->values, bytes);
  return NC_NOERR;
}

/*
 * A put that is waited for tells of values that do not fit when it is posted. The library has converted them by then, or, where
 * they are few, swapped them in a copy, so that they may be temporary: the Fortran interfaces and their users count on it.
 */
static int prepare(file_t *file, request_t *request, offset_t values) {
  enum { COPIED = 8192 };
  ask_t *ask = &request->ask;
  const variable_t *v = variable_of(file, request->variable);
  bool fits = always_fit(ask->memory, v->type, file->before_cdf5);
  if (!ask->put || ask->packed || (fits && values * (offset_t)memory_bytes(ask->memory) > COPIED)) return NC_NOERR;
  int wrong = copy_values(v, ask);
  return wrong || fits ? wrong : go_through(file, request->variable, ask, true);
}

/* Buffered values go where they belong now; while the file is being defined there is no such place, and they are copied. */
static int buffer(file_t *file, request_t *request, offset_t values) {
  const variable_t *v = variable_of(file, request->variable);
  offset_t bytes = values * (offset_t)file_bytes(v->type);
  if (file->used + bytes > file->attached) return NC_EINSUFFBUF;
  int wrong = !file->defining ? request_do(file, request->variable, &request->ask)
              : request->ask.packed ? NC_NOERR
                                    : copy_values(v, &request->ask);
  if (wrong && wrong != NC_ERANGE) return wrong;
  request->done = !file->defining;
  request->buffered = bytes;
  file->used += bytes;
  return wrong;
}

/* A request for what has been checked; its values are in one run. */
static int make(file_t *file, int number, const ask_t *ask, request_t **result) {
  const variable_t *v = variable_of(file, number);
  size_t dims = (size_t)v->dims;
  request_t *made = calloc(1, sizeof *made + 4 * dims * sizeof(offset_t));
  if (!made) return NC_ENOMEM;
  made->variable = number;
  made->ask = *ask;
  offset_t *start = made->coordinates, *count = start + dims, *stride = count + dims, *map = stride + dims;
  expand(file, v, ask, start, count, stride);
  made->ask.start = start;
  made->ask.count = count;
  made->ask.stride = stride;
  made->ask.whole = made->ask.one = false;
  if (ask->map) made->ask.map = memcpy(map, ask->map, dims * sizeof *map);
  offset_t values = request_values(file, number, &made->ask);
  int wrong = ask->buffered ? buffer(file, made, values) : prepare(file, made, values);
  made->told = wrong == NC_ERANGE;
  if (wrong && wrong != NC_ERANGE) {
    if (made->ask.packed != ask->packed) free(made->ask.packed);
    free(made);
    return wrong;
  }
  *result = made;
  return wrong;
}

static kind_t *kind_of(file_t *file, const request_t *request) { return request->ask.put ? &file->puts : &file->gets; }

/* Numbered as the library does: puts are even and gets are odd, from the lowest on when none of the kind is left. */
static void append(file_t *file, request_t *request, int *id) {
  kind_t *kind = kind_of(file, request);
  request->number = kind->pending++ > 0 ? kind->last + 2 : request->ask.put ? 0 : 1;
  kind->last = request->number;
  if (!file->requests) file->end = &file->requests;
  *file->end = request; // in the order in which they came
  file->end = &request->next;
  if (id) *id = request->number;
}

int request_post(file_t *file, int number, ask_t ask, int *id) {
  request_t *request = NULL;
  if (id) *id = -1;
  if (file->defining) file_defined(file); // as far as it is
  int wrong = request_check(file, number, &ask);
  if (wrong) return wrong;
  if (flexible_empty(&ask)) return NC_NOERR;
  offset_t values = request_values(file, number, &ask);
  if (ask.flexible) wrong = flexible_begin(file, number, values, &ask);
  if (wrong || values == 0) return wrong; // nothing is no request
  wrong = make(file, number, &ask, &request);
  if (request) append(file, request, id);
  else flexible_end(file, &ask, false);
  return wrong;
}

int request_check_many(file_t *file, int number, int many, offset_t *const *starts, offset_t *const *counts, ask_t each,
                       offset_t *values) {
  each.whole = true;
  int wrong = request_check(file, number, &each);
  if (wrong || many == 0) return wrong;
  int dims = variable_of(file, number)->dims;
  *values = 0;
  if (dims == 0 && many != 1) return NC_EINVAL;
  if (dims > 0 && !starts) return NC_ENULLSTART;
  each.whole = dims == 0;
  for (int n = 0; n < many && !wrong; n++) {
    each.start = starts ? starts[n] : NULL;
    each.count = counts ? counts[n] : NULL;
    each.one = !each.count;
    if (dims > 0 && !each.start) return NC_ENULLSTART;
    wrong = request_check(file, number, &each);
    if (!wrong) *values += request_values(file, number, &each);
  }
  return wrong;
}

static void forget_parts(file_t *file, request_t *first) {
  while (first) {
    request_t *next = first->part;
    file->used -= first->buffered;
    flexible_end(file, &first->ask, false);
    free(first);
    first = next;
  }
}

int request_post_many(file_t *file, int number, int many, offset_t *const *starts, offset_t *const *counts, ask_t ask, int *id) {
  request_t *first = NULL, **place = &first;
  offset_t values = 0;
  if (id) *id = -1;
  if (file->defining) file_defined(file); // as far as it is
  int result = request_check_many(file, number, many, starts, counts, ask, &values);
  if (result || many == 0 || flexible_empty(&ask)) return result;
  if (ask.flexible) result = flexible_begin(file, number, values, &ask);
  if (result || values == 0) return result;
  ask_t each = ask;
  bool scalar = variable_of(file, number)->dims == 0;
  for (int n = 0; n < many && (!result || result == NC_ERANGE); n++) {
    each.start = scalar ? NULL : starts[n];
    each.count = counts && !scalar ? counts[n] : NULL;
    each.one = !each.count;
    int wrong = make(file, number, &each, place);
    if (wrong) result = wrong;
    if (!*place) break;
    each.packed = each.unpacked = NULL; // the first part has them
    each.values = (char *)each.values + request_values(file, number, &each) * (offset_t)memory_bytes(each.memory);
    place = &(*place)->part;
  }
  if (!result || result == NC_ERANGE) {
    append(file, first, id);
  } else if (first) {
    forget_parts(file, first);
  } else {
    flexible_end(file, &ask, false);
  }
  return result;
}

/* PnetCDF's names for no request, and for all of a kind. */
enum { NONE = -1, ALL = -1, ALL_GETS = -2, ALL_PUTS = -3 };

static int finish(file_t *file, request_t **place, bool cancel) {
  int result = NC_NOERR;
  request_t *first = *place, *request = first;
  *place = first->next;
  if (!first->next) file->end = place;
  kind_of(file, first)->pending--;
  while (request) {
    int one = cancel || request->done ? NC_NOERR : request_do(file, request->variable, &request->ask);
    if (!result && !(one == NC_ERANGE && request->told)) result = one;
    request = request->part;
  }
  flexible_end(file, &first->ask, !cancel);
  forget_parts(file, first);
  return result;
}

/* Those that are puts, or gets, of all that `which` names. */
static int finish_all(file_t *file, int which, bool puts, bool cancel) {
  int result = NC_NOERR;
  if (which != ALL && puts != (which == ALL_PUTS)) return result;
  for (request_t **place = &file->requests; *place;) {
    if ((*place)->ask.put == puts) {
      int one = finish(file, place, cancel);
      if (!result) result = one;
    } else {
      place = &(*place)->next;
    }
  }
  return result;
}

static request_t **found(file_t *file, int number) {
  request_t **place = &file->requests;
  while (*place && (*place)->number != number) place = &(*place)->next;
  return place;
}

/* Those that are puts, or gets, of these numbers; numbers that are none are told with the gets. */
static int finish_some(file_t *file, int count, int *numbers, int *statuses, bool puts, bool cancel) {
  if (count < 0) return finish_all(file, count, puts, cancel);
  int result = NC_NOERR;
  for (int n = 0; n < count; n++) {
    if (numbers[n] == NONE) {
      if (statuses && puts) statuses[n] = NC_NOERR;
      continue;
    }
    request_t **place = found(file, numbers[n]);
    if (*place ? (*place)->ask.put != puts : puts) continue;
    int one = *place ? finish(file, place, cancel) : NC_EINVAL_REQUEST;
    if (statuses) statuses[n] = one;
    if (!result) result = one;
    numbers[n] = NONE;
  }
  return result;
}

int requests_wait_puts(file_t *file, int count, int *numbers, int *statuses) {
  return finish_some(file, count, numbers, statuses, true, false);
}

int requests_wait_gets(file_t *file, int count, int *numbers, int *statuses) {
  return finish_some(file, count, numbers, statuses, false, false);
}

/* Waiting for as many as there are is waiting for all, whatever their numbers: Fortran programs do not get one where values did
   not fit, and still wait for it. */
int requests_counted(const file_t *file, int count, bool with_statuses) {
  int puts = file->puts.pending, gets = file->gets.pending;
  if (count <= 0 || (puts > 0 && gets > 0 && with_statuses) || count != puts + gets) return 0;
  return ALL;
}

int requests_cancel(file_t *file, int count, int *numbers, int *statuses) {
  int puts = finish_some(file, count, numbers, statuses, true, true);
  int gets = finish_some(file, count, numbers, statuses, false, true);
  return puts ? puts : gets;
}

int requests_pending(const file_t *file) { return file->puts.pending + file->gets.pending; }

int bputs_pending(const file_t *file) {
  int count = 0;
  for (const request_t *r = file->requests; r; r = r->next) count += r->ask.buffered;
  return count;
}

void requests_forget(file_t *file) {
  finish_all(file, ALL, true, true);
  finish_all(file, ALL, false, true);
}
