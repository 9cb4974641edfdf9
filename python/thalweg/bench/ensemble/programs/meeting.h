/* Where the two components wait for each other; nothing of it is timed. */
#ifndef MEETING_H
#define MEETING_H

#include <mpi.h>

#include "plan.h"

/* The processes of this one's component, of its ensemble in the component, and of its ensemble in both components;
 * the last one exists in a joint world only. */
struct company {
  MPI_Comm component, ensemble, both;
  int number; /* of the ensemble */
};

struct company company_of(const struct plan *plan, int is_scale);

/* Returns when the whole of both components, or this ensemble in both, has called it as often as this process. */
void meet_everyone(const struct company *company);
void meet_ensemble(const struct company *company);

#endif
