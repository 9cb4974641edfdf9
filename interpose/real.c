/* The functions behind the names that this library takes. */
#define _GNU_SOURCE
#include "redirect.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

__thread int inside;

void *real_libc(const char *name) { return dlsym(RTLD_NEXT, name); }

/* Whose functions they are: one process has several libraries, not all linked with each other. PnetCDF calls MPI. */
typedef enum { PNETCDF, NETCDF, HDF5, OTHER, KINDS } kind_t;

static kind_t kind_of(const char *name) {
  if (strncmp(name, "ncmpi_", 6) == 0 || strncmp(name, "MPI_", 4) == 0) return PNETCDF;
  if (strncmp(name, "nc_", 3) == 0) return NETCDF;
  return strncmp(name, "H5", 2) == 0 ? HDF5 : OTHER;
}

/*
 * A library that was loaded by an extension module, and for it alone, is not behind this one in the order of search; it is
 * among what its caller was linked with. There may be several of one kind in a process: each caller has its own.
 */
void *real_function(const char *name, const void *caller) {
  /* A library may jump to another of its functions, which then seems to be called from here: from where this one was. */
  static __thread const void *outer_here[KINDS];
  static _Atomic(const void *) outer_anywhere[KINDS]; // for threads that have called none yet
  kind_t kind = kind_of(name);
  Dl_info own, at;
  struct link_map *map = NULL;
  dladdr((void *)real_function, &own);
  if (dladdr(caller, &at) && at.dli_fbase == own.dli_fbase) {
    const void *outer = outer_here[kind] ? outer_here[kind] : atomic_load(&outer_anywhere[kind]);
    if (outer) caller = outer;
  } else {
    outer_here[kind] = caller;
    atomic_store(&outer_anywhere[kind], caller);
  }
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
