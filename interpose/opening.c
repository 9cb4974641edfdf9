/* The calls of the C library that open and close files. */
#define _GNU_SOURCE
#include "redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* What a program wants that opens a file so. */
static wish_t wish_of(int flags) {
  wish_t wish = {.access = THALWEG_ACCESS_READ};
  if (flags & O_CREAT)
    wish.access = flags & O_EXCL ? THALWEG_ACCESS_EXCLUSIVE : flags & O_TRUNC ? THALWEG_ACCESS_TRUNCATE : THALWEG_ACCESS_CREATE;
  else if ((flags & O_ACCMODE) != O_RDONLY)
    wish.access = THALWEG_ACCESS_UPDATE;
  wish.turn = wish.access != THALWEG_ACCESS_READ && !library_opens();
  wish.at_once = library_creates();
  return wish;
}

static int open_matched(const matched_t *file, int flags) {
  if (library_meets(file->path, flags) < 0) return -1;
  session_t *session = session_hold(file, wish_of(flags));
  if (!session) return -1;
  // What a program writes by itself, beside its library, is told by nobody.
  if ((flags & O_ACCMODE) != O_RDONLY && !library_opens()) session_untold(session);
  int made = session_open(session, flags), why = errno;
  if (session_release(session) < 0 && made < 0) why = errno;
  errno = why;
  return made;
}

/* Who asks whether something is a folder waits for no file. */
static bool is_for_files(int flags) { return !(flags & O_DIRECTORY); }

static mode_t mode_of(int flags, va_list rest) { return flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0; }

#define OPEN(name)                                                     \
  int name(const char *path, int flags, ...) {                         \
    REAL(name, int (*)(const char *, int, ...));                       \
    va_list rest;                                                      \
    va_start(rest, flags);                                             \
    mode_t mode = mode_of(flags, rest);                                \
    va_end(rest);                                                      \
    matched_t file;                                                    \
    if (is_for_files(flags) && matches(AT_FDCWD, path, &file)) return open_matched(&file, flags); \
    return real(path, flags, mode);                                    \
  }

#define OPENAT(name)                                                   \
  int name(int at, const char *path, int flags, ...) {                 \
    REAL(name, int (*)(int, const char *, int, ...));                  \
    va_list rest;                                                      \
    va_start(rest, flags);                                             \
    mode_t mode = mode_of(flags, rest);                                \
    va_end(rest);                                                      \
    matched_t file;                                                    \
    if (is_for_files(flags) && matches(at, path, &file)) return open_matched(&file, flags); \
    return real(at, path, flags, mode);                                \
  }

/* What programs call that were built with checks of the compiler. */
#define OPEN_2(name, plain)                                            \
  int name(const char *path, int flags) { return plain(path, flags); }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
OPEN_2(__open_2, open)
OPEN_2(__open64_2, open64)

int __openat_2(int at, const char *path, int flags) { return openat(at, path, flags); }
int __openat64_2(int at, const char *path, int flags) { return openat64(at, path, flags); }

int creat(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* The flags of open() for a mode of fopen(). */
static int flags_of(const char *mode) {
  bool both = strchr(mode, '+') != NULL;
  int flags = *mode == 'r' ? (both ? O_RDWR : O_RDONLY) : both ? O_RDWR : O_WRONLY;
  if (*mode == 'w') flags |= O_CREAT | O_TRUNC;
  if (*mode == 'a') flags |= O_CREAT | O_APPEND;
  if (strchr(mode, 'x')) flags |= O_EXCL;
  return strchr(mode, 'e') ? flags | O_CLOEXEC : flags;
}

static FILE *fopen_matched(const matched_t *file, const char *mode) {
  int descriptor = open_matched(file, flags_of(mode));
  if (descriptor < 0) return NULL;
  FILE *made = fdopen(descriptor, mode);
  if (!made) close(descriptor);
  return made;
}

#define FOPEN(name)                                                    \
  FILE *name(const char *path, const char *mode) {                     \
    REAL(name, FILE *(*)(const char *, const char *));                 \
    matched_t file;                                                    \
    if (mode && matches(AT_FDCWD, path, &file)) return fopen_matched(&file, mode); \
    return real(path, mode);                                           \
  }

FOPEN(fopen)
FOPEN(fopen64)

/* Sessions end behind the real call: whoever comes next must not meet the descriptor's locks, nor miss what was buffered. */
int close(int descriptor) {
  REAL(close, int (*)(int));
  session_t *session = session_taken(descriptor);
  int closed = real(descriptor);
  return session && session_release(session) < 0 ? -1 : closed;
}

int fclose(FILE *stream) {
  REAL(fclose, int (*)(FILE *));
  session_t *session = stream && redirecting() ? session_taken(fileno(stream)) : NULL;
  int closed = real(stream);
  return session && session_release(session) < 0 ? EOF : closed;
}

/*
 * What was asked for before the program itself began is done behind everything else: behind the destructors of the libraries,
 * of which Fortran's close its units, and before streams would be flushed.
 */
static void end_all(int status, void *nothing) {
  (void)nothing;
  if (!sessions_any()) return;
  fflush(NULL);
  sessions_end(status == 0);
}

__attribute__((constructor)) static void be_last(void) { on_exit(end_all, NULL); }
