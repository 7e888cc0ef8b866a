/* d_split: attention for very large head dimensions, with D split over blocks and many queries per block.
 *
 * Idea: a head of D = 8192 with 64 queries is one q tile, so a grid over q tiles is one block per head.
 *   Here a block takes a chunk of D.
 *   path=1, passes: chunks of 64 to 256 columns. Pass "scores": each chunk's part of Q K^T, 64 keys at a
 *   time, to the workspace. Pass "sum": adds the parts of many chunks, element by element; up to `fused`
 *   parts are added by the next pass itself. Pass "output": softmax of a q tile's rows over all keys
 *   (repeated by every chunk: 4096 exponentials), times the chunk's columns of V. A pass may start early:
 *   "output" then asks for its first columns of V while "scores" runs.
 *   path=2, clusters: the chunks of 16 queries are the blocks of one cluster, which write to each other's
 *   shared memory, so that one pass does all. Block r of 8 receives all parts of rows 2 r and 2 r + 1,
 *   adds them, and sends the two rows' weights to all blocks, each of which multiplies them with its
 *   columns of V. Every load that fits is on its way before the first product.
 *   path=3, exchange (kernels/tiles/exchange_tile.cuh): as path=2, but the blocks exchange parts and weights
 *   through L2, in packets whose data is its own flag. So no block waits for a barrier or a counter, no cluster
 *   has to find a group of SMs, and a q tile may have 64 rows and any number of chunks. For up to 64 keys. The
 *   packets' buffers are in the part of the workspace that is zero before a launch and after it. A launch that is
 *   aborted loses the process's context, and the buffers with it. Launches with workspaces of their own may run at
 *   once, in two streams, as long as the GPU starts all blocks of one launch before those of the other.
 *
 * Source: split-K matrix products, applied to both products of attention: D is the inner dimension of the
 *   first and an outer one of the second. All sums have a fixed order: the same bits in each run.
 *
 * Can win: where B * Hq * Sq / 64 blocks leave SMs idle and D is large: B = 1, H = 4, Sq = 64 are 4 blocks
 *   without the split and 128 with it. K and V are read once per tile of 16, 32 or 64 queries, not once per query.
 *
 * Cannot: win for D up to 128, where one block holds whole rows; or for long keys, whose scores would not
 *   fit: the parts take chunks * 4 bytes per (query, key) of workspace. Clusters need compute capability
 *   9.0, the exchange through L2 all blocks of the launch on the GPU at once.
 *
 * Which path: measured, H200, hot, B = 1, H = 4, Sq = Skv, us; exch. is the exchange with its best tile:
 *
 *               fp32, 64 queries      fp32, 32        fp32, 16        16-bit, 64      16-bit, 32     16-bit, 16
 *       D     passes clusters exch. clust. exch.    clust. exch.    clust. exch.    clust. exch.   clust. exch.
 *       512     6.2    5.9   5.2      3.8   4.5       3.3   4.2       4.3   4.2       3.4   4.0      3.4   4.1
 *       1024    7.7    8.2   6.5                      3.8   4.4       5.1   5.0                      3.7   4.3
 *       2048    9.8   15.3   8.4      6.6   5.7       5.1   4.6       6.9   5.8       4.7   4.7      4.6   4.5
 *       4096   16.6   26.3  13.1     10.8   7.4       7.7   5.1      11.2   7.1       6.9   5.4      6.8   4.8
 *       8192   26.6   48.8  22.8     19.2  11.5      13.1   6.2      19.7   9.8      11.7   6.6     11.4   5.5
 *
 *   (fp32 with 64 queries: clusters of 8; those of 4 take 5.3, 8.2, 13.8 up to D = 2048.) Cold, packets come from
 *   memory: the exchange takes up to 2.1 more than the best of the others up to D = 2048, and from 4096 on between
 *   0.4 more and 5 less.
 *   So with up to 64 keys clusters are taken for up to 256 columns in a block and 32 queries, or 128 columns and 64
 *   queries, and the exchange for all else that fits the GPU at once. With more keys clusters are taken for up to 256
 *   columns in a block and one q tile in fp32, up to four in 16-bit types. What is left, and compute capabilities
 *   below 9.0, where clusters do not exist and the exchange was not measured, takes passes: each of the 2 or 3
 *   launches costs about 1 us, and an early start costs fp32 with 64 rows more than it gains (D = 2048: 12.4 ->
 *   17.1), as its blocks leave no registers for another on their SM.
 *   16 clusters of fp32 with 64 queries are a second wave: an H200 holds 15 clusters of 8 blocks that fill an SM
 *   each (30 where two blocks fit an SM, up to 113 KB: D = 512), so fp32 halves clusters that need nearly every SM.
 *   Tiles of the exchange: as many blocks as SMs; of those with as many, fp32 takes chunks of 128 before those of 256
 *   (D = 2048: 32 x 128 8.7, 16 x 256 9.1, 64 x 64 10.0; D = 4096: 64 x 128 13.8, 32 x 256 14.5), 16-bit types take
 *   fewest rows (D = 4096: 32 x 256 7.2, 64 x 128 8.1).
 *
 * Floors, H200, hot, B = 1, H = 4, Sq = Skv = 64: FLOPs at 67 TFLOP/s (fp32) or 990 (16-bit), tensors
 *   from L2 at 8.9 TB/s. With clusters and with path=3 one chain: launch and first load 2.2 us, two exchanges,
 *   through L2 of 0.7 each, the softmax 0.3, the store 0.5; fp32 products at 75 %:
 *
 *      D     MFLOP  MB f32 / f16   FLOPs us   L2 us    predicted us, path=3 f32  measured f32 / f16
 *      512     34    2.1 /  1.0    0.5 / 0.0    0.2              5                  5.2 /  4.2
 *      2048   134    8.4 /  4.2    2.0 / 0.1    0.9              8                  8.4 /  5.8
 *      4096   268   16.8 /  8.4    4.0 / 0.3    1.9             10.5               13.1 /  7.1
 *      8192   537   33.6 / 16.8    8.0 / 0.5    3.8             16                 22.8 /  9.8
 *
 *   What is missing in fp32 is the products' rate, and loads that hold it up. At D = 8192 a block's clocks are: 5.4 k
 *   until its last load is asked for (192 KB at 36 bytes a clock, an SM's share of L2), 12.1 k for the scores and
 *   12.7 k for the output (8.2 k each at peak; two warps for each scheduler hide shared memory behind them), 6 k
 *   between them, 3 to 4 k for the store. Loading the next step's operands during the products of one gave 25.3 ->
 *   23.4 at D = 8192 and nothing at 4096.
 *
 *   3xTF32 (tf32x3=1), for path=3 alone and never unless asked for, computes each product as three on tensor cores.
 *   Predicted are the 16-bit times, plus the other bytes and mma.sync's 6 clocks for 16 x 8 x 8 of a scheduler: 4.6 k
 *   clocks for the scores at D = 8192, and as many for the output. 64 queries, us, beside fp32 in turns:
 *
 *      D     fp32   predicted   3xTF32   32 queries: fp32   3xTF32
 *      512    5.2      4.6        5.1
 *      1024   6.5                 6.2
 *      2048   8.4      7.7        7.4                 5.7      5.5
 *      4096  13.1     10.6       10.5                 7.3      6.4
 *      8192  22.8     17.2       17.0                11.5      8.5
 *
 *   The scores take 7.7 k clocks and the output with its store 7.6 k: 9.4 for a product, where 8 warps that do
 *   nothing else take 8.7. 16 queries gain nothing (4.6 and 4.8 at D = 2048, 6.2 and 6.0 at 8192), and clusters did
 *   not either (5.3 and 5.3 at D = 512 with 64 queries, 3.8 and 3.9 with 32).
 *
 *   What did not win: a counter in L2 that the blocks of a head wait for instead of packets (2 to 5 us more); weights
 *   sent once for all blocks, in two buffers by turns (0.2 to 1.8 more); the copy engine, row by row, for
 *   the loads (0.1 to 1.5 more, though threads need not wait to ask); loads asked for between the steps of the
 *   scores, 64 KB ahead (3xTF32 at D = 8192: 16.2, all else up to 0.9 more).
 *
 * Budget: "scores" 73728 bytes of shared memory for 64 rows: two stages of a Q and a K slab of 64 x 68
 *   floats are 69632, the results of four groups 4 * 64 * 72 * 4; for 16 rows four stages of (16 + 64) x 68
 *   floats are 87040. "output" for 64 x 256 in fp32 and 64 keys: 64 factors, scores 64 * 68, two stages of V
 *   32 * 260, all * 4 = 84224; 64 keys more are 17408 more.
 *   Registers: 64 results, 36 operands, 36 for the next step, and addresses: up to 254 for 64 rows in fp32; 256
 *   threads.
 *   Clusters, fp32, 64 keys, chunks of 256 and more: four slabs of (16 + 64) x 68, whose place the results of eight
 *   groups take, two stages of V 32 x 260, scores 16 x 64, weights 16 x 68, 16 factors, all * 4, and two barriers
 *   = 162128 bytes; chunks of 64 are 62800, so that two blocks fit an SM; registers: 32 results, 64 operands,
 *   addresses: 118 to 125; 256 threads.
 *   Exchange, fp32, 64 x 256: four slabs of (64 + 64) x 68, V 64 x 260, weights 64 x 68 and 64 factors, all * 4 =
 *   223488 bytes; up to 8 MiB of packets in the workspace. With 3xTF32 197 registers: 128 for V of 64 keys and 32
 * columns, split in two each, 32 weights, 32 results. */
#include "kernels/tiles/d_tile.cuh"
#include "kernels/tiles/exchange_tile.cuh"
#include "kernels/tiles/tf32_tile.cuh"

namespace attn {

constexpr uint32_t kDSplitMinD = 256, kDSplitMaxD = 8192;
constexpr uint32_t kDSplitMaxKeys = 512;
constexpr uint32_t kDSplitOnePassRows = 4 * d_tile::kClusterRows;
constexpr uint32_t kDSplitOnePassColumns = d_tile::kClusterSlabs * d_tile::kSlab; /* of a block */
constexpr uint32_t kDSplitExchangeBlocks = 256; /* whose packets the buffers hold: 8 MiB */
constexpr uint32_t kDSumThreads = 64;           /* small: a head has few scores, and every SM is to load some */
constexpr uint32_t kDSumParts = 32; /* loads in flight of a thread: all, where D is 2048 in chunks of 64 */

/* The tile of a block: rows of Q, and the columns of D that are its chunk. */
struct DSplitTile {
  uint32_t rows, columns;
};
/* From most work per block, and so least traffic, to least. */
constexpr DSplitTile kDSplitTiles[] = {{64, 256}, {64, 128}, {64, 64}, {16, 256}, {16, 128}, {16, 64}};
constexpr uint32_t kDSplitTileCount = sizeof kDSplitTiles / sizeof kDSplitTiles[0];

/* Those of path=3, best first of those that give as many blocks; of 16-bit types, of fp32. */
constexpr DSplitTile kDSplitExchangeTiles[2][7] = {
    {{16, 64}, {16, 128}, {16, 256}, {32, 128}, {32, 256}, {64, 128}, {64, 256}},
    {{16, 64}, {16, 128}, {32, 128}, {64, 128}, {16, 256}, {32, 256}, {64, 256}}};

struct DSplitParams {
  Params attention;
  /* Of path=3, in packets of 16 bytes: parts of scores by their sender, weights by their receiver. Whoever reads a
   * packet empties its place. */
  void *score_packets, *weight_packets;
  float *partial;         /* [chunks][B][Hq][padded_rows][padded_keys]; "sum" leaves the total in the first part */
  uint64_t part_elements; /* of one chunk */
  uint32_t chunks, chunk_columns;    /* chunks: of a cluster, its blocks */
  uint32_t chunk_inverse;            /* of path=3: 2^32 / chunks, rounded up; 0: one chunk */
  uint32_t parts;                    /* that "output" adds */
  uint32_t padded_rows, padded_keys; /* whole tiles, so that no score needs a bounds check */
  uint32_t own_rows_log2;            /* in one pass: rows whose softmax a block computes */
};

struct DSplitHandles {
  const void *scores, *sum, *output, *cluster;
};

#ifdef __CUDACC__

/* Scores of query row `row` of this block's head, in a part. */
__device__ __forceinline__ size_t d_split_row(const DSplitParams &a, uint32_t row) {
  return row_offset(blockIdx.z, a.attention.Hq, blockIdx.y, a.padded_rows, row, a.padded_keys);
}

/* Adds the groups' results and writes a [Rows][64] tile of scores. */
template <uint32_t Rows, uint32_t Groups>
__device__ __forceinline__ void d_split_store_scores(float *to, uint32_t stride, const float *results) {
  using namespace d_tile;
#pragma unroll
  for (uint32_t i = threadIdx.x; i < Rows * kKeys / 4; i += kThreads) {
    const uint32_t row = i / (kKeys / 4), key = i % (kKeys / 4) * 4;
    float4 sum = load4(results + row * kGroupStride + key);
#pragma unroll
    for (uint32_t group = 1; group < Groups; ++group)
      add_scaled(sum, 1.0f, load4(results + (group * Rows + row) * kGroupStride + key));
    *reinterpret_cast<float4 *>(to + (size_t)row * stride + key) = sum;
  }
}

/* grid ((q tile, key tile, chunk), Hq, B), the chunk running fastest. The plan aims at one block per SM; told so,
 * ptxas does not spill to make room for a second. */
template <typename T, uint32_t Rows>
__global__ void __launch_bounds__(d_tile::kThreads, 1) d_split_scores_kernel(const __grid_constant__ DSplitParams a) {
  using namespace d_tile;
  using Scores = typename ScoresOf<T, Rows>::type;
  constexpr uint32_t kStages = score_stages(Rows, sizeof(T));
  constexpr uint32_t kStageElements = (Rows + kKeys) * padded(kSlab, sizeof(T));
  extern __shared__ __align__(128) unsigned char smem[];
  T *tiles = reinterpret_cast<T *>(smem); /* [kStages]: Q slab [Rows], then K slab [kKeys] */
  float *results = reinterpret_cast<float *>(smem);
  const Params &p = a.attention;
  const uint32_t chunk = blockIdx.x % a.chunks, tile = blockIdx.x / a.chunks, key_tiles = a.padded_keys / kKeys;
  const uint32_t key0 = tile % key_tiles * kKeys, row0 = tile / key_tiles * Rows, column0 = chunk * a.chunk_columns;
  const uint32_t columns = rows_in_tile(p.D, column0, a.chunk_columns), slabs = ceil_div(columns, kSlab);
  const T *q = static_cast<const T *>(p.q) + row_offset(blockIdx.z, p.Hq, blockIdx.y, p.Sq, row0, p.D) + column0;
  const T *k =
      static_cast<const T *>(p.k) + row_offset(blockIdx.z, p.Hkv, kv_head(p, blockIdx.y), p.Skv, key0, p.D) + column0;

  const auto load = [&](uint32_t slab) {
    if (slab < slabs) {
      T *stage = tiles + slab % kStages * kStageElements;
      const uint32_t first = slab * kSlab;
      load_async<Rows, kSlab>(stage, q + first, p.Sq - row0, columns - first, p.D);
      load_async<kKeys, kSlab>(stage + Rows * padded(kSlab, sizeof(T)), k + first, p.Skv - key0, columns - first,
                               p.D);
    }
    ptx::cp_async_commit(); /* also when empty, so that a slab's group has always the same age */
  };
#pragma unroll
  for (uint32_t slab = 0; slab < kStages; ++slab) load(slab);
  ptx::start_next_pass(); /* its loads come behind these */
  Scores scores;
  scores.open();
  for (uint32_t slab = 0; slab < slabs; ++slab) {
    ptx::cp_async_wait<(int)kStages - 1>();
    __syncthreads(); /* orders all threads' copies of this slab before the reads */
    const T *stage = tiles + slab % kStages * kStageElements;
    scores.add(stage, stage + Rows * padded(kSlab, sizeof(T)));
    __syncthreads(); /* orders the reads before the slab, or the results, overwrite it */
    load(slab + kStages);
  }
  scores.store(results);
  __syncthreads(); /* orders the groups' results before they are added */
  d_split_store_scores<Rows, Scores::kGroups>(a.partial + chunk * a.part_elements + d_split_row(a, row0) + key0,
                                              a.padded_keys, results);
}

/* grid (elements of a head / kDSumThreads, Hq, B): the sum of all parts, in place of the first */
__global__ void __launch_bounds__(kDSumThreads) d_split_sum_kernel(const __grid_constant__ DSplitParams a) {
  float *element = a.partial + d_split_row(a, 0) + (size_t)blockIdx.x * kDSumThreads + threadIdx.x;
  float sum = 0.0f;
  ptx::start_next_pass();
  ptx::wait_for_earlier_passes();
  for (uint32_t first = 0; first < a.chunks; first += kDSumParts) {
    float part[kDSumParts];
#pragma unroll
    for (uint32_t n = 0; n < kDSumParts; ++n)
      part[n] = first + n < a.chunks ? element[(first + n) * a.part_elements] : 0.0f;
#pragma unroll
    for (uint32_t n = 0; n < kDSumParts; ++n) sum += part[n];
  }
  *element = sum;
}

/* The masked scores of Rows query rows, all keys: adds the parts into [key tile][Rows][kScoreStride]. */
template <uint32_t Rows>
__device__ __forceinline__ void d_split_gather(float *scores, const DSplitParams &a, uint32_t row0) {
  using namespace d_tile;
  constexpr uint32_t kWords = kKeys / 4, kOwn = Rows * kWords / kThreads;
  const uint32_t thread_row = threadIdx.x / kWords, word = threadIdx.x % kWords * 4;
  for (uint32_t key0 = 0; key0 < a.padded_keys; key0 += kKeys) {
    const float *from = a.partial + d_split_row(a, row0 + thread_row) + key0 + word;
    float4 sum[kOwn];
#pragma unroll
    for (uint32_t n = 0; n < kOwn; ++n) sum[n] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (uint32_t part = 0; part < a.parts; ++part, from += a.part_elements)
#pragma unroll
      for (uint32_t n = 0; n < kOwn; ++n)
        add_scaled(sum[n], 1.0f, load4(from + (size_t)n * (kThreads / kWords) * a.padded_keys));
#pragma unroll
    for (uint32_t n = 0; n < kOwn; ++n) {
      const uint32_t row = thread_row + n * (kThreads / kWords), key = key0 + word;
      const uint32_t keys = visible_keys(a.attention, row0 + row);
      const float hidden = minus_infinity();
      *reinterpret_cast<float4 *>(scores + (key0 / kKeys * Rows + row) * kScoreStride + word) =
          make_float4(key < keys ? sum[n].x : hidden, key + 1 < keys ? sum[n].y : hidden,
                      key + 2 < keys ? sum[n].z : hidden, key + 3 < keys ? sum[n].w : hidden);
    }
  }
}

/* Turns scores into weights 2^(s - max), and leaves 1 / sum per row in factors. `weights` may be the scores' place.
 */
template <typename T, uint32_t Rows>
__device__ __forceinline__ void d_split_softmax(T *weights, float *factors, const float *scores, uint32_t key_tiles,
                                                float scale_log2) {
  using namespace d_tile;
  constexpr uint32_t kRowThreads = kThreads / Rows; /* neighbours in a warp */
  const uint32_t row = threadIdx.x / kRowThreads, member = threadIdx.x % kRowThreads;
  float max = minus_infinity(), sum = 0.0f;
  for (uint32_t tile = 0; tile < key_tiles; ++tile)
#pragma unroll
    for (uint32_t key = 0; key < kKeys; key += kRowThreads)
      max = fmaxf(max, scores[(tile * Rows + row) * kScoreStride + key + member]);
#pragma unroll
  for (uint32_t mask = kRowThreads / 2; mask; mask /= 2) max = fmaxf(max, __shfl_xor_sync(kFullWarp, max, mask));
  const float base = max == minus_infinity() ? 0.0f : max; /* a row without keys: all weights are 2^-inf = 0 */
  for (uint32_t tile = 0; tile < key_tiles; ++tile)
#pragma unroll
    for (uint32_t key = 0; key < kKeys; key += kRowThreads) {
      const float score = scores[(tile * Rows + row) * kScoreStride + key + member];
      const float weight = ptx::ex2((score - base) * scale_log2);
      sum += weight;
      weights[(tile * Rows + row) * weight_stride(sizeof(T)) + key + member] = from_float<T>(weight);
    }
#pragma unroll
  for (uint32_t mask = kRowThreads / 2; mask; mask /= 2) sum += __shfl_xor_sync(kFullWarp, sum, mask);
  if (member == 0) factors[row] = sum > 0.0f ? 1.0f / sum : 0.0f;
}

/* grid ((q tile, chunk), Hq, B), the chunk running fastest */
template <typename T, uint32_t Rows, uint32_t Columns>
__global__ void __launch_bounds__(d_tile::kThreads, 1) d_split_output_kernel(const __grid_constant__ DSplitParams a) {
  using namespace d_tile;
  extern __shared__ __align__(128) unsigned char smem[];
  const Params &p = a.attention;
  const uint32_t key_tiles = a.padded_keys / kKeys, v_elements = v_stage_bytes(Columns, sizeof(T)) / sizeof(T);
  float *factors = reinterpret_cast<float *>(smem); /* [Rows] */
  float *scores = factors + Rows;                   /* [key_tiles][Rows][kScoreStride] */
  T *after_scores = reinterpret_cast<T *>(smem + Rows * 4 + key_tiles * tile_score_bytes(Rows));
  T *weights = sizeof(T) == 4 ? reinterpret_cast<T *>(scores) : after_scores; /* [key_tiles][Rows][weight stride] */
  T *v_tiles = after_scores + key_tiles * tile_weight_bytes(Rows, sizeof(T)) / sizeof(T); /* [kVStages][kVKeys] */

  const uint32_t column0 = blockIdx.x % a.chunks * Columns, row0 = blockIdx.x / a.chunks * Rows;
  const uint32_t rows = rows_in_tile(p.Sq, row0, Rows), columns = p.D - column0;
  const uint32_t stages = ceil_div(visible_keys(p, row0 + rows - 1), kVKeys); /* the tile's last row attends most */
  const T *v =
      static_cast<const T *>(p.v) + row_offset(blockIdx.z, p.Hkv, kv_head(p, blockIdx.y), p.Skv, 0, p.D) + column0;
  const auto load = [&](uint32_t stage) {
    if (stage < stages)
      load_async<kVKeys, Columns>(v_tiles + stage % kVStages * v_elements, v + (size_t)stage * kVKeys * p.D,
                                  p.Skv - stage * kVKeys, columns, p.D);
    ptx::cp_async_commit();
  };
#pragma unroll
  for (uint32_t stage = 0; stage < kVStages; ++stage) load(stage);
  ptx::wait_for_earlier_passes();
  d_split_gather<Rows>(scores, a, row0);
  __syncthreads(); /* orders the stores of the scores before the row-wise reads */
  d_split_softmax<T, Rows>(weights, factors, scores, key_tiles, p.scale_log2);
  __syncthreads(); /* orders weights and factors before all threads read them */

  typename OutputOf<T, Rows, Columns>::type output;
  output.open();
  for (uint32_t stage = 0; stage < stages; ++stage) {
    ptx::cp_async_wait<(int)kVStages - 1>();
    __syncthreads(); /* orders all threads' copies of this stage before the reads */
    output.add(weights + stage * kVKeys / kKeys * Rows * weight_stride(sizeof(T)) + stage * kVKeys % kKeys,
               v_tiles + stage % kVStages * v_elements);
    __syncthreads(); /* orders the reads before the stage, or the results, overwrite it */
    load(stage + kVStages);
  }
  T *o = static_cast<T *>(p.o) + row_offset(blockIdx.z, p.Hq, blockIdx.y, p.Sq, row0, p.D) + column0;
  output.store(o, factors, scores, rows, columns, p.D);
}

/* ---- one pass: the chunks of a q tile are the blocks of a cluster --------------------------------------------- */

/* The shared memory of one block of a cluster, by cluster_layout. */
template <typename T, uint32_t Columns>
struct DSplitShared {
  static constexpr uint32_t kSlabElements = d_tile::score_stage_bytes(d_tile::kClusterRows, sizeof(T)) / sizeof(T);
  static constexpr uint32_t kVElements = d_tile::v_stage_bytes(Columns, sizeof(T)) / sizeof(T);
  T *slabs;        /* [kClusterSlabs]: Q [16], then K [kKeys]; at the end the staged results of tensor cores */
  T *v;            /* [kVStages][kVKeys] */
  float *results;  /* [groups][16][kGroupStride] */
  float *received; /* [chunks][rows of a block][padded_keys]: scores, by the block that sent them */
  T *weights;      /* [key tiles][16][weight stride] */
  float *factors;  /* [16] */
  uint64_t *scores_came, *weights_came;

  __device__ __forceinline__ DSplitShared(unsigned char *smem, uint32_t padded_keys) {
    const d_tile::ClusterLayout at = d_tile::cluster_layout(Columns, padded_keys / d_tile::kKeys, sizeof(T));
    slabs = reinterpret_cast<T *>(smem), v = reinterpret_cast<T *>(smem + at.v);
    results = reinterpret_cast<float *>(smem + at.results), received = reinterpret_cast<float *>(smem + at.received);
    weights = reinterpret_cast<T *>(smem + at.weights), factors = reinterpret_cast<float *>(smem + at.factors);
    scores_came = reinterpret_cast<uint64_t *>(smem + at.barriers), weights_came = scores_came + 1;
  }

  /* Every block of the cluster sends its part of each own row's scores, and each row's weights and factor once. */
  __device__ __forceinline__ void open_barriers(uint32_t key_tiles) const {
    constexpr uint32_t kTileElements = d_tile::kClusterRows * d_tile::kKeys;
    ptx::mbarrier_init(scores_came, 1);
    ptx::mbarrier_init(weights_came, 1);
    ptx::cluster_publish_mbarriers();
    ptx::mbarrier_expect(scores_came, key_tiles * kTileElements * 4);
    ptx::mbarrier_expect(weights_came, key_tiles * kTileElements * (uint32_t)sizeof(T) + d_tile::kClusterRows * 4);
  }
};

/* The loads of one block, in the order of their use. Each call starts the next one and closes a group of copies, also
 * when there is nothing left, so that a group has always the same age. */
template <typename T, uint32_t Columns>
struct DSplitLoads {
  const T *q, *k, *v; /* at this block's first column; q at its q tile */
  uint32_t rows, keys, skv, columns, D;
  uint32_t slab = 0, slab_column = 0, slab_key = 0;
  uint32_t stage = 0, stage_column = 0, stage_key = 0;

  __device__ __forceinline__ void next_slab(const DSplitShared<T, Columns> &shared) {
    using namespace d_tile;
    if (slab_key < keys && slab_column < columns) {
      T *to = shared.slabs + slab % kClusterSlabs * shared.kSlabElements;
      load_async<kClusterRows, kSlab>(to, q + slab_column, rows, columns - slab_column, D);
      load_async<kKeys, kSlab>(to + kClusterRows * padded(kSlab, sizeof(T)), k + (size_t)slab_key * D + slab_column,
                               skv - slab_key, columns - slab_column, D);
      ++slab, slab_column += kSlab;
      if (slab_column >= columns) slab_column = 0, slab_key += kKeys;
    }
    ptx::cp_async_commit();
  }

  __device__ __forceinline__ void next_v(const DSplitShared<T, Columns> &shared) {
    using namespace d_tile;
    if (stage_key < keys && stage_column < columns) {
      load_async<kVKeys, Columns>(shared.v + stage % kVStages * shared.kVElements,
                                  v + (size_t)stage_key * D + stage_column, skv - stage_key, columns - stage_column,
                                  D);
      ++stage, stage_key += kVKeys;
      if (stage_key >= keys) stage_key = 0, stage_column += Columns;
    }
    ptx::cp_async_commit();
  }
  /* Whether a further load waits for the place of what was read last. */
  __device__ __forceinline__ bool slabs_left() const { return slab_key < keys && slab_column < columns; }
  __device__ __forceinline__ bool v_left() const { return stage_key < keys && stage_column < columns; }
};

/* Adds the groups' results of a tile of 64 keys and sends each row to the block that owns it. */
template <uint32_t Groups, typename Shared>
__device__ __forceinline__ void d_split_send_scores(const DSplitParams &a, const Shared &shared, uint32_t rank,
                                                    uint32_t key0) {
  using namespace d_tile;
  static_assert(kClusterRows * kKeys / 4 == kThreads, "a thread has one word");
  const uint32_t row = threadIdx.x / (kKeys / 4), key = threadIdx.x % (kKeys / 4) * 4;
  const uint32_t owner = row >> a.own_rows_log2, own_row = row - (owner << a.own_rows_log2);
  float4 sum = load4(shared.results + row * kGroupStride + key);
#pragma unroll
  for (uint32_t group = 1; group < Groups; ++group)
    add_scaled(sum, 1.0f, load4(shared.results + (group * kClusterRows + row) * kGroupStride + key));
  const float *to = shared.received + ((rank << a.own_rows_log2) + own_row) * a.padded_keys + key0 + key;
  ptx::cluster_send(ptx::cluster_address(to, owner), ptx::cluster_address(shared.scores_came, owner), sum);
}

/* A warp adds the parts of the 64 scores of a row from `from` on, two for each lane, and masks them. */
__device__ __forceinline__ float2 d_split_masked_scores(const DSplitParams &a, const float *from, uint32_t first_key,
                                                        uint32_t keys) {
  float2 score = make_float2(0.0f, 0.0f);
#pragma unroll 8
  for (uint32_t part = 0; part < a.chunks; ++part) {
    const float2 x = *reinterpret_cast<const float2 *>(from + (part << a.own_rows_log2) * a.padded_keys);
    score.x += x.x, score.y += x.y;
  }
  if (first_key >= keys) score.x = minus_infinity();
  if (first_key + 1 >= keys) score.y = minus_infinity();
  return score;
}

/* Two neighbouring weights, rounded to T, to the block of this rank. */
__device__ __forceinline__ void d_split_send_pair(const float *own, uint32_t rank, uint32_t mbarrier, float x,
                                                  float y) {
  ptx::cluster_send(ptx::cluster_address(own, rank), mbarrier, make_float2(x, y));
}
template <typename T>
__device__ __forceinline__ void d_split_send_pair(const T *own, uint32_t rank, uint32_t mbarrier, float x, float y) {
  const T pair[2] = {from_float<T>(x), from_float<T>(y)};
  uint32_t word;
  memcpy(&word, pair, sizeof word);
  ptx::cluster_send(ptx::cluster_address(own, rank), mbarrier, word);
}

/* A warp turns a row's scores into weights and 1 / sum, in every block of the cluster. row: of the q tile, the
 * own_row-th of this block; it attends `keys` keys. */
template <typename T, uint32_t Columns>
__device__ __forceinline__ void d_split_send_weights(const DSplitParams &a, const DSplitShared<T, Columns> &shared,
                                                     uint32_t row, uint32_t own_row, uint32_t keys,
                                                     uint32_t key_tiles) {
  using namespace d_tile;
  const uint32_t lane = threadIdx.x % kWarp;
  float *scores = shared.received + own_row * a.padded_keys + 2 * lane; /* this lane's alone */
  T *weights = shared.weights + row * weight_stride(sizeof(T)) + 2 * lane;
  float max = minus_infinity(), sum = 0.0f;
  for (uint32_t tile = 0; tile < key_tiles; ++tile) {
    const float2 score = d_split_masked_scores(a, scores + tile * kKeys, tile * kKeys + 2 * lane, keys);
    *reinterpret_cast<float2 *>(scores + tile * kKeys) = score;
    max = fmaxf(max, fmaxf(score.x, score.y));
  }
  max = warp_max(max);
  const float base = max == minus_infinity() ? 0.0f : max; /* a row without keys: all weights are 2^-inf = 0 */
  for (uint32_t tile = 0; tile < key_tiles; ++tile) {
    const float2 score = *reinterpret_cast<const float2 *>(scores + tile * kKeys);
    const float x = ptx::ex2((score.x - base) * a.attention.scale_log2);
    const float y = ptx::ex2((score.y - base) * a.attention.scale_log2);
    sum += x + y;
#pragma unroll 8
    for (uint32_t rank = 0; rank < a.chunks; ++rank)
      d_split_send_pair(weights + tile * kClusterRows * weight_stride(sizeof(T)), rank,
                        ptx::cluster_address(shared.weights_came, rank), x, y);
  }
  sum = warp_sum(sum);
  if (lane < a.chunks)
    ptx::cluster_send(ptx::cluster_address(shared.factors + row, lane),
                      ptx::cluster_address(shared.weights_came, lane), sum > 0.0f ? 1.0f / sum : 0.0f);
}

/* This block's part of the scores of all keys, sent to the rows' owners. */
template <typename T, uint32_t Columns>
__device__ __forceinline__ void d_split_scores(const DSplitParams &a, const DSplitShared<T, Columns> &shared,
                                               DSplitLoads<T, Columns> &loads, uint32_t rank) {
  using namespace d_tile;
  uint32_t item = 0;
  for (uint32_t key0 = 0; key0 < loads.keys; key0 += kKeys) {
    typename ScoresOf<T, kClusterRows>::type scores;
    scores.open();
    for (uint32_t column = 0; column < loads.columns; column += kSlab, ++item) {
      if (item < kClusterSlabs) /* V's first stages were asked for after the first slabs */
        ptx::cp_async_wait<(int)(kClusterSlabs + kVStages - 1)>();
      else
        ptx::cp_async_wait<(int)kClusterSlabs - 1>();
      __syncthreads(); /* orders all threads' copies of this slab before the reads */
      const T *slab = shared.slabs + item % kClusterSlabs * shared.kSlabElements;
      scores.add(slab, slab + kClusterRows * padded(kSlab, sizeof(T)), loads.keys - key0);
      if (loads.slabs_left()) __syncthreads(); /* orders the reads before the slab is overwritten */
      loads.next_slab(shared);
    }
    __syncthreads(); /* orders the previous tile's reads of results before they are overwritten */
    scores.store(shared.results);
    __syncthreads(); /* orders the groups' results before they are added */
    d_split_send_scores<decltype(scores)::kGroups>(a, shared, rank, key0);
  }
}

/* This block's columns of the output, a tile of Columns at a time; o: at the first. */
template <typename T, uint32_t Columns>
__device__ __forceinline__ void d_split_output(T *o, const DSplitShared<T, Columns> &shared,
                                               DSplitLoads<T, Columns> &loads) {
  using namespace d_tile;
  typename OutputOf<T, kClusterRows, Columns>::type output;
  uint32_t item = 0;
  for (uint32_t column = 0; column < loads.columns; column += Columns) {
    output.open();
    for (uint32_t key0 = 0; key0 < loads.keys; key0 += kVKeys, ++item) {
      ptx::cp_async_wait<(int)kVStages - 1>();
      __syncthreads(); /* orders all threads' copies of this stage before the reads */
      output.add(shared.weights + key0 / kKeys * kClusterRows * weight_stride(sizeof(T)) + key0 % kKeys,
                 shared.v + item % kVStages * shared.kVElements, min(loads.keys - key0, kVKeys));
      if (loads.v_left()) __syncthreads(); /* orders the reads before the stage is overwritten */
      loads.next_v(shared);
    }
    output.store(o + column, shared.factors, reinterpret_cast<float *>(shared.slabs), loads.rows,
                 loads.columns - column, loads.D);
    if (column + Columns < loads.columns)
      __syncthreads(); /* orders the reads of staged results before the next ones */
  }
}

/* grid ((q tile, chunk), Hq, B), the chunk running fastest; a cluster along x has the chunks of a q tile. No block
 * reaches into another one that may have ended: each waits for all that is sent to it. */
template <typename T, uint32_t Columns>
__global__ void __launch_bounds__(d_tile::kThreads, 1)
    d_split_cluster_kernel(const __grid_constant__ DSplitParams a) {
#if __CUDA_ARCH__ >= 900
  using namespace d_tile;
  extern __shared__ __align__(128) unsigned char smem[];
  const DSplitShared<T, Columns> shared(smem, a.padded_keys);
  const Params &p = a.attention;
  const uint32_t rank = ptx::cluster_rank(), row0 = ptx::cluster_x() * kClusterRows, column0 = rank * a.chunk_columns;
  const uint32_t rows = rows_in_tile(p.Sq, row0, kClusterRows), keys = visible_keys(p, row0 + rows - 1);
  const uint32_t columns = rows_in_tile(p.D, column0, a.chunk_columns), key_tiles = ceil_div(keys, kKeys);
  const uint32_t kv = p.Hq == p.Hkv ? blockIdx.y : kv_head(p, blockIdx.y); /* spares two divisions */
  const size_t q_offset = row_offset(blockIdx.z, p.Hq, blockIdx.y, p.Sq, row0, p.D) + column0;
  const size_t kv_offset = row_offset(blockIdx.z, p.Hkv, kv, p.Skv, 0, p.D) + column0;
  DSplitLoads<T, Columns> loads = {static_cast<const T *>(p.q) + q_offset,
                                   static_cast<const T *>(p.k) + kv_offset,
                                   static_cast<const T *>(p.v) + kv_offset,
                                   rows,
                                   keys,
                                   p.Skv,
                                   columns,
                                   p.D};
  if (threadIdx.x == 0) shared.open_barriers(key_tiles);
  __syncwarp();
  ptx::cluster_arrive_relaxed();
#pragma unroll
  for (uint32_t n = 0; n < kClusterSlabs; ++n) loads.next_slab(shared);
#pragma unroll
  for (uint32_t n = 0; n < kVStages; ++n) loads.next_v(shared);
  ptx::cluster_wait(); /* all blocks run, and their barriers stand */

  d_split_scores(a, shared, loads, rank);
  if (threadIdx.x / kWarp < 1u << a.own_rows_log2) ptx::mbarrier_wait_received(shared.scores_came);
  for (uint32_t own_row = threadIdx.x / kWarp; own_row < 1u << a.own_rows_log2; own_row += kWarps) {
    const uint32_t row = (rank << a.own_rows_log2) + own_row;
    d_split_send_weights(a, shared, row, own_row, visible_keys(p, row0 + row), key_tiles);
  }
  ptx::mbarrier_wait_received(shared.scores_came); /* before this block may end */
  ptx::mbarrier_wait_received(shared.weights_came);
  d_split_output(static_cast<T *>(p.o) + q_offset, shared, loads);
#endif
}

/* ---- one pass: the chunks of a q tile exchange packets -------------------------------------------------------- */

template <typename T, uint32_t Rows, bool Tf32x3>
struct DSplitExchangeScores {
  using type = typename d_tile::ScoresOf<T, Rows>::type;
};
template <uint32_t Rows>
struct DSplitExchangeScores<float, Rows, true> {
  using type = tf32_tile::Scores<Rows>;
};

/* grid ((q tile, chunk), Hq, B), the chunk running fastest; all blocks of a q tile must run at once. */
template <typename T, uint32_t Rows, uint32_t Columns, bool Tf32x3>
__global__ void __launch_bounds__(d_tile::kThreads, 1)
    d_split_exchange_kernel(const __grid_constant__ DSplitParams a) {
  using namespace d_tile;
  using Scores = typename DSplitExchangeScores<T, Rows, Tf32x3>::type;
  extern __shared__ __align__(128) unsigned char smem[];
  constexpr exchange_tile::Layout kAt = exchange_tile::layout(Rows, Columns, sizeof(T));
  T *slabs = reinterpret_cast<T *>(smem), *v_tiles = reinterpret_cast<T *>(smem + kAt.v);
  T *weights = reinterpret_cast<T *>(smem + kAt.weights);
  float *scratch = reinterpret_cast<float *>(smem), *factors = reinterpret_cast<float *>(smem + kAt.factors);
  const Params &p = a.attention;
  /* Divisions take longer than all else before the first load, so the common cases have none. */
  const uint32_t tile = a.chunk_inverse != 0 ? __umulhi(blockIdx.x, a.chunk_inverse) : blockIdx.x;
  const uint32_t chunk = blockIdx.x - tile * a.chunks, row0 = tile * Rows, column0 = chunk * Columns;
  const uint32_t rows = rows_in_tile(p.Sq, row0, Rows);
  const uint32_t kv = p.Hq == p.Hkv ? blockIdx.y : kv_head(p, blockIdx.y);
  const size_t q_offset = row_offset(blockIdx.z, p.Hq, blockIdx.y, p.Sq, row0, p.D) + column0;
  const size_t kv_offset = row_offset(blockIdx.z, p.Hkv, kv, p.Skv, 0, p.D) + column0;
  const exchange_tile::Tensors<T> t = {
      static_cast<const T *>(p.q) + q_offset,  static_cast<const T *>(p.k) + kv_offset,
      static_cast<const T *>(p.v) + kv_offset, rows,
      visible_keys(p, row0 + rows - 1), /* the tile's last row attends most */
      rows_in_tile(p.D, column0, Columns),     p.D};
  exchange_tile::load_all<T, Rows, Columns>(t, slabs, v_tiles);
  const uint32_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const size_t first_packet = (size_t)(block - chunk) * exchange_tile::packets(Rows);
  float4 *score_packets = static_cast<float4 *>(a.score_packets) + first_packet;
  float4 *weight_packets = static_cast<float4 *>(a.weight_packets) + first_packet;
  exchange_tile::part_of_scores<Scores, T, Rows, Columns>(slabs, scratch, t.columns, t.keys);
  exchange_tile::send_scores<Rows, Scores::kGroups>(score_packets + (size_t)chunk * exchange_tile::packets(Rows),
                                                    scratch);
  __syncthreads(); /* orders the reads of the results before sums overwrite them */
  exchange_tile::send_weights<Rows>(p, scratch, score_packets, weight_packets, row0, chunk, a.chunks,
                                    a.own_rows_log2);
  T *o = static_cast<T *>(p.o) + q_offset;
  float4 *own_packets = weight_packets + (size_t)chunk * exchange_tile::packets(Rows);
  if constexpr (Tf32x3) {
    tf32_tile::Output<Rows, Columns> output;
    ptx::cp_async_wait<0>();
    __syncthreads(); /* orders all threads' copies of V before the reads */
    output.hold(v_tiles, t.keys);
    exchange_tile::receive_weights<T, Rows>(weights, factors, own_packets);
    output.finish(o, weights, factors, t.keys, rows, t.columns, p.D);
  } else {
    exchange_tile::receive_weights<T, Rows>(weights, factors, own_packets);
    typename OutputOf<T, Rows, Columns>::type output;
    output.open();
    for (uint32_t key = 0; key < t.keys; key += kVKeys)
      output.add(weights + key, v_tiles + key * padded(Columns, sizeof(T)), min(t.keys - key, kVKeys));
    output.store(o, factors, scratch, rows, t.columns, p.D);
  }
}

template <typename T, uint32_t Rows>
static DSplitHandles d_split_of_columns(uint32_t columns) {
  const void *scores = handle(d_split_scores_kernel<T, Rows>), *sum = handle(d_split_sum_kernel);
  if (columns == 64)
    return {scores, sum, handle(d_split_output_kernel<T, Rows, 64>), handle(d_split_cluster_kernel<T, 64>)};
  if (columns == 128)
    return {scores, sum, handle(d_split_output_kernel<T, Rows, 128>), handle(d_split_cluster_kernel<T, 128>)};
  return {scores, sum, handle(d_split_output_kernel<T, Rows, 256>), handle(d_split_cluster_kernel<T, 256>)};
}

template <typename T>
static DSplitHandles d_split_of_tile(DSplitTile tile) {
  return tile.rows == 16 ? d_split_of_columns<T, 16>(tile.columns) : d_split_of_columns<T, 64>(tile.columns);
}

static DSplitHandles d_split_kernels_for(const attn_problem &shape, DSplitTile tile) {
  return for_type<__half, __nv_bfloat16, float>(
      shape.dtype, [&](auto t) { return d_split_of_tile<typename decltype(t)::type>(tile); });
}

template <typename T, uint32_t Rows, bool Tf32x3>
static const void *d_split_exchange_of_columns(uint32_t columns) {
  return columns == 128 ? handle(d_split_exchange_kernel<T, Rows, 128, Tf32x3>)
                        : handle(d_split_exchange_kernel<T, Rows, 256, Tf32x3>);
}

template <typename T, bool Tf32x3 = false>
static const void *d_split_exchange_of_tile(DSplitTile tile) {
  if (tile.columns == 64) return handle(d_split_exchange_kernel<T, 16, 64, Tf32x3>);
  return tile.rows == 16   ? d_split_exchange_of_columns<T, 16, Tf32x3>(tile.columns)
         : tile.rows == 32 ? d_split_exchange_of_columns<T, 32, Tf32x3>(tile.columns)
                           : d_split_exchange_of_columns<T, 64, Tf32x3>(tile.columns);
}

static const void *d_split_exchange_for(const attn_problem &shape, DSplitTile tile, bool tf32x3) {
  if (tf32x3) return d_split_exchange_of_tile<float, true>(tile); /* for f32 alone */
  return for_type<__half, __nv_bfloat16, float>(
      shape.dtype, [&](auto t) { return d_split_exchange_of_tile<typename decltype(t)::type>(tile); });
}

#else
static DSplitHandles d_split_kernels_for(const attn_problem &, DSplitTile) { return {}; }
static const void *d_split_exchange_for(const attn_problem &, DSplitTile, bool) { return nullptr; }
#endif

/* Indices into the tuning, and values of `path` and `early`. */
enum { D_SPLIT_ROWS, D_SPLIT_CHUNK, D_SPLIT_FUSED, D_SPLIT_PATH, D_SPLIT_CLUSTER, D_SPLIT_EARLY, D_SPLIT_TF32X3 };
enum { D_SPLIT_LATE, D_SPLIT_EARLIER, D_SPLIT_EARLY_WHERE_IT_HELPS };
enum { D_SPLIT_ANY, D_SPLIT_PASSES, D_SPLIT_CLUSTERS, D_SPLIT_EXCHANGE };

static const attn_tunable d_split_tunables[] = {
    {.name = "rows",
     .max = 64,
     .help = "query rows of a block: 16 or 64, with path=3 also 32; 0 = chosen so that every SM gets a block"},
    {.name = "chunk",
     .max = 256,
     .help = "columns of D of a block: 64, 128 or 256, but for path=2; 0 = chosen so that every SM gets a block"},
    {.name = "fused",
     .min = 1,
     .max = 128,
     .default_value = 8,
     .help = "most partial scores that the output pass adds itself; more get a pass of their own"},
    {.name = "path",
     .max = 3,
     .help = "1 = two or three passes, 2 = one pass of clusters, 3 = one of blocks that exchange data through L2, "
             "up to 64 keys; 0 = on compute capability 9.0 clusters for few queries or small D, else the "
             "exchange where all blocks fit, else passes"},
    {.name = "cluster",
     .max = 16,
     .help = "blocks of a cluster: 2, 4, 8 or 16; 0 = the most up to 8 that leave a block 64 columns and fit the GPU "
             "at once"},
    {.name = "early",
     .max = 2,
     .default_value = 2,
     .help = "1 = a pass loads V while the one before it runs (compute capability 9.0), 0 = after its end; 2 = 1 but "
             "for fp32 with 64 rows"},
    {.name = "tf32x3",
     .max = 1,
     .help = "f32 with path=3: 1 = 3xTF32 on tensor cores, each number as a sum of two with 11 bits and each product "
             "as three, with errors close to those of fp32; 0 = fp32 arithmetic"},
    {.name = nullptr},
};

static uint32_t d_split_key_tiles(const attn_problem &shape) { return ceil_div(shape.Skv, d_tile::kKeys); }

/* Blocks of the output pass; the scores pass has a multiple. */
static uint64_t d_split_blocks(const attn_problem &shape, DSplitTile tile) {
  return (uint64_t)shape.B * shape.Hq * ceil_div(shape.Sq, tile.rows) * ceil_div(shape.D, tile.columns);
}

/* What the tunables ask for; 64 rows are not chosen where 16 hold all queries. */
static bool d_split_wanted(const attn_problem &shape, const attn_tuning &tuning, DSplitTile tile) {
  const uint32_t rows = (uint32_t)tuning.value[D_SPLIT_ROWS], columns = (uint32_t)tuning.value[D_SPLIT_CHUNK];
  const bool rows_fit = rows == 0 ? tile.rows == 16 || shape.Sq > 16 : rows == tile.rows;
  return rows_fit && (columns == 0 || columns == tile.columns);
}

static bool d_split_fits(const attn_problem &shape, const device_info &device, DSplitTile tile) {
  const uint32_t element = attn_dtype_bytes(shape.dtype), limit = device.smem_per_block_bytes;
  return d_tile::score_smem_bytes(tile.rows, element) <= limit &&
         d_tile::output_smem_bytes(tile.rows, tile.columns, d_split_key_tiles(shape), element) <= limit;
}

/* The largest tile that gives (nearly) every SM one block and leaves so few parts that no pass of their own adds
 * them.
 */
static bool d_split_choose_fused(const attn_problem &shape, const attn_tuning &tuning, const device_info &device,
                                 DSplitTile *out) {
  for (uint32_t i = 0; i < kDSplitTileCount; ++i) {
    const DSplitTile tile = kDSplitTiles[i];
    const uint64_t blocks = d_split_blocks(shape, tile);
    if (!d_split_wanted(shape, tuning, tile) || !d_split_fits(shape, device, tile)) continue;
    if (blocks * 8 < (uint64_t)device.sms * 7 || blocks > device.sms) continue;
    if (ceil_div(shape.D, tile.columns) > (uint32_t)tuning.value[D_SPLIT_FUSED]) continue;
    *out = tile;
    return true;
  }
  return false;
}

/* Such a tile; else the largest that gives (nearly) every SM a block; if none does, the one with most blocks. False:
 * none fits. */
static bool d_split_choose(const attn_problem &shape, const attn_tuning &tuning, const device_info &device,
                           DSplitTile *out) {
  if (d_split_choose_fused(shape, tuning, device, out)) return true;
  uint64_t most = 0;
  for (uint32_t i = 0; i < kDSplitTileCount; ++i) {
    const DSplitTile tile = kDSplitTiles[i];
    const uint64_t blocks = d_split_blocks(shape, tile);
    if (!d_split_wanted(shape, tuning, tile) || !d_split_fits(shape, device, tile) || blocks <= most) continue;
    most = blocks;
    *out = tile;
    if (blocks * 8 >= (uint64_t)device.sms * 7) break;
  }
  return most > 0;
}

/* Columns of D of a block of a cluster, and the width of the output tiles that it computes them in. */
static uint32_t d_split_cluster_columns(const attn_problem &shape, uint32_t cluster) {
  return ceil_div(ceil_div(shape.D, cluster), d_tile::kSlab) * d_tile::kSlab;
}
static uint32_t d_split_cluster_tile(const attn_problem &shape, uint32_t cluster) {
  const uint32_t columns = d_split_cluster_columns(shape, cluster);
  return columns <= 64 ? 64 : columns <= 128 ? 128 : 256;
}

static uint64_t d_split_clusters(const attn_problem &shape) {
  return (uint64_t)shape.B * shape.Hq * ceil_div(shape.Sq, d_tile::kClusterRows);
}

static uint32_t d_split_cluster_smem(const attn_problem &shape, uint32_t cluster) {
  return d_tile::cluster_layout(d_split_cluster_tile(shape, cluster), d_split_key_tiles(shape),
                                attn_dtype_bytes(shape.dtype))
      .end;
}

/* Blocks per cluster, at least two: instructions for clusters are illegal in a launch without one. 0: not even
 * clusters of two blocks fit the GPU at once. In fp32, whose blocks compute longer, clusters for nearly every SM are
 * slower than those of half as many blocks: the last ones find no group of SMs of their own. */
static uint32_t d_split_choose_cluster(const attn_problem &shape, const attn_tuning &tuning,
                                       const device_info &device) {
  if (tuning.value[D_SPLIT_CLUSTER] != 0) return (uint32_t)tuning.value[D_SPLIT_CLUSTER];
  uint32_t cluster = d_tile::kClusterPortable;
  while (shape.D < cluster * d_tile::kSlab) cluster /= 2;
  while (cluster > 1 && d_split_clusters(shape) * cluster > device.sms) cluster /= 2;
  if (shape.dtype == ATTN_F32 && cluster > 2 && d_split_clusters(shape) * cluster * 10 > uint64_t{device.sms} * 9)
    cluster /= 2;
  return cluster > 1 ? cluster : 0;
}

/* Why the one pass of clusters cannot run; NULL when it can. */
static const char *d_split_cluster_refusal(const attn_problem &shape, const attn_tuning &tuning,
                                           const device_info &device) {
  const uint32_t cluster = d_split_choose_cluster(shape, tuning, device);
  if (device.cc_major < 9) return "path=2 needs clusters: compute capability 9.0";
  if (cluster == 0) return "path=2 without cluster needs B * Hq * ceil(Sq / 16) to be at most half the number of SMs";
  if (tuning.value[D_SPLIT_ROWS] != 0 || tuning.value[D_SPLIT_CHUNK] != 0)
    return "rows and chunk are for path=1 and path=3";
  if (d_split_cluster_smem(shape, cluster) > device.smem_per_block_bytes)
    return "the shared memory of one block (smem_per_block_bytes) is too small for this Skv in one pass";
  return nullptr;
}

static uint32_t d_split_exchange_smem(const attn_problem &shape, DSplitTile tile) {
  return exchange_tile::layout(tile.rows, tile.columns, attn_dtype_bytes(shape.dtype)).end;
}

/* The tile of path=3: of those whose blocks all run at once, each on an SM of its own, the one with most blocks.
 * False: there is none. */
static bool d_split_choose_exchange(const attn_problem &shape, const attn_tuning &tuning, const device_info &device,
                                    DSplitTile *out) {
  const uint32_t rows = (uint32_t)tuning.value[D_SPLIT_ROWS], columns = (uint32_t)tuning.value[D_SPLIT_CHUNK];
  uint64_t most = 0;
  for (const DSplitTile tile : kDSplitExchangeTiles[attn_dtype_bytes(shape.dtype) == sizeof(float)]) {
    const uint64_t blocks = d_split_blocks(shape, tile);
    if ((rows != 0 && tile.rows != rows) || (columns != 0 && tile.columns != columns)) continue;
    if (blocks <= most || blocks > device.sms || blocks > kDSplitExchangeBlocks) continue;
    if (d_split_exchange_smem(shape, tile) > device.smem_per_block_bytes) continue;
    most = blocks;
    *out = tile;
  }
  return most > 0;
}

/* Why the blocks cannot exchange packets; NULL when they can. */
static const char *d_split_exchange_refusal(const attn_problem &shape, const attn_tuning &tuning,
                                            const device_info &device) {
  DSplitTile tile;
  if (shape.Skv > d_tile::kKeys) return "path=3 needs Skv to be at most 64";
  if (!d_split_choose_exchange(shape, tuning, device, &tile))
    return "path=3 needs a tile of rows x chunk that fits shared memory and gives at most one block per SM";
  return nullptr;
}

/* What path=0 stands for; the top of this file explains the rules. */
static bool d_split_prefers_clusters(const attn_problem &shape, const attn_tuning &tuning,
                                     const device_info &device) {
  if (d_split_cluster_refusal(shape, tuning, device) != nullptr) return false;
  const uint32_t cluster = d_split_choose_cluster(shape, tuning, device);
  const uint32_t columns = d_split_cluster_columns(shape, cluster);
  if (d_split_clusters(shape) * cluster > device.sms || columns > kDSplitOnePassColumns) return false;
  if (shape.Skv > d_tile::kKeys) /* too many for the exchange */
    return shape.Sq <= (shape.dtype == ATTN_F32 ? d_tile::kClusterRows : kDSplitOnePassRows);
  return shape.Sq <= kDSplitOnePassRows / 2 ||
         (shape.Sq <= kDSplitOnePassRows && columns <= kDSplitOnePassColumns / 2);
}
static int32_t d_split_path(const attn_problem &shape, const attn_tuning &tuning, const device_info &device) {
  if (tuning.value[D_SPLIT_PATH] != D_SPLIT_ANY) return tuning.value[D_SPLIT_PATH];
  if (tuning.value[D_SPLIT_TF32X3]) return D_SPLIT_EXCHANGE;
  if (tuning.value[D_SPLIT_ROWS] != 0 || tuning.value[D_SPLIT_CHUNK] != 0 || device.cc_major < 9)
    return D_SPLIT_PASSES;
  if (d_split_prefers_clusters(shape, tuning, device)) return D_SPLIT_CLUSTERS;
  return d_split_exchange_refusal(shape, tuning, device) == nullptr ? D_SPLIT_EXCHANGE : D_SPLIT_PASSES;
}

static const char *d_split_tuning_refusal(const attn_tuning &tuning) {
  const int32_t rows = tuning.value[D_SPLIT_ROWS], chunk = tuning.value[D_SPLIT_CHUNK];
  const int32_t cluster = tuning.value[D_SPLIT_CLUSTER];
  if (rows != 0 && rows != 16 && rows != 32 && rows != 64) return "rows must be 0, 16, 32 or 64";
  if (rows == 32 && tuning.value[D_SPLIT_PATH] != D_SPLIT_EXCHANGE && !tuning.value[D_SPLIT_TF32X3])
    return "rows=32 is for path=3";
  if (chunk != 0 && chunk != 64 && chunk != 128 && chunk != 256) return "chunk must be 0, 64, 128 or 256";
  if (cluster == 1 || (cluster & (cluster - 1)) != 0) return "cluster must be 0, 2, 4, 8 or 16";
  return nullptr;
}

static const char *d_split_supports(const attn_problem *shape, const attn_tuning *tuning, const device_info *device) {
  DSplitTile tile;
  if (const char *wrong = d_split_tuning_refusal(*tuning)) return wrong;
  if (shape->Skv > kDSplitMaxKeys) return "Skv must be at most 512: a q tile's scores for all keys are held at once";
  if (const char *grid = check_grid_hb(*shape)) return grid;
  if (const char *kind = check_device(*device, 0)) return kind;
  const int32_t path = d_split_path(*shape, *tuning, *device);
  if (tuning->value[D_SPLIT_TF32X3] && (shape->dtype != ATTN_F32 || path != D_SPLIT_EXCHANGE))
    return "tf32x3=1 is for f32 and path=3";
  if (path == D_SPLIT_EXCHANGE) return d_split_exchange_refusal(*shape, *tuning, *device);
  if (path == D_SPLIT_CLUSTERS) return d_split_cluster_refusal(*shape, *tuning, *device);
  if (!d_split_choose(*shape, *tuning, *device, &tile))
    return "the shared memory of one block (smem_per_block_bytes) is too small for this Skv with these tunables";
  return nullptr;
}

#ifdef __CUDACC__
static uint32_t round_up(uint32_t n, uint32_t unit) { return ceil_div(n, unit) * unit; }

/* The plan holds the tile: rows by name, columns as the only width that gives its number of chunks. */
static uint32_t d_split_chunks(const attn_problem &shape, const attn_plan &plan) {
  return plan.pass[plan.pass_count - 1].grid[0] / ceil_div(shape.Sq, plan.tile_q);
}

static uint32_t d_split_columns(const attn_problem &shape, uint32_t chunks) {
  uint32_t columns = 256;
  while (ceil_div(shape.D, columns) != chunks && columns > 64) columns /= 2;
  return columns;
}

static void d_split_bind_cluster(const attn_problem &shape, const attn_plan &plan, DSplitParams *params) {
  params->chunks = d_split_chunks(shape, plan);
  params->chunk_columns = d_split_cluster_columns(shape, params->chunks);
  params->padded_keys = round_up(shape.Skv, d_tile::kKeys);
  while (d_tile::kClusterRows >> (params->own_rows_log2 + 1) >= params->chunks) ++params->own_rows_log2;
}

static void d_split_bind_exchange(const attn_problem &shape, const attn_plan &plan, const attn_buffers &buffers,
                                  DSplitParams *params) {
  params->score_packets = buffers.workspace;
  params->weight_packets = static_cast<unsigned char *>(buffers.workspace) + plan.zeroed_bytes / 2;
  params->chunks = d_split_chunks(shape, plan);
  params->chunk_inverse = params->chunks == 1 ? 0 : UINT32_MAX / params->chunks + 1;
  while (params->chunks << params->own_rows_log2 < plan.tile_q) ++params->own_rows_log2;
}

static struct status d_split_bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                                  attn_pass_args args[ATTN_PASSES_MAX]) {
  DSplitParams params = {};
  params.attention = params_of(*shape, *buffers);
  if (plan->pass_count == 1) {
    if (plan->pass[0].cluster[0] > 1)
      d_split_bind_cluster(*shape, *plan, &params);
    else
      d_split_bind_exchange(*shape, *plan, *buffers, &params);
    put_args(args[0], params);
    return status_ok();
  }
  params.partial = static_cast<float *>(buffers->workspace);
  params.chunks = d_split_chunks(*shape, *plan);
  params.chunk_columns = d_split_columns(*shape, params.chunks);
  params.parts = plan->pass_count == 3 ? 1 : params.chunks;
  params.padded_rows = round_up(shape->Sq, plan->tile_q);
  params.padded_keys = round_up(shape->Skv, d_tile::kKeys);
  params.part_elements = (uint64_t)shape->B * shape->Hq * params.padded_rows * params.padded_keys;
  for (uint32_t pass = 0; pass < plan->pass_count; ++pass) put_args(args[pass], params);
  return status_ok();
}
#else
constexpr decltype(attn_variant::bind) d_split_bind = nullptr;
#endif

static void d_split_plan_pass(attn_plan *plan, const attn_problem &shape, const char *name, const void *kernel,
                              uint32_t x, unsigned covers_x, uint32_t threads, uint32_t smem_bytes) {
  attn_pass &pass = plan->pass[plan->pass_count++];
  pass.name = name;
  pass.kernel = kernel;
  set_grid(pass, x, covers_x, shape.Hq, ATTN_COVERS_H, shape.B, ATTN_COVERS_B);
  set_block(pass, threads, threads, smem_bytes);
}

static void d_split_plan_cluster(const attn_problem &shape, const attn_tuning &tuning, const device_info &device,
                                 attn_plan *plan) {
  const uint32_t cluster = d_split_choose_cluster(shape, tuning, device);
  const DSplitTile tile = {d_tile::kClusterRows, d_split_cluster_tile(shape, cluster)};
  plan->tile_q = tile.rows, plan->tile_kv = d_tile::kKeys;
  plan->splits = 1, plan->stages = d_tile::kClusterSlabs;
  d_split_plan_pass(plan, shape, "main", d_split_kernels_for(shape, tile).cluster,
                    ceil_div(shape.Sq, tile.rows) * cluster, ATTN_COVERS_Q | ATTN_COVERS_D, d_tile::kThreads,
                    d_split_cluster_smem(shape, cluster));
  plan->pass[0].cluster[0] = cluster;
}

static void d_split_plan_exchange(const attn_problem &shape, const attn_tuning &tuning, const device_info &device,
                                  attn_plan *plan) {
  DSplitTile tile = {exchange_tile::kMaxRows, 256};
  d_split_choose_exchange(shape, tuning, device, &tile);
  plan->tile_q = tile.rows, plan->tile_kv = d_tile::kKeys;
  plan->splits = 1, plan->stages = tile.columns / d_tile::kSlab;
  d_split_plan_pass(plan, shape, "main", d_split_exchange_for(shape, tile, tuning.value[D_SPLIT_TF32X3]),
                    ceil_div(shape.Sq, tile.rows) * ceil_div(shape.D, tile.columns), ATTN_COVERS_Q | ATTN_COVERS_D,
                    d_tile::kThreads, d_split_exchange_smem(shape, tile));
  constexpr uint32_t kPacketBytes = 16;
  plan->zeroed_bytes = (uint32_t)d_split_blocks(shape, tile) * 2 * exchange_tile::packets(tile.rows) * kPacketBytes;
  plan->workspace_bytes = plan->zeroed_bytes;
}

static void d_split_plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *device,
                         attn_plan *plan) {
  const int32_t path = d_split_path(*shape, *tuning, *device);
  if (path == D_SPLIT_EXCHANGE) return d_split_plan_exchange(*shape, *tuning, *device, plan);
  if (path == D_SPLIT_CLUSTERS) return d_split_plan_cluster(*shape, *tuning, *device, plan);
  DSplitTile tile = kDSplitTiles[kDSplitTileCount - 1];
  d_split_choose(*shape, *tuning, *device, &tile);
  const DSplitHandles kernels = d_split_kernels_for(*shape, tile);
  const uint32_t element = attn_dtype_bytes(shape->dtype), key_tiles = d_split_key_tiles(*shape);
  const uint32_t q_tiles = ceil_div(shape->Sq, tile.rows), chunks = ceil_div(shape->D, tile.columns);
  const uint64_t head_scores = (uint64_t)q_tiles * tile.rows * key_tiles * d_tile::kKeys;
  plan->tile_q = tile.rows, plan->tile_kv = d_tile::kKeys;
  plan->splits = key_tiles, plan->stages = d_tile::score_stages(tile.rows, element);
  plan->workspace_bytes = (uint64_t)shape->B * shape->Hq * head_scores * chunks * sizeof(float);
  d_split_plan_pass(plan, *shape, "scores", kernels.scores, q_tiles * key_tiles * chunks,
                    ATTN_COVERS_Q | ATTN_COVERS_SPLIT | ATTN_COVERS_D, d_tile::kThreads,
                    d_tile::score_smem_bytes(tile.rows, element));
  if (chunks > (uint32_t)tuning->value[D_SPLIT_FUSED])
    d_split_plan_pass(plan, *shape, "sum", kernels.sum, (uint32_t)(head_scores / kDSumThreads),
                      ATTN_COVERS_Q | ATTN_COVERS_SPLIT, kDSumThreads, 0);
  d_split_plan_pass(plan, *shape, "output", kernels.output, q_tiles * chunks, ATTN_COVERS_Q | ATTN_COVERS_D,
                    d_tile::kThreads, d_tile::output_smem_bytes(tile.rows, tile.columns, key_tiles, element));
  const int32_t early = tuning->value[D_SPLIT_EARLY];
  const bool helps = tile.rows < 64 || element < sizeof(float);
  for (uint32_t i = 1; i < plan->pass_count; ++i) {
    plan->pass[i].early_start = early == D_SPLIT_EARLIER || (early == D_SPLIT_EARLY_WHERE_IT_HELPS && helps);
  }
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_d_split = {
    .name = "d_split",
    .summary = "D split over blocks: partial scores of column chunks, their sum, softmax and PV per chunk",
    .limits = "Skv <= 512; compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_FP32_OR_TENSOR,
    .dtypes = ATTN_DTYPES_FLOAT,
    .dims = {.least = attn::kDSplitMinD,
             .most = attn::kDSplitMaxD,
             .multiple = 8,
             .why = "below that, one block holds whole rows"},
    .tunables = attn::d_split_tunables,
    .supports = attn::d_split_supports,
    .plan = attn::d_split_plan,
    .bind = attn::d_split_bind,
    .run = nullptr,
};
