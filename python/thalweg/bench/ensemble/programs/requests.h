/* Which cells of a file a process writes or reads, and which values these have. */
#ifndef REQUESTS_H
#define REQUESTS_H

#include "exchange.h"

/* The requests of process `rank` of an ensemble: all variables with all cells where the file is created, else those
 * parts that are read. Cells are allocated. */
struct session requests_of(const struct plan *plan, const struct file *file, enum action action, enum writer writer,
                           int rank);

/* Puts in the values of a cycle: functions of cycle, ensemble, file, variable, writer and global index. */
void requests_fill(struct session *session);

/* Ends the job where a value is not that of the writer. */
void requests_check(const struct session *session);

#endif
