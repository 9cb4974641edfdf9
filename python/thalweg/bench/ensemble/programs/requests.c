/* Which cells of a file a process writes or reads, and which values these have. */
#include "requests.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Where this process is in the grid along a dimension, and how many processes share it. */
static void place(const struct plan *plan, const struct dimension *d, int rank, int *at, int *of) {
  *at = d->along == 'x' ? rank % plan->px : d->along == 'y' ? rank / plan->px : 0;
  *of = d->along == 'x' ? plan->px : d->along == 'y' ? plan->py : 1;
}

/* The first and last process of a dimension also write what is before and behind all processes' cells. */
static void region(const struct plan *plan, const struct file *file, int asked_only, int rank, struct request *r) {
  r->cells = 1;
  for (int n = 0; n < r->variable->dims; n++) {
    const struct dimension *d = &file->dimension[r->variable->dimension[n]];
    int at, of;
    place(plan, d, rank, &at, &of);
    long long begin = 0, end = d->length > 0 ? d->length : 1;
    if (d->along != '-') {
      if (asked_only || at > 0) begin = d->lead + at * d->cells;
      if (asked_only || at < of - 1) end = d->lead + (at + 1) * d->cells;
    }
    r->start[n] = begin;
    r->count[n] = end - begin;
    r->cells *= (size_t)(end - begin);
  }
}

struct session requests_of(const struct plan *plan, const struct file *file, enum action action, enum writer writer,
                           int rank) {
  struct session session = {.action = action, .writer = writer, .file = file};
  int asked_only = action != CREATE;
  session.requests = calloc((size_t)file->variables, sizeof *session.requests);
  if (session.requests == NULL) fail("out of memory");
  size_t bytes = 0;
  for (int v = 0; v < file->variables; v++) {
    const struct variable *variable = &file->variable[v];
    if (asked_only ? variable->role != ASKED : variable->role == AXIS && rank != 0) continue;
    struct request *r = &session.requests[session.count++];
    r->variable = variable;
    region(plan, file, asked_only, rank, r);
    bytes += r->cells * variable->cell_bytes;
  }
  /* One piece of memory, in the order of the variables: as a program that keeps its state in arrays has it. */
  char *values = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (values == NULL) fail("out of memory: %zu bytes", bytes);
  memset(values, 0, bytes);
  /* Doubles first, for their alignment. */
  for (size_t width = 8; width >= 4; width -= 4)
    for (int n = 0; n < session.count; n++)
      if (session.requests[n].variable->cell_bytes == width) {
        session.requests[n].values = values;
        values += session.requests[n].cells * width;
      }
  return session;
}

static uint32_t mixed(uint32_t seed, uint32_t word) {
  seed = (seed ^ word) * 0x9E3779B1u;
  return seed ^ seed >> 15;
}

/* The value of the cell with a linear index: 24 bits, which a float holds exactly. */
static double value_of(uint32_t seed, uint32_t index) { return (double)((seed + index * 2654435761u) >> 8); }

static uint32_t seed_of(const struct session *s, const struct request *r) {
  uint32_t seed = mixed(mixed(mixed(1, (uint32_t)s->cycle), (uint32_t)s->ensemble), (uint32_t)s->writer);
  return mixed(mixed(seed, (uint32_t)s->file->kind[0]), (uint32_t)(r->variable - s->file->variable));
}

/* Goes through the rows of a request: `row` gets the linear index of its first cell, and where it lies in memory. */
typedef void row_of(const struct session *, const struct request *, uint32_t seed, uint32_t index, size_t at,
                    size_t cells);

static void rows(const struct session *s, const struct request *r, row_of *row) {
  int last = r->variable->dims - 1;
  size_t length = (size_t)r->count[last];
  uint32_t seed = seed_of(s, r);
  for (size_t n = 0; n < r->cells / length; n++) {
    size_t left = n;
    uint32_t index = (uint32_t)r->start[last], stride = 1;
    for (int d = last; d > 0; d--) {
      long long extent = s->file->dimension[r->variable->dimension[d]].length;
      stride *= (uint32_t)extent;
      index += (uint32_t)(r->start[d - 1] + (long long)(left % (size_t)r->count[d - 1])) * stride;
      left /= (size_t)r->count[d - 1];
    }
    row(s, r, seed, index, n * length, length);
  }
}

static void fill_row(const struct session *s, const struct request *r, uint32_t seed, uint32_t index, size_t at,
                     size_t cells) {
  (void)s;
  if (r->variable->cell_bytes == 8)
    for (size_t n = 0; n < cells; n++) ((double *)r->values)[at + n] = value_of(seed, index + (uint32_t)n);
  else
    for (size_t n = 0; n < cells; n++) ((float *)r->values)[at + n] = (float)value_of(seed, index + (uint32_t)n);
}

static void check_row(const struct session *s, const struct request *r, uint32_t seed, uint32_t index, size_t at,
                      size_t cells) {
  const float *values = (const float *)r->values + at;
  for (size_t n = 0; n < cells; n++)
    if (values[n] != (float)value_of(seed, index + (uint32_t)n))
      fail("%s: %s: cell %u is %g; expected %g", s->path, r->variable->name, index + (uint32_t)n, (double)values[n],
           value_of(seed, index + (uint32_t)n));
}

void requests_fill(struct session *session) {
  for (int n = 0; n < session->count; n++) rows(session, &session->requests[n], fill_row);
}

void requests_check(const struct session *session) {
  for (int n = 0; n < session->count; n++) rows(session, &session->requests[n], check_row);
}
