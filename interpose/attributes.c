/* The calls of the C library that change what a file system keeps beside a file's bytes: mode, owner, times, and attributes. */
#define _GNU_SOURCE
#include "redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

/* The result of `call` on `bytes`, a descriptor of the bytes of a file that matched. */
#define ON_BYTES(type, call)                                          \
  do {                                                                \
    int bytes = look_at(&file);                                       \
    if (bytes < 0) return -1;                                         \
    type result = call;                                               \
    looked(bytes);                                                    \
    return result;                                                    \
  } while (0)
/* As above, where something is changed: also what was saved already, `behind` memory. What was not is saved as it is then. */
#define CHANGED(call, behind)                                         \
  do {                                                                \
    if (only_looks()) {                                               \
      errno = EACCES;                                                 \
      return -1;                                                      \
    }                                                                 \
    if (file.rule->mode == THALWEG_REDIRECT_BOTH && (behind) < 0) errno = 0;\
    ON_BYTES(int, call);                                              \
  } while (0)

/* A file that was made has any mode but that of one that was not: the sticky bit, which means nothing there, sets it apart. */
static mode_t mode_of(mode_t mode) { return (mode & 07777) == NOT_MADE ? mode | S_ISVTX : mode; }

static int real_fchmod(int bytes, mode_t mode) {
  REAL(fchmod, int (*)(int, mode_t));
  return real(bytes, mode);
}

int fchmod(int descriptor, mode_t mode) {
  return real_fchmod(descriptor, session_has(descriptor) ? mode_of(mode) : mode);
}

int chmod(const char *path, mode_t mode) {
  REAL(chmod, int (*)(const char *, mode_t));
  matched_t file;
  if (!matches(AT_FDCWD, path, &file)) return real(path, mode);
  CHANGED(real_fchmod(bytes, mode_of(mode)), real(path, mode));
}

int fchmodat(int at, const char *path, mode_t mode, int flags) {
  REAL(fchmodat, int (*)(int, const char *, mode_t, int));
  matched_t file;
  if (!matches(at, path, &file)) return real(at, path, mode, flags);
  CHANGED(real_fchmod(bytes, mode_of(mode)), real(at, path, mode, flags));
}

#define CHOWN(name)                                                   \
  int name(const char *path, uid_t owner, gid_t group) {              \
    REAL(name, int (*)(const char *, uid_t, gid_t));                  \
    matched_t file;                                                   \
    if (!matches(AT_FDCWD, path, &file)) return real(path, owner, group);\
    CHANGED(fchown(bytes, owner, group), real(path, owner, group));   \
  }

CHOWN(chown)
CHOWN(lchown)

int fchownat(int at, const char *path, uid_t owner, gid_t group, int flags) {
  REAL(fchownat, int (*)(int, const char *, uid_t, gid_t, int));
  matched_t file;
  if (!matches(at, path, &file)) return real(at, path, owner, group, flags);
  CHANGED(fchown(bytes, owner, group), real(at, path, owner, group, flags));
}

int utimensat(int at, const char *path, const struct timespec times[2], int flags) {
  REAL(utimensat, int (*)(int, const char *, const struct timespec *, int));
  matched_t file;
  if (!matches(at, path, &file)) return real(at, path, times, flags);
  CHANGED(futimens(bytes, times), real(at, path, times, flags));
}

#define UTIMES(name)                                                  \
  int name(const char *path, const struct timeval times[2]) {         \
    REAL(name, int (*)(const char *, const struct timeval *));        \
    matched_t file;                                                   \
    if (!matches(AT_FDCWD, path, &file)) return real(path, times);    \
    CHANGED(futimes(bytes, times), real(path, times));                \
  }

UTIMES(utimes)
UTIMES(lutimes)

int utime(const char *path, const struct utimbuf *times) {
  REAL(utime, int (*)(const char *, const struct utimbuf *));
  matched_t file;
  if (!matches(AT_FDCWD, path, &file)) return real(path, times);
  struct timeval both[2] = {{.tv_sec = times ? times->actime : 0}, {.tv_sec = times ? times->modtime : 0}};
  CHANGED(futimes(bytes, times ? both : NULL), real(path, times));
}

#define LISTXATTR(name)                                               \
  ssize_t name(const char *path, char *list, size_t room) {           \
    REAL(name, ssize_t (*)(const char *, char *, size_t));            \
    matched_t file;                                                   \
    if (!matches(AT_FDCWD, path, &file)) return real(path, list, room);\
    ON_BYTES(ssize_t, flistxattr(bytes, list, room));                 \
  }

LISTXATTR(listxattr)
LISTXATTR(llistxattr)

#define GETXATTR(name)                                                \
  ssize_t name(const char *path, const char *key, void *value, size_t room) {\
    REAL(name, ssize_t (*)(const char *, const char *, void *, size_t));\
    matched_t file;                                                   \
    if (!matches(AT_FDCWD, path, &file)) return real(path, key, value, room);\
    ON_BYTES(ssize_t, fgetxattr(bytes, key, value, room));            \
  }

GETXATTR(getxattr)
GETXATTR(lgetxattr)

#define SETXATTR(name)                                                \
  int name(const char *path, const char *key, const void *value, size_t size, int flags) {\
    REAL(name, int (*)(const char *, const char *, const void *, size_t, int));\
    matched_t file;                                                   \
    if (!matches(AT_FDCWD, path, &file)) return real(path, key, value, size, flags);\
    CHANGED(fsetxattr(bytes, key, value, size, flags), real(path, key, value, size, flags));\
  }

SETXATTR(setxattr)
SETXATTR(lsetxattr)
