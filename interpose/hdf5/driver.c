/*
 * A file driver of HDF5: files whose bytes are a session's, which ends when HDF5 has closed them. It does what HDF5's default
 * driver ("sec2") does, so that files become the same.
 */
#define _GNU_SOURCE
#include "hdf5.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VALUE = 5193, CLOSE_WEAK = 1, MEMORY_TYPES = 7, SUPER = 1, DRAW = 3 };
/* Metadata and small data are put together; data are sieved; one may write while others read; files are as any other. */
enum { FEATURES = 0x01 | 0x06 | 0x08 | 0x10 | 0x1000 | 0x8000 };

typedef struct {
  unsigned char of_hdf5[256]; /* H5FD_t, which HDF5 fills; it needs 80 bytes */
  int descriptor;
  haddr_t allocated, end;
  dev_t device;
  ino_t inode;
} file_t;

/* H5FD_class_t */
typedef struct {
  unsigned version;
  int value;
  const char *name;
  haddr_t max_address;
  int close_degree;
  void *terminate, *superblock[3];
  size_t list_size;
  void *list[3];
  size_t transfer_size;
  void *transfer[2];
  file_t *(*open)(const char *name, unsigned flags, hid_t list, haddr_t max_address);
  herr_t (*close)(file_t *file);
  int (*compare)(const file_t *one, const file_t *other);
  herr_t (*query)(const file_t *file, unsigned long *features);
  void *type_map, *allocate, *free;
  haddr_t (*get_allocated)(const file_t *file, int type);
  herr_t (*set_allocated)(file_t *file, int type, haddr_t address);
  haddr_t (*get_end)(const file_t *file, int type);
  herr_t (*get_handle)(file_t *file, hid_t list, void **handle);
  herr_t (*read)(file_t *file, int type, hid_t transfer, haddr_t address, size_t size, void *buffer);
  herr_t (*write)(file_t *file, int type, hid_t transfer, haddr_t address, size_t size, const void *buffer);
  void *vectors_and_selections[4], *flush;
  herr_t (*truncate)(file_t *file, hid_t transfer, bool closing);
  herr_t (*lock)(file_t *file, bool alone);
  herr_t (*unlock)(file_t *file);
  void *remove, *control;
  int free_list[MEMORY_TYPES];
} driver_class_t;

__thread opened_t driver_opens;

/* A copy of the session's bytes, in memory that nobody else has. */
static int copy_of(const session_t *session) {
  struct stat found;
  int bytes = session_descriptor(session), copy = memfd_create("thalweg-copy", MFD_CLOEXEC);
  if (copy < 0 || fstat(bytes, &found) < 0) return -1;
  loff_t from = 0, to = 0;
  while (from < found.st_size && copy_file_range(bytes, &from, copy, &to, (size_t)(found.st_size - from), 0) > 0) {}
  if (from == found.st_size) return copy;
  close(copy);
  errno = EIO;
  return -1;
}

/* Files that HDF5 comes to by itself, over a link in one that it was asked to open. */
static int by_name(const char *name, int flags) {
  matched_t file;
  if (!matches(AT_FDCWD, name, &file)) return open(name, flags, 0666);
  uint32_t access = flags & O_RDWR ? THALWEG_ACCESS_UPDATE : THALWEG_ACCESS_READ;
  session_t *session = session_hold(&file, (wish_t){.access = access, .turn = true});
  if (!session) return -1;
  int made = session_open(session, flags);
  session_release(session);
  return made;
}

static int opened(const char *name, int flags) {
  if (!driver_opens.session || strcmp(name, driver_opens.name) != 0) return by_name(name, flags);
  return driver_opens.apart ? copy_of(driver_opens.session) : session_open(driver_opens.session, flags);
}

static int closed(int descriptor) {
  session_t *session = session_taken(descriptor);
  int done = close(descriptor);
  return session && session_release(session) < 0 ? -1 : done;
}

static file_t *open_file(const char *name, unsigned flags, hid_t list, haddr_t max_address) {
  (void)list, (void)max_address;
  int how = (flags & H5F_ACC_RDWR ? O_RDWR : O_RDONLY) | (flags & H5F_ACC_TRUNC ? O_TRUNC : 0) |
            (flags & H5F_ACC_CREAT ? O_CREAT : 0) | (flags & H5F_ACC_EXCL ? O_EXCL : 0) | O_CLOEXEC;
  struct stat found;
  int descriptor = opened(name, how);
  if (descriptor < 0) {
    int why = errno;
    hdf5_failed(hdf5_of(__builtin_return_address(0)), name, why);
    return NULL;
  }
  file_t *made = calloc(1, sizeof *made);
  if (!made || fstat(descriptor, &found) < 0) {
    free(made);
    closed(descriptor);
    return NULL;
  }
  made->descriptor = descriptor;
  made->end = (haddr_t)found.st_size;
  made->device = found.st_dev;
  made->inode = found.st_ino;
  return made;
}

static herr_t close_file(file_t *file) {
  int done = closed(file->descriptor);
  free(file);
  return done;
}

static int compare(const file_t *one, const file_t *other) {
  if (one->device != other->device) return one->device < other->device ? -1 : 1;
  return one->inode < other->inode ? -1 : one->inode > other->inode;
}

static herr_t query(const file_t *file, unsigned long *features) {
  (void)file;
  if (features) *features = FEATURES;
  return 0;
}

static haddr_t get_allocated(const file_t *file, int type) {
  (void)type;
  return file->allocated;
}

static herr_t set_allocated(file_t *file, int type, haddr_t address) {
  (void)type;
  file->allocated = address;
  return 0;
}

static haddr_t get_end(const file_t *file, int type) {
  (void)type;
  return file->end;
}

static herr_t get_handle(file_t *file, hid_t list, void **handle) {
  (void)list;
  *handle = &file->descriptor;
  return 0;
}

/* What lies behind the end is zero. */
static herr_t read_bytes(file_t *file, int type, hid_t transfer, haddr_t address, size_t size, void *buffer) {
  (void)type, (void)transfer;
  for (char *to = buffer; size > 0;) {
    ssize_t count = pread(file->descriptor, to, size, (off_t)address);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) {
      memset(to, 0, size);
      break;
    }
    to += count, address += (haddr_t)count, size -= (size_t)count;
  }
  return 0;
}

static herr_t write_bytes(file_t *file, int type, hid_t transfer, haddr_t address, size_t size, const void *buffer) {
  (void)type, (void)transfer;
  for (const char *from = buffer; size > 0;) {
    ssize_t count = pwrite(file->descriptor, from, size, (off_t)address);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return -1;
    from += count, address += (haddr_t)count, size -= (size_t)count;
  }
  if (address > file->end) file->end = address;
  return 0;
}

static herr_t cut(file_t *file, hid_t transfer, bool closing) {
  (void)transfer, (void)closing;
  if (file->allocated == file->end) return 0;
  if (ftruncate(file->descriptor, (off_t)file->allocated) < 0) return -1;
  file->end = file->allocated;
  return 0;
}

static herr_t lock(file_t *file, bool alone) { return flock(file->descriptor, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB); }
static herr_t unlock(file_t *file) { return flock(file->descriptor, LOCK_UN); }

hid_t driver_of(hdf5_t *hdf5) {
  static const driver_class_t own = {
    .version = H5FD_CLASS_VERSION, .value = VALUE, .name = "thalweg", .max_address = INT64_MAX, .close_degree = CLOSE_WEAK,
    .open = open_file, .close = close_file, .compare = compare, .query = query, .get_allocated = get_allocated,
    .set_allocated = set_allocated, .get_end = get_end, .get_handle = get_handle, .read = read_bytes, .write = write_bytes,
    .truncate = cut, .lock = lock, .unlock = unlock, .free_list = {SUPER, SUPER, SUPER, DRAW, DRAW, SUPER, SUPER},
  };
  // A library that was closed and is used again has forgotten it.
  if (hdf5->driver < 0 || H5(int, H5Iis_valid, hdf5, hid_t)(hdf5->driver) <= 0)
    hdf5->driver = H5(hid_t, H5FDregister, hdf5, const void *)(&own);
  if (hdf5->driver < 0) fprintf(stderr, "thalweg redirect: HDF5 takes no file driver of version %d\n", H5FD_CLASS_VERSION);
  return hdf5->driver;
}
