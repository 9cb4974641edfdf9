/* The functions of PnetCDF that put and get values of one variable. */
#define _GNU_SOURCE
#include "forms.h"

#define AT_ONCE(form, P, A, ASK, verb, C, end, KIND, ...)                                                        \
  CALL(ncmpi_##verb##_##form##end, (int id, int variable, P C *values KIND##_P), (id, variable, A values KIND##_A), \
       at_once(file, variable, false, ASK(KIND##_ASK(__VA_ARGS__))))                                             \
  CALL(ncmpi_##verb##_##form##end##_all, (int id, int variable, P C *values KIND##_P), (id, variable, A values KIND##_A), \
       at_once(file, variable, true, ASK(KIND##_ASK(__VA_ARGS__))))
#define POSTED(form, P, A, ASK, verb, C, end, KIND, ...)                                                         \
  CALL(ncmpi_##verb##_##form##end, (int id, int variable, P C *values KIND##_P, int *request),                   \
       (id, variable, A values KIND##_A, request), request_post(file, variable, ASK(KIND##_ASK(__VA_ARGS__)), request))

#define AT_ONCE_MANY(verb, C, end, KIND, ...)                                                                    \
  CALL(ncmpi_##verb##_varn##end, (int id, int variable, MANY_P C *values KIND##_P),                              \
       (id, variable, MANY_A values KIND##_A),                                                                   \
       at_once_many(file, variable, false, MANY_A (ask_t){KIND##_ASK(__VA_ARGS__)}))                             \
  CALL(ncmpi_##verb##_varn##end##_all, (int id, int variable, MANY_P C *values KIND##_P),                        \
       (id, variable, MANY_A values KIND##_A),                                                                   \
       at_once_many(file, variable, true, MANY_A (ask_t){KIND##_ASK(__VA_ARGS__)}))
#define POSTED_MANY(verb, C, end, KIND, ...)                                                                     \
  CALL(ncmpi_##verb##_varn##end, (int id, int variable, MANY_P C *values KIND##_P, int *request),                \
       (id, variable, MANY_A values KIND##_A, request),                                                          \
       request_post_many(file, variable, MANY_A (ask_t){KIND##_ASK(__VA_ARGS__)}, request))

#define TYPE(end, KIND, C, M)                                \
  FORMS(AT_ONCE, put, const C, end, KIND, true, false, M)    \
  FORMS(AT_ONCE, get, C, end, KIND, false, false, M)         \
  FORMS(POSTED, iput, const C, end, KIND, true, false, M)    \
  FORMS(POSTED, bput, const C, end, KIND, true, true, M)     \
  FORMS(POSTED, iget, C, end, KIND, false, false, M)         \
  AT_ONCE_MANY(put, const C, end, KIND, true, false, M)      \
  AT_ONCE_MANY(get, C, end, KIND, false, false, M)           \
  POSTED_MANY(iput, const C, end, KIND, true, false, M)      \
  POSTED_MANY(bput, const C, end, KIND, true, true, M)       \
  POSTED_MANY(iget, C, end, KIND, false, false, M)

EACH_TYPE(TYPE)
