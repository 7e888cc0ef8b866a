/* Vectorised pieces that the CPU oracle, the CPU variants and the CPU device are made of.
 *
 * One source for every x86-64: CPU_SIMD compiles a function for AVX2 and for the baseline and picks at load time. No
 * multiply-add is contracted (C11 mode), so both give the same bits. */
#ifndef ATTNBENCH_KERNELS_CPU_ARITHMETIC_H
#define ATTNBENCH_KERNELS_CPU_ARITHMETIC_H

#include <features.h>
#include <stdint.h>

#include "kernels/pattern.h"
#include "kernels/variant.h"

/* Selection at load time needs glibc's indirect functions; ThreadSanitizer cannot run that early. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define CPU_SIMD __attribute__((target_clones("avx2", "default")))
#else
#define CPU_SIMD
#endif

/* Vectors that may point into any array of their element type. */
typedef float cpu_f32x8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef double cpu_f64x4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef int32_t cpu_i32x8 __attribute__((vector_size(32), aligned(4), may_alias));

enum { CPU_MATMUL_ROWS = 4, CPU_MATMUL_COLUMNS = 16 };

/* C[rows][columns] += A[rows][depth] x B[depth][columns], row-major with the given row lengths. rows is a multiple of
 * CPU_MATMUL_ROWS and columns of CPU_MATMUL_COLUMNS. Each element is summed in the order of depth. */
void cpu_matmul_f32(uint32_t rows, uint32_t columns, uint32_t depth, const float *a, uint64_t a_stride,
                    const float *b, uint64_t b_stride, float *c, uint64_t c_stride);
void cpu_matmul_f64(uint32_t rows, uint32_t columns, uint32_t depth, const double *a, uint64_t a_stride,
                    const double *b, uint64_t b_stride, double *c, uint64_t c_stride);

/* out[i] = data[first + i], exact. */
void cpu_load_f32(const void *data, enum attn_dtype dtype, uint64_t first, uint32_t count, float *out);

/* data[index] = value, rounded to nearest even. */
static inline void cpu_store(void *data, enum attn_dtype dtype, uint64_t index, float value) {
  attn_dtype_store(dtype, data, index, attn_dtype_bits(dtype, value));
}

/* Element d of a line of a tensor as its type holds it. */
static inline float cpu_input(const struct pattern *pattern, const struct attn_tensor *tensor,
                              const struct pattern_line *line, uint32_t d) {
  return attn_dtype_value(tensor->dtype, pattern_bits(pattern, tensor, line, d));
}

static inline uint32_t cpu_round_up(uint32_t value, uint32_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

#endif
