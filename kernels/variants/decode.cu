/* decode: up to 16 queries against many keys, with one reading of K and V for all the query heads that share them.
 *
 * Idea: the rows of the product are all queries of a KV head: Sq * Hq / Hkv of them, which lie side by side in Q and
 *   in O. The products are transposed, so that these few rows are the narrow side, 8, of mma.m16n8k16, and K and V
 *   are its wide side; both go from global memory into the registers that the instruction reads, 16 bytes a lane,
 *   without shared memory, barriers or copies (kernels/tiles/decode_tile.cuh). A warp takes 16 or 32 keys at a time,
 *   asks for the next K when the scores are done and for the next V when the outputs are, and meets other warps only
 *   at its end. Neighbouring warps and splits take neighbouring keys: all blocks of a head read along one front.
 *   The splits of a head meet in the same launch: few keys in a cluster of 8, out of each other's shared memory;
 *   more in global memory, where the last block to arrive adds up, in groups of at most 64. Sums have a fixed order
 *   whoever comes last, so results are the same bits in each run. Counters are a zeroed variable of the module, not
 *   workspace, which holds garbage; the last arrival wraps them around, so no launch has to reset them. An aborted
 *   launch loses the process's context, and the counters with it.
 *
 * Source: FlashDecoding for the splits; the transposed product is what others call swap-AB.
 *
 * Can win: against every kernel that takes a tile of 64 or 128 queries per head; decoding is bound by the reading of
 *   K and V, or for few keys by the chain of launch, load, two products and the meeting of the splits.
 *
 * Cannot: read faster than memory: on an H200 a kernel that only adds up 16 MiB takes 4.4 us hot, 64 MiB 17.7, 512
 *   MiB 119 to 120 (4.5 TB/s). Share K and V between more than 16 rows: further rows are other blocks, which read
 *   them again, from L2. 64 rows (Sq = 16 with 4 heads) over 65536 keys take 145 us; 16 rows would be at the roof.
 *
 * Floors, H200, hot, 32 query and 8 KV heads, D = 128: launch 1.2 us, first load 0.6, products and softmax 0.4, merge
 *   in a cluster 0.5, in global memory 1.1; 4096 keys (17 MB from L2) 4.4 + 1.5 = 6 us, 131072 keys 120 + 1.
 *
 * Budget, registers: K and V 32 each (D = 256: 64), O D / 4, Q D / 8, 40 more; twice O and Q for 9 to 16 rows:
 *     D     rows <= 8             threads of an SM    rows <= 16             threads of an SM
 *     64    64 + 16 +  8 = 88     512                 64 +  32 + 16 = 112    256
 *     128   64 + 32 + 16 = 112    384                 64 +  64 + 32 = 160    256
 *     256   128 + 64 + 32 = 224   256                 -
 *   In flight on an SM: 8 warps with 4 KB of K and 4 of V. Shared memory: warps * rows * (D + 6) * 4 bytes, for sums.
 *
 * Rungs, H200, hot, us at 4096 and 131072 keys (32/8 heads, D = 128; cuDNN 9.14 9.4 and 126), each with its best cut:
 *     K and V through a ring of cp.async copies, Q as the wide side      9.1   133   copies alone take 131
 *     K and V into registers, transposed products, reads around L1       9.0   125
 *     reads through L1: K's rows come in halves of 128-byte lines        7.6   121
 *     sums whose loads wait for no branch; one atomic, without fences    7.0   121 to 123
 *   What did not win: prefetching 256 bytes into L2 (134 us), clusters of 16 (only 7 fit with 8 warps: two waves),
 *   clusters over more keys (their 64 blocks leave SMs idle), more than two blocks on an SM (more to merge).
 *
 * Which cut, from the fastest of all cuts over 35 shapes, one block an SM being the base:
 *   up to 32 tiles of keys and 33 heads         a cluster of 8 blocks of 2 or 4 warps, so that each has a tile or two
 *   fewer heads than SMs                        splits fill the SMs with blocks of 8 warps, or twice as many of 4
 *                                               where a head has 2 to 4 SMs
 *   more                                        one split, 2 to 8 warps of at least 16 tiles each
 * Against cuDNN on the same card: one sequence of up to 8192 keys 1.1 to 1.75, least where K and V exceed L2 (32 KV
 *   heads, 4096 keys: 1.14 of the 1.5 that memory allows); 16 and 64 sequences 1.00 to 1.19; 65536 keys and more
 *   1.02 to 1.04; 4 queries 2 to 5, 16 queries 1.4 to 4. */
#include "kernels/occupancy.h"
#include "kernels/tiles/attn_params.cuh"

#ifdef __CUDACC__
#include "kernels/tiles/decode_tile.cuh"
#endif

namespace attn {

constexpr uint32_t kDecodeQueriesMax = 16;
constexpr uint32_t kDecodeRows = 8; /* columns of mma.m16n8k16 */
constexpr uint32_t kDecodeWarpsMax = 8;
constexpr uint32_t kDecodeCounters = 16384;
constexpr uint32_t kDecodeSplitsMax = 4096;

/* Keys that a warp holds at a time: 32 registers each of K and V, 64 at D = 256. */
constexpr ATTN_HD uint32_t decode_keys(uint32_t D) { return D == 64 ? 32 : 16; }

/* Threads of an SM, which bound the registers of each: 128, 168 or 255. `tiles`: of 8 query rows in a warp. */
constexpr ATTN_HD uint32_t decode_threads_per_sm(uint32_t D, uint32_t tiles) {
  return D == 64 && tiles == 1 ? 512 : D == 128 && tiles == 1 ? 384 : 256;
}

/* Where the warps of a block leave their sums: [warps][rows] of D floats and, to spread them over the banks, 4. */
constexpr ATTN_HD uint32_t decode_pitch(uint32_t D) { return D + 4; }

/* Of one row and the keys of one split: the reference of its weights, unscaled, -inf without a key; their sum. */
struct DecodeStats {
  float max, sum;
};

struct DecodeParams {
  Params attention;
  float *partial;                 /* [head][row block][slot][block_rows][D] */
  DecodeStats *stats;             /* [head][row block][slot][block_rows] */
  uint32_t rows, block_rows;      /* query rows of a KV head; the most of them in a block */
  uint32_t splits, group, groups; /* splits; of them merged at once; how many such groups */
  uint32_t clustered;             /* the splits of a head are one cluster */
  uint32_t warps_log2, tiles;
  uint32_t block_width_log2, merge_width_log2; /* lanes that share an item, of a block's warps and of the splits */
};

#ifdef __CUDACC__

/* Zero before each launch and after it: the last to arrive wraps it around. */
__device__ uint32_t decode_counters[kDecodeCounters];

/* Which rows of which head: the number of the block's counters and, times the slots of each, partial results. */
__device__ __forceinline__ uint32_t decode_part() { return blockIdx.z * gridDim.x + blockIdx.x; }
__device__ __forceinline__ size_t decode_slot(const DecodeParams &a) {
  return (size_t)decode_part() * (a.splits + (a.groups > 1 ? a.groups : 0));
}

/* For each item, four columns of a row: sums up `sources` (load(source, row, column, sum) gives one), 2^width_log2
 * neighbouring lanes sharing the work, and hands the sum to store(row, column, sum) in one of them. The items are
 * those of block `block` of `blocks`. */
template <uint32_t D, typename Load, typename Store>
__device__ __forceinline__ void decode_sum(uint32_t width_log2, uint32_t block, uint32_t blocks, uint32_t items,
                                           uint32_t sources, float scale_log2, Load load, Store store) {
  constexpr uint32_t kFan = 4; /* sources that a lane asks for at once */
  const uint32_t width = 1u << width_log2, lane = threadIdx.x & (width - 1);
  const uint32_t step = (blockDim.x >> width_log2) * blocks;
  for (uint32_t i = (threadIdx.x >> width_log2) * blocks + block; __any_sync(kFullWarp, i < items); i += step) {
    const uint32_t item = min(i, items - 1), row = item / (D / 4), column = item % (D / 4) * 4;
    decode_tile::Sum total;
    for (uint32_t done = 0; done < sources; done += kFan << width_log2) {
      decode_tile::Sum x[kFan];
#pragma unroll
      for (uint32_t f = 0; f < kFan;
           ++f) /* without a branch, so that all are on their way before the first is used */
        load(min(done + (f << width_log2) + lane, sources - 1), row, column, x[f]);
#pragma unroll
      for (uint32_t f = 0; f < kFan; ++f)
        if (done + (f << width_log2) + lane >= sources) x[f].max = minus_infinity(), x[f].sum = 0.0f;
      total.raise(fmaxf(fmaxf(x[0].max, x[1].max), fmaxf(x[2].max, x[3].max)), scale_log2);
#pragma unroll
      for (uint32_t f = 0; f < kFan; ++f) total.add(x[f], scale_log2);
    }
    total.add_lanes(width, scale_log2);
    if (i < items && lane == 0) store(row, column, total);
  }
}

/* Publishes the block's stores and counts it. True in all threads of the last of `count` blocks, for which the
 * stores of the others are published. */
__device__ __forceinline__ bool decode_arrive_last(uint32_t *counter, uint32_t count) {
  __shared__ uint32_t arrived;
  __syncthreads(); /* orders all threads' stores before thread 0's release */
  if (threadIdx.x == 0) arrived = decode_tile::count_arrival(counter, count - 1);
  __syncthreads(); /* orders `arrived`, and thread 0's acquire before the other threads' reads */
  return arrived == count - 1;
}

/* Adds partial results that blocks left in slots [first, first + count). */
template <uint32_t D, typename Store>
__device__ __forceinline__ void decode_gather(const DecodeParams &a, uint32_t rows, size_t first, uint32_t count,
                                              Store store) {
  const uint32_t items = rows * (D / 4);
  const auto load = [&](uint32_t source, uint32_t row, uint32_t column, decode_tile::Sum &x) {
    const size_t at = (first + source) * a.block_rows + row;
    const float2 stats = __ldcg(reinterpret_cast<const float2 *>(a.stats + at));
    x.max = stats.x, x.sum = stats.y;
    x.out = __ldcg(reinterpret_cast<const float4 *>(a.partial + at * D + column));
  };
  decode_sum<D>(a.merge_width_log2, 0, 1, items, count, a.attention.scale_log2, load, store);
}

template <uint32_t D>
__device__ __forceinline__ void decode_leave(const DecodeParams &a, size_t slot, uint32_t row, uint32_t column,
                                             const decode_tile::Sum &x) {
  const size_t at = slot * a.block_rows + row;
  *reinterpret_cast<float4 *>(a.partial + at * D + column) = x.out;
  if (column == 0) a.stats[at] = {x.max, x.sum};
}

/* Brings the splits of the block's rows together in global memory: the block that comes last of its group adds up
 * the group, and the last of those the groups. */
template <typename T, uint32_t D>
__device__ __forceinline__ void decode_merge(const DecodeParams &a, uint32_t rows, T *o) {
  const uint32_t group = blockIdx.y / a.group, first = group * a.group, members = min(a.group, a.splits - first);
  const size_t slots = decode_slot(a);
  uint32_t *const counters = decode_counters + decode_part() * (a.groups + 1);
  const auto store = [&](uint32_t row, uint32_t column, const decode_tile::Sum &x) { x.store(o + row * D + column); };
  const auto leave = [&](uint32_t row, uint32_t column, const decode_tile::Sum &x) {
    decode_leave<D>(a, slots + a.splits + group, row, column, x);
  };
  if (!decode_arrive_last(counters + group, members)) return;
  if (a.groups == 1) return decode_gather<D>(a, rows, slots + first, members, store);
  decode_gather<D>(a, rows, slots + first, members, leave);
  if (decode_arrive_last(counters + a.groups, a.groups)) decode_gather<D>(a, rows, slots + a.splits, a.groups, store);
}

/* grid (row blocks, splits, B * Hkv); Tiles of 8 query rows */
template <typename T, uint32_t D, uint32_t Tiles>
__global__ void __launch_bounds__(decode_threads_per_sm(D, Tiles))
    decode_kernel(const __grid_constant__ DecodeParams a) {
  using Strip = decode_tile::Strip<T, D, Tiles, decode_keys(D)>;
  extern __shared__ __align__(128) unsigned char smem[];
  const Params &p = a.attention;
  const uint32_t warp = threadIdx.x / kWarp, warps = 1u << a.warps_log2;
  const uint32_t first_row = blockIdx.x * a.block_rows, rows = min(a.rows - first_row, a.block_rows);
  const size_t kv = (size_t)blockIdx.z * p.Skv * D, q = ((size_t)blockIdx.z * a.rows + first_row) * D;
  const uint32_t every = a.splits << a.warps_log2;
  uint32_t tile = (blockIdx.y << a.warps_log2) + warp;

  Strip strip;
  const bool busy = tile < a.tiles;
  if (busy) {
    strip.open(static_cast<const T *>(p.k) + kv, static_cast<const T *>(p.v) + kv, p.Skv);
    strip.load_k(tile);
    strip.load_q(static_cast<const T *>(p.q) + q, rows);
    strip.load_v(tile);
  }
  const uint32_t row_keys = visible_keys(p, 0); /* that every row attends */
  while (tile < a.tiles) {
    const uint32_t first = tile * Strip::kKeys;
    strip.multiply_qk();
    tile += every;
    if (tile < a.tiles) strip.load_k(tile);
    if (first + Strip::kKeys > row_keys) strip.mask(p, first_row, first);
    strip.soften(p.scale_log2);
    strip.multiply_pv();
    if (tile < a.tiles) strip.load_v(tile);
  }

  float *const out = reinterpret_cast<float *>(smem);
  float2 *const stats = reinterpret_cast<float2 *>(out + (a.block_rows * decode_pitch(D) << a.warps_log2));
  strip.put(out + warp * a.block_rows * decode_pitch(D), decode_pitch(D), stats + warp * a.block_rows, rows);
  T *const o = static_cast<T *>(p.o) + q;
  const uint32_t items = rows * (D / 4);
  const auto store = [&](uint32_t row, uint32_t column, const decode_tile::Sum &x) { x.store(o + row * D + column); };
#if __CUDA_ARCH__ >= 900
  if (a.clustered) { /* each block sums up its share of the columns, out of the shared memory of all */
    const auto load = [&](uint32_t source, uint32_t row, uint32_t column, decode_tile::Sum &x) {
      const uint32_t of = (source & (warps - 1)) * a.block_rows + row, rank = source >> a.warps_log2;
      const float2 two = decode_tile::cluster_load2(ptx::cluster_address(stats + of, rank));
      x.max = two.x, x.sum = two.y;
      x.out = decode_tile::cluster_load4(ptx::cluster_address(out + of * decode_pitch(D) + column, rank));
    };
    ptx::cluster_arrive();
    ptx::cluster_wait(); /* orders all blocks' sums before the reads */
    decode_sum<D>(a.merge_width_log2, blockIdx.y, a.splits, items, every, p.scale_log2, load, store);
    __syncwarp();
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait(); /* no block's shared memory goes before all have read it */
    return;
  }
#endif
  const auto load = [&](uint32_t source, uint32_t row, uint32_t column, decode_tile::Sum &x) {
    const uint32_t of = source * a.block_rows + row;
    x.max = stats[of].x, x.sum = stats[of].y;
    x.out = load4(out + of * decode_pitch(D) + column);
  };
  const auto leave = [&](uint32_t row, uint32_t column, const decode_tile::Sum &x) {
    decode_leave<D>(a, decode_slot(a) + blockIdx.y, row, column, x);
  };
  __syncthreads(); /* orders the warps' sums before the reads */
  if (a.splits == 1) return decode_sum<D>(a.block_width_log2, 0, 1, items, warps, p.scale_log2, load, store);
  decode_sum<D>(a.block_width_log2, 0, 1, items, warps, p.scale_log2, load, leave);
  decode_merge<T, D>(a, rows, o);
}

template <typename T>
static const void *decode_of_shape(uint32_t D, uint32_t tiles) {
  if (D == 256) return handle(decode_kernel<T, 256, 1>);
  if (D == 128) return tiles == 1 ? handle(decode_kernel<T, 128, 1>) : handle(decode_kernel<T, 128, 2>);
  return tiles == 1 ? handle(decode_kernel<T, 64, 1>) : handle(decode_kernel<T, 64, 2>);
}

static const void *decode_kernel_for(const attn_shape &shape, uint32_t tiles) {
  return shape.dtype == ATTN_F16 ? decode_of_shape<__half>(shape.D, tiles)
                                 : decode_of_shape<__nv_bfloat16>(shape.D, tiles);
}

static struct status decode_bind(const attn_shape *, const attn_plan *, const attn_buffers *, attn_pass_args *);

#else
static const void *decode_kernel_for(const attn_shape &, uint32_t) { return nullptr; }
constexpr decltype(attn_variant::bind) decode_bind = nullptr;
#endif

/* ---- tunables and plan --------------------------------------------------------------------------------------- */

/* Indices into the tuning, and values of `merge`. */
enum { DECODE_SPLITS, DECODE_WARPS, DECODE_MERGE };
enum { DECODE_ANYHOW, DECODE_GLOBAL, DECODE_CLUSTER };

static const attn_tunable decode_tunables[] = {
    {"splits", 0, (int32_t)kDecodeSplitsMax, 0,
     "blocks that share the keys of a KV head; 0 = chosen so that every SM gets a block"},
    {"warps", 0, (int32_t)kDecodeWarpsMax, 0, "warps of a block: 2, 4 or 8; 0 = chosen by the keys of each"},
    {"merge", 0, 2, 0,
     "where the splits of a head meet: 1 = global memory, 2 = a cluster of 2, 4, 8 or 16; 0 = chosen"},
    {nullptr, 0, 0, 0, nullptr},
};

/* How a shape is cut up; a function of the shape, the tuning and the device. */
struct DecodeCut {
  uint32_t row_tiles, rows, row_blocks; /* of 8 rows in a warp; rows of a block; blocks for the rows of a head */
  uint32_t tiles, warps, splits;        /* of keys; of a block; of the tiles */
  bool clustered;
};

static uint32_t decode_rows(const attn_shape &shape) { return shape.Hq / shape.Hkv * shape.Sq; }
static uint32_t decode_least(uint32_t x, uint64_t y) { return x < y ? x : (uint32_t)y; }

/* The largest power of two that is at most n, from `least` to `most`. */
static uint32_t decode_power(uint64_t n, uint32_t least, uint32_t most) {
  while (least < most && least * 2 <= n) least *= 2;
  return least;
}

/* One level of merging up to 64 splits; above that, two of about the same width. */
static uint32_t decode_group(uint32_t splits) {
  if (splits <= 64) return splits;
  uint32_t group = 1;
  while (group * group < splits) ++group;
  return group;
}
static uint32_t decode_groups(uint32_t splits) { return ceil_div(splits, decode_group(splits)); }
static uint32_t decode_slots(uint32_t splits) {
  const uint32_t groups = decode_groups(splits);
  return splits + (groups > 1 ? groups : 0);
}

static bool decode_is_power(uint32_t n) { return (n & (n - 1)) == 0; }

/* A cluster of 8 small blocks for each head: two exchanges less through L2, but half of an H200's SMs for 8 heads. */
static bool decode_chooses_cluster(const DecodeCut &cut, uint64_t parts, const device_info &device) {
  return device.cc_major >= 9 && cut.rows <= kDecodeRows && cut.tiles >= 8 && cut.tiles <= 32 &&
         parts * 8 <= (uint64_t)device.sms * 2;
}

/* The rule that the top of this file explains. `parts`: row blocks of all KV heads. */
static void decode_choose(const attn_shape &shape, uint64_t parts, const device_info &device, DecodeCut *cut) {
  const uint64_t fill = device.sms / parts;
  if (decode_chooses_cluster(*cut, parts, device)) {
    cut->warps = decode_power(cut->tiles / (parts * 8 <= device.sms ? 8 : 16), 2, 4);
    cut->splits = 8, cut->clustered = true;
  } else if (fill == 0) {
    cut->warps = parts < (uint64_t)device.sms * 3 || cut->row_tiles == 2 ? 4 : decode_power(cut->tiles / 16, 2, 8);
    cut->splits = 1;
  } else {
    const bool halved = cut->row_tiles == 1 && fill > 1 && fill <= 4;
    cut->warps = halved || (shape.D == 64 && cut->tiles < fill * 8) ? 4 : 8;
    cut->splits = decode_least(ceil_div(cut->tiles, cut->warps), halved ? fill * 2 : fill);
  }
}

/* What the tunables ask for instead. Splits that fill their group's counters too often are not made. */
static void decode_obey(const attn_tuning &tuning, uint64_t parts, const device_info &device, DecodeCut *cut) {
  const int32_t *value = tuning.value;
  if (value[DECODE_WARPS] != 0) cut->warps = (uint32_t)value[DECODE_WARPS];
  if (value[DECODE_SPLITS] != 0) cut->splits = decode_least((uint32_t)value[DECODE_SPLITS], cut->tiles);
  const bool can = device.cc_major >= 9 && cut->splits > 1 && cut->splits <= 16 && decode_is_power(cut->splits);
  if (value[DECODE_MERGE] != DECODE_ANYHOW) cut->clustered = value[DECODE_MERGE] == DECODE_CLUSTER;
  cut->clustered = cut->clustered && can;
  if (!cut->clustered && parts * (decode_groups(cut->splits) + 1) > kDecodeCounters) cut->splits = 1;
}

static DecodeCut decode_cut(const attn_shape &shape, const attn_tuning &tuning, const device_info &device) {
  DecodeCut cut = {};
  const uint32_t rows = decode_rows(shape);
  cut.row_tiles = rows > kDecodeRows && shape.D < 256 ? 2 : 1;
  cut.rows = decode_least(rows, cut.row_tiles * kDecodeRows);
  cut.row_blocks = ceil_div(rows, cut.rows);
  cut.tiles = ceil_div(shape.Skv, decode_keys(shape.D));
  const uint64_t parts = (uint64_t)shape.B * shape.Hkv * cut.row_blocks;
  decode_choose(shape, parts, device, &cut);
  decode_obey(tuning, parts, device, &cut);
  return cut;
}

static uint32_t decode_smem(const DecodeCut &cut, uint32_t D) {
  return cut.warps * cut.rows * (decode_pitch(D) * (uint32_t)sizeof(float) + (uint32_t)sizeof(DecodeStats));
}

static const char *decode_supports(const attn_shape *shape, const attn_tuning *tuning, const device_info *device) {
  const int32_t warps = tuning->value[DECODE_WARPS];
  if (warps != 0 && warps != 2 && warps != 4 && warps != 8) return "warps must be 0, 2, 4 or 8";
  if (shape->dtype == ATTN_F32) return "dtype must be f16 or bf16: mma.m16n8k16 has no fp32 inputs";
  if (shape->D != 64 && shape->D != 128 && shape->D != 256) return "D must be 64, 128 or 256";
  if (shape->Sq > kDecodeQueriesMax) return "Sq must be at most 16: this kernel is for decoding";
  if ((uint64_t)shape->B * shape->Hkv > kGridYzMax) return "B * Hkv must be at most 65535, the limit of grid.z";
  const DecodeCut cut = decode_cut(*shape, *tuning, *device);
  if (tuning->value[DECODE_MERGE] == DECODE_CLUSTER && !cut.clustered)
    return "merge=2 needs compute capability 9.0 and 2, 4, 8 or 16 splits";
  return check_device(*device, decode_smem(cut, shape->D));
}

static void decode_plan(const attn_shape *shape, const attn_tuning *tuning, const device_info *device,
                        attn_plan *plan) {
  const DecodeCut cut = decode_cut(*shape, *tuning, *device);
  const uint64_t parts = (uint64_t)shape->B * shape->Hkv * cut.row_blocks;
  plan->pass_count = 1;
  plan->tile_q = cut.row_tiles * kDecodeRows, plan->tile_kv = decode_keys(shape->D);
  plan->splits = cut.splits, plan->stages = 2;
  if (cut.splits > 1 && !cut.clustered)
    plan->workspace_bytes =
        parts * decode_slots(cut.splits) * cut.rows * (shape->D * sizeof(float) + sizeof(DecodeStats));
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = decode_kernel_for(*shape, cut.row_tiles);
  if (cut.clustered) pass.cluster[1] = cut.splits;
  set_grid(pass, cut.row_blocks, ATTN_COVERS_Q, cut.splits, ATTN_COVERS_SPLIT, shape->B * shape->Hkv,
           ATTN_COVERS_B | ATTN_COVERS_HKV);
  set_block(pass, cut.warps * 32, cut.warps * 32, decode_smem(cut, shape->D));
}

#ifdef __CUDACC__
/* As many lanes for each item as there are threads, but at most one for each source and a warp's for an item. */
static uint32_t decode_width_log2(uint32_t items, uint32_t sources, uint32_t threads) {
  uint32_t log2 = 0;
  while (log2 < 5 && 2u << log2 <= sources && (uint64_t)items << (log2 + 1) <= threads) ++log2;
  return log2;
}

static struct status decode_bind(const attn_shape *shape, const attn_plan *plan, const attn_buffers *buffers,
                                 attn_pass_args args[ATTN_PASSES_MAX]) {
  const attn_pass &pass = plan->pass[0];
  DecodeParams a = {};
  a.attention = params_of(*shape, *buffers);
  a.rows = decode_rows(*shape);
  a.block_rows = a.rows < plan->tile_q ? a.rows : plan->tile_q;
  a.splits = plan->splits, a.group = decode_group(a.splits), a.groups = decode_groups(a.splits);
  a.clustered = pass.cluster[1] > 1;
  while (32u << a.warps_log2 < pass.block[0]) ++a.warps_log2;
  a.tiles = ceil_div(shape->Skv, plan->tile_kv);
  const uint32_t items = a.block_rows * (shape->D / 4), warps = 1u << a.warps_log2;
  a.block_width_log2 = decode_width_log2(items, warps, pass.block[0]);
  a.merge_width_log2 = a.clustered ? decode_width_log2(ceil_div(items, a.splits), warps * a.splits, pass.block[0])
                                   : decode_width_log2(items, a.group, pass.block[0]);
  const uint64_t slots = (uint64_t)pass.grid[0] * pass.grid[2] * decode_slots(a.splits);
  a.partial = static_cast<float *>(buffers->workspace);
  a.stats = reinterpret_cast<DecodeStats *>(a.partial + slots * a.block_rows * shape->D);
  put_args(args[0], a);
  return status_ok();
}
#endif

}  // namespace attn

extern "C" const struct attn_variant attn_variant_decode = {
    .name = "decode",
    .summary = "few queries against many keys: K and V go straight into mma.sync's registers, heads share them",
    .limits = "f16, bf16; D 64, 128 or 256; Sq up to 16; compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .tunables = attn::decode_tunables,
    .supports = attn::decode_supports,
    .plan = attn::decode_plan,
    .bind = attn::decode_bind,
    .run = nullptr,
};
