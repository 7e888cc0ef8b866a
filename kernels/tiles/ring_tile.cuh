/* The tile of `decode`, path=2: 8 or 16 query rows against a tile of keys, by mma.sync.
 *
 *   S = Q K^T       a warp has 16 or 32 of the tile's keys and all rows; its weights go to shared memory
 *   O^T = V^T P^T   a warp has all of the tile's keys and its own columns of V, in slices of 16; transposed, so
 *                   that the few rows are the narrow side, 8, of mma.m16n8k16
 *
 * So no output is ever added up between warps. K and V arrive in a ring of slots, K and V of a tile in turn, by the
 * copy engine. A slot is slabs [keys][64 elements], whose 16-byte chunk c of row r lies at c ^ (r % 8).
 *
 * With g = lane / 4 and t = lane % 4: a lane has, of each 16 of its warp's keys, S for row g (and g + 8) and keys 2t,
 * 2t + 1, 2t + 8, 2t + 9; and of O, for each slice, columns g and g + 8 of rows 2t and 2t + 1 (2t + 8, 2t + 9). */
#ifndef ATTNBENCH_KERNELS_RING_TILE_CUH
#define ATTNBENCH_KERNELS_RING_TILE_CUH

#include "kernels/tiles/attn_params.cuh"

#ifdef __CUDACC__
#include "kernels/tiles/decode_tile.cuh"
#include "kernels/tiles/hopper_tile.cuh"
#endif

namespace attn::ring_tile {

constexpr uint32_t kSlice = 16, kSlab = 64, kSlabRow = 128;
constexpr uint32_t kSlotsMax = 8;

/* A tile of 32 KB of K at D = 128 and 256, 16 KB at 64: its chain of products, exchange of weights and products takes
 * about a thousand clocks however small it is. */
constexpr ATTN_HD uint32_t warps_of(uint32_t D) { return D == 128 ? 8 : 4; }
constexpr ATTN_HD uint32_t warp_keys(uint32_t D) { return D == 64 ? 32 : 16; }
constexpr ATTN_HD uint32_t tile_keys(uint32_t D) { return warps_of(D) * warp_keys(D); }

/* Shared memory of a block: slots | weights [rows][keys + 8] | maxima and sums [rows][warps] each | a barrier for
 * each slot there may be. The 8 elements more spread the rows of the weights over the banks. */
constexpr ATTN_HD uint32_t slot_bytes(uint32_t D) { return tile_keys(D) * D * 2; }
constexpr ATTN_HD uint32_t weight_pitch(uint32_t D) { return tile_keys(D) + 8; }
constexpr ATTN_HD uint32_t weight_bytes(uint32_t D, uint32_t rows) { return rows * weight_pitch(D) * 2; }
constexpr ATTN_HD uint32_t barriers_at(uint32_t D, uint32_t rows) { /* after the slots */
  return weight_bytes(D, rows) + 2 * warps_of(D) * rows * 4;
}
constexpr ATTN_HD uint32_t smem_bytes(uint32_t D, uint32_t rows, uint32_t slots) {
  return slots * slot_bytes(D) + barriers_at(D, rows) + kSlotsMax * 8;
}

#ifdef __CUDACC__

using decode_tile::scaled, decode_tile::transpose;

/* ---- packets: 16 bytes of which a reader sees all or none -------------------------------------------------------
 * The data is its own flag. An empty place of a buffer has zero bits in its first word, which no packet has: a
 * sender's +0 becomes -0. The bytes are one scalar of 128 bits, read and written as a whole, so whoever sees the
 * first word has the others. */

__device__ __forceinline__ void send(float4 *to, float4 x) {
  const uint32_t first = __float_as_uint(x.x);
  const uint64_t lower = (uint64_t)__float_as_uint(x.y) << 32 | (first == 0 ? 0x80000000u : first);
  const uint64_t upper = (uint64_t)__float_as_uint(x.w) << 32 | __float_as_uint(x.z);
  asm volatile("{\n.reg .b128 x;\nmov.b128 x, {%1, %2};\nst.relaxed.gpu.global.b128 [%0], x;\n}" ::"l"(to),
               "l"(lower), "l"(upper)
               : "memory");
}
__device__ __forceinline__ float4 receive(const float4 *from) {
  uint64_t lower, upper;
  asm volatile("{\n.reg .b128 x;\nld.relaxed.gpu.global.b128 x, [%2];\nmov.b128 {%0, %1}, x;\n}"
               : "=l"(lower), "=l"(upper)
               : "l"(from)
               : "memory");
  return make_float4(__uint_as_float((uint32_t)lower), __uint_as_float((uint32_t)(lower >> 32)),
                     __uint_as_float((uint32_t)upper), __uint_as_float((uint32_t)(upper >> 32)));
}
__device__ __forceinline__ bool is_empty(const float4 &x) { return __float_as_uint(x.x) == 0; }

/* ---- what a lane has of a slice -------------------------------------------------------------------------------- */

/* Columns g and g + 8 of rows 2t and 2t + 1, not normalised; of each row the reference of its weights, unscaled, and
 * their sum. */
struct Part {
  float max[2], sum[2];
  float4 out; /* column g of both rows, then g + 8 */

  __device__ __forceinline__ void clear() {
    max[0] = max[1] = minus_infinity(), sum[0] = sum[1] = 0.0f, out = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  __device__ __forceinline__ void scale(float first, float second) {
    sum[0] *= first, out.x *= first, out.z *= first;
    sum[1] *= second, out.y *= second, out.w *= second;
  }
  /* Goes to references that are at least `first` and `second`. */
  __device__ __forceinline__ void raise(float first, float second, float scale_log2) {
    const float x = fmaxf(max[0], first), y = fmaxf(max[1], second);
    scale(ptx::ex2(fmaf(max[0], scale_log2, -scaled(x, scale_log2))),
          ptx::ex2(fmaf(max[1], scale_log2, -scaled(y, scale_log2))));
    max[0] = x, max[1] = y;
  }
  /* Of references that are at most this one's. */
  __device__ __forceinline__ void add(const float4 &outputs, const float4 &stats, float scale_log2) {
    const float first = ptx::ex2(fmaf(stats.x, scale_log2, -scaled(max[0], scale_log2)));
    const float second = ptx::ex2(fmaf(stats.z, scale_log2, -scaled(max[1], scale_log2)));
    sum[0] = fmaf(stats.y, first, sum[0]), sum[1] = fmaf(stats.w, second, sum[1]);
    out.x = fmaf(outputs.x, first, out.x), out.z = fmaf(outputs.z, first, out.z);
    out.y = fmaf(outputs.y, second, out.y), out.w = fmaf(outputs.w, second, out.w);
  }
  /* Of lanes whose numbers differ by multiples of `step`. */
  __device__ __forceinline__ void add_shares(uint32_t step, float scale_log2) {
    float first = max[0], second = max[1];
    for (uint32_t mask = step; mask < kWarp; mask *= 2) {
      first = fmaxf(first, __shfl_xor_sync(kFullWarp, first, mask));
      second = fmaxf(second, __shfl_xor_sync(kFullWarp, second, mask));
    }
    raise(first, second, scale_log2);
    for (uint32_t mask = step; mask < kWarp; mask *= 2) {
      sum[0] += __shfl_xor_sync(kFullWarp, sum[0], mask), sum[1] += __shfl_xor_sync(kFullWarp, sum[1], mask);
      out.x += __shfl_xor_sync(kFullWarp, out.x, mask), out.y += __shfl_xor_sync(kFullWarp, out.y, mask);
      out.z += __shfl_xor_sync(kFullWarp, out.z, mask), out.w += __shfl_xor_sync(kFullWarp, out.w, mask);
    }
  }
  /* Normalises and writes one of the four outputs of an item, which lanes have alike: bit 0 of `which` is its row,
   * bit 1 its column. */
  template <typename T, uint32_t D>
  __device__ __forceinline__ void store_one(T *o, uint32_t item, uint32_t lanes_log2, uint32_t which,
                                            int32_t rows) const {
    const uint32_t g = item >> lanes_log2, t = item - (g << lanes_log2), row = 2 * t + which % 2;
    const float total = which % 2 ? sum[1] : sum[0];
    const float lower = which % 2 ? out.y : out.x, upper = which % 2 ? out.w : out.z;
    if ((int32_t)row < rows)
      o[row * D + g + which / 2 * 8] =
          from_float<T>((which / 2 ? upper : lower) * (total > 0.0f ? __fdividef(1.0f, total) : 0.0f));
  }
  /* Normalises and writes the slice's 16 columns of the first `rows` of 8 rows. A row that attends no key has sum 0
   * and becomes zeros. */
  template <typename T>
  __device__ __forceinline__ void store(T *o, uint32_t D, int32_t rows) {
    const uint32_t g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
    scale(sum[0] > 0.0f ? __fdividef(1.0f, sum[0]) : 0.0f, sum[1] > 0.0f ? __fdividef(1.0f, sum[1]) : 0.0f);
    const uint32_t lower = transpose(pack<T>(out.x, out.y)), upper = transpose(pack<T>(out.z, out.w));
    if ((int32_t)g >= rows) return;
    uint32_t *const to = reinterpret_cast<uint32_t *>(o + g * D + 2 * t);
    to[0] = lower, to[4] = upper;
  }
};

/* ---- one block's rows and keys -------------------------------------------------------------------------------- */

/* Tiles of 8 query rows. */
template <typename T, uint32_t D, uint32_t Tiles>
struct Worker {
  static constexpr uint32_t kRows = 8 * Tiles, kWarps = warps_of(D), kKeys = tile_keys(D), kWarpKeys = warp_keys(D);
  static constexpr uint32_t kSteps = D / 16, kEights = kWarpKeys / 8;
  static constexpr uint32_t kSlices = D / kSlice / kWarps; /* of a warp */
  static constexpr uint32_t kSlabBytes = kKeys * kSlabRow, kSlotBytes = slot_bytes(D);
  static constexpr uint32_t kPitch = weight_pitch(D);

  uint32_t warp, g, t;
  uint32_t weights; /* shared address */
  float *maxima, *sums;
  uint32_t lane_row, lane_chunk; /* in 16 x 16 elements of a slab, the matrix row whose address the lane gives */
  uint32_t q[Tiles][kSteps][2];
  uint32_t keys[Tiles];          /* that row g (and g + 8) attends */
  float s[kEights][4];           /* [8 keys][row g, row g + 8, two keys each] */
  float o[2][kSlices][Tiles][4]; /* [even and odd 16 keys]: two chains of products */
  float max[Tiles];              /* the largest score so far, unscaled; -inf before a key */
  float sum[Tiles];              /* of the lane's weights */
  float total[Tiles][2];         /* of all weights so far, of rows 2t and 2t + 1 (and 2t + 8, 2t + 9) */

  __device__ __forceinline__ Worker(uint32_t warp_of_block, unsigned char *after_slots)
      : warp(warp_of_block), g(threadIdx.x % kWarp / 4), t(threadIdx.x % 4) {
    const uint32_t lane = threadIdx.x % kWarp;
    weights = ptx::shared_address(after_slots);
    maxima = reinterpret_cast<float *>(after_slots + weight_bytes(D, kRows)), sums = maxima + kRows * kWarps;
    lane_row = (lane / 16 * 8 + lane % 8) * kSlabRow, lane_chunk = (lane % 8 ^ (lane / 8 & 1)) * 16;
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n) {
      max[n] = minus_infinity(), sum[n] = 0.0f;
#pragma unroll
      for (uint32_t i = 0; i < 2 * kSlices; ++i)
#pragma unroll
        for (uint32_t c = 0; c < 4; ++c) o[i / kSlices][i % kSlices][n][c] = 0.0f;
    }
  }

  /* Rows [first, first + rows) of the KV head, at `rows_of_q`; further ones are zeros. */
  __device__ __forceinline__ void load_q(const Params &p, const T *rows_of_q, uint32_t first, uint32_t rows) {
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n) {
      const bool valid = 8 * n + g < rows;
      const uint32_t *const from = reinterpret_cast<const uint32_t *>(rows_of_q + (8 * n + g) * D + 2 * t);
#pragma unroll
      for (uint32_t k = 0; k < kSteps; ++k)
        q[n][k][0] = valid ? __ldg(from + 8 * k) : 0, q[n][k][1] = valid ? __ldg(from + 8 * k + 4) : 0;
    }
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n) keys[n] = p.causal ? visible_keys(p, (first + 8 * n + g) % p.Sq) : p.Skv;
  }

  /* Scores of the warp's keys, -inf where a row does not attend; `slot` holds K of the tile whose first key is
   * `first`. */
  __device__ __forceinline__ void multiply_qk(uint32_t slot, uint32_t first) {
    const uint32_t at = slot + warp * kWarpKeys * kSlabRow + lane_row;
#pragma unroll
    for (uint32_t i = 0; i < kEights * 4; ++i) s[i / 4][i % 4] = 0.0f;
#pragma unroll
    for (uint32_t k = 0; k < kSteps; ++k)
#pragma unroll
      for (uint32_t i = 0; i < kEights; i += 2) {
        uint32_t m[4];
        ptx::ldmatrix_x4(m, at + i * 8 * kSlabRow + k / 4 * kSlabBytes + (lane_chunk ^ k % 4 * 32));
        const uint32_t a[4] = {q[0][k][0], Tiles == 2 ? q[Tiles - 1][k][0] : 0, q[0][k][1],
                               Tiles == 2 ? q[Tiles - 1][k][1] : 0};
        ptx::mma_16x8x16<T>(s[i], a, m[0], m[1]);
        ptx::mma_16x8x16<T>(s[i + 1], a, m[2], m[3]);
      }
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n) {
      const int32_t rest = (int32_t)(keys[n] - (first + warp * kWarpKeys + 2 * t)); /* Skv is below 2^31 */
#pragma unroll
      for (uint32_t i = 0; i < kEights * 2; ++i)
        if ((int32_t)(i / 2 * 8 + i % 2) >= rest) s[i / 2][2 * n + i % 2] = minus_infinity();
    }
  }

  /* Writes the rows' largest scores of the warp to shared memory, for all warps. */
  __device__ __forceinline__ void put_maxima() const {
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n) {
      float x = fmaxf(s[0][2 * n], s[0][2 * n + 1]);
#pragma unroll
      for (uint32_t i = 1; i < kEights; ++i) x = fmaxf(x, fmaxf(s[i][2 * n], s[i][2 * n + 1]));
      x = quad_max(x);
      if (t == 0) maxima[(8 * n + g) * kWarps + warp] = x;
    }
  }

  /* Takes the largest score of all warps as reference, and writes the weights and their sums to shared memory. */
  __device__ __forceinline__ void put_weights(float scale_log2) {
#pragma unroll
    for (uint32_t n = 0; n < Tiles; ++n) {
      const float x = fmaxf(max[n], reduce<true>(maxima + (8 * n + g) * kWarps)), base = scaled(x, scale_log2);
      const float factor = ptx::ex2(fmaf(max[n], scale_log2, -base));
      max[n] = x, sum[n] *= factor;
      const float first = of_row(factor, 0), second = of_row(factor, 1);
#pragma unroll
      for (uint32_t i = 0; i < 2 * kSlices; ++i) {
        float(&out)[4] = o[i / kSlices][i % kSlices][n];
        out[0] *= first, out[1] *= second, out[2] *= first, out[3] *= second;
      }
      const uint32_t to = weights + ((8 * n + g) * kPitch + warp * kWarpKeys + 2 * t) * 2;
#pragma unroll
      for (uint32_t i = 0; i < kEights; ++i) {
        const float lower = ptx::ex2(fmaf(s[i][2 * n], scale_log2, -base));
        const float upper = ptx::ex2(fmaf(s[i][2 * n + 1], scale_log2, -base));
        sum[n] += lower + upper;
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(to + i * 16), "r"(pack<T>(lower, upper)) : "memory");
      }
      const float total = quad_sum(sum[n]);
      if (t == 0) sums[(8 * n + g) * kWarps + warp] = total;
    }
  }

  /* O += P V; `slot` holds V. */
  __device__ __forceinline__ void multiply_pv(uint32_t slot) {
    const uint32_t lane = threadIdx.x % kWarp, from = weights + (lane % 8 * kPitch + lane / 8 * 8) * 2;
#pragma unroll
    for (uint32_t n = 0; n < 2 * Tiles; ++n)
      total[n / 2][n % 2] = reduce<false>(sums + (n / 2 * 8 + 2 * t + n % 2) * kWarps);
    uint32_t v[kSlices];
#pragma unroll
    for (uint32_t i = 0; i < kSlices; ++i) {
      const uint32_t slice = warp * kSlices + i;
      v[i] = slot + slice / 4 * kSlabBytes + lane_row + (lane_chunk ^ slice % 4 * 32);
    }
#pragma unroll
    for (uint32_t j = 0; j < kKeys / 32; ++j) {
      uint32_t p[Tiles][4];
#pragma unroll
      for (uint32_t n = 0; n < Tiles; ++n) ptx::ldmatrix_x4(p[n], from + (8 * n * kPitch + j * 32) * 2);
#pragma unroll
      for (uint32_t h = 0; h < 2; ++h)
#pragma unroll
        for (uint32_t i = 0; i < kSlices; ++i) {
          uint32_t a[4];
          ptx::ldmatrix_x4_trans(a, v[i] + (2 * j + h) * 16 * kSlabRow);
#pragma unroll
          for (uint32_t n = 0; n < Tiles; ++n) ptx::mma_16x8x16<T>(o[h][i][n], a, p[n][2 * h], p[n][2 * h + 1]);
        }
    }
  }

  /* What the lane has of the warp's slice i and row tile n, after the last tile. */
  __device__ __forceinline__ Part part(uint32_t i, uint32_t n) const {
    Part part;
#pragma unroll
    for (uint32_t c = 0; c < 2; ++c) part.max[c] = of_row(max[n], c), part.sum[c] = total[n][c];
    part.out = make_float4(o[0][i][n][0] + o[1][i][n][0], o[0][i][n][1] + o[1][i][n][1],
                           o[0][i][n][2] + o[1][i][n][2], o[0][i][n][3] + o[1][i][n][3]);
    return part;
  }

 private:
  /* Of a value that lanes have for row g: that of row 2t + i. */
  __device__ __forceinline__ float of_row(float x, uint32_t i) const {
    return __shfl_sync(kFullWarp, x, 8 * t + 4 * i);
  }
  /* The largest, or the sum, of what the warps left. */
  template <bool Max>
  static __device__ __forceinline__ float reduce(const float *of_warps) {
    float x = Max ? minus_infinity() : 0.0f;
#pragma unroll
    for (uint32_t w = 0; w < kWarps; w += 4) {
      const float4 y = load4(of_warps + w);
      x = Max ? fmaxf(fmaxf(x, fmaxf(y.x, y.y)), fmaxf(y.z, y.w)) : x + ((y.x + y.y) + (y.z + y.w));
    }
    return x;
  }
};

#endif

}  // namespace attn::ring_tile

#endif
