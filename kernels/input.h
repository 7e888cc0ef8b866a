/* Random inputs and conversions of 8- and 16-bit floats. Every machine, CPU and GPU computes the same bits, since all
 * of it is integer arithmetic and single correctly rounded float operations. Included by C, C++ and CUDA. */
#ifndef ATTNBENCH_KERNELS_INPUT_H
#define ATTNBENCH_KERNELS_INPUT_H

#include <stdint.h>
#include <string.h>

#include "kernels/host_device.h"

/* 64 well-mixed bits from a counter (the finaliser of SplitMix64, Steele et al. 2014, applied twice). */
static inline ATTN_HD uint64_t input_mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

#define INPUT_SCALE (1.0f / 37837.2f)

/* The counter of a tensor's element 0; `tensor` is its enum attn_role. */
static inline ATTN_HD uint64_t input_stream(uint64_t seed, unsigned tensor) {
  return input_mix(seed ^ ((uint64_t)(tensor + 1) << 56));
}

/* Element `index` of a tensor times 1 / INPUT_SCALE: the sum of four uniform 16-bit numbers, centred (Irwin-Hall). */
static inline ATTN_HD int32_t input_sum(uint64_t stream, uint64_t index) {
  const uint64_t bits = input_mix(stream + index);
  return (int32_t)(bits & 0xffff) + (int32_t)((bits >> 16) & 0xffff) + (int32_t)((bits >> 32) & 0xffff) +
         (int32_t)(bits >> 48) - 2 * 65535;
}

/* Element `index` of a tensor before rounding to its dtype: unit variance, within +-3.47. */
static inline ATTN_HD float input_value(uint64_t seed, unsigned tensor, uint64_t index) {
  return (float)input_sum(input_stream(seed, tensor), index) * INPUT_SCALE;
}

static inline ATTN_HD uint32_t input_float_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}
static inline ATTN_HD float input_bits_float(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

/* float -> IEEE binary16, round to nearest even, overflow to infinity, NaN stays NaN. */
static inline ATTN_HD uint16_t input_to_f16(float f) {
  const uint32_t u = input_float_bits(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* >= 65520 rounds to infinity */
  if (a < 0x38800000u) {                                   /* below 2^-14: subnormal or zero */
    const uint32_t shift = 126u - (a >> 23);               /* 14 for 2^-14's predecessor binade, grows by one each */
    if (shift > 24u) return (uint16_t)sign;
    const uint32_t m = (a & 0x7fffffu) | 0x800000u, half = 1u << (shift - 1), rest = m & ((1u << shift) - 1u);
    uint32_t r = m >> shift;
    if (rest > half || (rest == half && (r & 1u))) ++r;
    return (uint16_t)(sign | r);
  }
  const uint32_t r = a - 0x38000000u;
  return (uint16_t)(sign | ((r + 0xfffu + ((r >> 13) & 1u)) >> 13));
}

static inline ATTN_HD float input_from_f16(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = (h >> 10) & 31u, m = h & 0x3ffu;
  if (e == 31u) return input_bits_float(sign | 0x7f800000u | (m << 13));
  if (e) return input_bits_float(sign | ((e + 112u) << 23) | (m << 13));
  const float f = (float)m * (1.0f / 16777216.0f); /* m * 2^-24, exact */
  return sign ? -f : f;
}

/* float -> bfloat16, round to nearest even. */
static inline ATTN_HD uint16_t input_to_bf16(float f) {
  const uint32_t u = input_float_bits(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((u >> 16) | 0x40u);
  return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

static inline ATTN_HD float input_from_bf16(uint16_t b) { return input_bits_float((uint32_t)b << 16); }

/* float -> OCP E4M3FN, round to nearest even. It saturates: what is beyond +-448, infinity included, becomes +-448,
 * as of CUDA's __NV_SATFINITE. NaN stays NaN, with its sign. */
static inline ATTN_HD uint8_t input_to_e4m3(float f) {
  const uint32_t u = input_float_bits(f), sign = (u >> 24) & 0x80u, a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return (uint8_t)(sign | 0x7fu);
  if (a >= 0x43e00000u) return (uint8_t)(sign | 0x7eu); /* from 448 on */
  if (a < 0x3c800000u) {                                /* below 2^-6: subnormal or zero */
    const uint32_t shift = 141u - (a >> 23);            /* 21 for 2^-6's predecessor binade, grows by one each */
    if (shift > 24u) return (uint8_t)sign;
    const uint32_t m = (a & 0x7fffffu) | 0x800000u, half = 1u << (shift - 1), rest = m & ((1u << shift) - 1u);
    uint32_t r = m >> shift;
    if (rest > half || (rest == half && (r & 1u))) ++r;
    return (uint8_t)(sign | r);
  }
  const uint32_t r = a - 0x3c000000u; /* the exponent's bias is 7 */
  return (uint8_t)(sign | ((r + 0x7ffffu + ((r >> 20) & 1u)) >> 20));
}

static inline ATTN_HD float input_from_e4m3(uint8_t b) {
  const uint32_t sign = (uint32_t)(b & 0x80u) << 24, e = (b >> 3) & 15u, m = b & 7u;
  if ((b & 0x7fu) == 0x7fu) return input_bits_float(sign | 0x7fc00000u);
  if (e) return input_bits_float(sign | ((e + 120u) << 23) | (m << 20));
  const float f = (float)m * (1.0f / 512.0f); /* m * 2^-9, exact */
  return sign ? -f : f;
}

#endif
