/*
 * What this process has put into a file, which the service is told of, and what nobody has put into a file that it reads: where
 * there is no fill value, a program would take whatever lies there for values.
 */
#include "open_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More parts than these, or parts that lie apart by strides in more pieces, are not remembered: all may have been written. */
enum { PARTS_MAX = 2048, PIECES_MAX = 256, TOLD_AT_ONCE = 256 };

/* Whether `next` goes on where `box` ends, along one dimension; `box` is both then. */
static bool goes_on(thalweg_box *box, const thalweg_box *next) {
  int along = -1;
  for (uint32_t d = 0; d < box->dims; d++) {
    if (box->lower[d] == next->lower[d] && box->extent[d] == next->extent[d]) continue;
    if (along >= 0 || box->lower[d] + box->extent[d] != next->lower[d]) return false;
    along = (int)d;
  }
  if (along >= 0) box->extent[along] += next->extent[along];
  return true;
}

static void add(file_t *file, const thalweg_box *box) {
  written_t *w = &file->written;
  if (box->variable >= w->last_count) {
    size_t room = box->variable + 64;
    int *longer = realloc(w->last, room * sizeof *longer);
    if (!longer) {
      w->unknown = true;
      return;
    }
    for (size_t n = w->last_count; n < room; n++) longer[n] = -1;
    w->last = longer;
    w->last_count = room;
  }
  int *last = &w->last[box->variable];
  if (*last >= 0 && goes_on(&w->parts[*last], box)) return;
  if (w->count == w->room && w->count < PARTS_MAX) {
    size_t room = w->room ? 2 * w->room : 64;
    thalweg_box *longer = realloc(w->parts, room * sizeof *longer);
    if (longer) {
      w->parts = longer;
      w->room = room;
    }
  }
  if (w->count == w->room) {
    w->unknown = true;
    return;
  }
  *last = (int)w->count;
  w->parts[w->count++] = *box;
}

void written_add(file_t *file, int variable, const offset_t *start, const offset_t *count, const offset_t *stride) {
  const variable_t *v = variable_of(file, variable);
  if (file->written.unknown || v->dims > THALWEG_BOX_DIMS) return;
  thalweg_box box = {.variable = (uint32_t)variable, .dims = (uint32_t)v->dims};
  offset_t pieces = 1, piece[THALWEG_BOX_DIMS] = {0};
  bool apart[THALWEG_BOX_DIMS];
  for (int d = 0; d < v->dims; d++) {
    if (count[d] == 0) return;
    apart[d] = stride[d] > 1 && count[d] > 1;
    box.lower[d] = (uint64_t)start[d];
    box.extent[d] = apart[d] ? 1 : (uint64_t)count[d];
    if (apart[d] && (pieces *= count[d]) > PIECES_MAX) file->written.unknown = true;
  }
  while (!file->written.unknown) {
    add(file, &box);
    int d = v->dims - 1;
    for (; d >= 0; d--) {
      if (!apart[d]) continue;
      piece[d] = (piece[d] + 1) % count[d];
      box.lower[d] = (uint64_t)(start[d] + piece[d] * stride[d]);
      if (piece[d] > 0) break;
    }
    if (d < 0) return;
  }
}

void written_record(file_t *file, int variable, offset_t record) {
  const variable_t *v = variable_of(file, variable);
  if (!v || v->dims == 0) return;
  offset_t start[v->dims], count[v->dims], stride[v->dims];
  for (int d = 0; d < v->dims; d++) {
    start[d] = d == 0 ? record : 0;
    count[d] = d == 0 ? 1 : v->shape[d];
    stride[d] = 1;
  }
  written_add(file, variable, start, count, stride);
}

void written_unknown(file_t *file) { file->written.unknown = true; }

/* The library puts fill values into all of a variable that it defines; of one that was there, the attribute alone tells nothing. */
static bool filled(const file_t *file, int variable, const variable_t *v) {
  if (variable < file->found) return false;
  NC_REAL(ncmpi_inq_var_fill, int (*)(int, int, int *, void *));
  int without = 1;
  return !v->record && real_ncmpi_inq_var_fill(file->id, variable, &without, NULL) == NC_NOERR && !without;
}

void written_tell(file_t *file) {
  written_t *w = &file->written;
  if (file->defining) file_defined(file);
  thalweg_box *whole = malloc(TOLD_AT_ONCE * sizeof *whole), *parts = malloc((PARTS_MAX + TOLD_AT_ONCE) * sizeof *parts);
  for (int first = 0; whole && parts && !w->unknown && first < file->variables; first += TOLD_AT_ONCE) {
    size_t variables = 0, count = 0;
    for (int n = first; n < file->variables && n < first + TOLD_AT_ONCE; n++) {
      const variable_t *v = variable_of(file, n);
      if (!v || v->dims > THALWEG_BOX_DIMS) continue;
      thalweg_box *box = &whole[variables++];
      *box = (thalweg_box){.variable = (uint32_t)n, .dims = (uint32_t)v->dims};
      for (int d = 0; d < v->dims; d++) box->extent[d] = (uint64_t)(d == 0 && v->record ? file_records(file) : v->shape[d]);
      if (filled(file, n, v)) parts[count++] = *box;
    }
    for (size_t n = 0; n < w->count; n++)
      if (w->parts[n].variable >= (uint32_t)first && w->parts[n].variable < (uint32_t)(first + TOLD_AT_ONCE)) parts[count++] = w->parts[n];
    session_wrote(file->session, whole, variables, parts, count);
  }
  if (file->variables == 0) session_wrote(file->session, NULL, 0, NULL, 0);
  free(whole);
  free(parts);
}

void written_forget(file_t *file) {
  free(file->written.parts);
  free(file->written.last);
  free(file->written.holes);
}

void holes_learn(file_t *file) {
  thalweg_box *holes = malloc(THALWEG_HOLES_MAX * sizeof *holes);
  file->written.hole_count = holes ? session_holes(file->session, holes, THALWEG_HOLES_MAX) : 0;
  if (file->written.hole_count > 0) file->written.holes = holes;
  else free(holes);
}

/* Whether one of start, start + stride, ... lies in a hole, along one dimension. */
static bool meets(uint64_t lower, uint64_t extent, offset_t start, offset_t count, offset_t stride) {
  offset_t from = (offset_t)lower, to = (offset_t)(lower + extent);
  offset_t first = start >= from ? 0 : (from - start + stride - 1) / stride;
  return first < count && start + first * stride < to;
}

static void report(file_t *file, const thalweg_box *hole) {
  NC_REAL(ncmpi_inq_varname, int (*)(int, int, char *));
  char name[256] = "?", text[1024], *at = text, *end = text + sizeof text;
  real_ncmpi_inq_varname(file->id, (int)hole->variable, name);
  at += snprintf(at, (size_t)(end - at), "variable \"%s\": nobody has written [", name);
  for (uint32_t d = 0; d < hole->dims; d++)
    at += snprintf(at, (size_t)(end - at), "%s%llu:%llu", d ? ", " : "", (unsigned long long)hole->lower[d],
                   (unsigned long long)(hole->lower[d] + hole->extent[d]));
  snprintf(at, (size_t)(end - at), "%s", "], which was asked for; write it, define a fill value, or set unwritten = \"allow\" for the file");
  session_fail(file->session, text);
}

bool hole_met(file_t *file, int variable, const offset_t *start, const offset_t *count, const offset_t *stride) {
  for (size_t n = 0; n < file->written.hole_count; n++) {
    const thalweg_box *hole = &file->written.holes[n];
    if (hole->variable != (uint32_t)variable) continue;
    bool met = true;
    for (uint32_t d = 0; d < hole->dims && met; d++) met = meets(hole->lower[d], hole->extent[d], start[d], count[d], stride[d]);
    if (!met) continue;
    report(file, hole);
    return true;
  }
  return false;
}
