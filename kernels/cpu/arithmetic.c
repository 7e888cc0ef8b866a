/* Vectorised arithmetic of the CPU variants. */
#include "kernels/cpu/arithmetic.h"

/* A 4 x (2 vectors) block of C stays in registers over the whole depth: 8 accumulators, 2 vectors of B and one
 * broadcast of A fit the 16 registers of AVX2. */
#define CPU_MATMUL_BLOCK(type, vector, lanes)                                                    \
  vector c00 = *(vector *)(c), c01 = *(vector *)(c + lanes);                                     \
  vector c10 = *(vector *)(c + cs), c11 = *(vector *)(c + cs + lanes);                           \
  vector c20 = *(vector *)(c + 2 * cs), c21 = *(vector *)(c + 2 * cs + lanes);                   \
  vector c30 = *(vector *)(c + 3 * cs), c31 = *(vector *)(c + 3 * cs + lanes);                   \
  for (uint32_t k = 0; k < depth; ++k) {                                                         \
    const vector b0 = *(const vector *)(b + k * bs), b1 = *(const vector *)(b + k * bs + lanes); \
    const type a0 = a[k], a1 = a[as + k], a2 = a[2 * as + k], a3 = a[3 * as + k];                \
    c00 += a0 * b0, c01 += a0 * b1;                                                              \
    c10 += a1 * b0, c11 += a1 * b1;                                                              \
    c20 += a2 * b0, c21 += a2 * b1;                                                              \
    c30 += a3 * b0, c31 += a3 * b1;                                                              \
  }                                                                                              \
  *(vector *)(c) = c00, *(vector *)(c + lanes) = c01;                                            \
  *(vector *)(c + cs) = c10, *(vector *)(c + cs + lanes) = c11;                                  \
  *(vector *)(c + 2 * cs) = c20, *(vector *)(c + 2 * cs + lanes) = c21;                          \
  *(vector *)(c + 3 * cs) = c30, *(vector *)(c + 3 * cs + lanes) = c31;

CPU_SIMD static void cpu_block_f32(uint32_t depth, const float *a, uint64_t as, const float *b, uint64_t bs, float *c,
                                   uint64_t cs){CPU_MATMUL_BLOCK(float, cpu_f32x8, 8)}

CPU_SIMD static void cpu_block_f64(uint32_t depth, const double *a, uint64_t as, const double *b, uint64_t bs,
                                   double *c, uint64_t cs) {
  CPU_MATMUL_BLOCK(double, cpu_f64x4, 4)
}

void cpu_matmul_f32(uint32_t rows, uint32_t columns, uint32_t depth, const float *a, uint64_t a_stride,
                    const float *b, uint64_t b_stride, float *c, uint64_t c_stride) {
  for (uint32_t column = 0; column < columns; column += 16) {
    for (uint32_t row = 0; row < rows; row += CPU_MATMUL_ROWS)
      cpu_block_f32(depth, a + row * a_stride, a_stride, b + column, b_stride, c + row * c_stride + column, c_stride);
  }
}

void cpu_matmul_f64(uint32_t rows, uint32_t columns, uint32_t depth, const double *a, uint64_t a_stride,
                    const double *b, uint64_t b_stride, double *c, uint64_t c_stride) {
  for (uint32_t column = 0; column < columns; column += 8) {
    for (uint32_t row = 0; row < rows; row += CPU_MATMUL_ROWS)
      cpu_block_f64(depth, a + row * a_stride, a_stride, b + column, b_stride, c + row * c_stride + column, c_stride);
  }
}

/* ---- loading ------------------------------------------------------------------------------------------------- */

typedef uint8_t cpu_u8x8 __attribute__((vector_size(8), aligned(1), may_alias));
typedef uint16_t cpu_u16x8 __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint32_t cpu_u32x8 __attribute__((vector_size(32), aligned(4), may_alias));

/* The exponent is moved by a multiplication with 2^112, which normalises subnormal halves as well. */
CPU_SIMD static void cpu_load_f16(const uint16_t *in, uint32_t count, float *out) {
  uint32_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const cpu_u32x8 h = __builtin_convertvector(*(const cpu_u16x8 *)(in + i), cpu_u32x8);
    const cpu_u32x8 magnitude = (h & 0x7fffu) << 13, special = (cpu_u32x8)((h & 0x7c00u) == 0x7c00u) & 0x7f800000u;
    const cpu_f32x8 moved = (cpu_f32x8)magnitude * 0x1p112f;
    *(cpu_u32x8 *)(out + i) = (cpu_u32x8)moved | special | (h & 0x8000u) << 16;
  }
  for (; i < count; ++i) out[i] = input_from_f16(in[i]);
}

CPU_SIMD static void cpu_load_bf16(const uint16_t *in, uint32_t count, float *out) {
  uint32_t i = 0;
  for (; i + 8 <= count; i += 8)
    *(cpu_u32x8 *)(out + i) = __builtin_convertvector(*(const cpu_u16x8 *)(in + i), cpu_u32x8) << 16;
  for (; i < count; ++i) out[i] = input_from_bf16(in[i]);
}

/* As halves, by 2^120. */
CPU_SIMD static void cpu_load_e4m3(const uint8_t *in, uint32_t count, float *out) {
  uint32_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const cpu_u32x8 b = __builtin_convertvector(*(const cpu_u8x8 *)(in + i), cpu_u32x8);
    const cpu_u32x8 magnitude = (b & 0x7fu) << 20, special = (cpu_u32x8)((b & 0x7fu) == 0x7fu) & 0x7fc00000u;
    const cpu_f32x8 moved = (cpu_f32x8)magnitude * 0x1p120f;
    *(cpu_u32x8 *)(out + i) = (cpu_u32x8)moved | special | (b & 0x80u) << 24;
  }
  for (; i < count; ++i) out[i] = input_from_e4m3(in[i]);
}

void cpu_load_f32(const void *data, enum attn_dtype dtype, uint64_t first, uint32_t count, float *out) {
  switch (dtype) {
    case ATTN_F16: cpu_load_f16((const uint16_t *)data + first, count, out); break;
    case ATTN_BF16: cpu_load_bf16((const uint16_t *)data + first, count, out); break;
    case ATTN_E4M3: cpu_load_e4m3((const uint8_t *)data + first, count, out); break;
    case ATTN_F32: memcpy(out, (const float *)data + first, count * sizeof(float)); break;
  }
}
