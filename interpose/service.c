/* The connection to the redirect service, made when the first file matches. */
#define _GNU_SOURCE
#include "redirect.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The C face of Thalweg, which is loaded only into processes that need it. */
static struct {
  __typeof__(&thalweg_redirect_connect) connect;
  __typeof__(&thalweg_redirect_open) open;
  __typeof__(&thalweg_redirect_find) find;
  __typeof__(&thalweg_redirect_close) close;
  __typeof__(&thalweg_redirect_hand_over) hand_over;
  __typeof__(&thalweg_redirect_wrote) wrote;
  __typeof__(&thalweg_redirect_holes) holes;
  __typeof__(&thalweg_redirect_fail) fail;
  __typeof__(&thalweg_redirect_remove) remove;
  __typeof__(&thalweg_redirect_rename) rename;
  __typeof__(&thalweg_last_error) last_error;
} face;

static pthread_mutex_t connecting = PTHREAD_MUTEX_INITIALIZER;
static thalweg_redirect *connection;

static void say(const char *what) { fprintf(stderr, "thalweg redirect: %s\n", what); }

static bool load_face(void) {
  Dl_info own;
  char path[PATH_BYTES] = "libthalweg.so.0";
  if (dladdr((void *)load_face, &own)) {
    const char *slash = strrchr(own.dli_fname, '/');
    if (slash) snprintf(path, sizeof path, "%.*s/libthalweg.so.0", (int)(slash - own.dli_fname), own.dli_fname);
  }
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("libthalweg.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    say(dlerror());
    return false;
  }
#define TAKE(name) (face.name = (__typeof__(face.name))dlsym(library, "thalweg_redirect_" #name)) != NULL
  bool whole = TAKE(connect) && TAKE(open) && TAKE(find) && TAKE(close) && TAKE(hand_over) && TAKE(wrote) && TAKE(holes) && TAKE(fail) &&
               TAKE(remove) && TAKE(rename);
#undef TAKE
  face.last_error = (__typeof__(face.last_error))dlsym(library, "thalweg_last_error");
  if (!whole || !face.last_error) say("libthalweg.so.0 is of another release; build both again");
  return whole && face.last_error;
}

/* A forked child makes a connection of its own; its parent's stays its parent's. */
static void forget(void) {
  pthread_mutex_init(&connecting, NULL);
  connection = NULL;
}

static thalweg_redirect *connected(void) {
  pthread_mutex_lock(&connecting);
  if (!connection && (face.connect || load_face())) {
    static bool watches_forks;
    if (!watches_forks) watches_forks = pthread_atfork(NULL, NULL, forget) == 0;
    const char *coupling = getenv("THALWEG_REDIRECT_COUPLING");
    thalweg_status made = face.connect(getenv("THALWEG_REDIRECT"), coupling ? coupling : "default", own_component(), 10.0, &connection);
    if (made != THALWEG_OK) {
      say(face.last_error());
      connection = NULL;
    }
  }
  thalweg_redirect *result = connection;
  pthread_mutex_unlock(&connecting);
  return result;
}

bool service_is_used(void) {
  pthread_mutex_lock(&connecting);
  bool used = connection != NULL;
  pthread_mutex_unlock(&connecting);
  return used;
}

static int number_of(thalweg_status status) {
  switch (status) {
    case THALWEG_NOT_FOUND: return ENOENT;
    case THALWEG_EXISTS: return EEXIST;
    case THALWEG_TIMEOUT: return ETIMEDOUT;
    case THALWEG_ACCESS: return EACCES;
    case THALWEG_FULL: return ENOSPC;
    case THALWEG_INVALID: return EINVAL;
    default: return EIO;
  }
}

/* 0 for THALWEG_OK, else -1 with errno; what no program expects is said. */
static int outcome(thalweg_status status) {
  inside--;
  if (status == THALWEG_OK) return 0;
  if (status != THALWEG_NOT_FOUND && status != THALWEG_EXISTS) say(face.last_error());
  errno = number_of(status);
  return -1;
}

/* The connection, with which this thread is inside; NULL with errno. */
static thalweg_redirect *enter(void) {
  inside++;
  thalweg_redirect *made = connected();
  if (!made) {
    inside--;
    errno = EIO;
  }
  return made;
}

int service_open(const matched_t *file, uint32_t access, uint32_t flags, thalweg_opened *opened) {
  thalweg_redirect *service = enter();
  return service ? outcome(face.open(service, file->path, file->rule, access, flags, opened)) : -1;
}

int service_find(const matched_t *file) {
  int descriptor = -1;
  thalweg_redirect *service = enter();
  if (!service || outcome(face.find(service, file->path, file->rule, &descriptor)) < 0) return -1;
  return descriptor;
}

int service_close(uint64_t number) {
  thalweg_redirect *service = enter();
  return service ? outcome(face.close(service, number)) : -1;
}

int service_hand_over(uint64_t number) {
  thalweg_redirect *service = enter();
  return service ? outcome(face.hand_over(service, number)) : -1;
}

int service_wrote(uint64_t number, const thalweg_box *whole, size_t variables, const thalweg_box *parts, size_t count) {
  thalweg_redirect *service = enter();
  return service ? outcome(face.wrote(service, number, whole, variables, parts, count)) : -1;
}

size_t service_holes(uint64_t number, thalweg_box *holes, size_t room) {
  size_t count = 0;
  thalweg_redirect *service = enter();
  if (!service || outcome(face.holes(service, number, holes, room, &count)) < 0) return 0;
  return count < room ? count : room;
}

void service_fail(const char *why) {
  thalweg_redirect *service = enter();
  if (service) outcome(face.fail(service, why));
}

int service_remove(const char *path) {
  thalweg_redirect *service = enter();
  return service ? outcome(face.remove(service, path)) : -1;
}

int service_rename(const char *from, const matched_t *to) {
  thalweg_redirect *service = enter();
  return service ? outcome(face.rename(service, from, to->path, to->rule)) : -1;
}
