/*
 * libthalweg-hdf5.so: a connector of HDF5's virtual object layer, for programs into which nothing can be loaded beforehand.
 * HDF5 loads it as a plugin. It is HDF5's own ("native") connector in everything but opening files: those that match a rule
 * are opened by a file driver whose bytes are the session's.
 *
 * It is linked with no HDF5: each wheel brings one of its own, under a name of its own, and there may be several in a process.
 * What it has to know of HDF5's structs is here, as HDF5 1.14 to 2.2 have them.
 */
#ifndef REDIRECT_HDF5_H
#define REDIRECT_HDF5_H

#include "../redirect.h"

/* ---- HDF5's interface */

typedef int herr_t;
typedef uint64_t haddr_t;

enum { H5F_ACC_RDWR = 0x01, H5F_ACC_TRUNC = 0x02, H5F_ACC_EXCL = 0x04, H5F_ACC_CREAT = 0x10 };
enum { H5PL_TYPE_VOL = 1 };
/* The version of the structs of the virtual object layer, and of file drivers; HDF5 takes no other ones than its own. */
enum { H5VL_VERSION = 3, H5FD_CLASS_VERSION = 1 };

/* What is asked of a file (H5VL_file_get_args_t), and done to one (H5VL_file_specific_args_t); only what is met here. */
enum { H5VL_FILE_GET_FAPL = 1 };
enum { H5VL_FILE_IS_ACCESSIBLE = 2, H5VL_FILE_DELETE = 3 };
typedef struct {
  int what;
  union {
    hid_t list;
    void *rest[4];
  } of;
} file_get_t;
typedef struct {
  int what;
  union {
    struct {
      const char *name;
      hid_t list;
      bool *accessible;
    } named; /* for both of the above; `accessible` for the first only */
    void *rest[4];
  } of;
} file_specific_t;

typedef struct {
  void *(*create)(const char *name, unsigned flags, hid_t creation, hid_t list, hid_t transfer, void **request);
  void *(*open)(const char *name, unsigned flags, hid_t list, hid_t transfer, void **request);
  herr_t (*get)(void *file, file_get_t *asked, hid_t transfer, void **request);
  herr_t (*specific)(void *file, file_specific_t *asked, hid_t transfer, void **request);
  void *optional, *close;
} file_class_t;

/* H5VL_class_t */
typedef struct {
  unsigned version;
  int value;
  const char *name;
  unsigned connector_version;
  uint64_t capabilities;
  void *initialize, *terminate;
  size_t info_size;
  void *info[5], *wrap[5], *attribute[8], *dataset[8], *datatype[6];
  file_class_t file;
  void *group[6], *link[6], *object[5], *introspect[3], *request[6], *blob[4], *token[3], *optional;
} connector_class_t;

/* ---- connector.c */

/* A copy of HDF5's own connector that opens files that match. */
HIDDEN connector_class_t connector_from(const connector_class_t *native);

/* ---- library.c: the HDF5 that calls */

/* One that has loaded this connector. */
typedef struct hdf5 {
  const void *base; /* where it lies */
  void *handle;     /* by which its functions are found */
  const connector_class_t *native;
  connector_class_t own;
  hid_t driver;
  struct hdf5 *next;
} hdf5_t;

/* The one that the code at `caller` is part of. */
HIDDEN hdf5_t *hdf5_of(const void *caller);
/* Its function or variable `name`; NULL when it has none. */
HIDDEN void *hdf5_find(const char *name, const void *hdf5);
/* Its function `name`, to be called with the arguments of these types; it returns a `type`. */
#define H5(type, name, hdf5, ...) ((type(*)(__VA_ARGS__))hdf5_find(#name, hdf5))
/* Says in HDF5's own way that the file could not be opened. */
HIDDEN void hdf5_failed(const hdf5_t *hdf5, const char *path, int why);

/* ---- driver.c: the bytes of a session as HDF5's files */

/* The driver, registered with this HDF5; negative when it takes none. */
HIDDEN hid_t driver_of(hdf5_t *hdf5);
/* What this thread opens by the driver; all others it opens by their names. */
typedef struct {
  const char *name;
  session_t *session;
  bool apart; /* what is changed is not kept */
} opened_t;
HIDDEN extern __thread opened_t driver_opens;

#endif
