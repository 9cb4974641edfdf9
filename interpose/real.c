/* The functions behind the names that this library takes. */
#define _GNU_SOURCE
#include "redirect.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

__thread int inside;

void *real_libc(const char *name) { return dlsym(RTLD_NEXT, name); }

/*
 * A library that was loaded by an extension module, and for it alone, is not behind this one in the order of search; it is
 * among what its caller was linked with. There may be several of one kind in a process: each caller has its own.
 */
void *real_function(const char *name, const void *caller) {
  /* A library may jump to another of its functions, which then seems to be called from here: from where this one was. */
  static __thread const void *outer;
  Dl_info own, at;
  struct link_map *map = NULL;
  dladdr((void *)real_function, &own);
  if (dladdr(caller, &at) && at.dli_fbase == own.dli_fbase && outer) caller = outer;
  outer = caller;
  void *found = NULL;
  if (dladdr1(caller, &at, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name && *map->l_name) {
    void *library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
      found = dlsym(library, name);
      dlclose(library);
    }
  }
  Dl_info of_found;
  if (!found || (dladdr(found, &of_found) && of_found.dli_fbase == own.dli_fbase)) found = dlsym(RTLD_NEXT, name);
  if (!found) {
    fprintf(stderr, "thalweg redirect: no %s was found behind this library; is the program linked with its library?\n", name);
    abort();
  }
  return found;
}
