#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/arithmetic.h"
#include "tests/unit.h"

enum { HALVES = 65536, ROWS = 8, COLUMNS = 48, DEPTH = 37, STRIDE = 53 };

/* Sums in the order of depth and nothing contracted: the same bits as the plain loop. */
#define MATMUL_TEST(type, suffix)                                                                               \
  TEST(matmul_##suffix##_has_the_bits_of_the_plain_loop) {                                                      \
    static type a[ROWS * STRIDE], b[DEPTH * STRIDE], c[ROWS * STRIDE], expected[ROWS * STRIDE];                 \
    for (uint64_t i = 0; i < DEPTH * STRIDE; ++i) b[i] = (type)input_value(1, ATTN_K, i);                       \
    for (uint64_t i = 0; i < ROWS * STRIDE; ++i) {                                                              \
      a[i] = (type)input_value(1, ATTN_Q, i);                                                                   \
      c[i] = expected[i] = (type)input_value(1, ATTN_V, i);                                                     \
    }                                                                                                           \
    for (uint32_t r = 0; r < ROWS; ++r) {                                                                       \
      for (uint32_t x = 0; x < COLUMNS; ++x) {                                                                  \
        for (uint32_t k = 0; k < DEPTH; ++k) expected[r * STRIDE + x] += a[r * STRIDE + k] * b[k * STRIDE + x]; \
      }                                                                                                         \
    }                                                                                                           \
    cpu_matmul_##suffix(ROWS, COLUMNS, DEPTH, a, STRIDE, b, STRIDE, c, STRIDE);                                 \
    assert_memory_equal(c, expected, sizeof c); /* also that nothing beyond the columns changed */              \
  }
MATMUL_TEST(float, f32)
MATMUL_TEST(double, f64)

TEST(loads_equal_the_scalar_conversion) {
  static uint16_t bits[HALVES];
  static float out[HALVES];
  for (uint32_t i = 0; i < HALVES; ++i) bits[i] = (uint16_t)i;
  for (enum attn_dtype dtype = ATTN_F16; dtype <= ATTN_BF16; ++dtype) {
    cpu_load_f32(bits, dtype, 3, HALVES - 3, out); /* unaligned, with a tail */
    for (uint32_t i = 3; i < HALVES; ++i) {
      const float expected = attn_dtype_value(dtype, bits[i]), actual = out[i - 3];
      if (isnan(expected) ? !isnan(actual) : input_float_bits(expected) != input_float_bits(actual))
        fail_msg("%s 0x%04x loads as %a, not %a", attn_dtype_name(dtype), i, (double)actual, (double)expected);
    }
  }
}

TEST(f32_loads_as_it_is) {
  const float in[5] = {1.5f, -0.0f, INFINITY, 0x1p-149f, 3e38f};
  float out[3];
  cpu_load_f32(in, ATTN_F32, 2, 3, out);
  assert_memory_equal(out, in + 2, sizeof out);
}

TEST(store_then_load_rounds_to_the_dtype) {
  uint16_t half[2] = {0};
  cpu_store(half, ATTN_F16, 1, 1.0f + 0x1p-11f + 0x1p-20f);
  assert_true(attn_dtype_value(ATTN_F16, attn_dtype_load(ATTN_F16, half, 1)) == 1.0f + 0x1p-10f);
  cpu_store(half, ATTN_BF16, 0, 1.0f + 0x1p-8f);
  assert_true(attn_dtype_value(ATTN_BF16, attn_dtype_load(ATTN_BF16, half, 0)) == 1.0f);
}
