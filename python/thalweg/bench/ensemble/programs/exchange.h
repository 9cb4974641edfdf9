/* One session of a component: everything that it writes to a file, or reads from it, and how long that takes. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <mpi.h>
#include <stddef.h>

#include "plan.h"

/* The part of one variable that this process writes or reads, and its cells: floats, or doubles where the plan says so. */
struct request {
  const struct variable *variable;
  long long start[MOST_DIMS], count[MOST_DIMS];
  size_t cells;
  void *values;
};

enum action { CREATE, READ, OVERWRITE };

/* Whose values these are: what LETKF overwrites differs from what SCALE had written. */
enum writer { SCALE, LETKF };

struct session {
  enum action action;
  enum writer writer;
  const struct file *file;
  const char *path;
  int ensemble, cycle;
  struct request *requests;
  int count;
};

/* Seconds of this process: in put, get and wait calls, and from the file's opening to its closing. */
struct seconds {
  double transfer, whole;
};

/* Each transport is one file with these three. A failure ends the job, after a message. `processes` are those of the
 * ensemble in this component. */
void exchange_begin(const struct plan *plan, MPI_Comm processes);
struct seconds exchange(const struct session *session);
void exchange_end(void);

/* Says what failed, and ends the job. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
