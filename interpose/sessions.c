/* What this process has in use: sessions, each held by its descriptors and by the library that is opening it. */
#define _GNU_SOURCE
#include "redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct session {
  char path[PATH_BYTES];
  uint64_t number;
  int bytes; /* a descriptor of the content, out of the way of the program's own */
  bool writes, turn, forgives, untold;
  bool over; /* for others, though this process has it open */
  int held;
  session_t *next;
};

enum { OUT_OF_THE_WAY = 500 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static session_t *sessions;
static _Atomic(session_t *) of_descriptor[DESCRIPTORS_MAX];

static int real_close(int fd) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))real_libc("close");
  return real(fd);
}

/* Sessions are the process's that began them: a forked child has the descriptors, but nothing to end. A child that shares its
   parent's memory until it becomes another program (vfork) tells itself by its number. */
static pid_t owner;

static bool is_owner(void) { return owner == getpid(); }

static void disown(void) {
  pthread_mutex_init(&lock, NULL);
  for (int fd = 0; sessions && fd < DESCRIPTORS_MAX; fd++) atomic_store_explicit(&of_descriptor[fd], NULL, memory_order_relaxed);
  sessions = NULL;
}

static void own(void) {
  static bool watches_forks;
  if (!watches_forks) watches_forks = pthread_atfork(NULL, NULL, disown) == 0;
  owner = getpid();
}

static bool writes(uint32_t access) { return access >= THALWEG_ACCESS_UPDATE; }

/* A session of this process that is as good as a new one; held. */
static session_t *join(const char *path, wish_t wish) {
  for (session_t *s = sessions; s; s = s->next) {
    if (!s->over && strcmp(s->path, path) == 0 && (s->writes || !writes(wish.access)) && (s->turn || !wish.turn)) {
      s->held++;
      return s;
    }
  }
  return NULL;
}

session_t *session_hold(const matched_t *file, wish_t wish) {
  uint32_t access = wish.access;
  if (only_looks()) {
    if (writes(access)) {
      fprintf(stderr, "thalweg redirect: %s: a program that only looks writes nothing; start it without --look\n", file->path);
      errno = EACCES;
      return NULL;
    }
    access = THALWEG_ACCESS_LOOK;
  }
  pthread_mutex_lock(&lock);
  session_t *joined = join(file->path, wish);
  pthread_mutex_unlock(&lock);
  if (joined) return joined;
  session_t *made = calloc(1, sizeof *made);
  thalweg_opened opened;
  uint32_t flags = (wish.turn ? 0 : THALWEG_OPEN_GLANCE) | (wish.at_once || is_alone() ? THALWEG_OPEN_AT_ONCE : 0) |
                   (wish.warm && file->replays ? THALWEG_OPEN_WARM : 0);
  if (!made || service_open(file, access, flags, &opened) < 0) {
    free(made);
    return NULL;
  }
  int away = fcntl(opened.descriptor, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
  if (away >= 0) real_close(opened.descriptor);
  memcpy(made->path, file->path, sizeof made->path);
  made->number = opened.number;
  made->bytes = away >= 0 ? away : opened.descriptor;
  made->writes = writes(access);
  made->turn = wish.turn;
  made->forgives = file->forgives;
  made->held = 1;
  pthread_mutex_lock(&lock);
  own();
  made->next = sessions;
  sessions = made;
  pthread_mutex_unlock(&lock);
  return made;
}

int session_release(session_t *session) {
  pthread_mutex_lock(&lock);
  bool last = --session->held == 0;
  if (last) {
    session_t **place = &sessions;
    while (*place && *place != session) place = &(*place)->next;
    if (*place) *place = session->next;
  }
  pthread_mutex_unlock(&lock);
  if (!last) return 0;
  real_close(session->bytes);
  int ended = service_close(session->number), why = errno;
  free(session);
  errno = why;
  return ended;
}

bool session_made(int bytes) {
  struct stat found;
  inside++;
  bool made = fstat(bytes, &found) == 0 && (found.st_mode & 07777) != NOT_MADE;
  inside--;
  return made;
}

/* The mask of modes; umask() itself would change it for a moment, in which another thread may make a file. */
static mode_t mask_of_modes(void) {
  char line[256];
  unsigned mask = 022;
  FILE *status = ((FILE * (*)(const char *, const char *)) real_libc("fopen"))("/proc/self/status", "re");
  while (status && fgets(line, sizeof line, status) && sscanf(line, "Umask: %o", &mask) != 1) {}
  if (status) fclose(status);
  return (mode_t)mask;
}

static void make(int bytes) {
  mode_t mode = 0666 & ~mask_of_modes();
  fchmod(bytes, mode == NOT_MADE ? 0666 : mode);
}

int session_open(session_t *session, int flags) {
  if (!session_made(session->bytes)) {
    if (!(flags & O_CREAT)) {
      errno = ENOENT;
      return -1;
    }
    make(session->bytes);
  } else if ((flags & O_CREAT) && (flags & O_EXCL)) {
    errno = EEXIST;
    return -1;
  }
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", session->bytes);
  int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))real_libc("open");
  int made = real(path, flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW));
  if (made < 0) return -1;
  if (made >= DESCRIPTORS_MAX) {
    real_close(made);
    errno = EMFILE;
    return -1;
  }
  pthread_mutex_lock(&lock);
  session->held++;
  pthread_mutex_unlock(&lock);
  atomic_store(&of_descriptor[made], session);
  return made;
}

void session_wrote(session_t *session, const thalweg_box *whole, size_t variables, const thalweg_box *parts, size_t count) {
  if (session->writes && !session->untold) service_wrote(session->number, whole, variables, parts, count);
}

size_t session_holes(session_t *session, thalweg_box *holes, size_t room) {
  return session->forgives || only_looks() ? 0 : service_holes(session->number, holes, room);
}

void session_fail(session_t *session, const char *why) {
  char text[PATH_BYTES + 1024];
  snprintf(text, sizeof text, "%s: %s", session->path, why);
  fprintf(stderr, "thalweg redirect: %s\n", text);
  service_fail(text);
}

int session_descriptor(const session_t *session) { return session->bytes; }

int session_bytes(const char *path, bool *fresh) {
  int bytes = -1;
  *fresh = false;
  pthread_mutex_lock(&lock);
  for (session_t *s = sessions; s && bytes < 0; s = s->next)
    if (!s->over && strcmp(s->path, path) == 0) bytes = fcntl(s->bytes, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
  pthread_mutex_unlock(&lock);
  if (bytes < 0 || session_made(bytes)) return bytes;
  real_close(bytes);
  *fresh = true;
  return -1;
}

void session_renamed(const char *from, const char *to) {
  pthread_mutex_lock(&lock);
  for (session_t *s = sessions; s; s = s->next) {
    if (strcmp(s->path, to) == 0) *s->path = '\0';
    if (strcmp(s->path, from) == 0) snprintf(s->path, sizeof s->path, "%s", to);
  }
  pthread_mutex_unlock(&lock);
}

/* With mode `both` there may be a file of an earlier run, of which the service knows nothing. */
int session_remove(const matched_t *file) {
  int (*real)(const char *) = (int (*)(const char *))real_libc("unlink");
  if (service_remove(file->path) < 0) return errno == ENOENT && file->rule->mode == THALWEG_REDIRECT_BOTH ? real(file->path) : -1;
  session_renamed(file->path, "");
  return 0;
}

void session_untold(session_t *session) { session->untold = true; }

bool session_has(int descriptor) {
  return descriptor >= 0 && descriptor < DESCRIPTORS_MAX && atomic_load_explicit(&of_descriptor[descriptor], memory_order_relaxed);
}

session_t *session_taken(int descriptor) {
  if (descriptor < 0 || descriptor >= DESCRIPTORS_MAX) return NULL;
  if (!atomic_load_explicit(&of_descriptor[descriptor], memory_order_relaxed) || !is_owner()) return NULL;
  return atomic_exchange(&of_descriptor[descriptor], NULL);
}

session_t *session_of(int descriptor) {
  if (!session_has(descriptor) || !is_owner()) return NULL;
  pthread_mutex_lock(&lock);
  session_t *session = atomic_load(&of_descriptor[descriptor]);
  if (session) session->held++;
  pthread_mutex_unlock(&lock);
  return session;
}

void session_copied(int from, int to) {
  session_t *session = to < DESCRIPTORS_MAX ? session_of(from) : NULL;
  if (session) atomic_store(&of_descriptor[to], session);
}

void (*session_is_handed_over)(session_t *session);

/* One that is in use, held; NULL: there is none. */
static session_t *session_in_use(const char *path) {
  pthread_mutex_lock(&lock);
  session_t *found = sessions;
  while (found && (found->over || (path && strcmp(found->path, path) != 0))) found = found->next;
  if (found) found->held++;
  pthread_mutex_unlock(&lock);
  return found;
}

int sessions_hand_over(const char *path) {
  int result = 0, count = 0, why = ENOENT;
  for (session_t *session; is_owner() && (session = session_in_use(path)); count++) {
    if (session_is_handed_over) session_is_handed_over(session);
    session->over = true;
    if (service_hand_over(session->number) < 0) {
      result = -1;
      why = errno;
    }
    session_release(session);
  }
  if (path && count == 0) result = -1;
  if (result < 0) errno = why;
  return result;
}

/* What a program leaves open when it ends as it should, it has done with. */
void sessions_end(bool well) {
  for (int fd = 0; sessions && fd < DESCRIPTORS_MAX; fd++) {
    session_t *session = session_taken(fd);
    if (session) session_release(session);
  }
  for (session_t *s = sessions; well && is_owner() && s; s = s->next) service_close(s->number);
}

bool sessions_any(void) { return sessions && is_owner(); }
