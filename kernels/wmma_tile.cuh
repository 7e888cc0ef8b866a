/* The tensor-core tile that `wmma`, `cp_async` and `split_kv` share: 64 query rows against 64 keys at a time, by four
 * warps of 16 rows each. A warp needs nothing from the other three but the K and V tiles, so all synchronisation in
 * here is within a warp; when K and V may be read or overwritten is the kernel's business.
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
#ifndef ATTNBENCH_KERNELS_WMMA_TILE_CUH
#define ATTNBENCH_KERNELS_WMMA_TILE_CUH

#include "kernels/attn_params.cuh"

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

/* What all three variants ask of a shape and a device. */
inline const char *check(const attn_shape &shape, const device_info &device, uint32_t smem) {
  if (shape.dtype == ATTN_F32) return "dtype must be f16 or bf16: WMMA has no fp32 inputs";
  if (shape.D != 64 && shape.D != 128) return "D must be 64 or 128";
  if (const char *grid = check_grid_hb(shape)) return grid;
  return check_device(device, smem);
}

}  // namespace attn::wmma_tile

#ifdef __CUDACC__
#include <mma.h>

#include "kernels/attn_device.cuh"
#include "kernels/ptx.cuh"

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

/* One warp's 16 query rows and their running softmax. */
template <typename T, uint32_t D>
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
    const float rescale = soften(visible, scale_log2);
    if (__any_sync(kFullWarp, rescale != 1.0f)) scale_out(rescale);
    __syncwarp(); /* orders the stores of P and O before the fragment loads */
    multiply_pv(v_tile);
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
  __device__ __forceinline__ float soften(uint32_t visible, float scale_log2) {
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
};

}  // namespace attn::wmma_tile
#endif

#endif
