/* decode: up to 16 queries against many keys, with one reading of K and V for all the query heads that share them.
 *
 * Idea: the rows of the product are all queries of a KV head: Sq * Hq / Hkv of them, which lie side by side in Q
 *   and in O. The keys of a head are shared by splits: blocks that merge their results in the same launch. Two paths:
 *   path=2, compute capability 9.0 (kernels/tiles/ring_tile.cuh): the copy engine fetches tiles of keys into a
 *   ring in shared memory. For the scores a warp takes keys, for the outputs columns, so that no output is added
 *   up between warps. Splits exchange packets: each sends its sums as 16-byte packets whose first word is
 *   never 0; the last blocks of a head wait for the packets themselves, add them up in the order of the splits and
 *   leave zeros. There is no counter, no fence and no second trip to L2. A block that waits keeps its SM, so no more
 *   blocks wait than leave an SM free: the others always get to run.
 *   K and V may lie in pages: each lane of the warp that fetches brings one page of a tile, or a part of one, and
 *   reads the page table two tiles ahead. In shared memory, the rows of V behind the last key are set to zero, since
 *   the page may hold anything there.
 *   path=1 (kernels/tiles/decode_tile.cuh): K and V go from global memory into the registers that mma.sync reads,
 *   without shared memory, barriers or copies; the products are transposed, so that the few rows are the narrow
 *   side. A warp takes 16 or 32 keys at a time and works alone until its end; splits store partial results in a
 *   workspace, where the last block to arrive adds them up, in groups of at most 64; the last arrival wraps a
 *   counter to 0. Sums have a fixed order on both paths: the same bits in each run. Counters and packets are in the
 *   part of the workspace that is zero before a launch and after it. A launch that is aborted loses the process's
 *   context, and them with it. Launches with workspaces of their own may run at once, in two streams: path=2 then
 *   relies on the GPU to start all blocks of one launch before those of the other, since blocks that wait keep
 *   their SMs.
 *
 * Source: FlashDecoding for the splits; the transposed product is what others call swap-AB; packets whose
 *   data is its own flag are NCCL's LL protocol.
 *
 * Can win: against every kernel that takes a tile of 64 or 128 queries per head; decoding is bound by the reading
 *   of K and V, or for few keys by the chain of launch, load, two products and the merging of the splits.
 *
 * Cannot: read faster than memory: on an H200 a kernel that only adds up 16 MiB takes 4.4 us hot, 64 MiB 17.7, 512
 *   MiB 119 to 120 (4.5 TB/s). Share K and V between more than 16 rows: further rows are other blocks, which read
 *   them again, from L2: 64 rows (Sq = 16 with 4 heads) over 4096 keys take 12.8 us, 16 rows 7.0.
 *
 * Floors, H200, hot, 32 query and 8 KV heads, D = 128: launch 1.2 us, first tile 0.6, products and softmax 0.6,
 *   packets there and back 0.5, the store 0.3: 3.2; 8.9 TB/s from L2 (1.9 us more at 4096 keys) or 4.68 from
 *   memory (the slope between 65536 and 131072 keys) with 5.6 us of start and end: 4096 keys 5, 131072 keys 120.
 *
 * Budget, path=2: 79 to 102 registers (D = 256: 180) in 5 or 9 warps; shared memory slots * 32 KB (D = 64: 16 KB)
 *   and weights, maxima, sums and barriers, 2.8 to 5.4 KB. Path=1: shared memory warps * rows * (D + 6) * 4 bytes
 *   for sums; registers K and V 32 each (D = 256: 64), O D / 4, Q D / 8, 40 more; twice O and Q for 9 to 16 rows:
 *     D     rows <= 8             threads of an SM    rows <= 16             threads of an SM
 *     64    64 + 16 +  8 = 88     512                 64 +  32 + 16 = 112    256
 *     128   64 + 32 + 16 = 112    384                 64 +  64 + 32 = 160    256
 *     256   128 + 64 + 32 = 224   256                 -
 *
 * Rungs, H200, hot, us at 4096 and 131072 keys (32/8 heads, D = 128; cuDNN 9.14: 9.0 and 124.5), each at its best
 *   cut:
 *     K and V through a ring of cp.async copies, Q as the wide side                9.1   133   copies alone take 131
 *     K and V into registers, transposed products, reads around L1                 9.0   125
 *     reads through L1: K's rows come in halves of 128-byte lines                  7.6   121
 *     sums whose loads wait for no branch; one atomic, without fences (path=1)     6.8   121.3
 *     ring of the copy engine, columns for warps, packets                          5.9   132
 *     the fetching warp reads packets, 4 a lane; fewer instructions                5.1   129.6
 *     L2 fetches 128 bytes of memory, not 256; 96 KB in flight, not 200 (path=2)   5.2   120.3
 *   What the clock showed at 4096 keys, path=2, in clocks of 1.98 GHz: first instruction to first wait 500, last K
 *   3500, weights 800 later, products 700, packets and the rest 1600: code that runs once costs 2.5 clocks an
 *   instruction. What did not win: two or four times as many splits (more packets), boxes of 8 to 32 rows (more
 *   boxes), 4 warps at D = 128, clusters of 8 or 16 (half of the SMs idle, or two waves). Path=1: prefetching 128
 *   or 256 bytes into L2, more than two blocks on an SM.
 *
 * In pages on an H200, us (32/8 heads, D = 128; hot medians; FlashAttention-3 in parentheses):
 *     keys                       contiguous   pages of 64   pages of 16
 *     one sequence of 16384      19.6 (24.9)  20.3 (27.3)   21.1 (27.6)
 *     64 sequences of 4096       239 (253)    240 (258)     243 (264)
 *   The copy engine takes longer for many small boxes, so more bytes are in flight for pages below 64 tokens, 192 KB
 *   instead of 96: 16 sequences of 4096 keys in pages of 16 take 65.8 us instead of 68.0 (contiguous 62.4).
 *   So one block is on an SM at a time, or two with half as many slots each. Two are faster, unless the last ones
 *   then leave SMs idle: 40 sequences of 4096 keys in pages of 16 take 1.07 times the time of decode_general one
 *   block after the other, and 1.13 times two at a time. With fewer bytes in flight two blocks always fit on an SM.
 *
 * Which path and cut: path=2 where there are copy engines, but for more than 16 rows at D = 64 or beyond L2; pages
 *   always. One block an SM, as many splits of a head as that makes; slots as ring_slots() says. Path=1: splits fill
 *   the SMs with blocks of 8 warps, or twice as many of 4 where a head has 2 to 4 SMs; no splits where heads fill the
 *   GPU, 2 to 8 warps.
 *
 * Against cuDNN on the same card: one sequence of up to 8192 keys 1.51 to 2.17, but 32 KV heads with 4096 keys, 67
 *   MB, 1.13: 18.9 us, where a kernel that only reads takes 17.7; 16 and 64 sequences 1.003 to 1.34; 65536 keys
 *   and more 1.04 to 1.08, at 4.07 (134 MB), 4.26 (268 MB) and 4.46 TB/s (537 MB); 4 and 16 queries 1.4 to 12. */
#include "kernels/tiles/attn_params.cuh"
#include "kernels/tiles/item_order.cuh"
#include "kernels/tiles/page_boxes.cuh"
#include "kernels/tiles/ring_tile.cuh"

#ifdef __CUDACC__
#include "kernels/tiles/decode_tile.cuh"
#endif

namespace attn {

constexpr uint32_t kDecodeQueriesMax = 16;
constexpr uint32_t kDecodeRows = 8; /* columns of mma.m16n8k16 */
constexpr uint32_t kDecodeWarpsMax = 8;
constexpr uint32_t kDecodeCounters = 16384;
constexpr uint32_t kDecodeSplitsMax = 4096;
constexpr uint32_t kDecodeSmallPage = 64; /* pages of fewer tokens take the copy engine longer */
constexpr uint32_t kRingPackets = 2;      /* a lane's outputs of a slice, and their stats */
constexpr uint32_t kRingInFlight = 96 * 1024;
constexpr uint32_t kRingRecords = 8192; /* of the packets of 32 lanes: 8 MiB */

/* Keys that a warp holds at a time: 32 registers each of K and V, 64 at D = 256. */
constexpr ATTN_HD uint32_t decode_keys(uint32_t D) { return D == 64 ? 32 : 16; }

/* Threads of an SM, which bound the registers of each: 128, 168 or 255. `tiles`: of 8 query rows in a warp. */
constexpr ATTN_HD uint32_t decode_threads_per_sm(uint32_t D, uint32_t tiles) {
  return D == 64 && tiles == 1 ? 512 : D == 128 && tiles == 1 ? 384 : 256;
}

/* Where the warps of a block store their sums: [warps][rows] of D floats and, to spread them over the banks, 4. */
constexpr ATTN_HD uint32_t decode_pitch(uint32_t D) { return D + 4; }

/* Of one row and the keys of one split: the reference of its weights, unscaled, -inf without a key; their sum. */
struct DecodeStats {
  float max, sum;
};

struct DecodeParams {
  Params attention;
  uint32_t *counters;             /* [head][row block][groups + 1] */
  float *partial;                 /* [head][row block][slot][block_rows][D] */
  DecodeStats *stats;             /* [head][row block][slot][block_rows] */
  uint32_t rows, block_rows;      /* query rows of a KV head; the most of them in a block */
  uint32_t splits, group, groups; /* splits; of them merged at once; how many such groups */
  uint32_t warps_log2, tiles;
  uint32_t block_width_log2, merge_width_log2; /* lanes that share an item, of a block's warps and of the splits */
};

struct RingParams {
#ifdef __CUDACC__
  CUtensorMap maps[2]; /* K and V in boxes of a tile's keys */
#endif
  Params attention;
  uint32_t rows;            /* query rows of a KV head */
  uint32_t tiles, slots;    /* of keys; of the ring */
  void *packets;            /* [head][row block][split][unit][32][kRingPackets], 16 bytes each */
  uint32_t splits, readers; /* blocks of a head; those of them that add up what all of them have, the last ones */
};

/* Of K and V in pages. */
struct PagedRingParams : RingParams {
  const int32_t *page_table; /* [B][entries] */
  uint32_t entries;          /* pages of a sequence */
  PageBoxes boxes;
  Divider by_heads; /* by `heads` */
  uint32_t heads;   /* KV heads */
};

template <bool Paged>
using RingArgs = std::conditional_t<Paged, PagedRingParams, RingParams>;

#ifdef __CUDACC__

/* ---- path=1: K and V into registers ---------------------------------------------------------------------------- */

/* Which rows of which head: the number of the block's counters and, times the slots of each, partial results. */
__device__ __forceinline__ uint32_t decode_part() { return blockIdx.z * gridDim.x + blockIdx.x; }
__device__ __forceinline__ size_t decode_slot(const DecodeParams &a) {
  return (size_t)decode_part() * (a.splits + (a.groups > 1 ? a.groups : 0));
}

/* For each item, four columns of a row: sums up `sources` (load(source, row, column, sum) gives one), 2^width_log2
 * neighbouring lanes sharing the work, and hands the sum to store(row, column, sum) in one of them. */
template <uint32_t D, typename Load, typename Store>
__device__ __forceinline__ void decode_sum(uint32_t width_log2, uint32_t items, uint32_t sources, float scale_log2,
                                           Load load, Store store) {
  constexpr uint32_t kFan = 4; /* sources that a lane asks for at once */
  const uint32_t width = 1u << width_log2, lane = threadIdx.x & (width - 1);
  const uint32_t step = blockDim.x >> width_log2;
  for (uint32_t i = threadIdx.x >> width_log2; __any_sync(kFullWarp, i < items); i += step) {
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
  if (threadIdx.x == 0) arrived = ptx::count_arrival(counter, count - 1);
  __syncthreads(); /* orders `arrived`, and thread 0's acquire before the other threads' reads */
  return arrived == count - 1;
}

/* Adds the partial results in slots [first, first + count). */
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
  decode_sum<D>(a.merge_width_log2, items, count, a.attention.scale_log2, load, store);
}

template <uint32_t D>
__device__ __forceinline__ void decode_store_partial(const DecodeParams &a, size_t slot, uint32_t row,
                                                     uint32_t column, const decode_tile::Sum &x) {
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
  uint32_t *const counters = a.counters + decode_part() * (a.groups + 1);
  const auto store = [&](uint32_t row, uint32_t column, const decode_tile::Sum &x) { x.store(o + row * D + column); };
  const auto store_partial = [&](uint32_t row, uint32_t column, const decode_tile::Sum &x) {
    decode_store_partial<D>(a, slots + a.splits + group, row, column, x);
  };
  if (!decode_arrive_last(counters + group, members)) return;
  if (a.groups == 1) return decode_gather<D>(a, rows, slots + first, members, store);
  decode_gather<D>(a, rows, slots + first, members, store_partial);
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
    strip.online_softmax(p.scale_log2);
    strip.multiply_pv();
    if (tile < a.tiles) strip.load_v(tile);
  }

  float *const out = reinterpret_cast<float *>(smem);
  float2 *const stats = reinterpret_cast<float2 *>(out + (a.block_rows * decode_pitch(D) << a.warps_log2));
  strip.put(out + warp * a.block_rows * decode_pitch(D), decode_pitch(D), stats + warp * a.block_rows, rows);
  T *const o = static_cast<T *>(p.o) + q;
  const uint32_t items = rows * (D / 4);
  const auto store = [&](uint32_t row, uint32_t column, const decode_tile::Sum &x) { x.store(o + row * D + column); };
  const auto load = [&](uint32_t source, uint32_t row, uint32_t column, decode_tile::Sum &x) {
    const uint32_t of = source * a.block_rows + row;
    x.max = stats[of].x, x.sum = stats[of].y;
    x.out = load4(out + of * decode_pitch(D) + column);
  };
  const auto store_partial = [&](uint32_t row, uint32_t column, const decode_tile::Sum &x) {
    decode_store_partial<D>(a, decode_slot(a) + blockIdx.y, row, column, x);
  };
  __syncthreads(); /* orders the warps' sums before the reads */
  if (a.splits == 1) return decode_sum<D>(a.block_width_log2, items, warps, p.scale_log2, load, store);
  decode_sum<D>(a.block_width_log2, items, warps, p.scale_log2, load, store_partial);
  decode_merge<T, D>(a, rows, o);
}

/* ---- path=2: K and V through a ring in shared memory ----------------------------------------------------------- */

#ifdef ATTN_SM90A

/* The ring of slots of a block: K and V of its first tile, of its second and so on, fetched by a warp of its own. Of
 * a tile in pages each lane fetches a box, one page or a part of one. */
template <typename T, uint32_t D, uint32_t Tiles, bool Paged>
struct Ring {
  using Worker = ring_tile::Worker<T, D, Tiles>;
  using Args = RingArgs<Paged>;
  static constexpr uint32_t kWorkers = kWarp * Worker::kWarps, kAll = kWorkers + kWarp;
  const Args &a;
  uint32_t first, barriers;      /* shared addresses */
  uint32_t read = 0, parity = 0; /* slot of the next tile to read */

  __device__ __forceinline__ Ring(const Args &params, const unsigned char *smem)
      : a(params), first(ptx::shared_address(smem)) {
    barriers = first + a.slots * Worker::kSlotBytes + ring_tile::barriers_at(D, Worker::kRows);
  }
  __device__ __forceinline__ uint32_t address() const { return first + read * Worker::kSlotBytes; }
  __device__ __forceinline__ void wait() const { hopper::barrier_wait(barriers + 8 * read, parity); }
  __device__ __forceinline__ void advance() {
    if (++read == a.slots) read = 0, parity ^= 1;
  }
  /* Named barriers. At the first two the workers wait for each other. At RING_READY they wait for the fetching warp,
   * which only arrives; at K_READ and those after it the fetching warp waits for them. K_READ + tile % kKReads is for
   * a tile whose K has been read: kKReads tiles in a row have different barriers, and no warp can be further ahead of
   * the fetching one, since the ring holds no more tiles than that. */
  enum NamedBarrier : uint32_t { MAXIMA_WRITTEN = 1, WEIGHTS_WRITTEN, RING_READY, K_READ };
  static constexpr uint32_t kKReads = 4;
  static_assert(ring_tile::kSlotsMax <= 2 * kKReads, "a tile takes two slots, of K and of V");
  static __device__ __forceinline__ void sync_maxima() { hopper::named_sync(MAXIMA_WRITTEN, kWorkers); }
  static __device__ __forceinline__ void sync_weights() { hopper::named_sync(WEIGHTS_WRITTEN, kWorkers); }
  static __device__ __forceinline__ void wait_start() { hopper::named_sync(RING_READY, kAll); }
  static __device__ __forceinline__ void start() { hopper::named_arrive(RING_READY, kAll); }
  static __device__ __forceinline__ void has_read(uint32_t tile) {
    hopper::named_arrive(K_READ + tile % kKReads, kAll);
  }
  static __device__ __forceinline__ void wait_read(uint32_t tile) {
    hopper::named_sync(K_READ + tile % kKReads, kAll);
  }

  /* What the fetching warp does, or rather one lane of it. A slot stays empty until the first K has been read: later
   * on, too, the tile whose K is being read has been asked for as a whole. */
  __device__ __forceinline__ void fetch() const {
    const bool leads = threadIdx.x % kWarp == 0;
    if (leads) {
      hopper::prefetch_map(&a.maps[0]);
      hopper::prefetch_map(&a.maps[1]);
#pragma unroll
      for (uint32_t i = 0; i < ring_tile::kSlotsMax; ++i) hopper::barrier_init(barriers + 8 * i, 1);
      hopper::barrier_publish();
    }
    __syncwarp(); /* orders the barriers before the arrival */
    start();
    uint32_t tile = blockIdx.y, slot = 0, v = 0, free = a.slots - 1, count = 0;
    Box box = {}, next = {};
    if constexpr (Paged) box = box_of(tile), next = box_of(tile + a.splits);
    for (uint32_t used = blockIdx.y; used < a.tiles; used += a.splits, free = 2) {
#pragma unroll 1
      for (; free != 0 && tile < a.tiles; --free) {
        if constexpr (Paged)
          load_pages(slot, v, box);
        else if (leads)
          load(slot, v, tile);
        if constexpr (Paged) /* the table is read ahead of its use */
          if (v) box = next, next = box_of(tile + 2 * a.splits);
        if (v) tile += a.splits;
        v ^= 1;
        if (++slot == a.slots) slot = 0;
      }
      wait_read(count++); /* K of `used`, and V of the tile before */
    }
  }

  /* Of K and V in pages: has the tile keys behind the last one? They lie in its page, and may be NaN. */
  __device__ __forceinline__ bool has_tail(uint32_t tile) const {
    return (tile + 1) * Worker::kKeys > a.attention.Skv;
  }
  /* All workers: zeros for these keys of V, at `address()`. */
  __device__ __forceinline__ void clear_tail(uint32_t tile) const {
    const uint32_t keys = a.attention.Skv - tile * Worker::kKeys;
    clear_keys<D, Worker::kSlabBytes>(address(), keys, Worker::kKeys, threadIdx.x, kWorkers);
    sync_maxima(); /* orders these stores before the reads */
  }

 private:
  /* Where the lane's box of a tile lies. */
  __device__ __forceinline__ Box box_of(uint32_t tile) const {
    const uint32_t key = tile * Worker::kKeys + threadIdx.x % kWarp * a.boxes.rows;
    const int32_t *const pages = a.page_table + (size_t)a.by_heads.quotient(blockIdx.z) * a.entries;
    return box_at(a.boxes, pages, key, a.attention.Skv);
  }
  __device__ __forceinline__ void load_pages(uint32_t slot, uint32_t v, Box box) const {
    const uint32_t lane = threadIdx.x % kWarp, head = blockIdx.z - a.by_heads.quotient(blockIdx.z) * a.heads;
    const uint32_t to = first + slot * Worker::kSlotBytes + lane * a.boxes.rows * ring_tile::kSlabRow;
    if (lane == 0) hopper::barrier_expect(barriers + 8 * slot, Worker::kSlotBytes);
    if (lane * a.boxes.rows < Worker::kKeys)
#pragma unroll
      for (uint32_t i = 0; i < D / ring_tile::kSlab; ++i)
        hopper::load_box(to + i * Worker::kSlabBytes, &a.maps[v], barriers + 8 * slot, i * ring_tile::kSlab,
                         box.token, head, box.matrix, hopper::kEvictNormal);
  }
  __device__ __forceinline__ void load(uint32_t slot, uint32_t v, uint32_t tile) const {
    const uint32_t to = first + slot * Worker::kSlotBytes;
    hopper::barrier_expect(barriers + 8 * slot, Worker::kSlotBytes);
#pragma unroll
    for (uint32_t i = 0; i < D / ring_tile::kSlab; ++i)
      hopper::load_box(to + i * Worker::kSlabBytes, &a.maps[v], barriers + 8 * slot, i * ring_tile::kSlab,
                       tile * Worker::kKeys, blockIdx.z, hopper::kEvictNormal);
  }
};

/* What the splits of a head send to each other. Whoever reads a packet empties its place. A unit is a slice of 8
 * rows; its items are the lanes that have rows of it, two each; an item has 2 columns of 2 rows. */
template <uint32_t D, uint32_t Tiles>
constexpr uint32_t kRingUnits = D / ring_tile::kSlice *Tiles;
constexpr uint32_t kRingJob = 8, kRingShares = kWarp / kRingJob; /* items of a reading warp; lanes for each */

template <uint32_t D, uint32_t Tiles>
__device__ __forceinline__ float4 *ring_record(const RingParams &a, uint32_t split, uint32_t unit) {
  const uint32_t part = blockIdx.z * gridDim.x + blockIdx.x;
  return static_cast<float4 *>(a.packets) +
         (size_t)((part * a.splits + split) * kRingUnits<D, Tiles> + unit) * 32 * kRingPackets;
}

/* Lanes of a quad that have rows, two each, as a logarithm; `rows` is at least 1. */
__device__ __forceinline__ uint32_t ring_lanes_log2(int32_t rows) { return (rows > 2) + (rows > 4); }

/* Adds up 8 items of a unit, at `record` for the first split; 4 lanes share the splits of each, in a fixed order. */
template <typename T, uint32_t D, uint32_t Tiles>
__device__ __forceinline__ void ring_receive(const RingParams &a, float4 *record, uint32_t item, uint32_t lanes_log2,
                                             int32_t rows, T *o) {
  constexpr uint32_t kFan = 4; /* parts that a lane asks for at once */
  constexpr uint32_t kStep = kRingUnits<D, Tiles> * 32 * kRingPackets, kLaneStep = kRingShares * kStep;
  const uint32_t share = threadIdx.x % kWarp / kRingJob;
  float4 *const mine = record + share * kStep + item * kRingPackets;
  const float scale_log2 = a.attention.scale_log2;
  ring_tile::Part part;
  part.clear();
  float4 *from = mine;
  for (uint32_t done = 0; done < a.splits; done += kFan * kRingShares, from += kFan * kLaneStep) {
    float4 out[kFan], stats[kFan];
    bool valid[kFan];
#pragma unroll
    for (uint32_t f = 0; f < kFan; ++f) {
      valid[f] = done + f * kRingShares + share < a.splits;
      out[f] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      stats[f] = make_float4(minus_infinity(), 0.0f, minus_infinity(), 0.0f);
    }
    uint32_t missing;
    do {
#pragma unroll
      for (uint32_t f = 0; f < kFan; ++f)
        if (valid[f])
          out[f] = ring_tile::receive(from + f * kLaneStep), stats[f] = ring_tile::receive(from + f * kLaneStep + 1);
      missing = 0;
#pragma unroll
      for (uint32_t f = 0; f < kFan; ++f)
        missing |= valid[f] && (ring_tile::is_empty(out[f]) || ring_tile::is_empty(stats[f]));
    } while (__any_sync(kFullWarp, missing));
    float first = stats[0].x, second = stats[0].z;
#pragma unroll
    for (uint32_t f = 1; f < kFan; ++f) first = fmaxf(first, stats[f].x), second = fmaxf(second, stats[f].z);
    if (done == 0) part.max[0] = first, part.max[1] = second; /* saves a factor that is 0 */
    part.raise(first, second, scale_log2);
#pragma unroll
    for (uint32_t f = 0; f < kFan; ++f) part.add(out[f], stats[f], scale_log2);
  }
  part.add_shares(kRingJob, scale_log2);
  part.store_one<T, D>(o, item, lanes_log2, share, rows);
  from = mine;
#pragma unroll 1
  for (uint32_t split = share; split < a.splits; split += kRingShares, from += kLaneStep)
    from[0] = from[1] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

/* Adds up what the splits sent, in the last blocks of a head: jobs of 8 items go around the blocks, then their warps.
 * `turn`: of this warp, of `turns` in a block. */
template <typename T, uint32_t D, uint32_t Tiles>
__device__ __forceinline__ void ring_gather(const RingParams &a, uint32_t turn, uint32_t turns) {
  const uint32_t reader = a.splits - 1 - blockIdx.y;
  if (a.splits == 1 || reader >= a.readers) return;
  const uint32_t first_row = blockIdx.x * 8 * Tiles, rows = min(a.rows - first_row, 8 * Tiles);
  const uint32_t lanes_log2 = ring_lanes_log2((int32_t)rows); /* of the first 8 rows; more is none of the others */
  T *const o = static_cast<T *>(a.attention.o) + ((size_t)blockIdx.z * a.rows + first_row) * D;
  for (uint32_t job = reader + a.readers * turn; job < kRingUnits<D, Tiles> << lanes_log2; job += a.readers * turns) {
    const uint32_t unit = job >> lanes_log2, item = (job - (unit << lanes_log2)) * kRingJob + threadIdx.x % kRingJob;
    ring_receive<T, D, Tiles>(a, ring_record<D, Tiles>(a, 0, unit), item, lanes_log2,
                              (int32_t)(rows - unit % Tiles * 8),
                              o + unit % Tiles * 8 * D + unit / Tiles * ring_tile::kSlice);
  }
}

/* The block's part of the warp's slices: to the others, or, without splits, to O. */
template <typename T, uint32_t D, uint32_t Tiles>
__device__ __forceinline__ void ring_finish(const RingParams &a, const ring_tile::Worker<T, D, Tiles> &worker,
                                            uint32_t rows, T *o) {
  constexpr uint32_t kSlices = ring_tile::Worker<T, D, Tiles>::kSlices;
  const uint32_t lanes_log2 = ring_lanes_log2((int32_t)rows);
#pragma unroll
  for (uint32_t n = 0; n < Tiles; ++n) {
#pragma unroll
    for (uint32_t i = 0; i < kSlices; ++i) {
      const uint32_t slice = worker.warp * kSlices + i;
      ring_tile::Part part = worker.part(i, n);
      if (a.splits == 1) {
        part.store(o + 8 * n * D + slice * ring_tile::kSlice, D, (int32_t)(rows - 8 * n));
      } else if (worker.t >> lanes_log2 == 0) {
        float4 *const to = ring_record<D, Tiles>(a, blockIdx.y, slice * Tiles + n) +
                           ((worker.g << lanes_log2) + worker.t) * kRingPackets;
        ring_tile::send(to, part.out);
        ring_tile::send(to + 1, make_float4(part.max[0], part.sum[0], part.max[1], part.sum[1]));
      }
    }
  }
}

#endif

/* grid (row blocks, splits, B * Hkv); Tiles of 8 query rows. The last warp fetches, and then is the first to add up:
 * it has the instructions for that at hand when the others are done. */
template <typename T, uint32_t D, uint32_t Tiles, bool Paged>
__global__ void __launch_bounds__(kWarp *(ring_tile::warps_of(D) + 1), 1)
    ring_kernel(const __grid_constant__ RingArgs<Paged> a) {
#ifdef ATTN_SM90A
  using Worker = ring_tile::Worker<T, D, Tiles>;
  extern __shared__ __align__(1024) unsigned char ring_smem[];
  const Params &p = a.attention;
  const uint32_t warp = __shfl_sync(kFullWarp, threadIdx.x / kWarp, 0); /* so that ptxas knows it for uniform */
  Ring<T, D, Tiles, Paged> ring(a, ring_smem);
  if (warp < Worker::kWarps) {
    const uint32_t first_row = blockIdx.x * Worker::kRows, rows = min(a.rows - first_row, Worker::kRows);
    const size_t at = ((size_t)blockIdx.z * a.rows + first_row) * D;
    Worker worker(warp, ring_smem + a.slots * Worker::kSlotBytes);
    worker.load_q(p, static_cast<const T *>(p.q) + at, first_row, rows);
    ring.wait_start(); /* orders the ring's barriers before the waits */
    for (uint32_t tile = blockIdx.y, count = 0; tile < a.tiles; tile += a.splits) {
      ring.wait();
      worker.multiply_qk(ring.address(), tile * Worker::kKeys);
      ring.advance();
      worker.put_maxima();
      ring.sync_maxima(); /* orders the maxima before the reads, and the last reads of weights before the stores */
      ring.has_read(count++);
      worker.put_weights(p.scale_log2);
      ring.sync_weights(); /* orders the weights before the reads */
      ring.wait();
      if constexpr (Paged)
        if (ring.has_tail(tile)) ring.clear_tail(tile);
      worker.multiply_pv(ring.address());
      ring.advance();
    }
    ring_finish<T, D, Tiles>(a, worker, rows, static_cast<T *>(p.o) + at);
  } else {
    ring.fetch();
  }
  ring_gather<T, D, Tiles>(a, warp < Worker::kWarps ? warp + 1 : 0, Worker::kWarps + 1);
#endif
}

/* ---- kernels of both paths ------------------------------------------------------------------------------------- */

template <typename T>
static const void *decode_of_shape(uint32_t D, uint32_t tiles) {
  if (D == 256) return handle(decode_kernel<T, 256, 1>);
  if (D == 128) return tiles == 1 ? handle(decode_kernel<T, 128, 1>) : handle(decode_kernel<T, 128, 2>);
  return tiles == 1 ? handle(decode_kernel<T, 64, 1>) : handle(decode_kernel<T, 64, 2>);
}
template <typename T, bool Paged>
static const void *ring_of_shape(uint32_t D, uint32_t tiles) {
  if (D == 256) return handle(ring_kernel<T, 256, 1, Paged>);
  if (D == 128) return tiles == 1 ? handle(ring_kernel<T, 128, 1, Paged>) : handle(ring_kernel<T, 128, 2, Paged>);
  return tiles == 1 ? handle(ring_kernel<T, 64, 1, Paged>) : handle(ring_kernel<T, 64, 2, Paged>);
}

static const void *decode_kernel_for(const attn_problem &shape, uint32_t tiles, bool ring) {
  return for_type<__half, __nv_bfloat16>(shape.dtype, [&](auto t) {
    using T = typename decltype(t)::type;
    if (!ring) return decode_of_shape<T>(shape.D, tiles);
    return attn_is_paged(&shape) ? ring_of_shape<T, true>(shape.D, tiles) : ring_of_shape<T, false>(shape.D, tiles);
  });
}

static struct status decode_bind(const attn_problem *, const attn_plan *, const attn_buffers *, attn_pass_args *);

#else
static const void *decode_kernel_for(const attn_problem &, uint32_t, bool) { return nullptr; }
constexpr decltype(attn_variant::bind) decode_bind = nullptr;
#endif

/* ---- tunables and plan --------------------------------------------------------------------------------------- */

/* Indices into the tuning, and values of `path`. */
enum { DECODE_PATH, DECODE_SPLITS, DECODE_WARPS };
enum { DECODE_ANYHOW, DECODE_REGISTERS, DECODE_RING };

static const attn_tunable decode_tunables[] = {
    {.name = "path",
     .max = 2,
     .help = "1 = K and V straight into registers, 2 = through a ring in shared memory; 0 = chosen"},
    {.name = "splits",
     .max = (int32_t)kDecodeSplitsMax,
     .help = "blocks that share the keys of a KV head; 0 = chosen so that every SM gets a block"},
    {.name = "warps",
     .max = (int32_t)kDecodeWarpsMax,
     .help = "path=1: warps of a block: 2, 4 or 8; 0 = chosen by the keys of each"},
    {.name = nullptr},
};

/* How a shape is cut up; a function of the shape, the tuning and the device. */
struct DecodeCut {
  bool ring;
  uint32_t row_tiles, rows, row_blocks; /* of 8 rows in a warp; rows of a block; blocks for the rows of a head */
  uint32_t keys, tiles;                 /* of a tile; in all */
  uint32_t warps, splits, slots;        /* that work on a tile; of the tiles; of the ring */
  uint64_t parts;                       /* row blocks of all KV heads */
};

static uint32_t decode_rows(const attn_problem &shape) { return shape.Hq / shape.Hkv * shape.Sq; }
static uint32_t decode_least(uint64_t x, uint64_t y) { return (uint32_t)(x < y ? x : y); }

/* The largest power of two that is at most n, from `least` to `most`. */
static uint32_t decode_power(uint64_t n, uint32_t least, uint32_t most) {
  while (least < most && least * 2 <= n) least *= 2;
  return least;
}

/* ---- path=1 */

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

static uint64_t decode_counters(const DecodeCut &cut) { return cut.parts * (decode_groups(cut.splits) + 1); }

/* The rule that the top of this file explains, unless the tunables ask for something else. Splits that fill their
 * group's counters too often are not made. */
static void decode_cut_registers(const attn_problem &shape, const attn_tuning &tuning, const device_info &device,
                                 DecodeCut *cut) {
  const uint64_t parts = cut->parts, fill = device.sms / parts;
  cut->keys = decode_keys(shape.D);
  cut->tiles = ceil_div(shape.Skv, cut->keys);
  const bool halved = cut->row_tiles == 1 && fill > 1 && fill <= 4;
  if (fill == 0)
    cut->warps = parts < (uint64_t)device.sms * 3 || cut->row_tiles == 2 ? 4 : decode_power(cut->tiles / 16, 2, 8);
  else
    cut->warps = halved || (shape.D == 64 && cut->tiles < fill * 8) ? 4 : 8;
  cut->splits = fill == 0 ? 1 : decode_least(ceil_div(cut->tiles, cut->warps), halved ? fill * 2 : fill);
  if (tuning.value[DECODE_WARPS] != 0) cut->warps = (uint32_t)tuning.value[DECODE_WARPS];
  if (tuning.value[DECODE_SPLITS] != 0) cut->splits = decode_least((uint32_t)tuning.value[DECODE_SPLITS], cut->tiles);
  if (decode_counters(*cut) > kDecodeCounters) cut->splits = 1;
}

/* ---- path=2 */

static bool decode_takes_ring(const device_info &device) { return device.cc_major == 9; }
static bool decode_fits_l2(const attn_problem &shape, const device_info &device) {
  return UINT64_C(4) * shape.B * shape.Hkv * shape.Skv * shape.D <= device.l2_bytes / 4 * 3;
}
static bool decode_chooses_ring(const attn_problem &shape, const DecodeCut &cut, const device_info &device) {
  if (attn_is_paged(&shape)) return true;
  return decode_takes_ring(device) && (cut.row_blocks == 1 || (shape.D > 64 && decode_fits_l2(shape, device)));
}

/* Blocks that share an SM at a time: as many as fit, unless more than a ninth of their places then stay empty. `due`:
 * blocks that an SM has in all, rounded up. */
static uint32_t ring_blocks(uint64_t due, uint32_t fit) {
  uint32_t blocks = due < 1 || fit < 1 ? 1 : decode_least(due, fit);
  while (blocks > 1 && (due + blocks - 1) / blocks * blocks * 8 > due * 9) --blocks;
  return blocks;
}

/* Of K and V that L2 holds, as many slots as a block has use for and its SM room. From memory, 96 KB in flight on an
 * SM are enough, and more are slower, except for small pages, which take the copy engine longer. Three slots at
 * least, so that K comes while V is used. */
static uint32_t ring_slots(const attn_problem &shape, const DecodeCut &cut, const device_info &device) {
  const uint32_t slot = ring_tile::slot_bytes(shape.D), rest = ring_tile::smem_bytes(shape.D, 8 * cut.row_tiles, 0);
  const uint32_t least = 3, most = 2 * ceil_div(cut.tiles, cut.splits) + 1;
  const uint32_t fit = device.smem_per_sm_bytes / (rest + least * slot + device.smem_reserved_bytes);
  const uint32_t blocks = ring_blocks((cut.parts * cut.splits + device.sms - 1) / device.sms, fit);
  const uint32_t share = device.smem_per_sm_bytes / blocks - device.smem_reserved_bytes;
  const uint32_t room = (decode_least(share, device.smem_per_block_bytes) - rest) / slot;
  const uint32_t in_flight =
      attn_is_paged(&shape) && shape.page < kDecodeSmallPage ? 2 * kRingInFlight : kRingInFlight;
  const uint32_t wanted = decode_fits_l2(shape, device) ? ring_tile::kSlotsMax : in_flight / (blocks * slot);
  const uint32_t slots = decode_least(decode_least(room, ring_tile::kSlotsMax), wanted < least ? least : wanted);
  return slots < most ? slots : most;
}

static uint64_t ring_records(const attn_problem &shape, const DecodeCut &cut) {
  return cut.parts * cut.splits * cut.row_tiles * (shape.D / ring_tile::kSlice);
}

/* Splits wait for each other, so that there has to be room for all of a head beside those that wait. */
static void decode_cut_ring(const attn_problem &shape, const attn_tuning &tuning, const device_info &device,
                            DecodeCut *cut) {
  const uint64_t fill = device.sms / cut->parts;
  cut->keys = ring_tile::tile_keys(shape.D), cut->warps = ring_tile::warps_of(shape.D);
  cut->tiles = ceil_div(shape.Skv, cut->keys);
  cut->splits = decode_least(cut->tiles, fill > 1 ? fill : 1);
  if (tuning.value[DECODE_SPLITS] != 0) cut->splits = decode_least((uint32_t)tuning.value[DECODE_SPLITS], cut->tiles);
  if (cut->parts >= device.sms || ring_records(shape, *cut) > kRingRecords) cut->splits = 1;
  cut->slots = ring_slots(shape, *cut, device);
}

static DecodeCut decode_cut(const attn_problem &shape, const attn_tuning &tuning, const device_info &device) {
  DecodeCut cut = {};
  const uint32_t rows = decode_rows(shape);
  cut.row_tiles = rows > kDecodeRows && shape.D < 256 ? 2 : 1;
  cut.rows = decode_least(rows, cut.row_tiles * kDecodeRows);
  cut.row_blocks = ceil_div(rows, cut.rows);
  cut.parts = (uint64_t)shape.B * shape.Hkv * cut.row_blocks;
  const int32_t path = tuning.value[DECODE_PATH];
  cut.ring = path == DECODE_RING || (path == DECODE_ANYHOW && decode_chooses_ring(shape, cut, device));
  if (cut.ring)
    decode_cut_ring(shape, tuning, device, &cut);
  else
    decode_cut_registers(shape, tuning, device, &cut);
  return cut;
}

static uint32_t decode_smem(const DecodeCut &cut, uint32_t D) {
  if (cut.ring) return ring_tile::smem_bytes(D, 8 * cut.row_tiles, cut.slots);
  return cut.warps * cut.rows * (decode_pitch(D) * (uint32_t)sizeof(float) + (uint32_t)sizeof(DecodeStats));
}

static const char *decode_supports(const attn_problem *shape, const attn_tuning *tuning, const device_info *device) {
  const int32_t warps = tuning->value[DECODE_WARPS];
  if (warps != 0 && warps != 2 && warps != 4 && warps != 8) return "warps must be 0, 2, 4 or 8";
  if (shape->Sq > kDecodeQueriesMax) return "Sq must be at most 16: this kernel is for decoding";
  if ((uint64_t)shape->B * shape->Hkv > kGridYzMax) return "B * Hkv must be at most 65535, the limit of grid.z";
  if (tuning->value[DECODE_PATH] == DECODE_RING && !decode_takes_ring(*device))
    return "path=2 needs compute capability 9.0";
  if (attn_is_paged(shape)) {
    if (tuning->value[DECODE_PATH] == DECODE_REGISTERS) return "path=1 reads no pages";
    if (!decode_takes_ring(*device)) return "pages need compute capability 9.0, whose copy engine brings them";
    if (const char *why = page_refusal(*shape)) return why;
  }
  return check_device(*device, decode_smem(decode_cut(*shape, *tuning, *device), shape->D));
}

/* Counters, in whole 256 bytes, before partial results; or packets. */
static void decode_plan_workspace(const attn_problem &shape, const DecodeCut &cut, attn_plan *plan) {
  constexpr uint32_t kPacketBytes = 16;
  if (cut.splits == 1) return;
  if (cut.ring) {
    plan->zeroed_bytes = (uint32_t)ring_records(shape, cut) * 32 * kRingPackets * kPacketBytes;
    plan->workspace_bytes = plan->zeroed_bytes;
    return;
  }
  plan->zeroed_bytes = counter_bytes((uint32_t)decode_counters(cut));
  plan->workspace_bytes = plan->zeroed_bytes + cut.parts * decode_slots(cut.splits) * cut.rows *
                                                   (shape.D * sizeof(float) + sizeof(DecodeStats));
}

static void decode_plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *device,
                        attn_plan *plan) {
  const DecodeCut cut = decode_cut(*shape, *tuning, *device);
  const uint32_t workers = cut.warps * 32, fetchers = cut.ring ? 32 : 0;
  plan->pass_count = 1;
  plan->tile_q = cut.row_tiles * kDecodeRows, plan->tile_kv = cut.keys;
  plan->splits = cut.splits, plan->stages = cut.ring ? cut.slots : 2;
  decode_plan_workspace(*shape, cut, plan);
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = decode_kernel_for(*shape, cut.row_tiles, cut.ring);
  set_grid(pass, cut.row_blocks, ATTN_COVERS_Q, cut.splits, ATTN_COVERS_SPLIT, shape->B * shape->Hkv,
           ATTN_COVERS_B | ATTN_COVERS_HKV);
  set_block(pass, workers + fetchers, workers, decode_smem(cut, shape->D), fetchers);
}

#ifdef __CUDACC__
/* As many lanes for each item as there are threads, but at most one for each source and a warp's for an item. */
static uint32_t decode_width_log2(uint32_t items, uint32_t sources, uint32_t threads) {
  uint32_t log2 = 0;
  while (log2 < 5 && 2u << log2 <= sources && (uint64_t)items << (log2 + 1) <= threads) ++log2;
  return log2;
}

static struct status decode_bind_registers(const attn_problem *shape, const attn_plan *plan,
                                           const attn_buffers *buffers, attn_pass_args *args) {
  const attn_pass &pass = plan->pass[0];
  DecodeParams a = {};
  a.attention = params_of(*shape, *buffers);
  a.rows = decode_rows(*shape);
  a.block_rows = a.rows < plan->tile_q ? a.rows : plan->tile_q;
  a.splits = plan->splits, a.group = decode_group(a.splits), a.groups = decode_groups(a.splits);
  while (32u << a.warps_log2 < pass.block[0]) ++a.warps_log2;
  a.tiles = ceil_div(shape->Skv, plan->tile_kv);
  const uint32_t items = a.block_rows * (shape->D / 4), warps = 1u << a.warps_log2;
  a.block_width_log2 = decode_width_log2(items, warps, pass.block[0]);
  a.merge_width_log2 = decode_width_log2(items, a.group, pass.block[0]);
  const uint64_t slots = (uint64_t)pass.grid[0] * pass.grid[2] * decode_slots(a.splits);
  a.counters = static_cast<uint32_t *>(buffers->workspace);
  a.partial = reinterpret_cast<float *>(static_cast<unsigned char *>(buffers->workspace) + plan->zeroed_bytes);
  a.stats = reinterpret_cast<DecodeStats *>(a.partial + slots * a.block_rows * shape->D);
  put_args(*args, a);
  return status_ok();
}

/* Reading blocks of a head: as many as have something to add up, but some SM has to be free of blocks that wait. */
static struct status ring_readers(const attn_plan *plan, uint32_t jobs, uint32_t *readers) {
  const uint64_t parts = (uint64_t)plan->pass[0].grid[0] * plan->pass[0].grid[2];
  int device = 0, sms = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess) return status_make(STATUS_DEVICE, "the number of SMs: %s", cudaGetErrorString(error));
  const uint32_t most = decode_least(plan->splits, jobs);
  *readers = plan->splits == 1 ? 1 : decode_least(most, ((uint32_t)sms - 1) / parts);
  return status_ok();
}

static struct status decode_bind_ring(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                                      attn_pass_args *args) {
  const uint64_t heads = plan->pass[0].grid[2];
  PagedRingParams a = {};
  a.attention = params_of(*shape, *buffers);
  a.rows = decode_rows(*shape);
  a.tiles = ceil_div(shape->Skv, plan->tile_kv);
  a.splits = plan->splits, a.slots = plan->stages, a.packets = buffers->workspace;
  const uint32_t units = plan->tile_q / kDecodeRows * (shape->D / ring_tile::kSlice);
  TRY(ring_readers(plan, units * (a.rows <= 2 ? 1 : a.rows <= 4 ? 2 : 4), &a.readers));
  const void *const tensor[2] = {buffers->k, buffers->v};
  if (attn_is_paged(shape)) {
    a.page_table = buffers->page_table, a.entries = attn_pages_for(shape->Skv, shape->page);
    a.boxes = page_boxes(*shape, plan->tile_kv);
    a.heads = shape->Hkv, a.by_heads = divider(shape->Hkv);
    for (uint32_t i = 0; i < 2; ++i)
      TRY(tensor_map_make(&a.maps[i], tensor[i], shape->dtype, attn_view_of(shape, i == 0 ? ATTN_K : ATTN_V),
                          a.boxes.rows, 1, CU_TENSOR_MAP_L2_PROMOTION_L2_128B));
    put_args(*args, a);
    return status_ok();
  }
  for (uint32_t i = 0; i < 2; ++i)
    TRY(tensor_map_make(&a.maps[i], tensor[i], shape->dtype, heads, shape->Skv, shape->D, plan->tile_kv,
                        CU_TENSOR_MAP_L2_PROMOTION_L2_128B));
  put_args(*args, static_cast<const RingParams &>(a));
  return status_ok();
}

static struct status decode_bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                                 attn_pass_args args[ATTN_PASSES_MAX]) {
  const void *ring = decode_kernel_for(*shape, plan->tile_q / kDecodeRows, true);
  return plan->pass[0].kernel == ring ? decode_bind_ring(shape, plan, buffers, args)
                                      : decode_bind_registers(shape, plan, buffers, args);
}
#endif

}  // namespace attn

extern "C" const struct attn_variant attn_variant_decode = {
    .name = "decode",
    .summary = "few queries against many keys: heads share K and V, splits of the keys are merged in the same launch",
    .limits = "Sq up to 16; compute capability >= 8.0, for pages 9.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .takes = ATTN_TAKES_PAGE,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = "mma.m16n8k16 has no fp32 inputs",
    .dims = {.one_of = {64, 128, 256}},
    .tunables = attn::decode_tunables,
    .supports = attn::decode_supports,
    .plan = attn::decode_plan,
    .bind = attn::decode_bind,
    .run = nullptr,
};
