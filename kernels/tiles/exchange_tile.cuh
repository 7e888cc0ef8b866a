/* The tile of `d_split`, path=3: the blocks of a q tile have a chunk of D each, and exchange packets (ring_tile.cuh)
 * through global memory, so that no cluster has to find room. For one tile of keys.
 *
 *   1. A block computes its part of the scores, of all rows of the q tile, and sends each row to the block that owns
 *   it. 2. An owner adds the parts of its rows in a fixed order, and sends their weights to all blocks.
 *   3. Each block multiplies the weights with its columns of V.
 *
 * A packet is 16 bytes: four scores or weights of a row. A block that waits for a packet keeps its SM, so all blocks
 * of a q tile must run at once. */
#ifndef ATTNBENCH_KERNELS_EXCHANGE_TILE_CUH
#define ATTNBENCH_KERNELS_EXCHANGE_TILE_CUH

#include "kernels/tiles/d_tile.cuh"
#include "kernels/tiles/ring_tile.cuh"

namespace attn::exchange_tile {

constexpr uint32_t kMaxRows = 64;                      /* of a q tile: 16, 32 or 64 */
constexpr uint32_t kWords = d_tile::kKeys / 4;         /* packets of a row */
constexpr uint32_t kSlots = d_tile::kThreads / kWords; /* rows whose packets a block reads at once */
constexpr uint32_t kFan = 4;                           /* packets that a thread reads at once */

/* Of a block, parts of scores that it sends, and weights that it receives. */
constexpr ATTN_HD uint32_t packets(uint32_t rows) { return rows * kWords; }

/* Shared memory: all slabs of Q and K and all of V are on their way at once. Results of the groups, sums of parts,
 * and staged results of tensor cores take the place of the slabs one after the other. */
struct Layout {
  uint32_t v, weights, factors, end;
};
constexpr ATTN_HD Layout layout(uint32_t rows, uint32_t columns, uint32_t element_bytes) {
  using namespace d_tile;
  const uint32_t slabs = columns / kSlab * score_stage_bytes(rows, element_bytes);
  const uint32_t results = score_groups(rows, element_bytes) * rows * kGroupStride * 4;
  Layout at = {};
  at.v = larger(larger(slabs, results), staging_bytes(rows, columns, element_bytes));
  at.weights = at.v + kVStages * v_stage_bytes(columns, element_bytes);
  at.factors = at.weights + rows * weight_stride(element_bytes) * element_bytes;
  at.end = at.factors + rows * 4;
  return at;
}

static_assert(layout(64, 256, 4).end == 223488, "the header's budget in d_split.cu");
static_assert(d_tile::kKeys == d_tile::kVStages * d_tile::kVKeys, "the stages of V hold a tile of keys");

#ifdef __CUDACC__

using namespace d_tile;

/* The tensors at a block's first row and column, and how much of them is its own. */
template <typename T>
struct Tensors {
  const T *q, *k, *v;
  uint32_t rows, keys, columns, D;
};

/* Starts all loads of a block: each slab of Q and K and each stage of V is one group of copies. */
template <typename T, uint32_t Rows, uint32_t Columns>
__device__ __forceinline__ void load_all(const Tensors<T> &t, T *slabs, T *v_tiles) {
  constexpr uint32_t kSlabElements = (Rows + kKeys) * padded(kSlab, sizeof(T));
#pragma unroll
  for (uint32_t slab = 0; slab < Columns / kSlab; ++slab) {
    const uint32_t first = slab * kSlab;
    T *to = slabs + slab * kSlabElements;
    if (first < t.columns) {
      load_async<Rows, kSlab>(to, t.q + first, t.rows, t.columns - first, t.D);
      load_async<kKeys, kSlab>(to + Rows * padded(kSlab, sizeof(T)), t.k + first, t.keys, t.columns - first, t.D);
    }
    ptx::cp_async_commit();
  }
#pragma unroll
  for (uint32_t key = 0; key < kKeys; key += kVKeys) {
    if (key < t.keys)
      load_async<kVKeys, Columns>(v_tiles + key * padded(Columns, sizeof(T)), t.v + (size_t)key * t.D, t.keys - key,
                                  t.columns, t.D);
    ptx::cp_async_commit();
  }
}

/* This block's part of the scores, by groups, in `results`. */
template <typename Scores, typename T, uint32_t Rows, uint32_t Columns>
__device__ __forceinline__ void part_of_scores(const T *slabs, float *results, uint32_t columns, uint32_t keys) {
  constexpr uint32_t kSlabElements = (Rows + kKeys) * padded(kSlab, sizeof(T));
  Scores scores;
  scores.open();
  for (uint32_t column = 0; column < columns; column += kSlab, slabs += kSlabElements) {
    ptx::cp_async_wait<(int)(Columns / kSlab + kVStages - 1)>();
    __syncthreads();        /* orders all threads' copies of this slab before the reads */
    ptx::cp_async_commit(); /* of nothing, so that the next slab's group has the same age */
    scores.add(slabs, slabs + Rows * padded(kSlab, sizeof(T)), keys);
  }
  __syncthreads(); /* orders the reads of the slabs before the results overwrite them */
  scores.store(results);
  __syncthreads(); /* orders the groups' results before they are added */
}

/* Waits for packets, `step` apart, of which the first `valid` are expected, and empties their places in the buffer.
 * */
__device__ __forceinline__ void receive_all(float4 (&x)[kFan], float4 *from, size_t step, uint32_t valid) {
  bool missing;
  do {
    missing = false;
#pragma unroll
    for (uint32_t n = 0; n < kFan; ++n) {
      x[n] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (n < valid) x[n] = ring_tile::receive(from + n * step);
    }
#pragma unroll
    for (uint32_t n = 0; n < kFan; ++n) missing |= n < valid && ring_tile::is_empty(x[n]);
  } while (missing);
#pragma unroll
  for (uint32_t n = 0; n < kFan; ++n)
    if (n < valid) from[n * step] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

/* Adds the groups' results of the block's part of the scores and sends the sums. */
template <uint32_t Rows, uint32_t Groups>
__device__ __forceinline__ void send_scores(float4 *to, const float *results) {
#pragma unroll
  for (uint32_t i = threadIdx.x; i < packets(Rows); i += kThreads) {
    const uint32_t row = i / kWords, key = i % kWords * 4;
    float4 sum = load4(results + row * kGroupStride + key);
#pragma unroll
    for (uint32_t group = 1; group < Groups; ++group)
      add_scaled(sum, 1.0f, load4(results + (group * Rows + row) * kGroupStride + key));
    ring_tile::send(to + i, sum);
  }
}

/* The sum of all parts of up to 16 rows from row `first` on, by slots of 16 threads that share the parts of a row. */
template <uint32_t Rows>
__device__ __forceinline__ void add_parts(float *sums, float4 *buffer, uint32_t first, uint32_t rows_log2,
                                          uint32_t chunks) {
  const uint32_t slot = threadIdx.x / kWords, word = threadIdx.x % kWords;
  const uint32_t row = first + (slot & ((1u << rows_log2) - 1)), sharers = kSlots >> rows_log2;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (uint32_t part = slot >> rows_log2; part < chunks; part += sharers * kFan) {
    float4 x[kFan];
    receive_all(x, buffer + (size_t)part * packets(Rows) + row * kWords + word, (size_t)sharers * packets(Rows),
                ceil_div(chunks - part, sharers));
#pragma unroll
    for (uint32_t n = 0; n < kFan; ++n) add_scaled(sum, 1.0f, x[n]);
  }
  *reinterpret_cast<float4 *>(sums + slot * kKeys + word * 4) = sum;
}

/* A warp: the normalised weights of row `row` of the problem, from its sharers' sums, into the first of them. */
__device__ __forceinline__ void row_weights(const Params &p, float *sums, uint32_t row, uint32_t rows_log2) {
  const uint32_t key = threadIdx.x % kWarp * 2, keys = visible_keys(p, row);
  float2 score = make_float2(0.0f, 0.0f);
#pragma unroll
  for (uint32_t n = 0; n < kSlots; ++n) { /* unrolled, so that no load waits for another */
    float2 x = make_float2(0.0f, 0.0f);
    if (n < kSlots >> rows_log2) x = *reinterpret_cast<const float2 *>(sums + (n << rows_log2) * kKeys + key);
    score.x += x.x, score.y += x.y;
  }
  if (key >= keys) score.x = minus_infinity();
  if (key + 1 >= keys) score.y = minus_infinity();
  const float max = warp_max(fmaxf(score.x, score.y));
  const float base = max == minus_infinity() ? 0.0f : max; /* a row without keys: all weights are 2^-inf = 0 */
  const float x = ptx::ex2((score.x - base) * p.scale_log2);
  const float y = ptx::ex2((score.y - base) * p.scale_log2);
  const float sum = warp_sum(x + y), factor = sum > 0.0f ? 1.0f / sum : 0.0f;
  *reinterpret_cast<float2 *>(sums + key) = make_float2(x * factor, y * factor);
}

/* The weights of the rows that this chunk's block owns, to all blocks of the q tile; score_packets and
 * weight_packets: of the first block. */
template <uint32_t Rows>
__device__ __forceinline__ void send_weights(const Params &p, float *sums, float4 *score_packets,
                                             float4 *weight_packets, uint32_t row0, uint32_t chunk, uint32_t chunks,
                                             uint32_t own_rows_log2) {
  const uint32_t rows_log2 = min(own_rows_log2, 4u), own = chunk << own_rows_log2;
  const uint32_t end = min(own + (1u << own_rows_log2), Rows);
  for (uint32_t first = own; first < end; first += 1u << rows_log2) {
    add_parts<Rows>(sums, score_packets, first, rows_log2, chunks);
    __syncthreads(); /* orders the sharers' sums before they are added */
    for (uint32_t row = threadIdx.x / kWarp; row < 1u << rows_log2; row += kWarps)
      row_weights(p, sums + row * kKeys, row0 + first + row, rows_log2);
    __syncthreads(); /* orders the weights before they are sent */
    for (uint32_t i = threadIdx.x; i < (chunks * kWords) << rows_log2; i += kThreads) {
      const uint32_t word = i % (kWords << rows_log2), to = i / (kWords << rows_log2);
      ring_tile::send(weight_packets + (size_t)to * packets(Rows) + first * kWords + word, load4(sums + word * 4));
    }
    __syncthreads(); /* orders the reads of the weights before the next rows' sums overwrite them */
  }
}

template <typename T, uint32_t Rows>
__device__ __forceinline__ void receive_weights(T *weights, float *factors, float4 *buffer) {
  constexpr uint32_t kOwn = packets(Rows) / kThreads;
  static_assert(kOwn * kThreads == packets(Rows) && kOwn <= kFan, "a thread has up to kFan packets");
  float4 x[kFan];
  receive_all(x, buffer + threadIdx.x, kThreads, kOwn);
#pragma unroll
  for (uint32_t n = 0; n < kOwn; ++n) {
    const uint32_t row = threadIdx.x / kWords + n * kSlots, key = threadIdx.x % kWords * 4;
    T *to = weights + row * weight_stride(sizeof(T)) + key;
    to[0] = from_float<T>(x[n].x), to[1] = from_float<T>(x[n].y);
    to[2] = from_float<T>(x[n].z), to[3] = from_float<T>(x[n].w);
  }
  if (threadIdx.x < Rows) factors[threadIdx.x] = 1.0f;
  ptx::cp_async_wait<0>();
  __syncthreads(); /* orders all threads' copies of V, and the weights and factors, before the reads */
}

#endif

}  // namespace attn::exchange_tile

#endif
