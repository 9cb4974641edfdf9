/* Requests that are done before the call returns: of one place, of several, of several variables. */
#include "open_file.h"

#include <stdlib.h>

int mode_check(const file_t *file, bool collective) {
  if (file->independent != collective) return NC_NOERR;
  return collective ? NC_EINDEP : NC_ENOTINDEP;
}

/*
 * What a process hears of before it takes part in anything: `wrong` is what is wrong with its own request. In the library's
 * safe mode the processes tell each other, and all hear the same.
 */
static int allowed(file_t *file, bool put, bool collective, int wrong) {
  int fatal = put && (!file->writable || file->over) ? NC_EPERM : file->defining ? NC_EINDEFINE : mode_check(file, collective);
  if (collective && file->safe) return lowest(file, fatal ? fatal : wrong);
  return fatal;
}

static int done(file_t *file, int variable, ask_t ask) {
  int result = request_check(file, variable, &ask);
  if (result || (file->independent && flexible_empty(&ask))) return result;
  if (ask.flexible) result = flexible_begin(file, variable, request_values(file, variable, &ask), &ask);
  if (!result) result = request_do(file, variable, &ask);
  flexible_end(file, &ask, !result || result == NC_ERANGE);
  return result;
}

/*
 * The library's collective calls exchange what they write, so that none is done before all have come. Programs trust in that:
 * one that puts everywhere, then each process its part, must find the parts. Whatever was wrong with its own request, each
 * process takes part.
 */
static int finished(file_t *file, bool collective, int result) {
  if (collective && file->writable) file_together(file);
  return result;
}

int at_once(file_t *file, int variable, bool collective, ask_t ask) {
  int wrong = allowed(file, ask.put, collective, request_check(file, variable, &ask));
  return wrong ? wrong : finished(file, collective, done(file, variable, ask));
}

int at_once_many(file_t *file, int variable, bool collective, int many, offset_t *const *starts, offset_t *const *counts,
                 ask_t ask) {
  offset_t values;
  int wrong = allowed(file, ask.put, collective, request_check_many(file, variable, many, starts, counts, ask, &values)), number;
  if (wrong) return wrong;
  // All places are checked before anything is done, as for requests that are waited for.
  int result = request_post_many(file, variable, many, starts, counts, ask, &number);
  if (number >= 0) {
    int first = number, one = ask.put ? requests_wait_puts(file, 1, &first, NULL) : requests_wait_gets(file, 1, &first, NULL);
    if (!result) result = one;
  }
  return finished(file, collective, result);
}

/* What is asked of the one with this number. */
static ask_t one_of(const several_t *s, int n, ask_t ask) {
  ask.start = s->starts ? s->starts[n] : NULL;
  ask.count = s->counts ? s->counts[n] : NULL;
  ask.stride = s->strides ? s->strides[n] : NULL;
  ask.map = s->maps ? s->maps[n] : NULL;
  ask.values = s->values[n];
  if (ask.flexible) {
    ask.type_count = s->type_counts[n];
    ask.type = type_of_many(s->types, n);
  }
  return ask;
}

int at_once_several(file_t *file, bool collective, const several_t *s, ask_t ask) {
  if (s->many == 0 && !collective) return NC_NOERR;
  int result = NC_NOERR;
  for (int n = 0; n < s->many && !result; n++) {
    ask_t one = one_of(s, n, ask);
    result = request_check(file, s->variables[n], &one);
  }
  int wrong = s->many > 0 || file->safe ? allowed(file, ask.put, collective, result) : NC_NOERR;
  if (wrong) return wrong;
  for (int n = 0; n < s->many && (!result || result == NC_ERANGE); n++) {
    int one = done(file, s->variables[n], one_of(s, n, ask));
    if (one) result = one;
  }
  return finished(file, collective, result);
}
