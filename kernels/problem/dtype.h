/* Element types: names, sizes, and the conversions that CPU and GPU share bit for bit. Valid C, C++ and CUDA.
 *
 * Code that differs by type is a row of dtypes.def or a switch without a default, so that the compiler names every
 * place that does not know a new type. */
#ifndef ATTNBENCH_KERNELS_PROBLEM_DTYPE_H
#define ATTNBENCH_KERNELS_PROBLEM_DTYPE_H

#include <stdbool.h>

#include "kernels/input.h"

#ifdef __cplusplus
extern "C" {
#endif

enum attn_dtype {
#define DTYPE(id, ...) ATTN_##id,
#include "kernels/problem/dtypes.def"
#undef DTYPE
};

/* The count is no enumerator of attn_dtype, since every switch would have to handle it. */
enum {
  ATTN_DTYPE_COUNT = 0
#define DTYPE(id, ...) +1
#include "kernels/problem/dtypes.def"
#undef DTYPE
};

/* One row of dtypes.def. */
struct attn_dtype_row {
  const char *name;
  uint32_t bytes;
  double roundoff, smallest, products;
  const char *also;
};
const struct attn_dtype_row *attn_dtype_facts(enum attn_dtype);

const char *attn_dtype_name(enum attn_dtype); /* "f16" */
uint32_t attn_dtype_bytes(enum attn_dtype);
bool attn_dtype_read(const char *name, enum attn_dtype *out); /* false: no type has this name */
const char *attn_dtype_called(const char *name);              /* "e4m3" for "FP8"; NULL: no other name of a type */

/* Sets of types, as bits. */
#define ATTN_DTYPE_BIT(dtype) (1u << (dtype))
#define ATTN_DTYPES_ALL       (ATTN_DTYPE_BIT(ATTN_DTYPE_COUNT) - 1)

/* The names of a set for a message: "f16, bf16 or f32" where `before_last` is " or ". `quote` is put around each. */
enum { ATTN_DTYPE_LIST_MAX = 128 };
void attn_dtype_list(unsigned dtypes, const char *quote, const char *before_last, char out[ATTN_DTYPE_LIST_MAX]);

/* The bits of `value` rounded to the nearest number of the type, ties to even. What is beyond the largest number is
 * infinite, but in e4m3, which has no infinity: there it becomes the largest number. */
static inline ATTN_HD uint32_t attn_dtype_bits(enum attn_dtype dtype, float value) {
  switch (dtype) {
    case ATTN_F16: return input_to_f16(value);
    case ATTN_BF16: return input_to_bf16(value);
    case ATTN_F32: return input_float_bits(value);
    case ATTN_E4M3: return input_to_e4m3(value);
  }
  return 0;
}

/* The number that these bits represent, exactly. */
static inline ATTN_HD float attn_dtype_value(enum attn_dtype dtype, uint32_t bits) {
  switch (dtype) {
    case ATTN_F16: return input_from_f16((uint16_t)bits);
    case ATTN_BF16: return input_from_bf16((uint16_t)bits);
    case ATTN_F32: return input_bits_float(bits);
    case ATTN_E4M3: return input_from_e4m3((uint8_t)bits);
  }
  return 0;
}

/* The sign bit of the type. */
static inline ATTN_HD uint32_t attn_dtype_sign(enum attn_dtype dtype) {
  switch (dtype) {
    case ATTN_F16:
    case ATTN_BF16: return 0x8000u;
    case ATTN_F32: return 0x80000000u;
    case ATTN_E4M3: return 0x80u;
  }
  return 0;
}

/* Do tensors of the type come with scales? O, which has none, is then of another type. */
static inline ATTN_HD bool attn_dtype_is_scaled(enum attn_dtype dtype) {
  switch (dtype) {
    case ATTN_F16:
    case ATTN_BF16:
    case ATTN_F32: return false;
    case ATTN_E4M3: return true;
  }
  return false;
}

/* The bits of element `index` of a tensor. */
static inline ATTN_HD uint32_t attn_dtype_load(enum attn_dtype dtype, const void *data, uint64_t index) {
  switch (dtype) {
    case ATTN_F16:
    case ATTN_BF16: return ((const uint16_t *)data)[index];
    case ATTN_F32: return ((const uint32_t *)data)[index];
    case ATTN_E4M3: return ((const uint8_t *)data)[index];
  }
  return 0;
}

static inline ATTN_HD void attn_dtype_store(enum attn_dtype dtype, void *data, uint64_t index, uint32_t bits) {
  switch (dtype) {
    case ATTN_F16:
    case ATTN_BF16: ((uint16_t *)data)[index] = (uint16_t)bits; break;
    case ATTN_F32: ((uint32_t *)data)[index] = bits; break;
    case ATTN_E4M3: ((uint8_t *)data)[index] = (uint8_t)bits; break;
  }
}

#ifdef __cplusplus
}
#endif
#endif
