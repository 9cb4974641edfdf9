/* Numbers in memory and numbers in a classic netCDF file: big-endian, and perhaps of another type. */
#ifndef CONVERT_H
#define CONVERT_H

#include <stddef.h>

#include "../redirect.h"

/* Types in memory, as the names of PnetCDF's functions have them. */
typedef enum { TEXT, SCHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, FLOAT, DOUBLE, LONGLONG, ULONGLONG, MEMORY_TYPES } memory_t;

/* Types in files, by netCDF's numbers. */
typedef enum { X_BYTE = 1, X_CHAR, X_SHORT, X_INT, X_FLOAT, X_DOUBLE, X_UBYTE, X_USHORT, X_UINT, X_INT64, X_UINT64, X_TYPES } file_type_t;

/* Converts `count` numbers from `from` to `to`; of one that does not fit it stores `fill`, a number as `to` has them.
   Returns whether all fit. */
typedef int convert_t(const void *from, void *to, size_t count, const void *fill);

/* How numbers get into a file, and out of it; NULL between text and numbers. Files before CDF-5 do not tell signed bytes from
   unsigned ones: `bytes_alike`. */
HIDDEN convert_t *into_file(memory_t memory, file_type_t file, int bytes_alike);
HIDDEN convert_t *out_of_file(file_type_t file, memory_t memory, int bytes_alike);

/* Whether both sides are of one type, so that every number fits. */
HIDDEN bool always_fit(memory_t memory, file_type_t file, int bytes_alike);

HIDDEN size_t memory_bytes(memory_t memory);
HIDDEN size_t file_bytes(file_type_t file);
/* What stands for a number that does not fit. */
HIDDEN const void *memory_fill(memory_t memory);
HIDDEN const void *file_fill(file_type_t file);

#endif
