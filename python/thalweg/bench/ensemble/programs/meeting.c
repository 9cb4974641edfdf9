/* Meeting by zero-byte messages in a joint world, by counters in a mapped file between two worlds, or not at all. */
#include "meeting.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exchange.h"

/* Arrivals of components, one counter an ensemble and one for everybody behind them. */
static _Atomic unsigned *counters;
static unsigned met_everyone, met_ensemble;
static int everyone;
static double patience_s;

static void open_line(const struct plan *plan) {
  size_t bytes = sizeof *counters * (size_t)(plan->ensembles + 1);
  int fd = open(plan->line, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) fail("cannot make %s", plan->line);
  counters = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (counters == MAP_FAILED) fail("cannot map %s", plan->line);
  close(fd);
  everyone = plan->ensembles;
  patience_s = plan->timeout_s;
}

struct company company_of(const struct plan *plan, int is_scale) {
  struct company c = {.both = MPI_COMM_NULL};
  int rank, size, processes = plan->px * plan->py;
  MPI_Comm_split(MPI_COMM_WORLD, plan->joint ? is_scale : 0, 0, &c.component);
  MPI_Comm_rank(c.component, &rank);
  MPI_Comm_size(c.component, &size);
  if (size != plan->ensembles * processes)
    fail("%d processes in %s; expected %d: %d ensembles of %d", size, is_scale ? "scale" : "letkf",
         plan->ensembles * processes, plan->ensembles, processes);
  c.number = rank / processes;
  MPI_Comm_split(c.component, c.number, 0, &c.ensemble);
  if (plan->joint)
    MPI_Comm_split(MPI_COMM_WORLD, c.number, 0, &c.both);
  else if (strcmp(plan->line, "-") != 0)
    open_line(plan);
  return c;
}

static void meet(MPI_Comm joint, MPI_Comm own, int counter, unsigned times) {
  if (joint != MPI_COMM_NULL) {
    MPI_Barrier(joint);
  } else if (counters != NULL) {
    int rank;
    MPI_Comm_rank(own, &rank);
    MPI_Barrier(own);
    if (rank == 0) {
      double begin = MPI_Wtime();
      atomic_fetch_add(&counters[counter], 1);
      while (atomic_load(&counters[counter]) < 2 * times) {
        if (MPI_Wtime() - begin > patience_s) fail("the other component did not come within %g s", patience_s);
        sched_yield();
      }
    }
    MPI_Barrier(own);
  }
}

void meet_everyone(const struct company *c) {
  meet(c->both == MPI_COMM_NULL ? MPI_COMM_NULL : MPI_COMM_WORLD, c->component, everyone, ++met_everyone);
}

void meet_ensemble(const struct company *c) { meet(c->both, c->ensemble, c->number, ++met_ensemble); }
