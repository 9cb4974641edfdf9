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

static const void *base_of(const void *caller) {
  Dl_info at;
  return dladdr(caller, &at) ? at.dli_fbase : NULL;
}

hdf5_t *hdf5_of(const void *caller) {
  const void *base = base_of(caller);
  pthread_mutex_lock(&lock);
  hdf5_t *found = libraries;
  while (found && found->base != base) found = found->next;
  pthread_mutex_unlock(&lock);
  return found;
}

void hdf5_failed(const void *caller, const char *path, int why) {
#define ID(name) (*(hid_t *)real_function(#name, caller))
  H5(herr_t, H5Epush2, caller, hid_t, const char *, const char *, unsigned, hid_t, hid_t, hid_t, const char *, ...)
  (0, __FILE__, "thalweg redirect", __LINE__, ID(H5E_ERR_CLS_g), ID(H5E_FILE_g), ID(H5E_CANTOPENFILE_g),
   "unable to open file: name = '%s', errno = %d, error message = '%s'", path, why, strerror(why));
#undef ID
}

/* Says why the HDF5 at `caller` cannot be served; NULL. */
static const void *refused(const void *caller, const char *why) {
  unsigned version[3] = {0, 0, 0};
  void *tell = function_of("H5get_libversion", caller);
  if (tell) ((herr_t(*)(unsigned *, unsigned *, unsigned *))tell)(&version[0], &version[1], &version[2]);
  fprintf(stderr, "thalweg redirect: HDF5 %u.%u.%u %s; run the program without --vol\n", version[0], version[1], version[2], why);
  return NULL;
}

int H5PLget_plugin_type(void) { return H5PL_TYPE_VOL; }

const void *H5PLget_plugin_info(void) {
  const void *caller = __builtin_return_address(0);
  hdf5_t *known = hdf5_of(caller);
  if (known) return &known->own;
  char why[128];
  for (size_t n = 0; n < sizeof needed / sizeof *needed; n++) {
    if (function_of(needed[n], caller)) continue;
    snprintf(why, sizeof why, "has no %s, which this connector needs", needed[n]);
    return refused(caller, why);
  }
  hid_t id = H5(hid_t, H5VLget_connector_id_by_name, caller, const char *)("native");
  const connector_class_t *native = NULL;
  bool knows = id >= 0 && H5(herr_t, H5VLintrospect_get_conn_cls, caller, void *, hid_t, int, const connector_class_t **)(
                            &id, id, 0, &native) >= 0 && native; // it wants an object, of which it asks nothing
  if (id >= 0) H5(herr_t, H5VLclose, caller, hid_t)(id);
  if (!knows) return refused(caller, "does not show its own connector");
  if (native->version != H5VL_VERSION) {
    snprintf(why, sizeof why, "has a virtual object layer of version %u; this connector is for version %d (HDF5 1.14 to 2.2)",
             native->version, H5VL_VERSION);
    return refused(caller, why);
  }
  hdf5_t *made = calloc(1, sizeof *made);
  if (!made) return refused(caller, "has no memory left");
  *made = (hdf5_t){.base = base_of(caller), .native = native, .own = connector_from(native), .driver = -1};
  pthread_mutex_lock(&lock);
  made->next = libraries;
  libraries = made;
  pthread_mutex_unlock(&lock);
  return &made->own;
}
