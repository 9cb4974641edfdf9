/* What the benchmark is to do: read from a text file that the launcher wrote. */
#ifndef PLAN_H
#define PLAN_H

#include <stddef.h>

enum { MOST_DIMS = 4, MOST_DIMENSIONS = 96, MOST_VARIABLES = 192, NAME = 32, WORDS = 512 };

/* Length 0 is the record dimension. A dimension that the process grid shares has `lead` cells before the first
 * process's, and `cells` of each process. */
struct dimension {
  char name[NAME];
  long long length, lead, cells;
  char along; /* 'x', 'y' or '-' */
};

enum role { AXIS, FIELD, ASKED };

struct variable {
  char name[NAME];
  enum role role;
  size_t cell_bytes; /* 4 or 8: float or double */
  int dims, dimension[MOST_DIMS];
};

struct file {
  char kind[NAME];
  int dimensions, variables;
  struct dimension dimension[MOST_DIMENSIONS];
  struct variable variable[MOST_VARIABLES];
};

struct plan {
  int ensembles, px, py, cycles;
  int joint;           /* both components are in one MPI world */
  double timeout_s;    /* of every wait that the program itself does */
  char folder[WORDS];  /* the files' */
  char result[WORDS];  /* where times go, with the component's name behind it */
  char line[WORDS];    /* a file by which components of two worlds meet; "-": they do not */
  char address[WORDS]; /* the server's; "-": there is none */
  struct file history, analysis;
};

void plan_read(struct plan *plan, const char *path);

#endif
