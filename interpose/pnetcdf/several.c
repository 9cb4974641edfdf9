/* The functions of PnetCDF that put and get values of several variables. */
#define _GNU_SOURCE
#include "forms.h"

/* Their parameters, arguments and coordinates. */
#define S_NO_P
#define S_NO_A
#define S_NO_F
#define S_ONE_P offset_t *const *starts,
#define S_ONE_A starts,
#define S_ONE_F .starts = starts,
#define S_ARRAY_P S_ONE_P offset_t *const *counts,
#define S_ARRAY_A S_ONE_A counts,
#define S_ARRAY_F S_ONE_F .counts = counts,
#define S_STRIDED_P S_ARRAY_P offset_t *const *strides,
#define S_STRIDED_A S_ARRAY_A strides,
#define S_STRIDED_F S_ARRAY_F .strides = strides,
#define S_MAPPED_P S_STRIDED_P offset_t *const *maps,
#define S_MAPPED_A S_STRIDED_A maps,
#define S_MAPPED_F S_STRIDED_F .maps = maps,

/* And what is behind the values. */
#define S_TYPED_P
#define S_TYPED_A
#define S_TYPED_F
#define S_FLEXIBLE_P , const offset_t *type_counts, const void *types
#define S_FLEXIBLE_A , type_counts, types
#define S_FLEXIBLE_F , .type_counts = type_counts, .types = types
#define IS_TYPED false
#define IS_FLEXIBLE true

#define SEVERAL_OF(form, SHAPE, name, put_, C, all, collective, KIND, M)                                        \
  CALL(ncmpi_m##name##all, (int id, int many, int *variables, S_##SHAPE##_P C values S_##KIND##_P),                           \
       (id, many, variables, S_##SHAPE##_A values S_##KIND##_A),                                                              \
       at_once_several(file, collective,                                                                          \
                       &(several_t){.many = many, .variables = variables, S_##SHAPE##_F .values = (void *const *)values S_##KIND##_F}, \
                       (ask_t){.put = put_, .memory = M, .flexible = IS_##KIND, .whole = W_##form, .one = O_##form}))
#define W_var true
#define W_var1 false
#define W_vara false
#define W_vars false
#define W_varm false
#define O_var false
#define O_var1 true
#define O_vara false
#define O_vars false
#define O_varm false

#define SEVERAL(form, SHAPE, end, KIND, C, M)                                             \
  SEVERAL_OF(form, SHAPE, put_##form##end, true, C *const *, , false, KIND, M)            \
  SEVERAL_OF(form, SHAPE, put_##form##end, true, C *const *, _all, true, KIND, M)         \
  SEVERAL_OF(form, SHAPE, get_##form##end, false, C **, , false, KIND, M)                 \
  SEVERAL_OF(form, SHAPE, get_##form##end, false, C **, _all, true, KIND, M)

#define TYPE(end, KIND, C, M)                                               \
  SEVERAL(var, NO, end, KIND, C, M)                     \
  SEVERAL(var1, ONE, end, KIND, C, M)                 \
  SEVERAL(vara, ARRAY, end, KIND, C, M)           \
  SEVERAL(vars, STRIDED, end, KIND, C, M)     \
  SEVERAL(varm, MAPPED, end, KIND, C, M)

EACH_TYPE(TYPE)
