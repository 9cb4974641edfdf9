/* The calls of the C library that look at files by their names, or change these. */
#define _GNU_SOURCE
#include "redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void looked(int bytes) {
  REAL(close, int (*)(int));
  int why = errno;
  real(bytes);
  errno = why;
}

int look_at(const matched_t *file) {
  bool fresh;
  if (library_meets(file->path, O_RDONLY) < 0) return -1;
  int bytes = session_bytes(file->path, &fresh);
  if (bytes >= 0) return bytes;
  if (fresh) {
    errno = ENOENT;
    return -1;
  }
  bytes = service_find(file);
  if (bytes < 0 || session_made(bytes)) return bytes;
  looked(bytes);
  errno = ENOENT;
  return -1;
}

/* Without the bit that sets it apart from one that was not made (attributes.c). */
static mode_t mode_shown(mode_t mode) { return (mode & 07777) == (NOT_MADE | S_ISVTX) ? mode & ~S_ISVTX : mode; }

/* As the file system would show the file: with a name. */
static int shown(const matched_t *file, struct stat *found) {
  REAL(fstat, int (*)(int, struct stat *));
  int bytes = look_at(file);
  if (bytes < 0) return -1;
  int result = real(bytes, found);
  found->st_nlink = 1;
  found->st_mode = mode_shown(found->st_mode);
  looked(bytes);
  return result;
}

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one form of stat on this machine");

#define STAT(name, matches)                                                    \
  int name(const char *path, struct stat *found) {                             \
    REAL(name, int (*)(const char *, struct stat *));                          \
    matched_t file;                                                            \
    return matches(AT_FDCWD, path, &file) ? shown(&file, found) : real(path, found); \
  }

/* Whether a call with these flags is one for a redirected file. */
static bool matches_by(int at, const char *path, int flags, matched_t *found) {
  return flags & AT_SYMLINK_NOFOLLOW ? matches_itself(at, path, found) : matches(at, path, found);
}

int fstatat(int at, const char *path, struct stat *found, int flags) {
  REAL(fstatat, int (*)(int, const char *, struct stat *, int));
  matched_t file;
  return matches_by(at, path, flags, &file) ? shown(&file, found) : real(at, path, found, flags);
}

/* What programs call that were built against a C library before 2.33. */
#define XSTAT(name, matches)                                                          \
  int name(int version, const char *path, struct stat *found) {                \
    REAL(name, int (*)(int, const char *, struct stat *));                     \
    matched_t file;                                                            \
    return matches(AT_FDCWD, path, &file) ? shown(&file, found) : real(version, path, found); \
  }

STAT(stat, matches)
STAT(lstat, matches_itself)
XSTAT(__xstat, matches)
XSTAT(__lxstat, matches_itself)
XSTAT(__xstat64, matches)
XSTAT(__lxstat64, matches_itself)

int stat64(const char *path, struct stat64 *found) { return stat(path, (struct stat *)found); }
int lstat64(const char *path, struct stat64 *found) { return lstat(path, (struct stat *)found); }
int fstatat64(int at, const char *path, struct stat64 *found, int flags) {
  return fstatat(at, path, (struct stat *)found, flags);
}

int __fxstatat(int version, int at, const char *path, struct stat *found, int flags) {
  REAL(__fxstatat, int (*)(int, int, const char *, struct stat *, int));
  matched_t file;
  return matches_by(at, path, flags, &file) ? shown(&file, found) : real(version, at, path, found, flags);
}

int __fxstatat64(int version, int at, const char *path, struct stat64 *found, int flags) {
  return __fxstatat(version, at, path, (struct stat *)found, flags);
}

int statx(int at, const char *path, int flags, unsigned mask, struct statx *found) {
  REAL(statx, int (*)(int, const char *, int, unsigned, struct statx *));
  matched_t file;
  if (!matches_by(at, path, flags, &file)) return real(at, path, flags, mask, found);
  int bytes = look_at(&file);
  if (bytes < 0) return -1;
  int result = real(bytes, "", AT_EMPTY_PATH, mask, found);
  found->stx_nlink = 1;
  found->stx_mode = (uint16_t)mode_shown(found->stx_mode);
  looked(bytes);
  return result;
}

/* Whether the file is there; it may be read and written, and never executed. */
static int allowed(const matched_t *file, int wanted) {
  int bytes = look_at(file);
  if (bytes < 0) return -1;
  looked(bytes);
  if (!(wanted & X_OK)) return 0;
  errno = EACCES;
  return -1;
}

#define ACCESS(name)                                                           \
  int name(const char *path, int wanted) {                                     \
    REAL(name, int (*)(const char *, int));                                    \
    matched_t file;                                                            \
    return matches(AT_FDCWD, path, &file) ? allowed(&file, wanted) : real(path, wanted); \
  }

ACCESS(access)
ACCESS(euidaccess)
ACCESS(eaccess)

int faccessat(int at, const char *path, int wanted, int flags) {
  REAL(faccessat, int (*)(int, const char *, int, int));
  matched_t file;
  return matches(at, path, &file) ? allowed(&file, wanted) : real(at, path, wanted, flags);
}

char *realpath(const char *path, char *resolved) {
  REAL(realpath, char *(*)(const char *, char *));
  matched_t file;
  if (!matches(AT_FDCWD, path, &file)) return real(path, resolved);
  if (allowed(&file, F_OK) < 0) return NULL;
  if (!resolved) return strdup(file.path);
  return strlen(file.path) < PATH_MAX ? strcpy(resolved, file.path) : NULL;
}

#define UNLINK(name)                                                           \
  int name(const char *path) {                                                 \
    REAL(name, int (*)(const char *));                                         \
    matched_t file;                                                            \
    return matches_itself(AT_FDCWD, path, &file) ? session_remove(&file) : real(path); \
  }

UNLINK(unlink)
UNLINK(remove)

int unlinkat(int at, const char *path, int flags) {
  REAL(unlinkat, int (*)(int, const char *, int));
  matched_t file;
  return !(flags & AT_REMOVEDIR) && matches_itself(at, path, &file) ? session_remove(&file) : real(at, path, flags);
}

/* Copies a file into memory, or out of it, as its new name asks for: what comes behind rename() when one side is redirected. */
static int carried(const char *from, const char *to) {
  char piece[1 << 16];
  ssize_t count = -1;
  int source = open(from, O_RDONLY | O_CLOEXEC);
  if (source < 0) return -1;
  int target = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (target >= 0)
    while ((count = read(source, piece, sizeof piece)) > 0)
      for (ssize_t done = 0, n; done < count; done += n)
        if ((n = write(target, piece + done, count - done)) < 0) {
          close(source);
          close(target);
          return -1;
        }
  close(source);
  if (target < 0 || close(target) < 0 || count < 0) return -1;
  return unlink(from);
}

static int renamed(int from_at, const char *from, int to_at, const char *to, int *result) {
  matched_t source, target;
  bool leaves = matches_itself(from_at, from, &source), comes = matches_itself(to_at, to, &target);
  if (!leaves && (!comes || is_folder(from_at, from))) return 0;
  if (leaves && comes) {
    *result = service_rename(source.path, &target);
    if (*result == 0) session_renamed(source.path, target.path);
  } else if ((leaves ? to_at : from_at) == AT_FDCWD || *(leaves ? to : from) == '/')
    *result = carried(leaves ? source.path : from, comes ? target.path : to);
  else {
    errno = EXDEV; // programs copy then
    *result = -1;
  }
  return 1;
}

int rename(const char *from, const char *to) {
  REAL(rename, int (*)(const char *, const char *));
  int result;
  return renamed(AT_FDCWD, from, AT_FDCWD, to, &result) ? result : real(from, to);
}

int renameat(int from_at, const char *from, int to_at, const char *to) {
  REAL(renameat, int (*)(int, const char *, int, const char *));
  int result;
  return renamed(from_at, from, to_at, to, &result) ? result : real(from_at, from, to_at, to);
}

/* Whether a file of this name is in the way of one that must not take its place. */
static bool in_the_way(int at, const char *path) {
  matched_t file;
  struct stat found;
  return matches(at, path, &file) ? allowed(&file, F_OK) == 0 : fstatat(at, path, &found, AT_SYMLINK_NOFOLLOW) == 0;
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
  REAL(renameat2, int (*)(int, const char *, int, const char *, unsigned));
  matched_t file;
  int result;
  if (flags == 0) return renameat(from_at, from, to_at, to);
  if (!matches(from_at, from, &file) && !matches(to_at, to, &file)) return real(from_at, from, to_at, to, flags);
  if (flags != RENAME_NOREPLACE || in_the_way(to_at, to)) {
    errno = flags == RENAME_NOREPLACE ? EEXIST : EINVAL; // as of a file system that knows nothing else
    return -1;
  }
  return renamed(from_at, from, to_at, to, &result) ? result : real(from_at, from, to_at, to, flags);
}

/* A file in memory has one name. */
static bool would_link(int from_at, const char *from, int to_at, const char *to) {
  matched_t file;
  if (!matches(from_at, from, &file) && !matches(to_at, to, &file)) return false;
  errno = EPERM;
  return true;
}

int link(const char *from, const char *to) {
  REAL(link, int (*)(const char *, const char *));
  return would_link(AT_FDCWD, from, AT_FDCWD, to) ? -1 : real(from, to);
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
  REAL(linkat, int (*)(int, const char *, int, const char *, int));
  return would_link(from_at, from, to_at, to) ? -1 : real(from_at, from, to_at, to, flags);
}

int truncate(const char *path, off_t length) {
  REAL(truncate, int (*)(const char *, off_t));
  matched_t file;
  if (!matches(AT_FDCWD, path, &file)) return real(path, length);
  int bytes = open(path, O_WRONLY | O_CLOEXEC);
  if (bytes < 0) return -1;
  int result = ftruncate(bytes, length), why = errno;
  if (close(bytes) < 0) return -1;
  errno = why;
  return result;
}

int truncate64(const char *path, off64_t length) { return truncate(path, (off_t)length); }
