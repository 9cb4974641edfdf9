/* Reading the plan: a word and its values on each line. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

#include "exchange.h"

static int dimension_of(const struct file *file, const char *name) {
  for (int d = 0; d < file->dimensions; d++)
    if (strcmp(file->dimension[d].name, name) == 0) return d;
  fail("plan: %s has no dimension %s", file->kind, name);
}

static void read_dimension(struct file *file, const char *line) {
  if (file->dimensions == MOST_DIMENSIONS) fail("plan: more than %d dimensions", MOST_DIMENSIONS);
  struct dimension *d = &file->dimension[file->dimensions++];
  if (sscanf(line, "dim %31s %lld %c %lld %lld", d->name, &d->length, &d->along, &d->lead, &d->cells) != 5)
    fail("plan: not a dimension: %s", line);
}

static void read_variable(struct file *file, const char *line) {
  if (file->variables == MOST_VARIABLES) fail("plan: more than %d variables", MOST_VARIABLES);
  struct variable *v = &file->variable[file->variables++];
  char role[NAME], over[MOST_DIMS][NAME];
  int words = sscanf(line, "var %31s %31s %zu %31s %31s %31s %31s", v->name, role, &v->cell_bytes, over[0], over[1],
                     over[2], over[3]);
  if (words < 4) fail("plan: not a variable: %s", line);
  v->role = strcmp(role, "axis") == 0 ? AXIS : strcmp(role, "field") == 0 ? FIELD : ASKED;
  v->dims = words - 3;
  for (int d = 0; d < v->dims; d++) v->dimension[d] = dimension_of(file, over[d]);
}

void plan_read(struct plan *plan, const char *path) {
  FILE *text = fopen(path, "r");
  if (text == NULL) fail("plan: cannot open %s", path);
  char line[WORDS + NAME], world[NAME] = "", kind[NAME];
  struct file *file = NULL;
  memset(plan, 0, sizeof *plan);
  while (fgets(line, sizeof line, text) != NULL) {
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "file %31s", kind) == 1) {
      file = strcmp(kind, "hist") == 0 ? &plan->history : &plan->analysis;
      strcpy(file->kind, kind);
    } else if (file != NULL && strncmp(line, "dim ", 4) == 0) {
      read_dimension(file, line);
    } else if (file != NULL && strncmp(line, "var ", 4) == 0) {
      read_variable(file, line);
    } else if (!(sscanf(line, "ensembles %d", &plan->ensembles) == 1 ||
                 sscanf(line, "grid %d %d", &plan->px, &plan->py) == 2 ||
                 sscanf(line, "cycles %d", &plan->cycles) == 1 || sscanf(line, "world %31s", world) == 1 ||
                 sscanf(line, "timeout_s %lf", &plan->timeout_s) == 1 ||
                 sscanf(line, "folder %511[^\n]", plan->folder) == 1 ||
                 sscanf(line, "result %511[^\n]", plan->result) == 1 ||
                 sscanf(line, "line %511[^\n]", plan->line) == 1 ||
                 sscanf(line, "address %511[^\n]", plan->address) == 1)) {
      fail("plan: unknown line: %s", line);
    }
  }
  fclose(text);
  plan->joint = strcmp(world, "joint") == 0;
}
