/* What programs may say themselves (thalweg_redirect.h): which component they are, and when a file is handed over. */
#include "redirect.h"
#include "thalweg_redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

int thalweg_redirect_init_(const char *component) {
  if (!component || !*component) {
    errno = EINVAL;
    return -1;
  }
  if (redirecting() && service_is_used()) {
    fprintf(stderr, "thalweg redirect: this process is %s, as it has used files already; call thalweg_redirect_init before\n", own_component());
    errno = EALREADY;
    return -1;
  }
  declare_component(component);
  return 0;
}

int thalweg_redirect_transfer_(const char *path) {
  matched_t file;
  if (!matches(AT_FDCWD, path, &file)) return 0; // a file like any other
  return sessions_hand_over(file.path);
}

int thalweg_redirect_finalize_(void) { return redirecting() ? sessions_hand_over(NULL) : 0; }
