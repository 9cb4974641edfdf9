/* The forms of PnetCDF's functions for values: what each asks for, and the types in memory. */
#ifndef FORMS_H
#define FORMS_H

#include "open_file.h"

/* A function that does `done` for redirected files. */
#define CALL(name, parameters, arguments, done)  \
  int name parameters {                          \
    file_t *file = file_of(id);                  \
    if (!file) {                                 \
      NC_REAL(name, int(*) parameters);          \
      return real_##name arguments;              \
    }                                            \
    return done;                                 \
  }

/* What functions ask for; P: it is put, B: through the attached buffer, M: the type in memory. Those whose names end with a
   type (TYPED) have values of it; the others (FLEXIBLE) have values of an MPI type behind them. */
#define ASKED(P, B, M) .put = P, .buffered = B, .memory = M, .values = (void *)values
#define TYPED_ASK(...) ASKED(__VA_ARGS__)
#define TYPED_P
#define TYPED_A
#define FLEXIBLE_ASK(...) ASKED(__VA_ARGS__), .flexible = true, .type_count = type_count, .type = type
#define FLEXIBLE_P , offset_t type_count, mpi_t type
#define FLEXIBLE_A , type_count, type

/* What the functions of each form ask for. */
#define WHOLE(...) ((ask_t){__VA_ARGS__, .whole = true})
#define ONE(...) ((ask_t){__VA_ARGS__, .one = true, .start = start})
#define ARRAY(...) ((ask_t){__VA_ARGS__, .start = start, .count = count})
#define STRIDED(...) ((ask_t){__VA_ARGS__, .start = start, .count = count, .stride = stride})
#define MAPPED(...) ((ask_t){__VA_ARGS__, .start = start, .count = count, .stride = stride, .map = map})

/* Their parameters and arguments between the variable and the values. */
#define NO_P
#define NO_A
#define ONE_P const offset_t *start,
#define ONE_A start,
#define ARRAY_P ONE_P const offset_t *count,
#define ARRAY_A ONE_A count,
#define STRIDED_P ARRAY_P const offset_t *stride,
#define STRIDED_A ARRAY_A stride,
#define MAPPED_P STRIDED_P const offset_t *map,
#define MAPPED_A STRIDED_A map,
#define MANY_P int many, offset_t *const *starts, offset_t *const *counts,
#define MANY_A many, starts, counts,

#define FORMS(X, ...)                              \
  X(var, NO_P, NO_A, WHOLE, __VA_ARGS__)           \
  X(var1, ONE_P, ONE_A, ONE, __VA_ARGS__)          \
  X(vara, ARRAY_P, ARRAY_A, ARRAY, __VA_ARGS__)    \
  X(vars, STRIDED_P, STRIDED_A, STRIDED, __VA_ARGS__) \
  X(varm, MAPPED_P, MAPPED_A, MAPPED, __VA_ARGS__)

/* The names' ends, kinds and types in C and here. */
#define EACH_TYPE(X)                                                                                        \
  X(, FLEXIBLE, void, TEXT) X(_text, TYPED, char, TEXT) X(_schar, TYPED, signed char, SCHAR)                \
  X(_uchar, TYPED, unsigned char, UCHAR) X(_short, TYPED, short, SHORT)                                     \
  X(_ushort, TYPED, unsigned short, USHORT) X(_int, TYPED, int, INT) X(_uint, TYPED, unsigned, UINT)        \
  X(_long, TYPED, long, LONG) X(_float, TYPED, float, FLOAT) X(_double, TYPED, double, DOUBLE)              \
  X(_longlong, TYPED, long long, LONGLONG) X(_ulonglong, TYPED, unsigned long long, ULONGLONG)

#endif
