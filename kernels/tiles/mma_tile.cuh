/* The tensor-core tile of `mma_swizzle`: four or eight warps, each with 16 or 32 query rows, against 64 keys at a
 * time (32 at D = 256), by the mma.sync instruction. Its fragments have a documented layout, so scores, weights and
 * the output stay in registers for the whole kernel:
 *
 *   the accumulator of S = Q K^T     row g = lane / 4 and row g + 8, two columns per 8 keys
 *   the A operand of O += P V        the same lane needs the same elements: P is S, packed in pairs
 *
 * A row lives in four neighbouring lanes (a quad): its maximum costs two shuffles, and its sum only two at the end.
 * Shared memory holds Q, K and V alone, read with ldmatrix: eight rows of 16 bytes at once, which touch all 32 banks
 * once when the rows' 16-byte chunks differ modulo 8. Padding each row by a chunk does that, and so does an XOR of
 * the chunk's number with the row's (a swizzle), which costs no space. */
#ifndef ATTNBENCH_KERNELS_TILES_MMA_TILE_CUH
#define ATTNBENCH_KERNELS_TILES_MMA_TILE_CUH

#include "kernels/tiles/attn_params.cuh"

namespace attn::mma_tile {

constexpr uint32_t kFragmentRows = 16; /* of mma.m16n8k16 */
constexpr uint32_t kChunk = 8;         /* 16-bit elements in 16 bytes */

/* Keys in a tile. Where 64 rows of D = 256 leave room for no more, two buffers of 32: the next is on its way. */
constexpr ATTN_HD uint32_t keys_of(uint32_t D, uint32_t rows) { return D > 128 && rows == 64 ? 32 : 64; }

constexpr ATTN_HD uint32_t row_bytes(uint32_t D, bool swizzle) { return 2 * D + (swizzle ? 0 : 16); }

/* Q [rows][D], then `stages` times K [keys][D] and V [keys][D] */
constexpr ATTN_HD uint32_t smem_bytes(uint32_t D, uint32_t rows, uint32_t stages, bool swizzle) {
  return (rows + 2 * stages * keys_of(D, rows)) * row_bytes(D, swizzle);
}

}  // namespace attn::mma_tile

#ifdef __CUDACC__
#include "kernels/tiles/attn_device.cuh"
#include "kernels/tiles/fragment.cuh"
#include "kernels/tiles/ptx.cuh"

namespace attn::mma_tile {

/* Where the 16-byte chunks of a row-major tile lie. A tile's base is a multiple of 1024 bytes. */
template <uint32_t D, bool Swizzle>
struct Layout {
  static constexpr uint32_t kRow = row_bytes(D, Swizzle);

  static __device__ __forceinline__ uint32_t at(uint32_t row, uint32_t chunk) {
    return row * kRow + ((Swizzle ? chunk ^ (row & 7) : chunk) << 4);
  }
  /* From the address of a row's chunk 0 or 1 to that of the chunk 2 * pairs later: bits 5 and up of a swizzled row's
   * address hold the pair's number alone, XORed with the row's, so one XOR with a constant moves it. */
  static __device__ __forceinline__ uint32_t advance(uint32_t address, uint32_t pairs) {
    return Swizzle ? address ^ (pairs << 5) : address + (pairs << 5);
  }
};

/* Starts the copies of a [Rows][D] tile by threads `thread` of `Threads`; rows from `valid` on become zeros: a masked
 * key has weight 0, and 0 times a leftover NaN would still be NaN. */
template <typename T, uint32_t D, bool Swizzle, uint32_t Rows, uint32_t Threads>
__device__ __forceinline__ void copy_rows(uint32_t tile, const T *rows, uint32_t valid, uint32_t thread) {
  constexpr uint32_t kChunks = D / kChunk, kStep = Threads / kChunks; /* chunks in a row, rows in a sweep */
  static_assert(Threads % kChunks == 0 && Rows % kStep == 0, "every thread copies equally many chunks");
  constexpr int kUnroll = Threads == kWarp ? 4 : (int)(Rows / kStep); /* a warp would hold 16 addresses at once */
  const uint32_t row = thread / kChunks, chunk = thread % kChunks;
#pragma unroll kUnroll
  for (uint32_t r = 0; r < Rows; r += kStep) {
    const bool inside = row + r < valid;
    ptx::cp_async_16(tile + Layout<D, Swizzle>::at(row + r, chunk),
                     rows + (inside ? (row + r) * D + chunk * kChunk : 0), inside);
  }
}

/* One warp's 16 * Blocks query rows and their running softmax. In arrays [Blocks][2], row 16 * m + 8 * i + lane / 4.
 */
template <typename T, uint32_t D, uint32_t Blocks, bool Swizzle, uint32_t Keys>
struct Strip {
  using L = Layout<D, Swizzle>;
  static constexpr uint32_t kRows = kFragmentRows * Blocks, kKeys = Keys;
  static constexpr uint32_t kSteps = D / 16; /* of 16 in the head dimension */
  /* Steps whose Q stays in registers, as many as O and S leave room for; the others are read again for each tile. */
  static constexpr uint32_t kHeld = Blocks * D <= 128 ? kSteps : D == 256 ? (kKeys == 32 ? 8 : 6) : 0;

  float s[Blocks][kKeys / 8][4], o[Blocks][D / 8][4];
  float max[Blocks][2]; /* a reference within 2^kGrowth of the largest score so far, unscaled; -inf before a key */
  float sum[Blocks][2]; /* this lane's part of the sum of 2^(scaled score - scaled max) */
  uint32_t q[Blocks][kHeld < kSteps ? kHeld + 1 : kHeld][4]; /* the last one: for a step that is not held */
  uint32_t q_tile;                                           /* address of the strip's rows of Q */
  uint32_t k_offset, v_offset; /* of this lane's row for ldmatrix; within Q as within V */

  __device__ __forceinline__ Strip(uint32_t q_address) : q_tile(q_address) {
    const uint32_t matrix = threadIdx.x % kWarp / 8, row = threadIdx.x % 8;
    k_offset = L::at(matrix / 2 * 8 + row, matrix % 2); /* b1: columns + 8; then the next 8 keys */
    v_offset = L::at(matrix % 2 * 8 + row, matrix / 2); /* b1: keys + 8; then the next 8 columns; Q: a[1], a[2] */
  }

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (uint32_t m = 0; m < Blocks; ++m) {
#pragma unroll
      for (uint32_t n = 0; n < D / 8; ++n)
#pragma unroll
        for (uint32_t c = 0; c < 4; ++c) o[m][n][c] = 0.0f;
      max[m][0] = max[m][1] = minus_infinity();
      sum[m][0] = sum[m][1] = 0.0f;
    }
  }

  /* Q has landed in shared memory. */
  __device__ __forceinline__ void take_q() {
#pragma unroll
    for (uint32_t d = 0; held(d); ++d) load_q(d);
  }

  /* S = Q K^T */
  __device__ __forceinline__ void multiply_qk(uint32_t k_tile) {
#pragma unroll
    for (uint32_t m = 0; m < Blocks; ++m)
#pragma unroll
      for (uint32_t n = 0; n < kKeys / 8; ++n)
#pragma unroll
        for (uint32_t c = 0; c < 4; ++c) s[m][n][c] = 0.0f;
#pragma unroll
    for (uint32_t d = 0; d < kSteps; ++d) {
      if (!held(d)) load_q(d);
      const uint32_t step = place_of(d);
      const uint32_t k = L::advance(k_tile + k_offset, d);
#pragma unroll
      for (uint32_t n = 0; n < kKeys / 16; ++n) {
        uint32_t b[4];
        ptx::ldmatrix_x4(b, k + n * 16 * L::kRow);
#pragma unroll
        for (uint32_t m = 0; m < Blocks; ++m) {
          ptx::mma_16x8x16<T>(s[m][2 * n], q[m][step], b[0], b[1]);
          ptx::mma_16x8x16<T>(s[m][2 * n + 1], q[m][step], b[2], b[3]);
        }
      }
    }
  }

  /* Scores that a row does not attend become -inf. `row`: the strip's first query row; `first`: the tile's first key.
   */
  __device__ __forceinline__ void mask(const Params &p, uint32_t row, uint32_t first) {
    const uint32_t lane = threadIdx.x % kWarp;
#pragma unroll
    for (uint32_t m = 0; m < Blocks; ++m)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        const uint32_t keys = visible_keys(p, row + m * kFragmentRows + i * 8 + lane / 4);
        const uint32_t visible = rows_in_tile(keys, first, kKeys);
#pragma unroll
        for (uint32_t n = 0; n < kKeys / 8; ++n)
#pragma unroll
          for (uint32_t c = 0; c < 2; ++c)
            if (n * 8 + lane % 4 * 2 + c >= visible) s[m][n][2 * i + c] = minus_infinity();
      }
  }

  /* Scores to weights. A row without a visible key so far keeps max = -inf and gets weights 2^-inf = 0. */
  __device__ __forceinline__ void online_softmax(float scale_log2) {
    raise_max(scale_log2);
#pragma unroll
    for (uint32_t m = 0; m < Blocks; ++m)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        const float base = scaled(max[m][i], scale_log2);
#pragma unroll
        for (uint32_t n = 0; n < kKeys / 8; ++n)
#pragma unroll
          for (uint32_t c = 2 * i; c < 2 * i + 2; ++c) {
            s[m][n][c] = ptx::ex2(fmaf(s[m][n][c], scale_log2, -base));
            sum[m][i] += s[m][n][c];
          }
      }
  }

  /* O += P V */
  __device__ __forceinline__ void multiply_pv(uint32_t v_tile) {
#pragma unroll
    for (uint32_t j = 0; j < kKeys / 16; ++j) {
      uint32_t p[Blocks][4];
#pragma unroll
      for (uint32_t m = 0; m < Blocks; ++m)
#pragma unroll
        for (uint32_t r = 0; r < 4; ++r) {
          const float(&pair)[4] = s[m][2 * j + r / 2];
          p[m][r] = pack<T>(pair[r % 2 * 2], pair[r % 2 * 2 + 1]);
        }
#pragma unroll
      for (uint32_t n = 0; n < kSteps; ++n) {
        uint32_t b[4];
        ptx::ldmatrix_x4_trans(b, L::advance(v_tile + v_offset, n) + j * 16 * L::kRow);
#pragma unroll
        for (uint32_t m = 0; m < Blocks; ++m) {
          ptx::mma_16x8x16<T>(o[m][2 * n], p[m], b[0], b[1]);
          ptx::mma_16x8x16<T>(o[m][2 * n + 1], p[m], b[2], b[3]);
        }
      }
    }
  }

  /* Writes the normalised rows from registers. Four tiles of 8 columns are transposed within the quads, so that a
   * lane holds 16 neighbouring bytes. A row that attended no key has sum 0 and becomes zeros. */
  __device__ __forceinline__ void store(T *rows, uint32_t valid) const {
    const uint32_t lane = threadIdx.x % kWarp;
#pragma unroll
    for (uint32_t m = 0; m < Blocks; ++m)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        const float factor = inverse_sum(m, i);
        const uint32_t row = m * kFragmentRows + i * 8 + lane / 4;
#pragma unroll
        for (uint32_t n = 0; n < D / 8; n += 4) {
          uint32_t w[4];
#pragma unroll
          for (uint32_t j = 0; j < 4; ++j)
            w[j] = pack<T>(o[m][n + j][2 * i] * factor, o[m][n + j][2 * i + 1] * factor);
          quad_transpose(w);
          T *to = rows + row * D + (n + lane % 4) * kChunk;
          if (row < valid) *reinterpret_cast<uint4 *>(to) = make_uint4(w[0], w[1], w[2], w[3]);
        }
      }
  }

  /* The same through shared memory, as a kernel has to that does not know its fragments' layout: 8 rows of fp32 at a
   * time, which are as many bytes as the 16 rows of Q whose place they take. */
  __device__ __forceinline__ void store_staged(float *staging, T *rows, uint32_t valid) const {
    const uint32_t lane = threadIdx.x % kWarp, g = lane / 4;
#pragma unroll
    for (uint32_t m = 0; m < Blocks; ++m)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        __syncwarp(); /* orders the reads of Q, or of the previous 8 rows, before they are overwritten */
#pragma unroll
        for (uint32_t n = 0; n < D / 8; ++n) {
          const float2 two = make_float2(o[m][n][2 * i], o[m][n][2 * i + 1]);
          *reinterpret_cast<float2 *>(staging + staged(g, 2 * n + lane % 4 / 2) + lane % 2 * 2) = two;
        }
        __syncwarp(); /* orders the stores of the 8 rows before the row-wise reads */
        store_rows(staging, inverse_sum(m, i), rows, m * kFragmentRows + i * 8, valid);
      }
  }

 private:
  static constexpr float kGrowth = 2.0f; /* weights stay below 4; ordinary inputs still exceed it now and then */

  static __device__ __forceinline__ float scaled(float max, float scale_log2) {
    return max == minus_infinity() ? 0.0f : max * scale_log2;
  }
  __device__ __forceinline__ float inverse_sum(uint32_t m, uint32_t i) const {
    const float total = quad_sum(sum[m][i]);
    return total > 0.0f ? 1.0f / total : 0.0f;
  }
  /* Element that the 16-byte chunk of a staged row starts at; the XOR spreads the rows over the banks. */
  static __device__ __forceinline__ uint32_t staged(uint32_t row, uint32_t chunk) {
    return row * D + (chunk ^ row) * 4;
  }

  static __device__ __forceinline__ bool held(uint32_t d) { return d + 1 <= kHeld; }
  static __device__ __forceinline__ uint32_t place_of(uint32_t d) { return held(d) ? d : kHeld; }

  __device__ __forceinline__ void load_q(uint32_t d) {
#pragma unroll
    for (uint32_t m = 0; m < Blocks; ++m)
      ptx::ldmatrix_x4(q[m][place_of(d)], L::advance(q_tile + v_offset, d) + m * kFragmentRows * L::kRow);
  }

  /* The weights' reference need not be the maximum itself: any value gives the same quotients. It follows the maximum
   * only when some row of the warp grew by more than 2^kGrowth, so that the output is rescaled in few tiles. */
  __device__ __forceinline__ void raise_max(float scale_log2) {
    float largest[Blocks][2];
    bool grew = false;
#pragma unroll
    for (uint32_t m = 0; m < Blocks; ++m)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        float x = max[m][i];
#pragma unroll
        for (uint32_t n = 0; n < kKeys / 8; ++n) x = fmaxf(x, fmaxf(s[m][n][2 * i], s[m][n][2 * i + 1]));
        largest[m][i] = quad_max(x);
        grew |= (largest[m][i] - max[m][i]) * scale_log2 > kGrowth; /* NaN, two -inf: no */
      }
    if (!__any_sync(kFullWarp, grew)) return;
#pragma unroll
    for (uint32_t m = 0; m < Blocks; ++m)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        const float factor = ptx::ex2(fmaf(max[m][i], scale_log2, -scaled(largest[m][i], scale_log2)));
        max[m][i] = largest[m][i];
        sum[m][i] *= factor;
#pragma unroll
        for (uint32_t n = 0; n < D / 8; ++n) o[m][n][2 * i] *= factor, o[m][n][2 * i + 1] *= factor;
      }
  }

  /* Eight staged rows, `first` rows into the strip; `factor` is that of the calling lane's row, lane / 4. */
  static __device__ __forceinline__ void store_rows(const float *staging, float factor, T *rows, uint32_t first,
                                                    uint32_t valid) {
    constexpr uint32_t kChunks = D / kChunk;
#pragma unroll
    for (uint32_t i = threadIdx.x % kWarp; i < 8 * kChunks; i += kWarp) {
      const uint32_t r = i / kChunks, c = i % kChunks;
      const float f = __shfl_sync(kFullWarp, factor, r * 4);
      const float4 lo = load4(staging + staged(r, 2 * c)), hi = load4(staging + staged(r, 2 * c + 1));
      const float x[8] = {lo.x * f, lo.y * f, lo.z * f, lo.w * f, hi.x * f, hi.y * f, hi.z * f, hi.w * f};
      if (first + r < valid) store8(rows + (first + r) * D + c * kChunk, x);
    }
  }
};

}  // namespace attn::mma_tile
#endif

#endif
