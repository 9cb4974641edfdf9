/* HDF5's own connector, but for the opening of files: a use of a redirected file, a turn of the component. */
#define _GNU_SOURCE
#include "hdf5.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of the numbers that HDF5 leaves to who wants one. */
enum { VALUE = 5193, VERSION = 1 };
/* Of a file driver: its files are as those of any other; it is MPI's. */
enum { H5FD_FEAT_HAS_MPI = 0x100, H5FD_FEAT_DEFAULT_VFD_COMPATIBLE = 0x8000 };

/* The opening of one file by HDF5. */
typedef struct {
  hdf5_t *hdf5;
  hid_t list; /* as the program gave it, or a copy of ours */
  session_t *session;
} opening_t;

/* Whether the driver of the list makes one plain file of the name. */
static bool is_plain(const opening_t *opening) {
  unsigned long features = 0;
  hid_t driver = H5(hid_t, H5Pget_driver, opening->hdf5, hid_t)(opening->list);
  H5(herr_t, H5FDdriver_query, opening->hdf5, hid_t, unsigned long *)(driver, &features);
  return (features & H5FD_FEAT_DEFAULT_VFD_COMPATIBLE) && !(features & H5FD_FEAT_HAS_MPI);
}

static int begin(opening_t *opening, const char *name, wish_t wish) {
  matched_t file;
  if (!matches(AT_FDCWD, name, &file)) return 0;
  bool made = wish.access > THALWEG_ACCESS_UPDATE;
  hdf5_place_t place = hdf5_place(opening->list, made, hdf5_find, opening->hdf5);
  H5(herr_t, H5Eclear2, opening->hdf5, hid_t)(0); // which says that the driver is not "core"
  if (place == HDF5_IN_MEMORY) return 0;
  if (place == HDF5_IN_A_FILE && !is_plain(opening)) {
    fprintf(stderr, "thalweg redirect: %s: HDF5's driver of it makes no single file of this name; run the program without --vol, "
            "or let the rule be mode = \"file\"\n", file.path);
    errno = ENOTSUP;
    return -1;
  }
  if (place == HDF5_READ_INTO_MEMORY) wish.access = THALWEG_ACCESS_READ;
  hid_t driver = driver_of(opening->hdf5);
  if (driver < 0) {
    errno = ENOTSUP;
    return -1;
  }
  if (!(opening->session = session_hold(&file, wish))) return -1;
  opening->list = H5(hid_t, H5Pcopy, opening->hdf5, hid_t)(opening->list);
  H5(herr_t, H5Pset_driver, opening->hdf5, hid_t, hid_t, const void *)(opening->list, driver, NULL);
  driver_opens = (opened_t){.name = name, .session = opening->session, .apart = place == HDF5_READ_INTO_MEMORY};
  return 0;
}

static int begun(opening_t *opening, const char *name, wish_t wish) {
  int made = begin(opening, name, wish), why = errno;
  if (made < 0) hdf5_failed(opening->hdf5, name, why);
  return made;
}

/* What HDF5 has opened holds the session from now on. Its errors stay. */
static void end(opening_t *opening) {
  if (!opening->session) return;
  driver_opens = (opened_t){0};
  hid_t errors = H5(hid_t, H5Eget_current_stack, opening->hdf5, void)();
  H5(herr_t, H5Pclose, opening->hdf5, hid_t)(opening->list);
  session_release(opening->session);
  H5(herr_t, H5Eset_current_stack, opening->hdf5, hid_t)(errors);
}

static void *create(const char *name, unsigned flags, hid_t creation, hid_t list, hid_t transfer, void **request) {
  opening_t opening = {.hdf5 = hdf5_of(__builtin_return_address(0)), .list = list};
  uint32_t access = flags & H5F_ACC_TRUNC ? THALWEG_ACCESS_TRUNCATE : THALWEG_ACCESS_EXCLUSIVE;
  if (begun(&opening, name, (wish_t){.access = access, .turn = true}) < 0) return NULL;
  void *made = opening.hdf5->native->file.create(name, flags, creation, opening.list, transfer, request);
  end(&opening);
  return made;
}

static void *open_file(const char *name, unsigned flags, hid_t list, hid_t transfer, void **request) {
  opening_t opening = {.hdf5 = hdf5_of(__builtin_return_address(0)), .list = list};
  uint32_t access = flags & H5F_ACC_RDWR ? THALWEG_ACCESS_UPDATE : THALWEG_ACCESS_READ;
  if (begun(&opening, name, (wish_t){.access = access, .turn = true}) < 0) return NULL;
  void *made = opening.hdf5->native->file.open(name, flags, opening.list, transfer, request);
  end(&opening);
  return made;
}

/* A file's access list names HDF5's default driver, as it would without redirection. */
static herr_t get(void *file, file_get_t *asked, hid_t transfer, void **request) {
  hdf5_t *hdf5 = hdf5_of(__builtin_return_address(0));
  herr_t got = hdf5->native->file.get(file, asked, transfer, request);
  if (got < 0 || asked->what != H5VL_FILE_GET_FAPL || hdf5->driver < 0) return got;
  if (H5(hid_t, H5Pget_driver, hdf5, hid_t)(asked->of.list) != hdf5->driver) return got;
  return H5(herr_t, H5Pset_fapl_sec2, hdf5, hid_t)(asked->of.list);
}

/* What netCDF is about when it asks: it asks before it makes a file, for which it wants no wait, and before it opens one. */
typedef enum { NOT_NETCDF, NETCDF_MAKES, NETCDF_OPENS } netcdf_t;

static netcdf_t netcdf(void) {
  void *callers[16];
  int count = backtrace(callers, 16);
  for (int n = 0; n < count; n++) {
    Dl_info at;
    if (!dladdr(callers[n], &at) || !at.dli_sname) continue;
    if (strcmp(at.dli_sname, "NC_create") == 0 || strncmp(at.dli_sname, "nc_create", 9) == 0) return NETCDF_MAKES;
    if (strcmp(at.dli_sname, "NC_open") == 0 || strncmp(at.dli_sname, "nc_open", 7) == 0) return NETCDF_OPENS;
  }
  return NOT_NETCDF;
}

/* netCDF looks at the first bytes of a file by itself, which are nowhere unless there is a file behind memory. */
static void warn_of(const char *name) {
  if (access(name, F_OK) < 0)
    fprintf(stderr, "thalweg redirect: %s: netCDF reads its first bytes past HDF5 and finds none; read it by h5py or h5netcdf, "
            "or run the program without --vol\n", name);
}

static herr_t is_accessible(file_specific_t *asked, hid_t transfer, void **request, hdf5_t *hdf5) {
  opening_t opening = {.hdf5 = hdf5, .list = asked->of.named.list};
  netcdf_t who = redirecting() ? netcdf() : NOT_NETCDF;
  wish_t wish = {.access = THALWEG_ACCESS_READ, .at_once = who == NETCDF_MAKES};
  if (begun(&opening, asked->of.named.name, wish) < 0) return -1;
  if (opening.session && who == NETCDF_OPENS) warn_of(asked->of.named.name);
  file_specific_t ours = *asked;
  ours.of.named.list = opening.list;
  herr_t done = hdf5->native->file.specific(NULL, &ours, transfer, request);
  end(&opening);
  return done;
}

static herr_t removed(const matched_t *file, const char *name, const hdf5_t *hdf5) {
  if (session_remove(file) == 0) return 0;
  hdf5_failed(hdf5, name, errno);
  return -1;
}

static herr_t specific(void *file, file_specific_t *asked, hid_t transfer, void **request) {
  hdf5_t *hdf5 = hdf5_of(__builtin_return_address(0));
  matched_t found;
  if (asked->what == H5VL_FILE_IS_ACCESSIBLE) return is_accessible(asked, transfer, request, hdf5);
  if (asked->what == H5VL_FILE_DELETE && matches(AT_FDCWD, asked->of.named.name, &found))
    return removed(&found, asked->of.named.name, hdf5);
  return hdf5->native->file.specific(file, asked, transfer, request);
}

connector_class_t connector_from(const connector_class_t *native) {
  connector_class_t own = *native;
  own.value = VALUE;
  own.name = "thalweg";
  own.connector_version = VERSION;
  own.file.create = create;
  own.file.open = open_file;
  own.file.get = get;
  own.file.specific = specific;
  return own;
}
