/* Conversions: one function for each pair of types, of which those between the same types are made for speed. */
#include "convert.h"

#include <float.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

/* name, type, kind: I for integers, F for floating point */
#define MEMORY(X)                                                                                          \
  X(SCHAR, signed char, I) X(UCHAR, unsigned char, I) X(SHORT, short, I) X(USHORT, unsigned short, I)      \
  X(INT, int, I) X(UINT, unsigned, I) X(LONG, long, I) X(FLOAT, float, F) X(DOUBLE, double, F)             \
  X(LONGLONG, long long, I) X(ULONGLONG, unsigned long long, I)
/* name, type, kind, the integer of its size, its swap */
#define AS_IT_IS(x) (x)
#define FILES(X, ...)                                                                                      \
  X(X_BYTE, int8_t, I, uint8_t, AS_IT_IS, __VA_ARGS__) X(X_SHORT, int16_t, I, uint16_t, __builtin_bswap16, __VA_ARGS__)    \
  X(X_INT, int32_t, I, uint32_t, __builtin_bswap32, __VA_ARGS__) X(X_FLOAT, float, F, uint32_t, __builtin_bswap32, __VA_ARGS__) \
  X(X_DOUBLE, double, F, uint64_t, __builtin_bswap64, __VA_ARGS__) X(X_UBYTE, uint8_t, I, uint8_t, AS_IT_IS, __VA_ARGS__)  \
  X(X_USHORT, uint16_t, I, uint16_t, __builtin_bswap16, __VA_ARGS__) X(X_UINT, uint32_t, I, uint32_t, __builtin_bswap32, __VA_ARGS__) \
  X(X_INT64, int64_t, I, uint64_t, __builtin_bswap64, __VA_ARGS__) X(X_UINT64, uint64_t, I, uint64_t, __builtin_bswap64, __VA_ARGS__)

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "machines with big-endian numbers are not supported"
#endif

/* Whether v of one kind is a number of type T of another; what is no number is none that does not fit. */
#define FITS_I_I(v, T) (!__builtin_add_overflow_p(v, 0, (T)0))
#define FITS_I_F(v, T) 1
#define FITS_F_F(v, T) (sizeof(v) <= sizeof(T) || !((v) > FLT_MAX || (v) < -FLT_MAX))
/* The bounds of T as floating point: both are powers of two, exact. */
#define IS_SIGNED(T) ((T)-1 < 1)
#define ABOVE(T) (2.0 * (double)((T)1 << (sizeof(T) * 8 - 1 - IS_SIGNED(T))))
#define FITS_F_I(v, T) (!((double)(v) >= ABOVE(T) || (double)(v) <= (IS_SIGNED(T) ? -ABOVE(T) - 1 : -1.0)))

#define CONVERSIONS_OF(XN, XT, XK, XU, SWAP, MN, MT, MK)                                   \
  static int MN##_into_##XN(const void *from, void *to, size_t count, const void *fill) {  \
    const MT *in = from;                                                                   \
    char *out = to;                                                                        \
    int all = 1;                                                                           \
    for (size_t n = 0; n < count; n++) {                                                   \
      MT given;                                                                            \
      memcpy(&given, in + n, sizeof given);                                                \
      XT value;                                                                            \
      if (FITS_##MK##_##XK(given, XT)) value = (XT)given;                                  \
      else memcpy(&value, fill, sizeof value), all = 0;                                    \
      XU raw;                                                                              \
      memcpy(&raw, &value, sizeof raw);                                                    \
      raw = SWAP(raw);                                                                     \
      memcpy(out + n * sizeof raw, &raw, sizeof raw);                                      \
    }                                                                                      \
    return all;                                                                            \
  }                                                                                        \
  static int MN##_out_of_##XN(const void *from, void *to, size_t count, const void *fill) { \
    const char *in = from;                                                                 \
    MT *out = to;                                                                          \
    int all = 1;                                                                           \
    for (size_t n = 0; n < count; n++) {                                                   \
      XU raw;                                                                              \
      memcpy(&raw, in + n * sizeof raw, sizeof raw);                                       \
      raw = SWAP(raw);                                                                     \
      XT given;                                                                            \
      memcpy(&given, &raw, sizeof given);                                                  \
      MT value;                                                                            \
      if (FITS_##XK##_##MK(given, MT)) value = (MT)given;                                  \
      else memcpy(&value, fill, sizeof value), all = 0;                                    \
      memcpy(out + n, &value, sizeof value);                                               \
    }                                                                                      \
    return all;                                                                            \
  }

#define EACH_FILE(MN, MT, MK) FILES(CONVERSIONS_OF, MN, MT, MK)
MEMORY(EACH_FILE)

/* The same type on both sides: swapped copies, as wide as the processor has them. */
#define WIDE __attribute__((target_clones("avx2", "default"), optimize("O3")))
#define SWAPPED(bits)                                                                              \
  WIDE static int swapped##bits(const void *from, void *to, size_t count, const void *fill) {      \
    (void)fill;                                                                                    \
    const char *in = from;                                                                         \
    char *out = to;                                                                                \
    for (size_t n = 0; n < count; n++) {                                                           \
      uint##bits##_t raw;                                                                          \
      memcpy(&raw, in + n * sizeof raw, sizeof raw);                                               \
      raw = __builtin_bswap##bits(raw);                                                            \
      memcpy(out + n * sizeof raw, &raw, sizeof raw);                                              \
    }                                                                                              \
    return 1;                                                                                      \
  }
SWAPPED(16)
SWAPPED(32)
SWAPPED(64)

static int copied8(const void *from, void *to, size_t count, const void *fill) {
  (void)fill;
  memcpy(to, from, count);
  return 1;
}

#define INTO(XN, XT, XK, XU, SWAP, MN, MT, MK) [MN][XN] = MN##_into_##XN,
#define OUT_OF(XN, XT, XK, XU, SWAP, MN, MT, MK) [MN][XN] = MN##_out_of_##XN,
#define INTO_EACH(MN, MT, MK) FILES(INTO, MN, MT, MK)
#define OUT_OF_EACH(MN, MT, MK) FILES(OUT_OF, MN, MT, MK)
static convert_t *const into[MEMORY_TYPES][X_TYPES] = {MEMORY(INTO_EACH)};
static convert_t *const out_of[MEMORY_TYPES][X_TYPES] = {MEMORY(OUT_OF_EACH)};

/* The copy that is enough where both sides are of one type. */
static convert_t *same(memory_t memory, file_type_t file, int bytes_alike) {
  switch (file) {
    case X_CHAR: return memory == TEXT ? copied8 : NULL;
    case X_BYTE: return memory == SCHAR || (memory == UCHAR && bytes_alike) ? copied8 : NULL;
    case X_UBYTE: return memory == UCHAR ? copied8 : NULL;
    case X_SHORT: return memory == SHORT ? swapped16 : NULL;
    case X_USHORT: return memory == USHORT ? swapped16 : NULL;
    case X_INT: return memory == INT ? swapped32 : NULL;
    case X_UINT: return memory == UINT ? swapped32 : NULL;
    case X_FLOAT: return memory == FLOAT ? swapped32 : NULL;
    case X_DOUBLE: return memory == DOUBLE ? swapped64 : NULL;
    case X_INT64: return memory == LONGLONG || (memory == LONG && sizeof(long) == 8) ? swapped64 : NULL;
    case X_UINT64: return memory == ULONGLONG ? swapped64 : NULL;
    default: return NULL;
  }
}

bool always_fit(memory_t memory, file_type_t file, int bytes_alike) { return same(memory, file, bytes_alike); }

convert_t *into_file(memory_t memory, file_type_t file, int bytes_alike) {
  convert_t *copy = same(memory, file, bytes_alike);
  return copy ? copy : into[memory][file];
}

convert_t *out_of_file(file_type_t file, memory_t memory, int bytes_alike) {
  convert_t *copy = same(memory, file, bytes_alike);
  return copy ? copy : out_of[memory][file];
}

size_t memory_bytes(memory_t memory) {
  static const size_t bytes[] = {
      [TEXT] = 1, [SCHAR] = 1, [UCHAR] = 1, [SHORT] = sizeof(short), [USHORT] = sizeof(short), [INT] = sizeof(int),
      [UINT] = sizeof(int), [LONG] = sizeof(long), [FLOAT] = 4, [DOUBLE] = 8, [LONGLONG] = 8, [ULONGLONG] = 8};
  return bytes[memory];
}

size_t file_bytes(file_type_t file) {
  static const size_t bytes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
  return bytes[file];
}

/* netCDF's default fill values. */
static const struct {
  int8_t i8; uint8_t u8; int16_t i16; uint16_t u16; int32_t i32; uint32_t u32; int64_t i64; uint64_t u64; float f; double d; char text;
} fills = {-127, 255, -32767, 65535, -2147483647, 4294967295U, -9223372036854775806LL, 18446744073709551614ULL,
           9.9692099683868690e+36f, 9.9692099683868690e+36, 0};

const void *file_fill(file_type_t file) {
  static const void *const of[] = {NULL, &fills.i8, &fills.text, &fills.i16, &fills.i32, &fills.f, &fills.d,
                                   &fills.u8, &fills.u16, &fills.u32, &fills.i64, &fills.u64};
  return of[file];
}

const void *memory_fill(memory_t memory) {
  static const void *const of[] = {&fills.text, &fills.i8, &fills.u8, &fills.i16, &fills.u16, &fills.i32, &fills.u32,
                                   sizeof(long) == 8 ? (const void *)&fills.i64 : (const void *)&fills.i32,
                                   &fills.f, &fills.d, &fills.i64, &fills.u64};
  return of[memory];
}
