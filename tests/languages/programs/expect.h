/* Checks of the test programs: each says what differs, and the program ends with the number of those that failed. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <string.h>
#include <thalweg.h>

static int failures = 0;

/* The call must come to `wanted`, with a message that has `words` in it. */
#define EXPECT(wanted, words, call) expect_status(__FILE__, __LINE__, #call, wanted, words, call)
#define OK(call) expect_status(__FILE__, __LINE__, #call, THALWEG_OK, "", call)
#define TRUE(condition) expect_true(__FILE__, __LINE__, #condition, (condition) != 0)

static void expect_status(const char *file, int line, const char *call, thalweg_status wanted, const char *words,
                          thalweg_status got) {
  const char *message = got == THALWEG_OK ? "" : thalweg_last_error();
  if (got == wanted && strstr(message, words) != NULL) return;
  ++failures;
  fprintf(stderr, "%s:%d: %s\n  came to %s \"%s\"\n  instead of %s \"…%s…\"\n", file, line, call,
          thalweg_status_name(got), message, thalweg_status_name(wanted), words);
}

static void expect_true(const char *file, int line, const char *condition, int holds) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
}

#endif
