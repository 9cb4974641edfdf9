/* The HDF5 libraries that have loaded this one, and what they ask it first. */
#define _GNU_SOURCE
#include "hdf5.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hdf5_t *libraries;

/* All of HDF5's functions that are called, and variables that are read. */
static const char *const needed[] = {
  "H5Eclear2", "H5Eget_auto2", "H5Eget_current_stack", "H5Epush2", "H5Eset_auto2", "H5Eset_current_stack", "H5E_CANTOPENFILE_g",
  "H5E_ERR_CLS_g", "H5E_FILE_g", "H5FDdriver_query", "H5FDregister", "H5Iis_valid", "H5Pclose", "H5Pcopy", "H5Pget_driver",
  "H5Pget_fapl_core", "H5Pget_file_image", "H5Pset_driver", "H5Pset_fapl_sec2", "H5VLclose", "H5VLget_connector_id_by_name",
  "H5VLintrospect_get_conn_cls",
};

hdf5_t *hdf5_of(const void *caller) {
  Dl_info at;
  const void *base = dladdr(caller, &at) ? at.dli_fbase : NULL;
  pthread_mutex_lock(&lock);
  hdf5_t *found = libraries;
  while (found && found->base != base) found = found->next;
  pthread_mutex_unlock(&lock);
  return found;
}

void *hdf5_find(const char *name, const void *hdf5) { return dlsym(((const hdf5_t *)hdf5)->handle, name); }

void hdf5_failed(const hdf5_t *hdf5, const char *path, int why) {
#define ID(name) (*(hid_t *)hdf5_find(#name, hdf5))
  H5(herr_t, H5Epush2, hdf5, hid_t, const char *, const char *, unsigned, hid_t, hid_t, hid_t, const char *, ...)
  (0, __FILE__, "thalweg redirect", __LINE__, ID(H5E_ERR_CLS_g), ID(H5E_FILE_g), ID(H5E_CANTOPENFILE_g),
   "unable to open file: name = '%s', errno = %d, error message = '%s'", path, why, strerror(why));
#undef ID
}

/* Says why this HDF5 cannot be served; NULL. */
static const void *refused(hdf5_t *hdf5, const char *why) {
  unsigned version[3] = {0, 0, 0};
  if (hdf5_find("H5get_libversion", hdf5))
    H5(herr_t, H5get_libversion, hdf5, unsigned *, unsigned *, unsigned *)(&version[0], &version[1], &version[2]);
  fprintf(stderr, "thalweg redirect: HDF5 %u.%u.%u %s; run the program without --vol\n", version[0], version[1], version[2], why);
  dlclose(hdf5->handle);
  free(hdf5);
  return NULL;
}

/* The functions of its own connector; NULL when it does not show them. */
static const connector_class_t *native_of(const hdf5_t *hdf5) {
  const connector_class_t *native = NULL;
  hid_t id = H5(hid_t, H5VLget_connector_id_by_name, hdf5, const char *)("native");
  if (id < 0) return NULL;
  // It wants an object, of which it asks nothing.
  H5(herr_t, H5VLintrospect_get_conn_cls, hdf5, void *, hid_t, int, const connector_class_t **)(&id, id, 0, &native);
  H5(herr_t, H5VLclose, hdf5, hid_t)(id);
  return native;
}

int H5PLget_plugin_type(void) { return H5PL_TYPE_VOL; }

const void *H5PLget_plugin_info(void) {
  const void *caller = __builtin_return_address(0);
  hdf5_t *hdf5 = hdf5_of(caller);
  if (hdf5) return &hdf5->own;
  Dl_info at;
  char why[128];
  hdf5 = calloc(1, sizeof *hdf5);
  if (!hdf5 || !dladdr(caller, &at) || !(hdf5->handle = dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD))) {
    fprintf(stderr, "thalweg redirect: HDF5 is linked into its program; run the program without --vol\n");
    free(hdf5);
    return NULL;
  }
  for (size_t n = 0; n < sizeof needed / sizeof *needed; n++) {
    if (hdf5_find(needed[n], hdf5)) continue;
    snprintf(why, sizeof why, "has no %s, which this connector needs", needed[n]);
    return refused(hdf5, why);
  }
  hdf5->native = native_of(hdf5);
  if (!hdf5->native) return refused(hdf5, "does not show its own connector");
  if (hdf5->native->version != H5VL_VERSION) {
    snprintf(why, sizeof why, "has a virtual object layer of version %u; this connector is for version %d (HDF5 1.14 to 2.2)",
             hdf5->native->version, H5VL_VERSION);
    return refused(hdf5, why);
  }
  hdf5->base = at.dli_fbase;
  hdf5->own = connector_from(hdf5->native);
  hdf5->driver = -1;
  pthread_mutex_lock(&lock);
  hdf5->next = libraries;
  libraries = hdf5;
  pthread_mutex_unlock(&lock);
  return &hdf5->own;
}

/* HDF5 has closed its files by then. */
__attribute__((destructor)) static void end_all(void) { sessions_end(true); }
