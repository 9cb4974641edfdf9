/*
 * What the parts of libthalweg-redirect.so say to each other. The library is loaded into unmodified programs
 * (LD_PRELOAD): files that match a rule of $THALWEG_REDIRECT_RULES are memory that the redirect service hands out.
 */
#ifndef REDIRECT_H
#define REDIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "thalweg.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* ---- rules.c: which files are redirected, and how */

enum { PATH_BYTES = 4096 };

/* A file that matches a rule. */
typedef struct {
  char path[PATH_BYTES]; /* its absolute path; the folder has no links in it */
  const thalweg_file_rule *rule;
  bool replays;  /* it may have the memory of an earlier one */
  bool forgives; /* what nobody wrote may be read */
} matched_t;

/* Whether the program is redirected at all. Cheap. */
HIDDEN bool redirecting(void);
/* Whether this program only looks at what is there. */
HIDDEN bool only_looks(void);
/* Whether no other component will ever come: what is not there, nobody makes. */
HIDDEN bool is_alone(void);
/* The component that this program is one of; NULL: none, and nothing is redirected. */
HIDDEN const char *own_component(void);
/* The program says itself which one it is. */
HIDDEN void declare_component(const char *name);
/* Whether `path`, relative to the folder `at` (or AT_FDCWD), is a folder of the file system. */
HIDDEN bool is_folder(int at, const char *path);
/* Whether `path`, relative to `at`, matches a rule. Folders match none, nor does what is in a folder that is not there. Symbolic
   links on disk are followed, and what they lead to must match. */
HIDDEN bool matches(int at, const char *path, matched_t *found);
/* As above, for calls that do not follow links: a link matches no rule. */
HIDDEN bool matches_itself(int at, const char *path, matched_t *found);

/* ---- service.c: the connection */

/* Opens a file of the service. 0, or -1 with errno and a message on the standard error output. */
HIDDEN int service_open(const matched_t *file, uint32_t access, uint32_t flags, thalweg_opened *opened);
/* A descriptor of a file that is there, else -1 with errno; ENOENT without a message. */
HIDDEN int service_find(const matched_t *file);
HIDDEN int service_close(uint64_t number);
/* As above, for others: this process still looks at it, and closes it later. */
HIDDEN int service_hand_over(uint64_t number);
/* Tells what was put into a file; asks what nobody put into one, how many there are; tells that the program cannot go on. */
HIDDEN int service_wrote(uint64_t number, const thalweg_box *whole, size_t variables, const thalweg_box *parts, size_t count);
HIDDEN size_t service_holes(uint64_t number, thalweg_box *holes, size_t room);
HIDDEN void service_fail(const char *why);
/* Whether there is a connection, of a process of one component. */
HIDDEN bool service_is_used(void);
HIDDEN int service_remove(const char *path);
HIDDEN int service_rename(const char *from, const matched_t *to);

/* ---- sessions.c: what this process has open */

/* How a program asked for a file. */
typedef struct {
  uint32_t access;
  bool turn; /* a library's opening of a file: a turn of the component, not only a glance */
  bool at_once;
  bool warm; /* what the file's bytes were before does not matter */
} wish_t;

/* A content that was handed out, but of which no file was made yet, has this mode, which no program can give it. */
enum { NOT_MADE = 0777 };

/* Descriptors beyond this one are of no redirected file. */
enum { DESCRIPTORS_MAX = 1 << 16 };

/* A use of a file, from its opening by a library, or by the program itself, until its last descriptor is closed. */
typedef struct session session_t;

/* The session of `file`, begun or joined, and held; NULL with errno. */
HIDDEN session_t *session_hold(const matched_t *file, wish_t wish);
/* Lets go of it; the last one ends it. 0, or -1 with errno. */
HIDDEN int session_release(session_t *session);
/* Its bytes. */
HIDDEN int session_descriptor(const session_t *session);
/* As service_wrote and service_holes say; a message, of this file, for all components. */
HIDDEN void session_wrote(session_t *session, const thalweg_box *whole, size_t variables, const thalweg_box *parts, size_t count);
HIDDEN size_t session_holes(session_t *session, thalweg_box *holes, size_t room);
HIDDEN void session_fail(session_t *session, const char *why);
/* Opens its bytes as open() would; a descriptor that holds the session, or -1 with errno. */
HIDDEN int session_open(session_t *session, int flags);
/* A new descriptor of the bytes of a file that this process has in use and that is there, else -1. `fresh`: whether it is in
   use, but was not made yet. */
HIDDEN int session_bytes(const char *path, bool *fresh);
/* Whether a program has made a file of these bytes. */
HIDDEN bool session_made(int bytes);
/* A file is called otherwise, or, where `to` is empty, nothing any more; what was called so is not. */
HIDDEN void session_renamed(const char *from, const char *to);
/* Removes a file, and where the rule says so the one behind it. 0, or -1 with errno. */
HIDDEN int session_remove(const matched_t *file);
/* The session that a descriptor holds, held once more by whoever asks; NULL when there is none. */
HIDDEN session_t *session_of(int descriptor);
/* Something is written beside what this process tells of. */
HIDDEN void session_untold(session_t *session);
/* Whether a descriptor is one of a redirected file. */
HIDDEN bool session_has(int descriptor);
/* The session that a descriptor held, which the caller holds now; NULL when there is none. */
HIDDEN session_t *session_taken(int descriptor);
/* Ends all of them, at the program's end; those that a library holds too where it ended `well`. Whether there are any. */
HIDDEN void sessions_end(bool well);
HIDDEN bool sessions_any(void);
/* The use of the file at `path` is over for others, of all files where that is NULL; the process keeps them open. 0, or -1 with
   errno: ENOENT where it has none of them. */
HIDDEN int sessions_hand_over(const char *path);
/* What the libraries that have a file open, by way of PnetCDF, do before and behind that; all of their processes. */
HIDDEN extern void (*session_is_handed_over)(session_t *session);
/* The descriptor `to` has become a copy of `from`. */
HIDDEN void session_copied(int from, int to);

/* ---- naming.c: files by their names */

/* A descriptor of a file's bytes, to be let go of by `looked`; -1 with errno. */
HIDDEN int look_at(const matched_t *file);
HIDDEN void looked(int bytes);

/* ---- libraries.c: PnetCDF, netCDF and HDF5 open files by many calls of the C library */

/* Whether this thread is in a library's opening of a file; whether it makes the file. */
HIDDEN bool library_opens(void);
HIDDEN bool library_creates(void);
/* This thread comes to `path`, and opens it with these flags. Where that is the file that its library opens, the session begins
   now; 0, or -1 with errno. */
HIDDEN int library_meets(const char *path, int flags);

/* Holds the session of a file while a library opens it; NULL where it is not redirected, or was refused. */
HIDDEN session_t *library_begins(const char *path, uint32_t access, bool warm);
/* The library has opened it. */
HIDDEN void library_goes_on(void);

/* ---- memory.c: files that HDF5 keeps in its own memory */

typedef int64_t hid_t; /* HDF5's identifiers: 64 bits since 1.10 */

/* Where HDF5 keeps a file: in a file; there and in its own memory; in its own memory, and nowhere else; likewise, but it reads it
   from a file first. */
typedef enum { HDF5_IN_A_FILE, HDF5_IN_BOTH, HDF5_IN_MEMORY, HDF5_READ_INTO_MEMORY } hdf5_place_t;
/* As the access list says, for a file that is made, or not, by the HDF5 whose functions `find` finds by their names and `of`.
   HDF5 looks for a file of the name all the same, and goes on whatever it finds; that is none of ours. */
HIDDEN hdf5_place_t hdf5_place(hid_t list, bool made, void *(*find)(const char *name, const void *of), const void *of);

/* Communicators, infos and types are pointers or integers, as MPI has them; both travel as they are. */
typedef uintptr_t mpi_t;

/* A library's function `name`, as the caller of this one would have it. */
#define LIBRARY(name, type) \
  __typeof__(type) real = (__typeof__(type))real_function(#name, __builtin_return_address(0))

/* ---- real.c: what is behind the names that this library takes */

/* The function `name` that the code at `caller` would have called without this library. */
HIDDEN void *real_function(const char *name, const void *caller);
/* As above, for functions of the C library. */
HIDDEN void *real_libc(const char *name);

/* In a function that has taken a name of the C library: `real`, the one behind it. */
#define REAL(name, type) \
  static __typeof__(type) real; \
  if (!real) real = (__typeof__(real))real_libc(#name)

/* Whether this thread is in this library already: what it calls goes to the real functions. */
HIDDEN extern __thread int inside;

#endif
