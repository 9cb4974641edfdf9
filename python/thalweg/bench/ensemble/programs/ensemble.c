/* A component of the multi-component I/O benchmark: SCALE or LETKF, through the cycles of a plan.
 *
 *   ensemble scale|letkf PLAN
 *
 * In every cycle SCALE writes history and analysis; LETKF reads both and overwrites the analysis; SCALE reads that.
 * Values are made before and checked behind the timed part.
 */
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "exchange.h"
#include "meeting.h"
#include "plan.h"
#include "requests.h"

static const char *component = "ensemble";

void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char message[2 * WORDS];
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  fprintf(stderr, "%s: %s\n", component, message);
  fflush(stderr);
  int running;
  MPI_Initialized(&running);
  if (running) MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

/* What a process saw of each cycle: seconds in transfer calls, from opening to closing, and from begin to end. */
struct record {
  double *transfer, *whole, *cycle;
};

static void path_of(const struct plan *plan, const char *kind, int cycle, int ensemble, char path[2 * WORDS]) {
  snprintf(path, 2 * WORDS, "%s/%d/%06d.%s.nc", plan->folder, cycle, ensemble, kind);
}

static void set(struct session *session, const char *path, int ensemble, int cycle) {
  session->path = path;
  session->ensemble = ensemble;
  session->cycle = cycle;
}

static void timed(const struct session *session, struct record *record) {
  struct seconds took = exchange(session);
  record->transfer[session->cycle] += took.transfer;
  record->whole[session->cycle] += took.whole;
}

static void be_scale(const struct plan *plan, const struct company *company, int rank, struct record *record) {
  struct session history = requests_of(plan, &plan->history, CREATE, SCALE, rank);
  struct session analysis = requests_of(plan, &plan->analysis, CREATE, SCALE, rank);
  struct session forecast = requests_of(plan, &plan->analysis, READ, LETKF, rank);
  for (int cycle = 0; cycle < plan->cycles; cycle++) {
    char of_history[2 * WORDS], of_analysis[2 * WORDS];
    path_of(plan, "hist", cycle, company->number, of_history);
    path_of(plan, "anal", cycle, company->number, of_analysis);
    set(&history, of_history, company->number, cycle);
    set(&analysis, of_analysis, company->number, cycle);
    set(&forecast, of_analysis, company->number, cycle);
    requests_fill(&history);
    requests_fill(&analysis);
    meet_everyone(company);
    double begin = MPI_Wtime();
    timed(&history, record);
    timed(&analysis, record);
    meet_ensemble(company);
    meet_ensemble(company);
    timed(&forecast, record);
    record->cycle[cycle] = MPI_Wtime() - begin;
    requests_check(&forecast);
    MPI_Barrier(company->ensemble);
    if (rank == 0) { /* files of earlier cycles would fill the memory; a transport without files has none */
      unlink(of_history);
      unlink(of_analysis);
    }
  }
}

static void be_letkf(const struct plan *plan, const struct company *company, int rank, struct record *record) {
  struct session history = requests_of(plan, &plan->history, READ, SCALE, rank);
  struct session guess = requests_of(plan, &plan->analysis, READ, SCALE, rank);
  struct session analysis = requests_of(plan, &plan->analysis, OVERWRITE, LETKF, rank);
  for (int cycle = 0; cycle < plan->cycles; cycle++) {
    char of_history[2 * WORDS], of_analysis[2 * WORDS];
    path_of(plan, "hist", cycle, company->number, of_history);
    path_of(plan, "anal", cycle, company->number, of_analysis);
    set(&history, of_history, company->number, cycle);
    set(&guess, of_analysis, company->number, cycle);
    set(&analysis, of_analysis, company->number, cycle);
    requests_fill(&analysis);
    meet_everyone(company);
    double begin = MPI_Wtime();
    meet_ensemble(company);
    timed(&history, record);
    timed(&guess, record);
    timed(&analysis, record);
    meet_ensemble(company);
    record->cycle[cycle] = MPI_Wtime() - begin;
    requests_check(&history);
    requests_check(&guess);
  }
}

/* One line: for each cycle what the slowest process of the component took. */
static void write_result(const struct plan *plan, const struct company *company, struct record *record) {
  int rank;
  MPI_Comm_rank(company->component, &rank);
  double *seconds[] = {record->transfer, record->whole, record->cycle};
  const char *names[] = {"transfer_s", "io_s", "cycle_s"};
  char path[2 * WORDS];
  snprintf(path, sizeof path, "%s.%s", plan->result, component);
  FILE *result = rank == 0 ? fopen(path, "w") : NULL;
  if (rank == 0 && result == NULL) fail("cannot write %s", path);
  for (int which = 0; which < 3; which++) {
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : seconds[which], seconds[which], plan->cycles, MPI_DOUBLE, MPI_MAX, 0,
               company->component);
    if (rank != 0) continue;
    fprintf(result, "%s\"%s\": [", which ? ", " : "{", names[which]);
    for (int cycle = 0; cycle < plan->cycles; cycle++)
      fprintf(result, "%s%.9f", cycle ? ", " : "", seconds[which][cycle]);
    fprintf(result, "]");
  }
  if (rank == 0 && (fprintf(result, "}\n") < 0 || fclose(result) != 0)) fail("cannot write %s", path);
}

int main(int argc, char **argv) {
  if (argc != 3 || (strcmp(argv[1], "scale") != 0 && strcmp(argv[1], "letkf") != 0)) {
    fprintf(stderr, "usage: %s scale|letkf PLAN\n", argv[0]);
    return 2;
  }
  component = argv[1];
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* no process outlives a launcher that was killed */
  static struct plan plan;
  plan_read(&plan, argv[2]);
  MPI_Init(&argc, &argv);
  int is_scale = strcmp(component, "scale") == 0, rank;
  struct company company = company_of(&plan, is_scale);
  MPI_Comm_rank(company.ensemble, &rank);
  size_t cycles = (size_t)plan.cycles;
  struct record record = {calloc(cycles, sizeof(double)), calloc(cycles, sizeof(double)), calloc(cycles, sizeof(double))};
  if (record.transfer == NULL || record.whole == NULL || record.cycle == NULL) fail("out of memory");
  exchange_begin(&plan, company.ensemble);
  (is_scale ? be_scale : be_letkf)(&plan, &company, rank, &record);
  meet_everyone(&company);
  exchange_end();
  write_result(&plan, &company, &record);
  MPI_Finalize();
  return 0;
}
