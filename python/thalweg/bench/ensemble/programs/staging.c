/* Sessions through the staging service: the same cells, put and got without a file.
 *
 * Variables that follow each other in a file, over the same dimensions and with the same role, lie behind each other in
 * memory: they are one staged variable with one axis more. Axes of the grid, which one process has whole, are one in
 * a row. What LETKF overwrites has no halo, so it is a variable of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thalweg.h>

#include "exchange.h"

enum { MOST_STAGED = 256 };

/* Staged variables that this process knows, by name. */
static struct {
  char name[3 * NAME];
  thalweg_variable *handle;
} staged[MOST_STAGED];
static int staged_count;

static const struct plan *plan;
static thalweg_client *client;

static void ok(thalweg_status status, const char *what) {
  if (status != THALWEG_OK) fail("%s: %s: %s", what, thalweg_status_name((int32_t)status), thalweg_last_error());
}

void exchange_begin(const struct plan *given, MPI_Comm processes) {
  (void)processes;
  plan = given;
  thalweg_connect_options options = THALWEG_CONNECT_OPTIONS_INIT;
  options.addresses = plan->address;
  options.timeout_s = plan->timeout_s;
  ok(thalweg_connect(&options, &client), plan->address);
}

void exchange_end(void) {
  for (int n = 0; n < staged_count; n++) ok(thalweg_close(staged[n].handle), staged[n].name);
  ok(thalweg_disconnect(client), plan->address);
}

static int are_one(const struct variable *a, const struct variable *b) {
  if (b != a + 1 || a->role != b->role || a->cell_bytes != b->cell_bytes) return 0;
  return a->role == AXIS ||
         (a->dims == b->dims && memcmp(a->dimension, b->dimension, sizeof(int) * (size_t)a->dims) == 0);
}

/* How many requests from `first` on are one staged variable. */
static int run_of(const struct session *s, int first) {
  int end = first + 1;
  while (end < s->count && are_one(s->requests[end - 1].variable, s->requests[end].variable)) end++;
  return end - first;
}

/* Cells along a dimension of a staged variable, and how many the file has before them. */
static long long cells_of(const struct session *s, const struct dimension *d, long long *before) {
  *before = 0;
  if (s->writer == SCALE || d->along == '-') return d->length > 0 ? d->length : 1;
  *before = d->lead;
  return d->cells * (d->along == 'x' ? plan->px : plan->py);
}

static thalweg_variable *defined(const char *name, const thalweg_definition *definition) {
  for (int n = 0; n < staged_count; n++)
    if (strcmp(staged[n].name, name) == 0) return staged[n].handle;
  if (staged_count == MOST_STAGED) fail("more than %d staged variables", MOST_STAGED);
  ok(thalweg_define(client, name, definition, plan->timeout_s, &staged[staged_count].handle), name);
  strcpy(staged[staged_count].name, name);
  return staged[staged_count++].handle;
}

/* The domain of a staged variable, and this process's region of it. */
static void place(const struct session *s, int first, int together, thalweg_definition *whole, thalweg_region *own) {
  const struct request *r = &s->requests[first];
  own->dims = 1;
  own->extent[0] = whole->domain[0] = (uint64_t)together;
  if (r->variable->role == AXIS) {
    uint64_t cells = 0;
    for (int n = first; n < first + together; n++) cells += s->requests[n].cells;
    own->extent[0] = whole->domain[0] = cells;
  } else {
    for (int d = 0; d < r->variable->dims; d++, own->dims++) {
      long long before;
      whole->domain[own->dims] = (uint64_t)cells_of(s, &s->file->dimension[r->variable->dimension[d]], &before);
      own->lower[own->dims] = (uint64_t)(r->start[d] - before);
      own->extent[own->dims] = (uint64_t)r->count[d];
    }
  }
  whole->dims = own->dims;
}

static void move(const struct session *s, int first, int together) {
  const struct request *r = &s->requests[first];
  thalweg_definition definition = THALWEG_DEFINITION_INIT;
  thalweg_region region = {0};
  definition.dtype = r->variable->cell_bytes == 8 ? THALWEG_FLOAT64 : THALWEG_FLOAT32;
  definition.strategy = THALWEG_RAD;
  definition.keep_last = 1;
  place(s, first, together, &definition, &region);
  char name[3 * NAME];
  snprintf(name, sizeof name, "%06d.%s.%s.%s", s->ensemble, s->file->kind, s->writer == SCALE ? "scale" : "letkf",
           r->variable->name);
  thalweg_variable *variable = defined(name, &definition);
  if (s->action == READ)
    ok(thalweg_get_into(variable, THALWEG_EXACTLY((uint64_t)s->cycle), &region, r->values, definition.dtype, NULL,
                        THALWEG_STRATEGY_DEFAULT, plan->timeout_s, NULL),
       name);
  else
    ok(thalweg_put(variable, (uint64_t)s->cycle, &region, r->values, definition.dtype, NULL, plan->timeout_s), name);
}

struct seconds exchange(const struct session *s) {
  double begin = MPI_Wtime();
  for (int first = 0, together; first < s->count; first += together) {
    together = run_of(s, first);
    move(s, first, together);
  }
  double took = MPI_Wtime() - begin;
  return (struct seconds){took, took};
}
