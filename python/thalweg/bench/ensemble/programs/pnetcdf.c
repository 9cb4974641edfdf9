/* Sessions as PnetCDF files, as a program has them that knows nothing of any other transport. */
#include <pnetcdf.h>
#include <stdlib.h>

#include "exchange.h"

static MPI_Comm ensemble;
static MPI_Info hints;

static void ok(int status, const struct session *session, const char *call) {
  if (status != NC_NOERR) fail("%s: %s: %s", session->path, call, ncmpi_strerror(status));
}

void exchange_begin(const struct plan *plan, MPI_Comm processes) {
  (void)plan;
  ensemble = processes;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "nc_var_align_size", "512");
}

void exchange_end(void) { MPI_Info_free(&hints); }

static int created(const struct session *s) {
  int file, dimension[MOST_DIMENSIONS], variable;
  ok(ncmpi_create(ensemble, s->path, NC_CLOBBER | NC_64BIT_OFFSET, hints, &file), s, "ncmpi_create");
  for (int d = 0; d < s->file->dimensions; d++) {
    const struct dimension *own = &s->file->dimension[d];
    MPI_Offset length = own->length > 0 ? own->length : NC_UNLIMITED;
    ok(ncmpi_def_dim(file, own->name, length, &dimension[d]), s, "ncmpi_def_dim");
  }
  for (int v = 0; v < s->file->variables; v++) {
    const struct variable *own = &s->file->variable[v];
    int over[MOST_DIMS];
    for (int d = 0; d < own->dims; d++) over[d] = dimension[own->dimension[d]];
    nc_type type = own->cell_bytes == 8 ? NC_DOUBLE : NC_FLOAT;
    ok(ncmpi_def_var(file, own->name, type, own->dims, over, &variable), s, "ncmpi_def_var");
  }
  ok(ncmpi_enddef(file), s, "ncmpi_enddef");
  return file;
}

static int opened(const struct session *s) {
  int file;
  ok(ncmpi_open(ensemble, s->path, s->action == READ ? NC_NOWRITE : NC_WRITE, hints, &file), s, "ncmpi_open");
  return file;
}

/* Posts one request: coordinates are small and put as they are, fields go through the attached buffer. */
static int posted(const struct session *s, const struct request *r, int file, int variable, int *request) {
  MPI_Offset start[MOST_DIMS], count[MOST_DIMS];
  for (int d = 0; d < r->variable->dims; d++) {
    start[d] = r->start[d];
    count[d] = r->count[d];
  }
  if (s->action == READ) return ncmpi_iget_vara_float(file, variable, start, count, r->values, request);
  if (r->variable->cell_bytes == 8) return ncmpi_iput_vara_double(file, variable, start, count, r->values, request);
  if (r->variable->role == AXIS) return ncmpi_iput_vara_float(file, variable, start, count, r->values, request);
  return ncmpi_bput_vara_float(file, variable, start, count, r->values, request);
}

struct seconds exchange(const struct session *s) {
  int variable[MOST_VARIABLES], request[MOST_VARIABLES], status[MOST_VARIABLES];
  MPI_Offset buffered = 0;
  double begin = MPI_Wtime();
  int file = s->action == CREATE ? created(s) : opened(s);
  for (int n = 0; n < s->count; n++) {
    const struct request *r = &s->requests[n];
    ok(ncmpi_inq_varid(file, r->variable->name, &variable[n]), s, r->variable->name);
    if (r->variable->role != AXIS) buffered += (MPI_Offset)(r->cells * r->variable->cell_bytes);
  }
  if (s->action != READ) ok(ncmpi_buffer_attach(file, buffered), s, "ncmpi_buffer_attach");
  double first = MPI_Wtime();
  for (int n = 0; n < s->count; n++)
    ok(posted(s, &s->requests[n], file, variable[n], &request[n]), s, s->requests[n].variable->name);
  ok(ncmpi_wait_all(file, s->count, request, status), s, "ncmpi_wait_all");
  double last = MPI_Wtime();
  for (int n = 0; n < s->count; n++) ok(status[n], s, s->requests[n].variable->name);
  if (s->action != READ) ok(ncmpi_buffer_detach(file), s, "ncmpi_buffer_detach");
  ok(ncmpi_close(file), s, "ncmpi_close");
  return (struct seconds){last - first, MPI_Wtime() - begin};
}
