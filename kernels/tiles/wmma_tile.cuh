/* The tensor-core tile that `wmma_qk`, `wmma`, `cp_async`, `split_kv` and `split_kv_atomic` share: 64 query rows
 * against 64 keys at a time, by four warps of 16 rows each. A warp needs nothing from the other three but the K and V
 * tiles, so all synchronisation in here is within a warp; when K and V may be read or overwritten is the kernel's
 * business.
 *
 * WMMA fragments do not say which lane holds which element. A kernel that works on rows (maximum, sum, rescaling)
 * therefore has to pass scores, weights and the output through shared memory: this is the price of the portable
 * interface, and the traffic that kernels written with mma or wgmma instructions avoid.
 *
 * One warp, one tile:            lane l works on row l % 16, columns (l / 16) * 32 ... + 31
 *   S[16][64] = Q K^T            tensor cores, fp32 accumulation, Q held in fragments for the whole kernel
 *   m, l, P[16][64] = softmax    CUDA cores; P is rounded to the input type
 *   O[16][D] *= 2^(m_old - m)    CUDA cores, only when the maximum of some row grew
 *   O[16][D] += P V              tensor cores, O in fp32 in shared memory */
#ifndef ATTNBENCH_KERNELS_TILES_WMMA_TILE_CUH
#define ATTNBENCH_KERNELS_TILES_WMMA_TILE_CUH

#include "kernels/tiles/attn_params.cuh"

namespace attn::wmma_tile {

constexpr uint32_t kRows = 64, kKeys = 64;
constexpr uint32_t kFragment = 16; /* WMMA shape: 16 x 16 x 16 */
constexpr uint32_t kComputeWarps = kRows / kFragment;
constexpr uint32_t kComputeThreads = kComputeWarps * 32;
constexpr uint32_t kElementBytes = 2; /* f16 and bf16 */

/* Row strides in elements. The 16 bytes of padding shift each row by four banks, so that eight neighbouring rows
 * cover all 32 banks with 16-byte accesses. */
constexpr ATTN_HD uint32_t kv_stride(uint32_t D) { return D + 8; }
constexpr ATTN_HD uint32_t out_stride(uint32_t D) { return D + 4; }
constexpr uint32_t kScoreStride = kKeys + 4;
constexpr uint32_t kWeightStride = kKeys + 8;

/* Shared memory of one K or V tile, and of what all four warps keep beside them: S fp32, P 16-bit, O fp32. */
constexpr ATTN_HD uint32_t kv_tile_bytes(uint32_t D) { return kKeys * kv_stride(D) * kElementBytes; }
constexpr uint32_t kScoreBytes = kRows * kScoreStride * 4;
constexpr uint32_t kWeightBytes = kRows * kWeightStride * kElementBytes;
constexpr ATTN_HD uint32_t out_bytes(uint32_t D) { return kRows * out_stride(D) * 4; }
constexpr uint32_t compute_bytes(uint32_t D) { return kScoreBytes + kWeightBytes + out_bytes(D); }

constexpr uint32_t smem_bytes(uint32_t D, uint32_t stages) {
  return 2 * stages * kv_tile_bytes(D) + compute_bytes(D);
}

static_assert(smem_bytes(64, 1) == 62464, "61 KB at D = 64: 3 blocks on an SM of 228 KB");
static_assert(smem_bytes(128, 1) <= 99 * 1024, "D = 128 fits the 99 KB a block may have on compute capability 8.9");
static_assert(kRows * kv_stride(128) * kElementBytes <= kScoreBytes, "Q passes through the space of the scores");

/* What all variants with this tile ask of a shape and a device, and declare. */
constexpr const char *kNoFp32 = "WMMA has no fp32 inputs";
constexpr attn_dims kDims = {.one_of = {64, 128}};
inline const char *check(const attn_problem &shape, const device_info &device, uint32_t smem) {
  if (const char *grid = check_grid_hb(shape)) return grid;
  return check_device(device, smem);
}

/* The plan of the variants without a pipeline: one block per q tile, which holds one K and one V tile. */
inline void plan_blocks(const attn_problem &shape, const void *kernel, attn_plan &plan) {
  plan.pass_count = 1;
  plan.tile_q = kRows, plan.tile_kv = kKeys;
  plan.splits = 1, plan.stages = 1;
  attn_pass &pass = plan.pass[0];
  pass.name = "main";
  pass.kernel = kernel;
  set_grid(pass, ceil_div(shape.Sq, kRows), ATTN_COVERS_Q, shape.Hq, ATTN_COVERS_H, shape.B, ATTN_COVERS_B);
  set_block(pass, kComputeThreads, kComputeThreads, smem_bytes(shape.D, 1));
}

}  // namespace attn::wmma_tile

#ifdef __CUDACC__
#include <mma.h>

#include "kernels/tiles/attn_device.cuh"
#include "kernels/tiles/ptx.cuh"

namespace attn::wmma_tile {

namespace frag = nvcuda::wmma;
constexpr int kF = (int)kFragment;

/* Shared memory of one block, carved from its dynamic part. Every region's size is a multiple of 32 bytes, the
 * alignment that WMMA loads and stores ask for. */
template <typename T, uint32_t D>
struct Smem {
  unsigned char *base;

  /* [kKeys][kv_stride(D)] */
  __device__ __forceinline__ T *k(uint32_t stage) const {
    return reinterpret_cast<T *>(base + 2 * stage * kv_tile_bytes(D));
  }
  __device__ __forceinline__ T *v(uint32_t stage) const {
    return reinterpret_cast<T *>(base + (2 * stage + 1) * kv_tile_bytes(D));
  }
  /* The 16 rows of warp `warp`: scores [16][kScoreStride], weights [16][kWeightStride], output [16][out_stride(D)] */
  __device__ __forceinline__ float *scores(uint32_t stages, uint32_t warp) const {
    return reinterpret_cast<float *>(base + 2 * stages * kv_tile_bytes(D)) + warp * kFragment * kScoreStride;
  }
  __device__ __forceinline__ T *weights(uint32_t stages, uint32_t warp) const {
    return reinterpret_cast<T *>(base + 2 * stages * kv_tile_bytes(D) + kScoreBytes) +
           warp * kFragment * kWeightStride;
  }
  __device__ __forceinline__ float *out(uint32_t stages, uint32_t warp) const {
    return reinterpret_cast<float *>(base + 2 * stages * kv_tile_bytes(D) + kScoreBytes + kWeightBytes) +
           warp * kFragment * out_stride(D);
  }
};

/* Copies rows of D elements into a tile of `tile_rows` rows with row stride `stride`, 16 bytes at a time, by threads
 * `thread` of `threads`. Rows from `valid` on become zeros: a masked key has weight 0, and 0 times a leftover NaN
 * would still be NaN. */
template <typename T, uint32_t D>
__device__ __forceinline__ void load_rows(T *tile, uint32_t stride, const T *rows, uint32_t tile_rows, uint32_t valid,
                                          uint32_t thread, uint32_t threads) {
  constexpr uint32_t kWords = D * sizeof(T) / 16; /* 16-byte words in a row */
  for (uint32_t i = thread; i < tile_rows * kWords; i += threads) {
    const uint32_t r = i / kWords, c = i % kWords * 8;
    const uint4 zero = make_uint4(0, 0, 0, 0);
    *reinterpret_cast<uint4 *>(tile + r * stride + c) =
        r < valid ? __ldg(reinterpret_cast<const uint4 *>(rows + (size_t)r * D + c)) : zero;
  }
}

/* Which pipe multiplies P by V. */
enum class PvOn { kTensorCores, kCudaCores };

/* One warp's 16 query rows and their running softmax. */
template <typename T, uint32_t D, PvOn kPvOn = PvOn::kTensorCores>
struct Strip {
  frag::fragment<frag::matrix_a, kF, kF, kF, T, frag::row_major> q[D / kFragment];
  float *scores, *out;
  T *weights;
  uint32_t lane;
  float max; /* of this lane's row, in log2 units; -inf before the first key. Lanes l and l + 16 hold the same. */
  float sum; /* of 2^(score - max) over this lane's row */

  /* rows: the strip's first query row in global memory; `valid` of its 16 rows exist, the others become zeros. */
  __device__ __forceinline__ void open(const Smem<T, D> &smem, uint32_t stages, uint32_t warp, const T *rows,
                                       uint32_t valid) {
    lane = threadIdx.x % kWarp;
    scores = smem.scores(stages, warp), weights = smem.weights(stages, warp), out = smem.out(stages, warp);
    max = minus_infinity();
    sum = 0.0f;
    for (uint32_t i = lane * 4; i < kFragment * out_stride(D); i += kWarp * 4)
      *reinterpret_cast<float4 *>(out + i) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    T *staging = reinterpret_cast<T *>(scores);
    load_rows<T, D>(staging, kv_stride(D), rows, kFragment, valid, lane, kWarp);
    __syncwarp(); /* orders the warp's stores of Q (and of the zeros of O) before its fragment loads */
#pragma unroll
    for (uint32_t d = 0; d < D / kFragment; ++d) frag::load_matrix_sync(q[d], staging + d * kFragment, kv_stride(D));
    __syncwarp(); /* orders the fragment loads before the first scores overwrite Q */
  }

  /* This lane's row within the strip. */
  __device__ __forceinline__ uint32_t row() const { return lane % kFragment; }

  /* Takes in one tile of keys. `visible`: how many of its leading keys this lane's row attends. */
  __device__ __forceinline__ void attend(const T *k_tile, const T *v_tile, uint32_t visible, float scale_log2) {
    if (!__any_sync(kFullWarp, visible != 0)) return;
    multiply_qk(k_tile);
    __syncwarp(); /* orders the stores of S before the row-wise reads */
    const float rescale = online_softmax(visible, scale_log2);
    if (__any_sync(kFullWarp, rescale != 1.0f)) scale_out(rescale);
    __syncwarp(); /* orders the stores of P and O before the fragment loads */
    if constexpr (kPvOn == PvOn::kTensorCores)
      multiply_pv(v_tile);
    else
      multiply_pv_on_cuda_cores(v_tile);
    __syncwarp(); /* orders the stores of O and the loads of P before the next tile's, or the epilogue's, accesses */
  }

  /* Writes the normalised rows; a row that attended no key has sum 0 and becomes zeros. */
  __device__ __forceinline__ void store(T *rows, uint32_t valid) const {
    constexpr uint32_t kWords = D / 8;
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll
    for (uint32_t i = lane; i < kFragment * kWords; i += kWarp) {
      const uint32_t r = i / kWords, c = i % kWords * 8;
      const float factor = __shfl_sync(kFullWarp, inverse, r);
      const float4 lo = load4(out + r * out_stride(D) + c), hi = load4(out + r * out_stride(D) + c + 4);
      const float x[8] = {lo.x * factor, lo.y * factor, lo.z * factor, lo.w * factor,
                          hi.x * factor, hi.y * factor, hi.z * factor, hi.w * factor};
      if (r < valid) store8(rows + (size_t)r * D + c, x);
    }
  }

  /* Writes the unnormalised fp32 rows, `stride` floats apart. */
  __device__ __forceinline__ void store_partial(float *rows, size_t stride, uint32_t valid) const {
    constexpr uint32_t kWords = D / 4;
#pragma unroll
    for (uint32_t i = lane; i < kFragment * kWords; i += kWarp) {
      const uint32_t r = i / kWords, c = i % kWords * 4;
      if (r < valid) *reinterpret_cast<float4 *>(rows + r * stride + c) = load4(out + r * out_stride(D) + c);
    }
  }

 private:
  static constexpr uint32_t kLaneColumns = kKeys / 2;

  /* K lies as [key][d], which read column by column is K^T. */
  __device__ __forceinline__ void multiply_qk(const T *k_tile) {
#pragma unroll
    for (uint32_t n = 0; n < kKeys; n += kFragment) {
      frag::fragment<frag::accumulator, kF, kF, kF, float> s;
      frag::fill_fragment(s, 0.0f);
#pragma unroll
      for (uint32_t d = 0; d < D / kFragment; ++d) {
        frag::fragment<frag::matrix_b, kF, kF, kF, T, frag::col_major> k;
        frag::load_matrix_sync(k, k_tile + n * kv_stride(D) + d * kFragment, kv_stride(D));
        frag::mma_sync(s, q[d], k, s);
      }
      frag::store_matrix_sync(scores + n, s, kScoreStride, frag::mem_row_major);
    }
  }

  /* Turns this lane's half row of scores into weights; returns the factor that brings older sums to the new maximum.
   * A row without a visible key so far keeps max = -inf and gets weights 2^-inf = 0. */
  __device__ __forceinline__ float online_softmax(uint32_t visible, float scale_log2) {
    const uint32_t first = lane / kFragment * kLaneColumns;
    const float *s = scores + row() * kScoreStride + first;
    float x[kLaneColumns], largest = max;
#pragma unroll
    for (uint32_t c = 0; c < kLaneColumns; c += 4) {
      const float4 four = load4(s + c);
      x[c] = four.x, x[c + 1] = four.y, x[c + 2] = four.z, x[c + 3] = four.w;
    }
#pragma unroll
    for (uint32_t c = 0; c < kLaneColumns; ++c) {
      x[c] = first + c < visible ? x[c] * scale_log2 : minus_infinity();
      largest = fmaxf(largest, x[c]);
    }
    largest = fmaxf(largest, __shfl_xor_sync(kFullWarp, largest, kFragment));
    const float base = largest == minus_infinity() ? 0.0f : largest;
    const float rescale = ptx::ex2(max - base);
    max = largest;
    float part = 0.0f;
#pragma unroll
    for (uint32_t c = 0; c < kLaneColumns; ++c) {
      x[c] = ptx::ex2(x[c] - base);
      part += x[c];
    }
    sum = fmaf(sum, rescale, part + __shfl_xor_sync(kFullWarp, part, kFragment));
    store_weights(x, first);
    return rescale;
  }

  __device__ __forceinline__ void store_weights(const float (&x)[kLaneColumns], uint32_t first) {
#pragma unroll
    for (uint32_t c = 0; c < kLaneColumns; c += 8) {
      const float eight[8] = {x[c], x[c + 1], x[c + 2], x[c + 3], x[c + 4], x[c + 5], x[c + 6], x[c + 7]};
      store8(weights + row() * kWeightStride + first + c, eight);
    }
  }

  __device__ __forceinline__ void scale_out(float rescale) {
    float *o = out + row() * out_stride(D) + lane / kFragment * (D / 2);
#pragma unroll
    for (uint32_t c = 0; c < D / 2; c += 4) {
      float4 four = load4(o + c);
      four.x *= rescale, four.y *= rescale, four.z *= rescale, four.w *= rescale;
      *reinterpret_cast<float4 *>(o + c) = four;
    }
  }

  __device__ __forceinline__ void multiply_pv(const T *v_tile) {
    frag::fragment<frag::matrix_a, kF, kF, kF, T, frag::row_major> p[kKeys / kFragment];
#pragma unroll
    for (uint32_t j = 0; j < kKeys / kFragment; ++j)
      frag::load_matrix_sync(p[j], weights + j * kFragment, kWeightStride);
#pragma unroll
    for (uint32_t d = 0; d < D; d += kFragment) {
      frag::fragment<frag::accumulator, kF, kF, kF, float> o;
      frag::load_matrix_sync(o, out + d, out_stride(D), frag::mem_row_major);
#pragma unroll
      for (uint32_t j = 0; j < kKeys / kFragment; ++j) {
        frag::fragment<frag::matrix_b, kF, kF, kF, T, frag::row_major> v;
        frag::load_matrix_sync(v, v_tile + j * kFragment * kv_stride(D) + d, kv_stride(D));
        frag::mma_sync(o, p[j], v, o);
      }
      frag::store_matrix_sync(out + d, o, out_stride(D), frag::mem_row_major);
    }
  }

  /* Lane l multiplies rows 4 (l / 8) ... + 3 by D / 8 columns, 8 at a time: each 16 bytes of V then serve four rows.
   */
  __device__ __forceinline__ void multiply_pv_on_cuda_cores(const T *v_tile) {
    static_assert(kFragment == 4 * (kWarp / 8), "eight lanes per group of four rows");
    const uint32_t row = lane / 8 * 4;
#pragma unroll
    for (uint32_t block = 0; block < D; block += 64) {
      const uint32_t column = block + lane % 8 * 8;
      float acc[4][8];
#pragma unroll
      for (uint32_t r = 0; r < 4; ++r) load8(acc[r], out + (row + r) * out_stride(D) + column);
#pragma unroll 2
      for (uint32_t key = 0; key < kKeys; key += 4)
        accumulate(acc, weights + row * kWeightStride + key, v_tile + key * kv_stride(D) + column);
#pragma unroll
      for (uint32_t r = 0; r < 4; ++r) {
        float *o = out + (row + r) * out_stride(D) + column;
        *reinterpret_cast<float4 *>(o) = make_float4(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
        *reinterpret_cast<float4 *>(o + 4) = make_float4(acc[r][4], acc[r][5], acc[r][6], acc[r][7]);
      }
    }
  }

  static __device__ __forceinline__ void load8(float (&x)[8], const float *p) {
    const float4 lo = load4(p), hi = load4(p + 4);
    x[0] = lo.x, x[1] = lo.y, x[2] = lo.z, x[3] = lo.w;
    x[4] = hi.x, x[5] = hi.y, x[6] = hi.z, x[7] = hi.w;
  }
  static __device__ __forceinline__ void load8(float (&x)[8], const T *p) {
    const uint4 word = *reinterpret_cast<const uint4 *>(p);
    alignas(16) T element[8];
    memcpy(element, &word, sizeof word);
    const float4 lo = load4(element), hi = load4(element + 4);
    x[0] = lo.x, x[1] = lo.y, x[2] = lo.z, x[3] = lo.w;
    x[4] = hi.x, x[5] = hi.y, x[6] = hi.z, x[7] = hi.w;
  }

  /* Four keys for four rows: p points at the first row's weights, v at the first key's columns. */
  static __device__ __forceinline__ void accumulate(float (&acc)[4][8], const T *p, const T *v) {
    float4 weight[4];
#pragma unroll
    for (uint32_t r = 0; r < 4; ++r) weight[r] = load4(p + r * kWeightStride);
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      float x[8];
      load8(x, v + j * kv_stride(D));
#pragma unroll
      for (uint32_t r = 0; r < 4; ++r) {
        const float w = j == 0 ? weight[r].x : j == 1 ? weight[r].y : j == 2 ? weight[r].z : weight[r].w;
#pragma unroll
        for (uint32_t c = 0; c < 8; ++c) acc[r][c] = fmaf(w, x[c], acc[r][c]);
      }
    }
  }
};

/* A block of the variants without a pipeline: load K and V, wait, use them. grid (q tiles, Hq, B) */
template <typename T, uint32_t D, PvOn kPvOn>
__device__ __forceinline__ void attend_tiles(const Params &p, unsigned char *smem_base) {
  const Smem<T, D> smem = {smem_base};
  const uint32_t h = blockIdx.y, b = blockIdx.z, warp = threadIdx.x / kWarp;
  const uint32_t block_row = blockIdx.x * kRows, strip_row = block_row + warp * kFragment;
  const uint32_t strip_rows = rows_in_tile(p.Sq, strip_row, kFragment);
  const uint32_t block_rows = rows_in_tile(p.Sq, block_row, kRows);
  /* An empty strip's address stays inside the tensor, though nothing is read or written through it. */
  const size_t q_offset = row_offset(b, p.Hq, h, p.Sq, strip_rows ? strip_row : block_row, D);
  const size_t kv_offset = row_offset(b, p.Hkv, kv_head(p, h), p.Skv, 0, D);
  const T *k = static_cast<const T *>(p.k) + kv_offset, *v = static_cast<const T *>(p.v) + kv_offset;

  Strip<T, D, kPvOn> strip;
  strip.open(smem, 1, warp, static_cast<const T *>(p.q) + q_offset, strip_rows);
  const uint32_t row_keys = strip.row() < strip_rows ? visible_keys(p, strip_row + strip.row()) : 0;
  const uint32_t block_keys = visible_keys(p, block_row + block_rows - 1); /* the last row attends most */
  for (uint32_t first = 0; first < block_keys; first += kKeys) {
    const uint32_t keys = rows_in_tile(p.Skv, first, kKeys);
    const size_t offset = (size_t)first * D;
    __syncthreads(); /* orders all warps' reads of the previous K and V before they are overwritten */
    load_rows<T, D>(smem.k(0), kv_stride(D), k + offset, kKeys, keys, threadIdx.x, kComputeThreads);
    load_rows<T, D>(smem.v(0), kv_stride(D), v + offset, kKeys, keys, threadIdx.x, kComputeThreads);
    __syncthreads(); /* orders the stores of K and V before all warps' fragment loads */
    strip.attend(smem.k(0), smem.v(0), rows_in_tile(row_keys, first, kKeys), p.scale_log2);
  }
  strip.store(static_cast<T *>(p.o) + q_offset, strip_rows);
}

}  // namespace attn::wmma_tile
#endif

#endif
