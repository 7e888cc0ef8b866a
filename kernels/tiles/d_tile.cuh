/* The block tiles of `d_split`: two matrix products, each for fp32 on CUDA cores and for 16-bit types on tensor
 * cores.
 *
 *   scores  S[Rows][64] += Q[Rows][64 columns] K[64][64 columns]^T   one slab of 64 columns of D per call
 *   output  O[Rows][Cols] += P[Rows][32 keys] V[32 keys][Cols]       one stage of 32 keys per call
 *
 * How fast an fp32 product runs on CUDA cores depends on the reuse of operands: an SM multiplies 128 pairs per clock
 * but reads only 32 floats of shared memory. A thread therefore owns up to 8 x 8 results, which are 64
 * multiplications for 16 floats read, and reads them as 16-byte words along the row. Where the results of a tile give
 * too little work to all threads, the threads form groups that take every n-th step of the inner dimension; the
 * groups' results meet in shared memory in a fixed order.
 *
 * Shared memory serves a warp's 16-byte reads by quarter warps, two of them at a time when lanes i and i ^ 1, or i
 * and i ^ 2, always read the same word. The tiles of 16 rows, which are short of reuse, therefore lay out a warp as 4
 * rows by 8 columns with the lowest bit of the column in bit 0 of the lane and that of the row in bit 1: both
 * operands then cost two accesses of 128 bytes, not four. */
#ifndef ATTNBENCH_KERNELS_TILES_D_TILE_CUH
#define ATTNBENCH_KERNELS_TILES_D_TILE_CUH

#include "kernels/tiles/attn_params.cuh"

namespace attn::d_tile {

constexpr uint32_t kThreads = 256, kWarps = kThreads / 32;
constexpr uint32_t kSlab = 64;     /* columns of D per load stage of the scores */
constexpr uint32_t kKeys = 64;     /* keys per score tile */
constexpr uint32_t kVKeys = 32;    /* keys per load stage of V */
constexpr uint32_t kVStages = 2;   /* both start before the softmax, so V arrives behind it */
constexpr uint32_t kFragment = 16; /* WMMA shape: 16 x 16 x 16 */

/* Row strides in elements. 16 bytes of padding shift each row by four banks, so that eight neighbouring rows cover
 * all 32 banks with 16-byte reads. Rows of group results are shifted by eight banks: a warp writes 8 keys of 4 rows.
 */
constexpr ATTN_HD uint32_t padded(uint32_t columns, uint32_t element_bytes) { return columns + 16 / element_bytes; }
constexpr uint32_t kGroupStride = kKeys + 8;
constexpr uint32_t kScoreStride = kKeys + 4;

/* 64 rows of fp32 compute long enough on a slab to hide the next one's latency; 16 rows and a tensor core do not, so
 * that all four slabs of the largest chunk are on their way at once. */
constexpr ATTN_HD uint32_t score_stages(uint32_t rows, uint32_t element_bytes) {
  return element_bytes == 4 && rows == 64 ? 2 : 4;
}

/* Groups that share the inner dimension of the scores: in fp32 8 x 8 threads hold 32 or 64 rows and a warp holds 16,
 * so there are 4 and 8 groups; of 16-bit fragments 8 warps hold 2 of the 16 of 64 rows, or in 2 groups 2 of the 8 of
 * 32 rows or 1 of the 4 of 16 rows. */
constexpr ATTN_HD uint32_t score_groups(uint32_t rows, uint32_t element_bytes) {
  return element_bytes == 4 ? (rows == 16 ? 8 : 4) : rows == 64 ? 1 : 2;
}

/* ---- shared memory of the two passes --------------------------------------------------------------------------- */

constexpr ATTN_HD uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

constexpr ATTN_HD uint32_t score_stage_bytes(uint32_t rows, uint32_t element_bytes) {
  return (rows + kKeys) * padded(kSlab, element_bytes) * element_bytes;
}
/* The groups' results take the place of the last slabs. */
constexpr uint32_t score_smem_bytes(uint32_t rows, uint32_t element_bytes) {
  return larger(score_stages(rows, element_bytes) * score_stage_bytes(rows, element_bytes),
                score_groups(rows, element_bytes) * rows * kGroupStride * 4);
}

/* Scores of `key_tiles` tiles in fp32, which become the weights in place; 16-bit weights have their own copy. */
constexpr ATTN_HD uint32_t weight_stride(uint32_t element_bytes) { return padded(kKeys, element_bytes); }
constexpr ATTN_HD uint32_t tile_score_bytes(uint32_t rows) { return rows * kScoreStride * 4; }
constexpr ATTN_HD uint32_t tile_weight_bytes(uint32_t rows, uint32_t element_bytes) {
  return element_bytes == 4 ? 0 : rows * weight_stride(element_bytes) * element_bytes;
}
constexpr ATTN_HD uint32_t v_stage_bytes(uint32_t columns, uint32_t element_bytes) {
  return kVKeys * padded(columns, element_bytes) * element_bytes;
}
/* Tensor cores leave their results in shared memory, where tiles are no longer needed. */
constexpr ATTN_HD uint32_t staging_bytes(uint32_t rows, uint32_t columns, uint32_t element_bytes) {
  return element_bytes == 4 ? 0 : rows * padded(columns, 4) * 4;
}
constexpr uint32_t output_smem_bytes(uint32_t rows, uint32_t columns, uint32_t key_tiles, uint32_t element_bytes) {
  const uint32_t tiles = key_tiles * (tile_score_bytes(rows) + tile_weight_bytes(rows, element_bytes)) +
                         kVStages * v_stage_bytes(columns, element_bytes);
  return rows * 4 + larger(tiles, staging_bytes(rows, columns, element_bytes));
}

/* ---- shared memory of the one pass of a cluster ---------------------------------------------------------------- */

constexpr uint32_t kClusterRows = 16;    /* query rows of a cluster */
constexpr uint32_t kClusterSlabs = 4;    /* slabs of Q and K on their way at once: 256 columns */
constexpr uint32_t kClusterMax = 16;     /* blocks; each owns at least one row's softmax */
constexpr uint32_t kClusterPortable = 8; /* that every GPU with clusters can run */

/* Where each part starts, in bytes. Staged results of tensor cores take the place of the slabs, which are no longer
 * needed then; with one tile of keys the groups' results do so too. No more slabs are held than a block has: two
 * blocks of narrow chunks fit an SM. */
struct ClusterLayout {
  uint32_t v, results, received, weights, factors, barriers, end;
};
constexpr ATTN_HD ClusterLayout cluster_layout(uint32_t columns, uint32_t key_tiles, uint32_t element_bytes) {
  const uint32_t results = score_groups(kClusterRows, element_bytes) * kClusterRows * kGroupStride * 4;
  const uint32_t slabs = columns / kSlab * key_tiles;
  const uint32_t slab_bytes =
      (slabs < kClusterSlabs ? slabs : kClusterSlabs) * score_stage_bytes(kClusterRows, element_bytes);
  ClusterLayout at = {};
  at.v = key_tiles == 1 ? larger(slab_bytes, results) : slab_bytes;
  const uint32_t after_v = at.v + kVStages * v_stage_bytes(columns, element_bytes);
  at.results = key_tiles == 1 ? 0 : after_v;
  at.received = key_tiles == 1 ? after_v : after_v + results;
  at.weights = at.received + kClusterRows * key_tiles * kKeys * 4;
  at.factors = at.weights + key_tiles * kClusterRows * weight_stride(element_bytes) * element_bytes;
  at.barriers = at.factors + kClusterRows * 4;
  at.end = at.barriers + 2 * 8; /* mbarriers of scores and of weights received */
  return at;
}

static_assert(cluster_layout(256, 1, 4).end == 162128, "the header's budget in d_split.cu");
static_assert(kClusterRows * padded(256, 4) * 4 <= kClusterSlabs * score_stage_bytes(kClusterRows, 2),
              "staged results fit where the slabs were");

static_assert(score_smem_bytes(64, 4) == 73728, "the fp32 results of four groups; two stages of slabs are 69632");
static_assert(score_smem_bytes(64, 2) == 73728, "four stages of 16-bit slabs");
static_assert(score_smem_bytes(16, 4) == 87040, "four stages of fp32 slabs");
static_assert(output_smem_bytes(64, 256, 1, 4) == 84224, "the header's budget in d_split.cu");

}  // namespace attn::d_tile

#ifdef __CUDACC__
#include <mma.h>

#include "kernels/tiles/attn_device.cuh"
#include "kernels/tiles/ptx.cuh"

namespace attn::d_tile {

namespace frag = nvcuda::wmma;
constexpr int kF = (int)kFragment;

/* Starts copying a tile of Rows x Columns elements; `from` is its first element, which exists. Elements beyond
 * rows_valid and columns_valid (both multiples of 16 bytes) become zeros: they add nothing to a product. */
template <uint32_t Rows, uint32_t Columns, typename T>
__device__ __forceinline__ void load_async(T *tile, const T *from, uint32_t rows_valid, uint32_t columns_valid,
                                           uint32_t D) {
  constexpr uint32_t kElements = 16 / sizeof(T), kPieces = Columns / kElements, kStep = kThreads / kPieces;
  static_assert(kThreads % kPieces == 0, "a thread stays in its column");
  const uint32_t row = threadIdx.x / kPieces, column = threadIdx.x % kPieces * kElements;
  const uint32_t rows = column < columns_valid ? rows_valid : 0;
  const T *source = from + (size_t)row * D + column;
  const size_t step = (size_t)kStep * D;
  T *to = tile + row * padded(Columns, sizeof(T)) + column;
#pragma unroll
  for (uint32_t n = 0; n < ceil_div(Rows, kStep); ++n, source += step) {
    if (Rows % kStep != 0 && row + n * kStep >= Rows) break;
    const bool valid = row + n * kStep < rows;
    ptx::cp_async_16(to + n * kStep * padded(Columns, sizeof(T)), valid ? source : from, valid);
  }
}

/* ---- fp32 on CUDA cores --------------------------------------------------------------------------------------- */

__device__ __forceinline__ float dot4(float4 a, float4 b, float sum) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

/* The place of a lane among 4 rows x 8 columns of threads, interleaved as the top of this file says. */
__device__ __forceinline__ uint32_t lane_row() { return (threadIdx.x >> 1 & 1) | (threadIdx.x >> 3 & 2); }
__device__ __forceinline__ uint32_t lane_column() { return (threadIdx.x & 1) | (threadIdx.x >> 1 & 6); }

/* Thread (row, key) of an 8 x 8 group owns rows row + 8 i and keys key + 8 j; a warp is 4 rows x 8 keys of them. */
template <uint32_t Rows>
struct SimtScores {
  static constexpr uint32_t kOwnRows = Rows / 8, kOwnKeys = kKeys / 8, kStride = padded(kSlab, 4);
  static constexpr uint32_t kGroups = score_groups(Rows, 4);
  float acc[kOwnRows][kOwnKeys];
  uint32_t group, row, key;

  __device__ __forceinline__ void open() {
    group = threadIdx.x / 64, row = threadIdx.x / kWarp % 2 * 4 + lane_row(), key = lane_column();
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i)
#pragma unroll
      for (uint32_t j = 0; j < kOwnKeys; ++j) acc[i][j] = 0.0f;
  }

  /* The next step's operands are on their way while one is multiplied: a warp has only one other to hide behind. */
  __device__ __forceinline__ void add(const float *q_tile, const float *k_tile, uint32_t = kKeys) {
    const uint32_t first = group * 4;
    const float *q_rows = q_tile + row * kStride, *k_rows = k_tile + key * kStride;
    float4 q[kOwnRows], k[kOwnKeys];
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i) q[i] = load4(q_rows + i * 8 * kStride + first);
#pragma unroll
    for (uint32_t j = 0; j < kOwnKeys; ++j) k[j] = load4(k_rows + j * 8 * kStride + first);
#pragma unroll
    for (uint32_t column = 0; column < kSlab; column += kGroups * 4) {
      const uint32_t next = (column + kGroups * 4) % kSlab + first;
      const bool last = column + kGroups * 4 >= kSlab;
      float4 next_q[kOwnRows];
#pragma unroll
      for (uint32_t i = 0; i < kOwnRows && !last; ++i) next_q[i] = load4(q_rows + i * 8 * kStride + next);
#pragma unroll
      for (uint32_t j = 0; j < kOwnKeys; ++j) {
#pragma unroll
        for (uint32_t i = 0; i < kOwnRows; ++i) acc[i][j] = dot4(q[i], k[j], acc[i][j]);
        if (!last) k[j] = load4(k_rows + j * 8 * kStride + next);
      }
#pragma unroll
      for (uint32_t i = 0; i < kOwnRows && !last; ++i) q[i] = next_q[i];
    }
  }

  /* results: [kGroups][Rows][kGroupStride] */
  __device__ __forceinline__ void store(float *results) const {
    float *to = results + (group * Rows + row) * kGroupStride + key;
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i)
#pragma unroll
      for (uint32_t j = 0; j < kOwnKeys; ++j) to[i * 8 * kGroupStride + j * 8] = acc[i][j];
  }
};

/* 16 rows are one warp's: lane (row, key) owns rows row + 4 i and keys key + 8 j, and each warp takes every eighth
 * word of the columns. */
template <>
struct SimtScores<16> {
  static constexpr uint32_t kOwnRows = 4, kOwnKeys = kKeys / 8, kFewKeys = 2, kStride = padded(kSlab, 4);
  static constexpr uint32_t kGroups = score_groups(16, 4);
  static_assert(kGroups == kWarps, "a group is a warp");
  float acc[kOwnRows][kOwnKeys];
  uint32_t group, row, key;

  __device__ __forceinline__ void open() {
    group = threadIdx.x / kWarp, row = lane_row(), key = lane_column();
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i)
#pragma unroll
      for (uint32_t j = 0; j < kOwnKeys; ++j) acc[i][j] = 0.0f;
  }

  template <uint32_t Keys>
  __device__ __forceinline__ void add_keys(const float *q_tile, const float *k_tile) {
    const float *q_rows = q_tile + row * kStride, *k_rows = k_tile + key * kStride;
#pragma unroll
    for (uint32_t step = 0; step < kSlab / 4 / kGroups; ++step) {
      const uint32_t column = (step * kGroups + group) * 4;
      float4 q[kOwnRows];
#pragma unroll
      for (uint32_t i = 0; i < kOwnRows; ++i) q[i] = load4(q_rows + i * 4 * kStride + column);
#pragma unroll
      for (uint32_t j = 0; j < Keys; ++j) {
        const float4 k = load4(k_rows + j * 8 * kStride + column);
#pragma unroll
        for (uint32_t i = 0; i < kOwnRows; ++i) acc[i][j] = dot4(q[i], k, acc[i][j]);
      }
    }
  }

  /* Scores of the first `keys` keys; the others may stay as they are. */
  __device__ __forceinline__ void add(const float *q_tile, const float *k_tile, uint32_t keys = kKeys) {
    if (keys <= kFewKeys * 8)
      add_keys<kFewKeys>(q_tile, k_tile);
    else
      add_keys<kOwnKeys>(q_tile, k_tile);
  }

  /* results: [kGroups][16][kGroupStride] */
  __device__ __forceinline__ void store(float *results) const {
    float *to = results + (group * 16 + row) * kGroupStride + key;
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i)
#pragma unroll
      for (uint32_t j = 0; j < kOwnKeys; ++j) to[i * 4 * kGroupStride + j * 8] = acc[i][j];
  }
};

__device__ __forceinline__ void add_scaled(float4 &sum, float weight, float4 x) {
  sum.x = fmaf(weight, x.x, sum.x), sum.y = fmaf(weight, x.y, sum.y);
  sum.z = fmaf(weight, x.z, sum.z), sum.w = fmaf(weight, x.w, sum.w);
}

/* A thread owns words of four neighbouring columns, 128 columns apart, of rows kRowThreads apart: a warp reads a row
 * of V as consecutive words and a weight as a broadcast. */
template <uint32_t Rows, uint32_t Columns>
struct SimtOutput {
  static constexpr uint32_t kColumnThreads = Columns / 4 < 32 ? Columns / 4 : 32;
  static constexpr uint32_t kRowThreads = kThreads / kColumnThreads;
  static constexpr uint32_t kOwnWords = Columns / 4 / kColumnThreads, kOwnRows = Rows / kRowThreads;
  static constexpr uint32_t kVStride = padded(Columns, 4), kWeights = weight_stride(4);
  float4 acc[kOwnRows][kOwnWords];
  uint32_t row, word;

  __device__ __forceinline__ void open() {
    row = threadIdx.x / kColumnThreads, word = threadIdx.x % kColumnThreads;
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i)
#pragma unroll
      for (uint32_t c = 0; c < kOwnWords; ++c) acc[i][c] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }

  /* The weights of keys from `keys` on are zero. Operands of the next step are on their way, as above. */
  __device__ __forceinline__ void add(const float *weights, const float *v_tile, uint32_t = kVKeys) {
    const float *weight = weights + row * kWeights, *values = v_tile + word * 4;
    float4 v[4][kOwnWords], w[kOwnRows];
    load_values(v, values);
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i) w[i] = load4(weight + i * kRowThreads * kWeights);
#pragma unroll 2
    for (uint32_t key = 0; key < kVKeys; key += 4) {
      const uint32_t next = key + 4 < kVKeys ? key + 4 : 0;
      float4 next_v[4][kOwnWords];
      load_values(next_v, values + next * kVStride);
#pragma unroll
      for (uint32_t i = 0; i < kOwnRows; ++i) {
#pragma unroll
        for (uint32_t c = 0; c < kOwnWords; ++c) {
          add_scaled(acc[i][c], w[i].x, v[0][c]), add_scaled(acc[i][c], w[i].y, v[1][c]);
          add_scaled(acc[i][c], w[i].z, v[2][c]), add_scaled(acc[i][c], w[i].w, v[3][c]);
        }
        w[i] = load4(weight + i * kRowThreads * kWeights + next);
      }
#pragma unroll
      for (uint32_t j = 0; j < 4; ++j)
#pragma unroll
        for (uint32_t c = 0; c < kOwnWords; ++c) v[j][c] = next_v[j][c];
    }
  }

  /* Of four keys. */
  __device__ __forceinline__ void load_values(float4 (&v)[4][kOwnWords], const float *from) const {
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j)
#pragma unroll
      for (uint32_t c = 0; c < kOwnWords; ++c) v[j][c] = load4(from + j * kVStride + c * kColumnThreads * 4);
  }

  /* o: the tile's first element; row r is scaled by factors[r]. The staging area stays unused. */
  __device__ __forceinline__ void store(float *o, const float *factors, float *, uint32_t rows, uint32_t columns,
                                        uint32_t D) const {
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i) {
      const uint32_t r = row + i * kRowThreads;
      if (r >= rows) continue;
#pragma unroll
      for (uint32_t c = 0; c < kOwnWords; ++c) {
        const uint32_t column = (word + c * kColumnThreads) * 4;
        const float4 x = acc[i][c];
        const float f = factors[r];
        if (column < columns)
          *reinterpret_cast<float4 *>(o + (size_t)r * D + column) = make_float4(x.x * f, x.y * f, x.z * f, x.w * f);
      }
    }
  }
};

/* 16 rows: a warp is 4 rows x 8 words of four columns, and a thread owns one word of every kRowThreads-th row. */
template <uint32_t Columns>
struct SimtOutput<16, Columns> {
  static constexpr uint32_t kColumnWarps = Columns / 4 / 8, kRowThreads = kWarps / kColumnWarps * 4;
  static constexpr uint32_t kOwnRows = 16 / kRowThreads;
  static constexpr uint32_t kVStride = padded(Columns, 4), kWeights = weight_stride(4);
  static_assert(kOwnRows * kRowThreads == 16 && kColumnWarps * kRowThreads / 4 == kWarps,
                "each result has one owner");
  float4 acc[kOwnRows];
  uint32_t row, column;

  __device__ __forceinline__ void open() {
    const uint32_t warp = threadIdx.x / kWarp;
    row = warp / kColumnWarps * 4 + lane_row(), column = (warp % kColumnWarps * 8 + lane_column()) * 4;
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i) acc[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }

  __device__ __forceinline__ void add(const float *weights, const float *v_tile, uint32_t keys = kVKeys) {
    const float *weight = weights + row * kWeights, *values = v_tile + column;
    if (keys < kVKeys) {
#pragma unroll 1
      for (uint32_t key = 0; key < keys; key += 4) add_keys(weight + key, values + key * kVStride);
    } else {
#pragma unroll
      for (uint32_t key = 0; key < kVKeys; key += 4) add_keys(weight + key, values + key * kVStride);
    }
  }

  /* Four keys. */
  __device__ __forceinline__ void add_keys(const float *weight, const float *values) {
    float4 v[4], w[kOwnRows];
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) v[j] = load4(values + j * kVStride);
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i) w[i] = load4(weight + i * kRowThreads * kWeights);
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i) {
      add_scaled(acc[i], w[i].x, v[0]), add_scaled(acc[i], w[i].y, v[1]);
      add_scaled(acc[i], w[i].z, v[2]), add_scaled(acc[i], w[i].w, v[3]);
    }
  }

  __device__ __forceinline__ void store(float *o, const float *factors, float *, uint32_t rows, uint32_t columns,
                                        uint32_t D) const {
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i) {
      const uint32_t r = row + i * kRowThreads;
      if (r >= rows || column >= columns) continue;
      const float4 x = acc[i];
      const float f = factors[r];
      *reinterpret_cast<float4 *>(o + (size_t)r * D + column) = make_float4(x.x * f, x.y * f, x.z * f, x.w * f);
    }
  }
};

/* ---- 16-bit types on tensor cores ----------------------------------------------------------------------------- */

template <typename T, uint32_t Rows>
struct WmmaScores {
  static constexpr uint32_t kGroups = score_groups(Rows, 2), kGroupWarps = kWarps / kGroups;
  static constexpr uint32_t kRowTiles = Rows / kFragment;
  static constexpr uint32_t kOwn = kRowTiles * (kKeys / kFragment) / kGroupWarps; /* fragments of neighbouring keys */
  static constexpr uint32_t kStride = padded(kSlab, 2);
  frag::fragment<frag::accumulator, kF, kF, kF, float> acc[kOwn];
  uint32_t group, row, key;

  __device__ __forceinline__ void open() {
    const uint32_t warp = threadIdx.x / kWarp, member = warp % kGroupWarps;
    group = warp / kGroupWarps;
    row = member % kRowTiles * kFragment, key = member / kRowTiles * kOwn * kFragment;
#pragma unroll
    for (uint32_t n = 0; n < kOwn; ++n) frag::fill_fragment(acc[n], 0.0f);
  }

  __device__ __forceinline__ void add(const T *q_tile, const T *k_tile, uint32_t = kKeys) {
#pragma unroll
    for (uint32_t step = 0; step < kSlab / kFragment / kGroups; ++step) {
      const uint32_t column = (step * kGroups + group) * kFragment;
      frag::fragment<frag::matrix_a, kF, kF, kF, T, frag::row_major> q;
      frag::load_matrix_sync(q, q_tile + row * kStride + column, kStride);
#pragma unroll
      for (uint32_t n = 0; n < kOwn; ++n) {
        frag::fragment<frag::matrix_b, kF, kF, kF, T, frag::col_major> k;
        frag::load_matrix_sync(k, k_tile + (key + n * kFragment) * kStride + column, kStride);
        frag::mma_sync(acc[n], q, k, acc[n]);
      }
    }
  }

  __device__ __forceinline__ void store(float *results) const {
    float *to = results + (group * Rows + row) * kGroupStride + key;
#pragma unroll
    for (uint32_t n = 0; n < kOwn; ++n)
      frag::store_matrix_sync(to + n * kFragment, acc[n], kGroupStride, frag::mem_row_major);
  }
};

template <typename T, uint32_t Rows, uint32_t Columns>
struct WmmaOutput {
  static constexpr uint32_t kRowTiles = Rows / kFragment, kColumnTiles = Columns / kFragment;
  static constexpr uint32_t kColumnWarps = kColumnTiles < kWarps ? kColumnTiles : kWarps;
  static constexpr uint32_t kRowWarps = kWarps / kColumnWarps < kRowTiles ? kWarps / kColumnWarps : kRowTiles;
  static constexpr uint32_t kOwnColumns = kColumnTiles / kColumnWarps, kOwnRows = kRowTiles / kRowWarps;
  static constexpr uint32_t kVStride = padded(Columns, 2), kWeights = weight_stride(2), kStaging = padded(Columns, 4);
  frag::fragment<frag::accumulator, kF, kF, kF, float> acc[kOwnRows][kOwnColumns];
  uint32_t row, column;
  bool works; /* 16 x 64 results are four fragments for eight warps */

  __device__ __forceinline__ void open() {
    const uint32_t warp = threadIdx.x / kWarp;
    works = warp < kColumnWarps * kRowWarps;
    column = warp % kColumnWarps * kOwnColumns * kFragment, row = warp / kColumnWarps * kOwnRows * kFragment;
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i)
#pragma unroll
      for (uint32_t c = 0; c < kOwnColumns; ++c) frag::fill_fragment(acc[i][c], 0.0f);
  }

  __device__ __forceinline__ void add(const T *weights, const T *v_tile, uint32_t = kVKeys) {
    if (!works) return; /* a whole warp */
#pragma unroll
    for (uint32_t key = 0; key < kVKeys; key += kFragment) {
      frag::fragment<frag::matrix_b, kF, kF, kF, T, frag::row_major> v[kOwnColumns];
#pragma unroll
      for (uint32_t c = 0; c < kOwnColumns; ++c)
        frag::load_matrix_sync(v[c], v_tile + key * kVStride + column + c * kFragment, kVStride);
#pragma unroll
      for (uint32_t i = 0; i < kOwnRows; ++i) {
        frag::fragment<frag::matrix_a, kF, kF, kF, T, frag::row_major> w;
        frag::load_matrix_sync(w, weights + (row + i * kFragment) * kWeights + key, kWeights);
#pragma unroll
        for (uint32_t c = 0; c < kOwnColumns; ++c) frag::mma_sync(acc[i][c], w, v[c], acc[i][c]);
      }
    }
  }

  /* staging: [Rows][kStaging], which the caller no longer reads or writes as anything else. */
  __device__ __forceinline__ void store(T *o, const float *factors, float *staging, uint32_t rows, uint32_t columns,
                                        uint32_t D) const {
#pragma unroll
    for (uint32_t i = 0; works && i < kOwnRows; ++i)
#pragma unroll
      for (uint32_t c = 0; c < kOwnColumns; ++c)
        frag::store_matrix_sync(staging + (row + i * kFragment) * kStaging + column + c * kFragment, acc[i][c],
                                kStaging, frag::mem_row_major);
    __syncthreads(); /* orders the stores of all warps before the row-wise reads */
    for (uint32_t i = threadIdx.x; i < Rows * Columns / 8; i += kThreads) {
      const uint32_t r = i / (Columns / 8), first = i % (Columns / 8) * 8;
      if (r >= rows || first >= columns) continue;
      const float4 lo = load4(staging + r * kStaging + first), hi = load4(staging + r * kStaging + first + 4);
      const float f = factors[r];
      const float x[8] = {lo.x * f, lo.y * f, lo.z * f, lo.w * f, hi.x * f, hi.y * f, hi.z * f, hi.w * f};
      store8(o + (size_t)r * D + first, x);
    }
  }
};

/* ---- which product a type takes ------------------------------------------------------------------------------- */

template <typename T, uint32_t Rows>
struct ScoresOf {
  using type = WmmaScores<T, Rows>;
};
template <uint32_t Rows>
struct ScoresOf<float, Rows> {
  using type = SimtScores<Rows>;
};
template <typename T, uint32_t Rows, uint32_t Columns>
struct OutputOf {
  using type = WmmaOutput<T, Rows, Columns>;
};
template <uint32_t Rows, uint32_t Columns>
struct OutputOf<float, Rows, Columns> {
  using type = SimtOutput<Rows, Columns>;
};

}  // namespace attn::d_tile

#endif
#endif
