/* The calls of the C library that copy descriptors, close many, or map them into memory: a file is in use until all are gone. */
#define _GNU_SOURCE
#include "redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* `to` is a copy of `from` now; what it was before, it is no more. */
static int copied(int from, int to) {
  session_t *before = to >= 0 && to != from ? session_taken(to) : NULL;
  if (to >= 0 && to != from) session_copied(from, to);
  if (before) session_release(before);
  return to;
}

int dup(int descriptor) {
  REAL(dup, int (*)(int));
  return copied(descriptor, real(descriptor));
}

int dup2(int from, int to) {
  REAL(dup2, int (*)(int, int));
  return copied(from, real(from, to));
}

int dup3(int from, int to, int flags) {
  REAL(dup3, int (*)(int, int, int));
  return copied(from, real(from, to, flags));
}

#define FCNTL(name)                                                     \
  int name(int descriptor, int command, ...) {                          \
    REAL(name, int (*)(int, int, ...));                                 \
    va_list rest;                                                       \
    va_start(rest, command);                                            \
    void *argument = va_arg(rest, void *);                              \
    va_end(rest);                                                       \
    int result = real(descriptor, command, argument);                   \
    bool copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;     \
    return copies && result >= 0 ? copied(descriptor, result) : result; \
  }

FCNTL(fcntl)
FCNTL(fcntl64)

/* Those from `first` to `last`, as far as there can be sessions. */
static void release_range(unsigned first, unsigned last) {
  for (unsigned n = first; sessions_any() && n <= last && n < DESCRIPTORS_MAX; n++) {
    session_t *session = session_taken((int)n);
    if (session) session_release(session);
  }
}

int close_range(unsigned first, unsigned last, int flags) {
  REAL(close_range, int (*)(unsigned, unsigned, int));
  int closed = real(first, last, flags);
  if (closed == 0 && !(flags & CLOSE_RANGE_CLOEXEC)) release_range(first, last);
  return closed;
}

void closefrom(int first) {
  REAL(closefrom, void (*)(int));
  real(first);
  release_range(first > 0 ? (unsigned)first : 0, DESCRIPTORS_MAX);
}

/* The stream's file is closed, and the one at `path` is opened for it. */
#define FREOPEN(name)                                                            \
  FILE *name(const char *path, const char *mode, FILE *stream) {                 \
    REAL(name, FILE *(*)(const char *, const char *, FILE *));                   \
    matched_t file;                                                              \
    if (!redirecting() || !stream) return real(path, mode, stream);              \
    bool comes = path && mode && matches(AT_FDCWD, path, &file);                 \
    FILE *made = comes ? name##_matched(&file, mode) : NULL;                     \
    if (comes && !made) return NULL;                                             \
    char own[64];                                                                \
    if (comes) snprintf(own, sizeof own, "/proc/self/fd/%d", fileno(made));      \
    session_t *before = path ? session_taken(fileno(stream)) : NULL;             \
    FILE *result = real(comes ? own : path, mode, stream);                       \
    if (comes && result) session_copied(fileno(made), fileno(result));           \
    if (comes) fclose(made);                                                     \
    if (before) session_release(before);                                         \
    return result;                                                               \
  }
#define freopen_matched(file, mode) fopen((file)->path, mode)
#define freopen64_matched(file, mode) fopen((file)->path, mode)

FREOPEN(freopen)
FREOPEN(freopen64)

/* Where files are mapped. What is beyond the table counts as mapped until the program ends. */
typedef struct {
  char *at, *end;
  session_t *session;
} mapping_t;

enum { MAPPINGS_MAX = 4096 };
static const size_t PAGE = 4096;

static mapping_t mappings[MAPPINGS_MAX];
static int mapped;
static pthread_mutex_t mapping = PTHREAD_MUTEX_INITIALIZER;

/* A forked child has the memory, and no session to end. */
static void forget(void) {
  pthread_mutex_init(&mapping, NULL);
  mapped = 0;
}

static size_t pages(size_t bytes) { return (bytes + PAGE - 1) & ~(PAGE - 1); }

static void map(char *at, size_t bytes, session_t *session) {
  static bool watches_forks;
  pthread_mutex_lock(&mapping);
  if (!watches_forks) watches_forks = pthread_atfork(NULL, NULL, forget) == 0;
  if (mapped < MAPPINGS_MAX) mappings[mapped++] = (mapping_t){at, at + pages(bytes), session};
  pthread_mutex_unlock(&mapping);
}

/* A session that was mapped between `at` and `end`, and is no more, if there is one. A hole in the middle leaves it mapped. */
static session_t *unmap(const char *at, const char *end) {
  session_t *found = NULL;
  pthread_mutex_lock(&mapping);
  for (int n = 0; n < mapped && !found; n++) {
    mapping_t *m = &mappings[n];
    if (at <= m->at && end > m->at) m->at = end < m->end ? (char *)end : m->end;
    else if (at < m->end && end >= m->end) m->end = (char *)at;
    if (m->at < m->end) continue;
    found = m->session;
    *m = mappings[--mapped];
  }
  pthread_mutex_unlock(&mapping);
  return found;
}

/* Before it is: what comes to lie there afterwards is another one. */
static void unmaps(const char *at, size_t bytes) {
  for (session_t *gone; mapped && (gone = unmap(at, at + pages(bytes)));) session_release(gone);
}

static void moved(const char *from, char *to, size_t bytes) {
  pthread_mutex_lock(&mapping);
  for (int n = 0; n < mapped; n++)
    if (mappings[n].at == from) mappings[n] = (mapping_t){to, to + pages(bytes), mappings[n].session};
  pthread_mutex_unlock(&mapping);
}

/* These are called by allocators, which the search for the real functions would call: the system is called at once. */
void *mmap(void *wanted, size_t bytes, int protection, int flags, int descriptor, off_t from) {
  if (flags & MAP_FIXED) unmaps(wanted, bytes);
  void *made = (void *)syscall(SYS_mmap, wanted, bytes, protection, flags, descriptor, from);
  if (made == MAP_FAILED) return made;
  session_t *session = flags & MAP_ANONYMOUS ? NULL : session_of(descriptor);
  if (session) map(made, bytes, session);
  return made;
}

void *mmap64(void *wanted, size_t bytes, int protection, int flags, int descriptor, off64_t from) {
  return mmap(wanted, bytes, protection, flags, descriptor, from);
}

int munmap(void *at, size_t bytes) {
  unmaps(at, bytes);
  return (int)syscall(SYS_munmap, at, bytes);
}

void *mremap(void *at, size_t before, size_t bytes, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  void *wanted = va_arg(rest, void *);
  va_end(rest);
  void *made = (void *)syscall(SYS_mremap, at, before, bytes, flags, wanted);
  if (made != MAP_FAILED && mapped) moved(at, made, bytes);
  return made;
}
