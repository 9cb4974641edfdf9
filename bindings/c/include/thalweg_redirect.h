/*
 * For programs that run under `thalweg redirect` and want to say themselves which component they are, and when a file is
 * handed over. Nothing need be linked: the functions are those of the library that `thalweg redirect` loads, and without it
 * these calls do nothing, so that the program runs as ever, on files.
 */
#ifndef THALWEG_REDIRECT_H
#define THALWEG_REDIRECT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern int thalweg_redirect_init_(const char *component) __attribute__((weak));
extern int thalweg_redirect_transfer_(const char *path) __attribute__((weak));
extern int thalweg_redirect_finalize_(void) __attribute__((weak));

/* This process is one of `component`, whatever its program is called. Before it opens its first file. 0, or -1 with errno. */
static inline int thalweg_redirect_init(const char *component) {
  return thalweg_redirect_init_ ? thalweg_redirect_init_(component) : 0;
}

/*
 * Hands a file over that this process has open: its use of it, or its component's turn, is over when all processes of the
 * component that have it open have said so or closed it. It stays open, and can be read until it is closed, but not be written
 * any more: PnetCDF's puts fail with NC_EPERM. What other libraries have written must be in the file (nc_sync, H5Fflush, fflush).
 * Collective where PnetCDF has it open. 0, or -1 with errno: ENOENT for a file that this process does not have open.
 */
static inline int thalweg_redirect_transfer(const char *path) {
  return thalweg_redirect_transfer_ ? thalweg_redirect_transfer_(path) : 0;
}

/* Hands all over that are open. 0, or -1 with errno. */
static inline int thalweg_redirect_finalize(void) { return thalweg_redirect_finalize_ ? thalweg_redirect_finalize_() : 0; }

#ifdef __cplusplus
}
#endif

#endif
