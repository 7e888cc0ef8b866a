/* The tile of `decode`, path=1: up to 8 or 16 query rows against 16 or 32 keys at a time, by mma.sync, with K and V
 * straight from global memory into the registers that the instruction reads. The products are those of the transposed
 * problem, whose narrow side, 8 columns, holds the few query rows:
 *
 *   S^T = K Q^T     a lane's 16 bytes of a key's row are its A operands of two steps, when Q's 16 bytes at the same
 *                   place are its B operands: the order in which D is summed up is free
 *   O^T = V^T P^T   a lane's 16 bytes of four keys, interleaved in pairs, are A operands of four row tiles of
 *                   O^T: which of its rows stands for which column of V is free as well
 *
 * With g = lane / 4 and t = lane % 4, a lane has S for keys g and g + 8 of 16 and query rows 2t and 2t + 1, and O for
 * the same rows and columns 8g .. 8g + 7 of 64. */
#ifndef ATTNBENCH_KERNELS_DECODE_TILE_CUH
#define ATTNBENCH_KERNELS_DECODE_TILE_CUH

#include "kernels/tiles/attn_device.cuh"
#include "kernels/tiles/fragment.cuh"
#include "kernels/tiles/ptx.cuh"

namespace attn::decode_tile {

__device__ __forceinline__ uint4 load16(const void *p) {
  uint4 x;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p));
  return x;
}

/* The transpose of an 8 x 8 matrix of 16-bit elements, of which lane l has elements 2t and 2t + 1 of row g. */
__device__ __forceinline__ uint32_t transpose(uint32_t x) {
  uint32_t y;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}

/* ---- sums ------------------------------------------------------------------------------------------------------ */

/* An unscaled reference of weights as an exponent; 0 where there is none, so that the factor is 2^-inf = 0. */
__device__ __forceinline__ float scaled(float max, float scale_log2) {
  return max == minus_infinity() ? 0.0f : max * scale_log2;
}

/* Of one row and four columns: the weighted sum, the sum of weights 2^(scaled score - scaled max), and that max. */
struct Sum {
  float max = minus_infinity(), sum = 0.0f;
  float4 out = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

  /* Goes to a reference that is at least `other`. */
  __device__ __forceinline__ void raise(float other, float scale_log2) {
    const float largest = fmaxf(max, other);
    scale(ptx::ex2(fmaf(max, scale_log2, -scaled(largest, scale_log2))));
    max = largest;
  }
  /* Of a reference that is at most this one's. */
  __device__ __forceinline__ void add(const Sum &x, float scale_log2) {
    const float factor = ptx::ex2(fmaf(x.max, scale_log2, -scaled(max, scale_log2)));
    sum = fmaf(x.sum, factor, sum);
    out.x = fmaf(x.out.x, factor, out.x), out.y = fmaf(x.out.y, factor, out.y);
    out.z = fmaf(x.out.z, factor, out.z), out.w = fmaf(x.out.w, factor, out.w);
  }
  /* Of `width` neighbouring lanes. */
  __device__ __forceinline__ void add_lanes(uint32_t width, float scale_log2) {
    float largest = max;
    for (uint32_t mask = width / 2; mask; mask /= 2)
      largest = fmaxf(largest, __shfl_xor_sync(kFullWarp, largest, mask));
    raise(largest, scale_log2);
    for (uint32_t mask = width / 2; mask; mask /= 2) {
      sum += __shfl_xor_sync(kFullWarp, sum, mask);
      out.x += __shfl_xor_sync(kFullWarp, out.x, mask), out.y += __shfl_xor_sync(kFullWarp, out.y, mask);
      out.z += __shfl_xor_sync(kFullWarp, out.z, mask), out.w += __shfl_xor_sync(kFullWarp, out.w, mask);
    }
  }
  /* Normalised. A row that attends no key has sum 0 and becomes zeros. */
  template <typename T>
  __device__ __forceinline__ void store(T *to) const {
    const float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
    const T x[4] = {from_float<T>(out.x * factor), from_float<T>(out.y * factor), from_float<T>(out.z * factor),
                    from_float<T>(out.w * factor)};
    uint2 word;
    memcpy(&word, x, sizeof word);
    *reinterpret_cast<uint2 *>(to) = word;
  }

 private:
  __device__ __forceinline__ void scale(float factor) {
    sum *= factor;
    out.x *= factor, out.y *= factor, out.z *= factor, out.w *= factor;
  }
};

/* ---- one warp's rows and keys --------------------------------------------------------------------------------- */

/* Tiles of 8 query rows; Keys at a time, in products of 16. */
template <typename T, uint32_t D, uint32_t Tiles, uint32_t Keys>
struct Strip {
  static constexpr uint32_t kKeys = Keys, kBlocks = Keys / 16;
  static constexpr uint32_t kGroups = D / 32; /* of K's columns: a lane has 8 of each */
  static constexpr uint32_t kHalves = D / 64; /* of V's columns: likewise */

  const T *k, *v;
  uint32_t Skv;
  uint4 k_rows[kBlocks][kGroups][2], v_rows[kBlocks][kHalves][4], q[Tiles][kGroups];
  float s[kBlocks][Tiles][4];
  float o[kHalves][4][Tiles][4];
  float max[Tiles][2]; /* a reference within 2^kGrowth of the largest score so far, unscaled; -inf before a key */
  float sum[Tiles][2]; /* this lane's part of the sum of weights */

  __device__ __forceinline__ Strip() {
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n) {
      max[n][0] = max[n][1] = minus_infinity(), sum[n][0] = sum[n][1] = 0.0f;
#pragma unroll
      for (uint32_t h = 0; h < kHalves; ++h)
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i)
#pragma unroll
          for (uint32_t c = 0; c < 4; ++c) o[h][i][n][c] = 0.0f;
    }
  }

  /* K and V of the head. */
  __device__ __forceinline__ void open(const T *k_head, const T *v_head, uint32_t keys) {
    k = k_head + lane() % 4 * 8, v = v_head + lane() / 4 * 8, Skv = keys;
  }
  /* Rows from `rows` on are zeros. */
  __device__ __forceinline__ void load_q(const T *q_rows, uint32_t rows) {
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n)
#pragma unroll
      for (uint32_t j = 0; j < kGroups; ++j) {
        const uint32_t row = 8 * n + lane() / 4;
        q[n][j] = make_uint4(0, 0, 0, 0);
        if (row < rows) q[n][j] = load16(q_rows + row * D + j * 32 + lane() % 4 * 8);
      }
  }
  /* Past the end of the keys the last one is read again: its scores are masked, and 0 times V of it is 0. */
  __device__ __forceinline__ void load_k(uint32_t tile) {
#pragma unroll
    for (uint32_t m = 0; m < kBlocks; ++m)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        const T *const row = k + (size_t)min(tile * Keys + 16 * m + 8 * i + lane() / 4, Skv - 1) * D;
#pragma unroll
        for (uint32_t j = 0; j < kGroups; ++j) k_rows[m][j][i] = load16(row + j * 32);
      }
  }
  __device__ __forceinline__ void load_v(uint32_t tile) {
#pragma unroll
    for (uint32_t m = 0; m < kBlocks; ++m)
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) {
        const T *const row = v + (size_t)min(tile * Keys + 16 * m + i / 2 * 8 + lane() % 4 * 2 + i % 2, Skv - 1) * D;
#pragma unroll
        for (uint32_t h = 0; h < kHalves; ++h) v_rows[m][h][i] = load16(row + h * 64);
      }
  }

  /* S^T = K Q^T, as the sum of two chains of products that do not wait for each other. */
  __device__ __forceinline__ void multiply_qk() {
#pragma unroll
    for (uint32_t m = 0; m < kBlocks; ++m)
#pragma unroll
      for (uint32_t n = 0; n < Tiles; ++n) {
        float other[4] = {};
#pragma unroll
        for (uint32_t c = 0; c < 4; ++c) s[m][n][c] = 0.0f;
#pragma unroll
        for (uint32_t j = 0; j < kGroups; ++j) {
          const uint4 x = k_rows[m][j][0], y = k_rows[m][j][1], z = q[n][j];
          const uint32_t lower[4] = {x.x, y.x, x.y, y.y}, upper[4] = {x.z, y.z, x.w, y.w};
          ptx::mma_16x8x16<T>(s[m][n], lower, z.x, z.y);
          ptx::mma_16x8x16<T>(other, upper, z.z, z.w);
        }
#pragma unroll
        for (uint32_t c = 0; c < 4; ++c) s[m][n][c] += other[c];
      }
  }

  /* Scores that a row does not attend become -inf. `row`: the warp's first, of its KV head; `first`: the first key.
   */
  __device__ __forceinline__ void mask(const Params &p, uint32_t row, uint32_t first) {
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n)
#pragma unroll
      for (uint32_t c = 0; c < 2; ++c) {
        const uint32_t keys = visible_keys(p, (row + 8 * n + lane() % 4 * 2 + c) % p.Sq);
#pragma unroll
        for (uint32_t m = 0; m < kBlocks; ++m)
#pragma unroll
          for (uint32_t i = 0; i < 2; ++i)
            if (first + 16 * m + 8 * i + lane() / 4 >= keys) s[m][n][2 * i + c] = minus_infinity();
      }
  }

  /* Scores to weights. A row without a visible key so far keeps max = -inf and gets weights 2^-inf = 0. */
  __device__ __forceinline__ void online_softmax(float scale_log2) {
    raise_max(scale_log2);
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n)
#pragma unroll
      for (uint32_t c = 0; c < 4; ++c) {
        const float base = scaled(max[n][c % 2], scale_log2);
#pragma unroll
        for (uint32_t m = 0; m < kBlocks; ++m) {
          s[m][n][c] = ptx::ex2(fmaf(s[m][n][c], scale_log2, -base));
          sum[n][c % 2] += s[m][n][c];
        }
      }
  }

  /* O^T += V^T P^T */
  __device__ __forceinline__ void multiply_pv() {
#pragma unroll
    for (uint32_t m = 0; m < kBlocks; ++m) {
      uint32_t p[Tiles][2];
#pragma unroll
      for (uint32_t n = 0; n < Tiles; ++n)
#pragma unroll
        for (uint32_t i = 0; i < 2; ++i) p[n][i] = transpose(pack<T>(s[m][n][2 * i], s[m][n][2 * i + 1]));
#pragma unroll
      for (uint32_t h = 0; h < kHalves; ++h)
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) {
          const uint32_t w[4] = {word(v_rows[m][h][0], i), word(v_rows[m][h][1], i), word(v_rows[m][h][2], i),
                                 word(v_rows[m][h][3], i)};
          const uint32_t a[4] = {__byte_perm(w[0], w[1], 0x5410), __byte_perm(w[0], w[1], 0x7632),
                                 __byte_perm(w[2], w[3], 0x5410), __byte_perm(w[2], w[3], 0x7632)};
#pragma unroll
          for (uint32_t n = 0; n < Tiles; ++n) ptx::mma_16x8x16<T>(o[h][i][n], a, p[n][0], p[n][1]);
        }
    }
  }

  /* Leaves the rows' sums at `out` and their references and sums of weights at `stats`. */
  __device__ __forceinline__ void put(float *out, uint32_t pitch, float2 *stats, uint32_t rows) const {
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n)
#pragma unroll
      for (uint32_t c = 0; c < 2; ++c) {
        const uint32_t row = 8 * n + lane() % 4 * 2 + c;
        float total = sum[n][c];
#pragma unroll
        for (uint32_t mask = 4; mask < kWarp; mask *= 2) total += __shfl_xor_sync(kFullWarp, total, mask);
        if (row < rows && lane() / 4 == 0) stats[row] = make_float2(max[n][c], total);
#pragma unroll
        for (uint32_t h = 0; h < kHalves; ++h)
#pragma unroll
          for (uint32_t i = 0; i < 4; i += 2)
            if (row < rows)
              *reinterpret_cast<float4 *>(out + row * pitch + h * 64 + lane() / 4 * 8 + i * 2) =
                  make_float4(o[h][i][n][c], o[h][i][n][2 + c], o[h][i + 1][n][c], o[h][i + 1][n][2 + c]);
      }
  }

 private:
  static constexpr float kGrowth = 2.0f; /* weights stay below 4 */

  static __device__ __forceinline__ uint32_t lane() { return threadIdx.x % kWarp; }
  static __device__ __forceinline__ uint32_t word(const uint4 &x, uint32_t i) {
    return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
  }

  /* The weights' reference need not be the maximum itself. It follows only when some score outgrew it by more than
   * 2^kGrowth, so that most tiles need no exchange between lanes but a vote. */
  __device__ __forceinline__ void raise_max(float scale_log2) {
    float largest[Tiles][2];
    bool grew = false;
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n)
#pragma unroll
      for (uint32_t c = 0; c < 2; ++c) {
        float x = max[n][c];
#pragma unroll
        for (uint32_t m = 0; m < kBlocks; ++m) x = fmaxf(x, fmaxf(s[m][n][c], s[m][n][2 + c]));
        largest[n][c] = x;
        grew |= (x - max[n][c]) * scale_log2 > kGrowth; /* NaN, two -inf: no */
      }
    if (!__any_sync(kFullWarp, grew)) return;
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n)
#pragma unroll
      for (uint32_t c = 0; c < 2; ++c) {
        float x = largest[n][c];
#pragma unroll
        for (uint32_t mask = 4; mask < kWarp; mask *= 2) x = fmaxf(x, __shfl_xor_sync(kFullWarp, x, mask));
        const float factor = ptx::ex2(fmaf(max[n][c], scale_log2, -scaled(x, scale_log2)));
        max[n][c] = x, sum[n][c] *= factor;
#pragma unroll
        for (uint32_t h = 0; h < kHalves; ++h)
#pragma unroll
          for (uint32_t i = 0; i < 4; ++i) o[h][i][n][c] *= factor, o[h][i][n][2 + c] *= factor;
      }
  }
};

}  // namespace attn::decode_tile

#endif
