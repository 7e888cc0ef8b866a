#include <math.h>
#include <stdbool.h>

#include "kernels/cpu/arithmetic.h"
#include "kernels/problem/tensor.h"
#include "tests/unit.h"

enum { HALVES = 65536, RANDOM_FLOATS = 1 << 21, SAMPLES = 1 << 20 };

static bool f16_is_nan(uint32_t h) { return (h & 0x7fffu) > 0x7c00u; }
static bool bf16_is_nan(uint32_t b) { return (b & 0x7fffu) > 0x7f80u; }

/* Value of a half from its three fields, in double and by definition. */
static double f16_value(uint32_t h) {
  const int exponent = (int)(h >> 10 & 31u), mantissa = (int)(h & 0x3ffu);
  const double magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                           : exponent == 0 ? ldexp(mantissa, -24)
                                           : ldexp(1024 + mantissa, exponent - 25);
  return h & 0x8000u ? -magnitude : magnitude;
}

TEST(f16_decodes_every_pattern) {
  for (uint32_t h = 0; h < HALVES; ++h) {
    const double expected = f16_value(h), actual = (double)input_from_f16((uint16_t)h);
    if (isnan(expected) ? !isnan(actual) : actual != expected || signbit(actual) != signbit(expected))
      fail_msg("0x%04x decodes to %g, not %g", h, actual, expected);
  }
}

TEST(f16_round_trips_every_pattern) {
  for (uint32_t h = 0; h < HALVES; ++h) {
    const uint32_t back = input_to_f16(input_from_f16((uint16_t)h));
    if (f16_is_nan(h) ? !f16_is_nan(back) : back != h) fail_msg("0x%04x comes back as 0x%04x", h, back);
  }
}

TEST(bf16_round_trips_every_pattern) {
  for (uint32_t b = 0; b < HALVES; ++b) {
    const uint32_t back = input_to_bf16(input_from_bf16((uint16_t)b));
    if (bf16_is_nan(b) ? !bf16_is_nan(back) : back != b) fail_msg("0x%04x comes back as 0x%04x", b, back);
  }
}

/* Between every half and the next: the midpoint goes to the even one, its neighbours to the nearer one. */
TEST(f16_breaks_every_tie_to_even) {
  for (uint32_t h = 0; h < 0x7c00u; ++h) {
    const float low = input_from_f16((uint16_t)h);
    const float high = h == 0x7bffu ? 65536.0f : input_from_f16((uint16_t)(h + 1));
    const float middle = 0.5f * (low + high);
    const uint32_t even = h & 1u ? h + 1 : h;
    assert_int_equal(input_to_f16(middle), even);
    assert_int_equal(input_to_f16(-middle), even | 0x8000u);
    assert_int_equal(input_to_f16(nextafterf(middle, 0)), h);
    assert_int_equal(input_to_f16(nextafterf(middle, INFINITY)), h + 1);
  }
}

TEST(bf16_breaks_ties_to_even) {
  for (uint32_t b = 0; b < 0x7f80u; b += 7) {
    const uint32_t middle = b << 16 | 0x8000u, even = b & 1u ? b + 1 : b;
    assert_int_equal(input_to_bf16(input_bits_float(middle)), even);
    assert_int_equal(input_to_bf16(input_bits_float(middle | 0x80000000u)), even | 0x8000u);
    assert_int_equal(input_to_bf16(input_bits_float(middle - 1)), b);
    assert_int_equal(input_to_bf16(input_bits_float(middle + 1)), b + 1);
  }
}

/* OCP's E4M3FN from its definition: bias 7, subnormal below 2^-6, NaN where all bits but the sign are set. */
static double e4m3_value(uint32_t b) {
  const int e = (int)(b >> 3 & 15u), m = (int)(b & 7u);
  const double size = (b & 0x7fu) == 0x7fu ? (double)NAN : e > 0 ? ldexp(8 + m, e - 10) : ldexp(m, -9);
  return b & 0x80u ? -size : size;
}

TEST(e4m3_is_what_its_definition_says) {
  float loaded[256];
  uint8_t all[256];
  for (uint32_t b = 0; b < 256; ++b) all[b] = (uint8_t)b;
  cpu_load_f32(all, ATTN_E4M3, 0, 256, loaded);
  for (uint32_t b = 0; b < 256; ++b) {
    const double expected = e4m3_value(b), actual = (double)input_from_e4m3((uint8_t)b);
    if (isnan(expected) ? !isnan(actual) : actual != expected || signbit(actual) != signbit(expected))
      fail_msg("0x%02x decodes to %g, not %g", b, actual, expected);
    assert_int_equal(input_to_e4m3((float)actual), b);
    assert_true(isnan(expected) ? isnan(loaded[b]) : (double)loaded[b] == expected);
  }
  assert_true(input_from_e4m3(0x7e) == 448 && input_from_e4m3(0x01) == 0x1p-9f);
}

/* Between every number and the next: the midpoint goes to the even one; beyond the largest all saturates. */
TEST(e4m3_breaks_ties_to_even_and_saturates) {
  for (uint32_t b = 0; b < 0x7eu; ++b) {
    const float middle = 0.5f * (input_from_e4m3((uint8_t)b) + input_from_e4m3((uint8_t)(b + 1)));
    const uint32_t even = b & 1u ? b + 1 : b;
    assert_int_equal(input_to_e4m3(middle), even);
    assert_int_equal(input_to_e4m3(-middle), even | 0x80u);
    assert_int_equal(input_to_e4m3(nextafterf(middle, 0)), b);
    assert_int_equal(input_to_e4m3(nextafterf(middle, INFINITY)), b + 1);
  }
  static const float beyond[] = {448.0f, 464.0f, 480.0f, 1e9f, INFINITY};
  for (size_t i = 0; i < sizeof beyond / sizeof *beyond; ++i) {
    assert_int_equal(input_to_e4m3(beyond[i]), 0x7e);
    assert_int_equal(input_to_e4m3(-beyond[i]), 0xfe);
  }
}

#ifdef __FLT16_MAX__
TEST(f16_rounds_random_floats_as_the_compiler_does) {
  for (uint32_t i = 0; i < RANDOM_FLOATS; ++i) {
    /* Half of the floats have exponents around the half's range, where rounding happens. */
    const uint32_t bits = (uint32_t)input_mix(i);
    const float f = i & 1u ? input_bits_float(bits) : input_bits_float((bits & 0x9fffffffu) | 0x20000000u);
    const _Float16 rounded = (_Float16)f;
    uint16_t expected;
    memcpy(&expected, &rounded, sizeof expected);
    const uint16_t actual = input_to_f16(f);
    if (isnan(f) ? !f16_is_nan(actual) : actual != expected)
      fail_msg("%a becomes 0x%04x, not 0x%04x", (double)f, actual, expected);
  }
}
#endif

TEST(known_values_convert) {
  static const struct {
    float value;
    uint16_t f16, bf16;
  } known[] = {
      {0.0f, 0x0000, 0x0000},      {-0.0f, 0x8000, 0x8000},      {1.0f, 0x3c00, 0x3f80},
      {-2.0f, 0xc000, 0xc000},     {65504.0f, 0x7bff, 0x4780},   {65519.996f, 0x7bff, 0x4780},
      {65520.0f, 0x7c00, 0x4780},  {0x1p-14f, 0x0400, 0x3880},   {0x1p-24f, 0x0001, 0x3380},
      {0x1p-25f, 0x0000, 0x3300},  {0x1.8p-25f, 0x0001, 0x3340}, {INFINITY, 0x7c00, 0x7f80},
      {-INFINITY, 0xfc00, 0xff80}, {3.4e38f, 0x7c00, 0x7f80},    {0.333333343f, 0x3555, 0x3eab},
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
    assert_int_equal(input_to_f16(known[i].value), known[i].f16);
    assert_int_equal(input_to_bf16(known[i].value), known[i].bf16);
  }
  assert_true(f16_is_nan(input_to_f16(NAN)));
  assert_true(bf16_is_nan(input_to_bf16(NAN)));
  assert_true(bf16_is_nan(input_to_bf16(input_bits_float(0x7f800001u)))); /* payload in the bits that are cut */
}

TEST(values_have_mean_zero_and_variance_one) {
  for (enum attn_role tensor = ATTN_Q; tensor <= ATTN_V; ++tensor) {
    double sum = 0, squares = 0, largest = 0;
    for (uint64_t i = 0; i < SAMPLES; ++i) {
      const double x = (double)input_value(42, tensor, i);
      sum += x;
      squares += x * x;
      largest = fmax(largest, fabs(x));
    }
    const double mean = sum / SAMPLES;
    assert_true(fabs(mean) < 5.0 / sqrt(SAMPLES));
    assert_true(fabs(squares / SAMPLES - mean * mean - 1) < 0.01);
    assert_true(largest > 3 && largest < 3.47);
  }
}

TEST(streams_are_unrelated) {
  double qk = 0, seeds = 0, neighbours = 0;
  for (uint64_t i = 0; i < SAMPLES; ++i) {
    const double q = (double)input_value(42, ATTN_Q, i);
    qk += q * (double)input_value(42, ATTN_K, i);
    seeds += q * (double)input_value(43, ATTN_Q, i);
    neighbours += q * (double)input_value(42, ATTN_Q, i + 1);
  }
  const double bound = 5.0 / sqrt(SAMPLES);
  assert_true(fabs(qk / SAMPLES) < bound);
  assert_true(fabs(seeds / SAMPLES) < bound);
  assert_true(fabs(neighbours / SAMPLES) < bound);
}

/* The values every machine and every release must produce; reports of one seed are compared across machines. */
TEST(values_are_pinned) {
  static const struct {
    uint64_t seed, index;
    enum attn_role tensor;
    uint32_t bits;
  } pinned[] = {
      {0, UINT64_C(0), ATTN_Q, 0xbf17932au},
      {42, UINT64_C(0), ATTN_Q, 0xbf6136d1u},
      {42, UINT64_C(1), ATTN_Q, 0x3f6afbe7u},
      {42, UINT64_C(0), ATTN_K, 0x3f9501d9u},
      {42, UINT64_C(0), ATTN_V, 0x3d62773fu},
      {42, UINT64_C(123456789), ATTN_V, 0x3f4df8ddu},
      {UINT64_MAX, UINT64_C(1099511627775), ATTN_V, 0xbd8dcfd0u},
      {1, UINT64_C(4294967296), ATTN_K, 0xb9b42228u},
  };
  for (size_t i = 0; i < sizeof pinned / sizeof pinned[0]; ++i) {
    const float value = input_value(pinned[i].seed, pinned[i].tensor, pinned[i].index);
    assert_int_equal(input_float_bits(value), pinned[i].bits);
  }
}
