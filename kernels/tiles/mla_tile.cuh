/* The tile of `mla`: 64 query rows of absorbed multi-head latent attention against tiles of 32 or 64 keys, by wgmma.
 * V of a key is the first 512 of its 576 columns of K, so a tile of K is loaded once for both products.
 *
 *   S = Q K^T   64 x 32 or 64 x 64, 576 summed columns; one warpgroup has all of it
 *   O = P V     64 x 512; each of two warpgroups has one half of the columns: 128 registers of each thread
 *
 * Tiles are numbered through all items of a block. Tile n lies in buffer n % kBuffers and belongs to warpgroup n %
 * 2: that one computes the scores, makes weights of them, leaves the weights in shared memory for the other one, and
 * multiplies its half of V by those that it has in registers. The other one first starts the scores of the next
 * tile. Then it multiplies its own half of V by the weights in shared memory. So the two warpgroups take turns: the
 * scores of a tile are computed while the weights of the tile before are made. Both see the weights of all tiles in
 * the order of the tiles, and so O of both has the same reference at all times: whoever raises it leaves it beside
 * the weights. One place for weights is enough: the warpgroup that writes tile n's has just finished reading those
 * of tile n - 1.
 *
 * A tile is nine slabs of 64 columns, each with a barrier of its own: the product starts when the first of them has
 * come. They are given back in three parts: the last slab, which V has no part of, behind the scores; each half of V
 * behind the product of its warpgroup. Each part has a warp that fetches it as soon as it is free. The next tile of
 * 64 keys is brought into L2 while a tile is fetched.
 *
 * A cluster of two blocks shares the keys: each block has 64 rows of its own, fetches half of each slab for both, and
 * gives its slabs back to both.
 *
 * Work is a line of units. An item is up to 64 rows for each block of a cluster, of one sequence. Where a sequence
 * has several items, teams of clusters take them side by side: each cluster of a team has an item of its own and the
 * same tiles of keys at the same time, so that memory is asked once for a bundle. The items that a team takes
 * together are a bundle, which takes `cost` units for its start and end, and one for each tile of keys. Each team
 * takes an equal stretch of the line, whatever bundles that cuts, or, where it costs less, whole bundles. A block has
 * two partial results at most, that of its first item and that of its last. */
#ifndef ATTNBENCH_KERNELS_MLA_TILE_CUH
#define ATTNBENCH_KERNELS_MLA_TILE_CUH

#include "kernels/tiles/attn_params.cuh"
#include "kernels/tiles/item_order.cuh"
#include "kernels/tiles/page_boxes.cuh"
#include "kernels/tiles/work_line.cuh"

#ifdef __CUDACC__
#include "kernels/tiles/attn_device.cuh"
#include "kernels/tiles/fragment.cuh"
#include "kernels/tiles/hopper_tile.cuh"
#include "kernels/tiles/ptx.cuh"
#endif

namespace attn::mla {

constexpr uint32_t kD = 576, kDv = 512, kRows = 64, kGroups = 2;
constexpr uint32_t kSlabs = kD / 64, kHalfSlabs = kDv / 64 / 2, kRowBytes = 128; /* of a row of a slab */
constexpr uint32_t kConsumers = kGroups * 128, kThreads = kConsumers + 128, kWarps = kThreads / 32;
constexpr uint32_t kPartials = 2; /* of a block */

/* The parts of a tile that are given back on their own: two halves of V, and the columns that are in K alone. */
constexpr uint32_t kParts = 3, kKeysAlone = 2;

/* All buffers together hold so many keys, whatever a tile has. */
constexpr uint32_t kBufferedKeys = 128;
constexpr uint32_t buffers_of(uint32_t tile_keys) { return kBufferedKeys / tile_keys; }

/* Barriers of a block: a slab has come, a part of a buffer may be filled again, Q has come, Q may be replaced. */
constexpr uint32_t barriers_of(uint32_t buffers) { return buffers * (kSlabs + kParts) + 2; }

/* Shared memory: Q | buffers | weights, a row of a slab for each row | 16 bytes for each row and warpgroup | words of
 * the line of work | 16 bytes for all | barriers. */
constexpr uint32_t kTilesAt = kSlabs * kRows * kRowBytes, kWeightsAt = kTilesAt + kSlabs * kBufferedKeys * kRowBytes;
constexpr uint32_t kRowsAt = kWeightsAt + kRows * kRowBytes, kWordsAt = kRowsAt + kGroups * kRows * 16;
constexpr uint32_t kArrivedAt = kWordsAt + ceil_div(work_line_words(kWarps), 4) * 16, kBarriersAt = kArrivedAt + 16;
constexpr uint32_t smem_bytes(uint32_t tile_keys) { return kBarriersAt + 8 * barriers_of(buffers_of(tile_keys)); }

/* Of the partial results of a block whose warps have 16 rows each. */
constexpr uint64_t kWarpPartialBytes = 16 * kDv * 4, kStatsBytes = kRows * 8;
constexpr uint64_t partial_bytes(uint32_t row_warps) {
  return kPartials * (row_warps * kWarpPartialBytes + kStatsBytes);
}

}  // namespace attn::mla

#ifdef __CUDACC__

namespace attn {

/* The argument. */
struct MlaParams {
  CUtensorMap k; /* [pages, or sequences, or 1][tokens][576], in boxes of `boxes.rows` tokens */
  Params attention;
  Views at;
  int32_t right;
  Divider by_heads, by_teams;      /* Hq; teams */
  Divider by_sequence, by_bundles; /* units and bundles of a sequence, where all have one length */
  PageBoxes boxes;
  uint32_t cost;
  uint32_t bundles_most; /* of each sequence with queries: its bundles, or UINT32_MAX where a team is one cluster */
  bool is_whole;         /* teams take whole bundles */
  bool reads_once;       /* one cluster has all rows of a sequence */
  uint32_t row_warps;
  uint32_t *arrivals; /* [block]; zero before and after each launch */
  float4 *partial;    /* [block][kPartials][warpgroup][row_warps][32][lane]: a thread's sums, as it holds them */
  float2 *stats;      /* [block][kPartials][row]: the reference and the sum of the weights */
};

namespace mla {

template <typename Element, uint32_t kBlocks, uint32_t kTileKeys>
struct Config {
  using T = Element;
  static constexpr uint32_t kCluster = kBlocks, kKeys = kTileKeys, kBuffers = buffers_of(kKeys);
  static constexpr uint32_t kSlabBytes = kKeys * kRowBytes, kTileBytes = kSlabs * kSlabBytes; /* of keys */
  static constexpr bool kPrefetches = kKeys == 64; /* two buffers do not hide the latency of memory, but that of L2 */
};

#ifdef ATTN_SM90A

/* Named barriers. 0 is that of __syncthreads. */
enum Barrier : uint32_t {
  kWeightsReady = 1, /* and 2, by owner: the other warpgroup waits for the weights of a tile */
  kTailCleared = 3,  /* and 4, by owner: a warpgroup waits for its rows behind the last key to be zeros */
  /* At an item's end. Each is waited for in one place of the code. A barrier that both warpgroups wait for would be
   * two instructions, as each warpgroup has code of its own, and synccheck reports these as divergent threads. */
  kReferencesRead = 5, /* and 6, by who waits: the other warpgroup has read the references that this one left */
  kSumsReady = 7,      /* and 8, by who waits: the other warpgroup has left its sums */
  kPartialStored = 9,  /* warpgroup 0 waits for what warpgroup 1 stored */
  kCounted = 10,       /* and 11, by who waits: thread 0 has counted the block's arrival */
};

template <uint32_t kCluster>
__device__ __forceinline__ uint32_t rank_in_cluster() {
  if constexpr (kCluster > 1) return ptx::cluster_rank();
  return 0;
}
/* The teams are the workers of the line. */
struct Teams {
  __device__ __forceinline__ uint32_t index() const { return blockIdx.y; }
  __device__ __forceinline__ uint32_t count() const { return gridDim.y; }
};

template <typename C>
struct Layout {
  static constexpr uint32_t kBuffers = C::kBuffers;

  uint32_t base; /* shared address */

  __device__ __forceinline__ uint32_t q() const { return base; }
  __device__ __forceinline__ uint32_t tile(uint32_t buffer) const { return base + kTilesAt + buffer * C::kTileBytes; }
  __device__ __forceinline__ uint32_t weights() const { return base + kWeightsAt; }
  __device__ __forceinline__ uint32_t row(uint32_t group, uint32_t row) const {
    return base + kRowsAt + (group * kRows + row) * 16;
  }
  __device__ __forceinline__ uint32_t words() const { return base + kWordsAt; }
  __device__ __forceinline__ uint32_t arrived() const { return base + kArrivedAt; }
  __device__ __forceinline__ uint32_t full(uint32_t buffer, uint32_t slab) const {
    return barrier(buffer * kSlabs + slab);
  }
  __device__ __forceinline__ uint32_t empty(uint32_t buffer, uint32_t part) const {
    return barrier(kBuffers * kSlabs + buffer * kParts + part);
  }
  __device__ __forceinline__ uint32_t q_full() const { return barrier(kBuffers * (kSlabs + kParts)); }
  __device__ __forceinline__ uint32_t q_empty() const { return barrier(kBuffers * (kSlabs + kParts) + 1); }

  /* Who arrives in each phase: one thread expects the bytes of a slab; the four warps of one warpgroup in each block
   * of the cluster give a part back; the warp that fetches Q; all warps that multiply. */
  __device__ __forceinline__ void init_barriers() const {
    for (uint32_t b = 0; b < kBuffers; ++b) {
      for (uint32_t slab = 0; slab < kSlabs; ++slab) hopper::barrier_init(full(b, slab), 1);
      for (uint32_t part = 0; part < kParts; ++part) hopper::barrier_init(empty(b, part), 4 * C::kCluster);
    }
    hopper::barrier_init(q_full(), 1), hopper::barrier_init(q_empty(), kConsumers / kWarp);
    hopper::barrier_publish();
  }

 private:
  __device__ __forceinline__ uint32_t barrier(uint32_t i) const { return base + kBarriersAt + 8 * i; }
};

__device__ __forceinline__ void put_word(uint32_t address, uint32_t x, uint32_t y = 0) {
  ptx::store_shared(address, make_uint4(x, y, 0, 0));
}

/* A reference of weights as an exponent; 0 where there is none, so that the factor is 2^-inf = 0. */
__device__ __forceinline__ float exponent_of(float reference) {
  return reference == minus_infinity() ? 0.0f : reference;
}

/* ---- the line of units ----------------------------------------------------------------------------------------- */

/* A sequence, its tiles of keys and its bundles. */
struct Work {
  Sequence sequence;
  uint32_t tiles, bundles;
};

template <typename C>
__device__ __forceinline__ Work work_of(const MlaParams &a, uint32_t b) {
  const Sequence sequence = sequence_of(a.attention, a.at, b);
  const uint32_t items = ceil_div(sequence.Sq * a.attention.Hq, kRows * C::kCluster);
  /* opaque: the compiler would keep the limit in a register all along, and others would spill */
  return {sequence, ceil_div(sequence.Skv, C::kKeys), min(items, ptx::opaque(a.bundles_most))};
}
__device__ __forceinline__ uint32_t units_of(const MlaParams &a, const Work &work) {
  return work.bundles * (a.cost + work.tiles);
}

using Line = WorkLine<Teams>;

template <typename C>
__device__ __forceinline__ Line line_of(const MlaParams &a, uint32_t *words) {
  return work_line_of(a.attention.B, a.at.cu_seqlens_q != nullptr, Teams{}, a.by_teams, a.by_sequence, words,
                      [&](uint32_t b) { return units_of(a, work_of<C>(a, b)); });
}

/* A cluster's way along its items: one of each bundle of its team. */
template <typename C>
struct Walk {
  static constexpr uint32_t kCluster = C::kCluster;

  const MlaParams &a;
  const Line &line;
  uint32_t tiles = 0, bundles = 1; /* of the sequence */
  uint32_t b, bundle;              /* the sequence, and which of its bundles */
  uint32_t base;             /* the bundle's first unit; of whole bundles its number, counted through all sequences */
  uint32_t from = 0, to = 0; /* tiles of it that the team takes */
  bool is_open = false;      /* false: it has come to its end */

  __device__ __forceinline__ Walk(const MlaParams &params, const Line &way)
      : a(params), line(way), b(way.b), bundle(0), base(way.base) {
    if (a.is_whole) {
      look_up(0);
      base = blockIdx.y;
      settle_whole();
    } else if (b < a.attention.B) {
      look_up(b);
      bundle = (line.first - base) / (a.cost + tiles);
      base += bundle * (a.cost + tiles);
      settle();
    }
  }
  __device__ __forceinline__ void next() {
    if (a.is_whole) {
      base += gridDim.y;
      settle_whole();
    } else {
      pass();
      settle();
    }
  }
  /* Read again wherever it is needed: kept, it would occupy registers. */
  __device__ __forceinline__ Sequence sequence() const { return sequence_of(a.attention, a.at, b); }
  /* Rows of the item before those of this block, and rows of this block; none where another block has the last. */
  __device__ __forceinline__ uint32_t first_row() const { return (bundle * gridDim.x + blockIdx.x) * kRows; }
  __device__ __forceinline__ uint32_t rows(const Sequence &of) const {
    const uint32_t all = of.Sq * a.attention.Hq, first = first_row();
    return first < all ? min(all - first, kRows) : 0;
  }
  __device__ __forceinline__ bool has_all() const { return from == 0 && to == tiles; }
  /* The teams that have tiles of the bundle: the first, and how many; there is one tile at least. */
  __device__ __forceinline__ uint32_t first_team() const { return line.worker_of(base + a.cost); }
  __device__ __forceinline__ uint32_t team_count() const {
    return line.worker_of(base + a.cost + tiles - 1) - first_team() + 1;
  }

 private:
  __device__ __forceinline__ void look_up(uint32_t which) {
    const Work work = work_of<C>(a, which);
    tiles = work.tiles, bundles = work.bundles;
  }
  /* Sequences have one length. */
  __device__ __forceinline__ void settle_whole() {
    b = a.by_bundles.quotient(base), bundle = base - b * bundles;
    from = 0, to = tiles, is_open = b < a.attention.B;
  }
  __device__ __forceinline__ void pass() {
    base += a.cost + tiles;
    if (++bundle < bundles) return;
    bundle = 0;
    while (++b < a.attention.B) {
      look_up(b);
      if (bundles > 0) return;
    }
  }
  __device__ __forceinline__ uint32_t tiles_before(uint32_t unit) const {
    return unit <= base + a.cost ? 0 : min(unit - base - a.cost, tiles);
  }
  /* Goes on to the next bundle of which the team has tiles. A bundle without tiles goes to the team that has its
   * first unit. */
  __device__ __forceinline__ void settle() {
    for (; b < a.attention.B && base < line.end; pass()) {
      from = tiles_before(line.first), to = tiles_before(line.end);
      is_open = from < to || (tiles == 0 && base >= line.first);
      if (is_open) return;
    }
    is_open = false;
  }
};

/* ---- fetching -------------------------------------------------------------------------------------------------- */

/* One warp for each part of the tiles of all items. The parts become free at times of their own, and none waits for
 * another. A lane has one of the boxes of a slab: a page, or as much as this block fetches. */
template <typename C>
struct KeyFetcher {
  static constexpr uint32_t kCluster = C::kCluster, kKeys = C::kKeys, kBuffers = C::kBuffers;
  using T = typename C::T;
  static constexpr uint32_t kSlabBytes = C::kSlabBytes;
  static constexpr uint32_t kShare = kKeys / kCluster; /* keys of a tile that this block fetches */

  const MlaParams &a;
  const Layout<C> at;
  const uint32_t part;

  /* Where the lane's box of a tile begins. Pages behind the sequence's last one are outside the tensor: zeros. */
  __device__ __forceinline__ Box box_of(const Sequence &sequence, uint32_t tile) const {
    const uint32_t key = tile * kKeys + rank_in_cluster<kCluster>() * kShare +
                         min(threadIdx.x % kWarp * a.boxes.rows, kShare - a.boxes.rows);
    if (sequence.pages == nullptr) return {sequence.k_first + key, sequence.batch};
    return box_at(a.boxes, sequence.pages, key, sequence.Skv);
  }

  __device__ __forceinline__ uint64_t policy() const {
    return a.reads_once ? hopper::kEvictFirst : hopper::kEvictNormal;
  }

  /* Brings what this block fetches of a tile into L2. Rows lie behind one another in memory, so one instruction takes
   * all of a box, where the copies to shared memory take one for each slab. */
  __device__ __forceinline__ void prefetch(const Sequence &sequence, uint32_t tile) const {
    const uint32_t lane = threadIdx.x % kWarp,
                   key = tile * kKeys + rank_in_cluster<kCluster>() * kShare + lane * a.boxes.rows;
    if (lane * a.boxes.rows >= kShare || key >= sequence.Skv) return;
    const Box box = box_of(sequence, tile);
    const size_t at = (size_t)box.matrix * a.at.k.batch_stride + (size_t)box.token * kD;
    hopper::prefetch_bytes(static_cast<const T *>(a.attention.k) + at,
                           min(a.boxes.rows, sequence.Skv - key) * (kD * 2), policy());
  }

  /* Tile n of the block. */
  __device__ __forceinline__ void fetch(uint32_t n, Box box) const {
    const uint32_t lane = threadIdx.x % kWarp, buffer = n % kBuffers;
    const uint32_t to = at.tile(buffer) + (rank_in_cluster<kCluster>() * kShare + lane * a.boxes.rows) * kRowBytes;
    const uint32_t first = part * kHalfSlabs, end = part == kKeysAlone ? kSlabs : first + kHalfSlabs;
    hopper::barrier_wait(at.empty(buffer, part), n / kBuffers % 2 ^ 1);
#pragma unroll 1
    for (uint32_t slab = first; slab < end; ++slab) {
      const uint32_t full = at.full(buffer, slab);
      if (lane == 0) hopper::barrier_expect(full, kSlabBytes);
      if (lane * a.boxes.rows >= kShare) continue;
      if constexpr (kCluster > 1)
        hopper::load_box_to_all(to + slab * kSlabBytes, &a.k, full, slab * 64, box.token, box.matrix,
                                (1 << kCluster) - 1, policy());
      else
        hopper::load_box(to + slab * kSlabBytes, &a.k, full, slab * 64, box.token, box.matrix, policy());
    }
  }

  __device__ __forceinline__ void run(const Line &line) const {
    uint32_t n = 0;
    for (Walk<C> walk(a, line); walk.is_open; walk.next()) {
      if (walk.from == walk.to) continue;
      const Sequence sequence = walk.sequence();
      Box box = box_of(sequence, walk.from);
#pragma unroll 1
      for (uint32_t tile = walk.from; tile < walk.to; ++tile, ++n) {
        const Box next =
            box_of(sequence, min(tile + 1, walk.to - 1)); /* the table is read while buffers are in use */
        if (C::kPrefetches && part == kKeysAlone && blockIdx.x < kCluster && tile + 1 < walk.to)
          prefetch(sequence, tile + 1);
        fetch(n, box);
        box = next;
      }
    }
  }
};

/* One warp: the rows of Q of each item, as soon as both warpgroups have finished with those of the item before. Rows
 * are [query][head]; where they lie follows from the strides of any layout. Each lane finds the places of two rows.
 * For each row, 32 lanes copy 16 bytes each, which are four slabs. */
template <typename C>
__device__ __forceinline__ void fetch_q(const MlaParams &a, const Layout<C> &at, const Line &line) {
  using T = typename C::T;
  constexpr uint32_t kSlabBytes = kRows * kRowBytes, kChunkBytes = 16, kPass = kWarp * kChunkBytes; /* four slabs */
  static_assert(kSlabs == 9 && kRows == 2 * kWarp);
  const uint32_t lane = threadIdx.x % kWarp;
  uint32_t round = 0;
  for (Walk<C> walk(a, line); walk.is_open; walk.next(), ++round) {
    const Sequence sequence = walk.sequence();
    const uint32_t rows = walk.rows(sequence), first = walk.first_row();
    uint64_t places[2]; /* in elements */
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t row = i * kWarp + lane, of_sequence = row < rows ? first + row : 0;
      const uint32_t token = a.by_heads.quotient(of_sequence);
      places[i] =
          attn_view_token(&a.at.q, sequence.batch, of_sequence - token * a.attention.Hq, sequence.q_first + token);
    }
    hopper::barrier_wait(at.q_empty(), round % 2 ^ 1);
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i)
#pragma unroll 8
      for (uint32_t of_lane = 0; of_lane < kWarp; ++of_lane) {
        const uint32_t row = i * kWarp + of_lane;
        const unsigned char *const from =
            reinterpret_cast<const unsigned char *>(static_cast<const T *>(a.attention.q) +
                                                    __shfl_sync(kFullWarp, places[i], of_lane)) +
            lane * kChunkBytes;
        const uint32_t to = at.q() + lane / 8 * kSlabBytes + row * kRowBytes + (lane % 8 ^ of_lane % 8) * kChunkBytes;
        ptx::cp_async_16(to, from, row < rows);
        ptx::cp_async_16(to + 4 * kSlabBytes, from + kPass, row < rows);
        if (lane < 8) ptx::cp_async_16(to + 8 * kSlabBytes, from + 2 * kPass, row < rows);
      }
    ptx::cp_async_commit();
    ptx::cp_async_wait<0>();
    hopper::fence_async();
    __syncwarp();
    if (lane == 0) hopper::barrier_arrive(at.q_full());
  }
}

/* ---- multiplying ----------------------------------------------------------------------------------------------- */

/* One warpgroup; 0 has the left half of O's columns. A constant, as are the addresses and barriers that follow from
 * it, which would occupy registers else. */
template <typename C, uint32_t kGroup>
struct Multiplier {
  using T = typename C::T;
  static constexpr uint32_t kCluster = C::kCluster, kKeys = C::kKeys, kBuffers = C::kBuffers;
  static constexpr uint32_t kSlabBytes = C::kSlabBytes;
  static constexpr float kGrowth = 8.0f; /* weights stay below 2^8 */

  const MlaParams &a;
  const Layout<C> at;
  float s[kKeys / 2], o[kDv / kGroups / 2];
  uint32_t p[kKeys / 4];
  float reference[2], sum[2]; /* of the thread's two rows; the thread's part of the sum of weights of its own tiles */
  uint32_t seen_by_all;       /* keys that all rows of the block see */

  __device__ __forceinline__ Multiplier(const MlaParams &params, const Layout<C> &layout) : a(params), at(layout) {}

  static __device__ __forceinline__ uint32_t row_of_thread() {
    return threadIdx.x % 128 / kWarp * 16 + threadIdx.x % kWarp / 4;
  }
  /* The warp has read a part of a buffer; says so to every block that fetches into it. */
  __device__ __forceinline__ void release(uint32_t n, uint32_t part) const {
    const uint32_t lane = threadIdx.x % kWarp, empty = at.empty(n % kBuffers, part);
    if constexpr (kCluster > 1) {
      if (lane < kCluster) hopper::barrier_arrive_at(empty, lane);
    } else {
      if (lane == 0) hopper::barrier_arrive(empty);
    }
  }
  static __device__ __forceinline__ uint64_t forward(uint64_t operand, uint32_t bytes) {
    return (operand & 0xffffffff00000000ull) | ((uint32_t)operand + (bytes >> 4));
  }

  /* Starts S = Q K' of tile n, slab by slab as they come. */
  __device__ __forceinline__ void start_qk(uint32_t n) {
    const uint64_t rows = hopper::operand(at.q()), keys = hopper::operand(at.tile(n % kBuffers));
    hopper::pin(s);
#pragma unroll
    for (uint32_t i = 0; i < kSlabs; ++i) {
      const uint32_t slab = i == 0 ? kSlabs - 1 : (i - 1) ^ kGroup * kHalfSlabs;
      hopper::barrier_wait(at.full(n % kBuffers, slab), n / kBuffers % 2);
      hopper::wgmma_fence(); /* behind each wait: the compiler would put products into single file otherwise */
#pragma unroll
      for (uint32_t d = 0; d < 4; ++d)
        hopper::MultiplyQk<T, kKeys>::run(s, forward(rows, slab * kRows * kRowBytes + d * 32),
                                          forward(keys, slab * kSlabBytes + d * 32), i + d > 0);
    }
    hopper::wgmma_commit();
  }
  /* V of this warpgroup's columns of tile n. */
  __device__ __forceinline__ uint64_t values(uint32_t n) const {
    return hopper::operand(at.tile(n % kBuffers) + kGroup * kHalfSlabs * kSlabBytes, kSlabBytes);
  }

  /* Waits for the weights of the other warpgroup's tile n and starts O += P V; O = P V when not `keep`. */
  __device__ __forceinline__ void start_other(uint32_t n, bool keep) {
    const uint32_t row = row_of_thread();
    hopper::named_sync(kWeightsReady + 1 - kGroup, kConsumers);
    float next[2];
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) next[i] = __uint_as_float(ptx::load_shared(at.row(1 - kGroup, row + 8 * i)).x);
    if (__any_sync(kFullWarp, next[0] != reference[0] || next[1] != reference[1])) {
      float factor[2];
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        factor[i] = ptx::ex2(reference[i] - exponent_of(next[i]));
        reference[i] = next[i], sum[i] *= factor[i];
      }
      rescale(factor);
    }
    const uint64_t v = values(n), weights = hopper::operand(at.weights());
    hopper::pin(o);
    hopper::wgmma_fence();
#pragma unroll
    for (uint32_t k = 0; k < kKeys / 16; ++k)
      hopper::MultiplyPvShared<T, kDv / kGroups>::run(o, forward(weights, k * 32), forward(v, k * 16 * kRowBytes),
                                                      k > 0 || keep);
    hopper::wgmma_commit();
  }

  __device__ __forceinline__ void rescale(const float (&factor)[2]) {
#pragma unroll
    for (uint32_t j = 0; j < kDv / kGroups / 2; ++j) o[j] *= factor[j / 2 % 2];
  }

  /* Keys that a row of the block sees; rows behind the last one as the last. */
  __device__ __forceinline__ uint32_t seen_by(const Walk<C> &walk, const Sequence &sequence, uint32_t row) const {
    const attn_mask mask = {sequence.Sq, sequence.Skv, -1, a.right};
    const uint32_t last = sequence.Sq * a.attention.Hq - 1;
    return attn_mask_row(&mask, a.by_heads.quotient(min(walk.first_row() + row, last))).end;
  }
  /* Scores of keys that a row does not see become minus infinity; `first` is the tile's first key. */
  __device__ __forceinline__ void mask(const Walk<C> &walk, uint32_t first) {
    const Sequence sequence = walk.sequence();
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t seen = seen_by(walk, sequence, row_of_thread() + 8 * i);
      const int32_t left = (int32_t)(seen - first) - (int32_t)(threadIdx.x % 4 * 2);
#pragma unroll
      for (uint32_t j = 0; j < kKeys / 8; ++j)
#pragma unroll
        for (int32_t c = 0; c < 2; ++c)
          if ((int32_t)(8 * j) + c >= left) s[4 * j + 2 * i + c] = minus_infinity();
    }
  }

  /* Rows of V behind the last key become zeros: they may hold NaN, and 0 * NaN is NaN. */
  __device__ __forceinline__ void clear_tail(uint32_t n, uint32_t keys) const {
    const uint32_t tile = at.tile(n % kBuffers);
    if (keys >= kKeys) return;
    clear_keys<kDv, C::kSlabBytes>(tile, keys, kKeys, threadIdx.x % 128, 128);
    hopper::fence_async();
    hopper::named_sync(kTailCleared + kGroup, 128);
  }

  /* Scores to weights. True: what was summed before is to be multiplied by factor[]. */
  __device__ __forceinline__ bool weigh(float (&factor)[2]) {
    const float scale = a.attention.scale_log2;
    float largest[2];
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      float x[2] = {fmaxf(s[2 * i], s[2 * i + 1]), fmaxf(s[4 + 2 * i], s[4 + 2 * i + 1])};
#pragma unroll
      for (uint32_t j = 2; j < kKeys / 8; ++j)
        x[j % 2] = fmaxf(x[j % 2], fmaxf(s[4 * j + 2 * i], s[4 * j + 2 * i + 1]));
      largest[i] = fmaxf(x[0], x[1]) * scale;
    }
    const bool grew = largest[0] - reference[0] > kGrowth || largest[1] - reference[1] > kGrowth;
    const bool raised = __any_sync(kFullWarp, grew);
    if (raised) {
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        const float next = fmaxf(reference[i], quad_max(largest[i]));
        factor[i] = ptx::ex2(reference[i] - exponent_of(next));
        reference[i] = next, sum[i] *= factor[i];
      }
    }
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float base = exponent_of(reference[i]);
#pragma unroll
      for (uint32_t j = 0; j < kKeys / 8; ++j)
#pragma unroll
        for (uint32_t c = 0; c < 2; ++c) {
          float &x = s[4 * j + 2 * i + c];
          x = ptx::ex2(fmaf(x, scale, -base));
          sum[i] += x;
        }
    }
    return raised;
  }

  /* The weights as an operand, in registers and, with the reference, for the other warpgroup. */
  __device__ __forceinline__ void share_weights() {
    const uint32_t lane = threadIdx.x % kWarp, row = threadIdx.x % 128 / kWarp * 16 + lane % 16;
#pragma unroll
    for (uint32_t i = 0; i < kKeys / 4; ++i) p[i] = pack<T>(s[2 * i], s[2 * i + 1]);
#pragma unroll
    for (uint32_t k = 0; k < kKeys / 16; ++k) {
      const uint32_t four[4] = {p[4 * k], p[4 * k + 1], p[4 * k + 2], p[4 * k + 3]};
      ptx::stmatrix_x4(at.weights() + row * kRowBytes + ((2 * k + lane / 16) ^ row % 8) * 16, four);
    }
    if (lane % 4 == 0)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i)
        put_word(at.row(kGroup, row_of_thread() + 8 * i), __float_as_uint(reference[i]));
    hopper::fence_async();
    hopper::named_arrive(kWeightsReady + kGroup, kConsumers);
  }

  /* Takes in the item's tile i, which is tile n of the block, and, unless it is the first, the tile before of the
   * other warpgroup. */
  template <bool kIsFirst>
  __device__ __forceinline__ void attend(const Walk<C> &walk, uint32_t n, uint32_t i) {
    const uint32_t tile = walk.from + i, first = tile * kKeys;
    start_qk(n);
    if constexpr (kIsFirst) {
      hopper::wgmma_wait<0>();
    } else {
      start_other(n - 1, i > 1);
      hopper::wgmma_wait<1>();
    }
    hopper::pin(s);
    release(n, kKeysAlone);
    if (tile + 1 == walk.tiles) clear_tail(n, walk.sequence().Skv - first);
    if (first + kKeys > seen_by_all) mask(walk, first);
    float factor[2];
    const bool raised = weigh(factor);
    if constexpr (!kIsFirst) {
      hopper::wgmma_wait<0>();
      hopper::pin(o);
      release(n - 1, kGroup);
      if (raised) rescale(factor);
    }
    share_weights();
    const uint64_t v = values(n);
    hopper::pin(o), hopper::pin(p);
    hopper::wgmma_fence();
#pragma unroll
    for (uint32_t k = 0; k < kKeys / 16; ++k)
      hopper::MultiplyPv<T, kDv / kGroups>::run(o, p + 4 * k, forward(v, k * 16 * kRowBytes), k > 0 || !kIsFirst);
    hopper::wgmma_commit();
    hopper::wgmma_wait<0>();
    hopper::pin(o), hopper::pin(p);
    release(n, kGroup);
  }

  /* All tiles of an item, the first of which is the block's tile n. */
  __device__ __forceinline__ void attend_all(const Walk<C> &walk, uint32_t n) {
    const uint32_t tiles = walk.to - walk.from;
    uint32_t i = (n ^ kGroup) % 2; /* of the next tile that is this warpgroup's own */
    if (i == 0) {
      attend<true>(walk, n, 0);
      i = 2;
    }
#pragma unroll 1
    for (; i < tiles; i += 2) attend<false>(walk, n + i, i);
    if (i == tiles) { /* the last tile is the other's */
      start_other(n + tiles - 1, tiles > 1);
      hopper::wgmma_wait<0>();
      hopper::pin(o);
      release(n + tiles - 1, kGroup);
    }
  }

  __device__ __forceinline__ void begin(const Walk<C> &walk) {
    reference[0] = reference[1] = minus_infinity(), sum[0] = sum[1] = 0.0f;
    seen_by_all = seen_by(walk, walk.sequence(), 0);
    if (walk.from < walk.to) return;
#pragma unroll
    for (uint32_t j = 0; j < kDv / kGroups / 2; ++j) o[j] = 0.0f;
  }

  /* Waits for the other warpgroup, which waits for this one. `barrier` is the first of two: each warpgroup arrives at
   * the barrier of the other and waits at its own. Two calls in a row need different pairs, so that nobody arrives
   * twice at a barrier at which the other one still waits. */
  static __device__ __forceinline__ void meet(uint32_t barrier) {
    hopper::named_arrive(barrier + 1 - kGroup, kConsumers);
    hopper::named_sync(barrier + kGroup, kConsumers);
  }

  /* Of both warpgroups, once for each of the thread's rows. No warpgroup goes on to the next item, whose Q must have
   * come, before both have read what the other has written here. */
  __device__ __forceinline__ void add_sums() {
    const uint32_t row = row_of_thread();
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) sum[i] = quad_sum(sum[i]);
    meet(kReferencesRead); /* orders the last references' reads before these stores */
    if (threadIdx.x % 4 == 0)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) put_word(at.row(kGroup, row + 8 * i), __float_as_uint(sum[i]));
    meet(kSumsReady); /* orders the stores before the reads */
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) sum[i] += __uint_as_float(ptx::load_shared(at.row(1 - kGroup, row + 8 * i)).x);
    __syncwarp();
    if (threadIdx.x % kWarp == 0) hopper::barrier_arrive(at.q_empty());
  }

  /* Writes the rows of O, normalised, and their LSE. A row that sees no key has a sum of 0 and becomes zeros. */
  __device__ __forceinline__ void store(const Walk<C> &walk) {
    const Sequence sequence = walk.sequence();
    const uint32_t rows = walk.rows(sequence), lane = threadIdx.x % kWarp;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t row = row_of_thread() + 8 * i, of_sequence = row < rows ? walk.first_row() + row : 0;
      const uint32_t token = a.by_heads.quotient(of_sequence), head = of_sequence - token * a.attention.Hq;
      const float f = sum[i] > 0.0f ? 1.0f / sum[i] : 0.0f;
      T *const to = static_cast<T *>(a.attention.o) +
                    attn_view_token(&a.at.o, sequence.batch, head, sequence.q_first + token) +
                    kGroup * (kDv / kGroups);
      if (a.attention.lse != nullptr && kGroup == 0 && lane % 4 == 0 && row < rows)
        a.attention.lse[attn_view_token(&a.at.lse, sequence.batch, head, sequence.q_first + token)] =
            log_sum_exp(reference[i], sum[i]);
#pragma unroll
      for (uint32_t j = 0; j < kDv / kGroups / 8; j += 4) {
        uint32_t w[4];
#pragma unroll
        for (uint32_t k = 0; k < 4; ++k) w[k] = pack<T>(o[4 * (j + k) + 2 * i] * f, o[4 * (j + k) + 2 * i + 1] * f);
        quad_transpose(w);
        if (row < rows) *reinterpret_cast<uint4 *>(to + 8 * (j + lane % 4)) = make_uint4(w[0], w[1], w[2], w[3]);
      }
    }
  }

  /* The block of a team that has the same rows of an item as this one. */
  static __device__ __forceinline__ uint32_t block_of(uint32_t team) { return team * gridDim.x + blockIdx.x; }
  /* A block's partial result of an item: of the one that it begins, or of one that began before. */
  static __device__ __forceinline__ size_t partial_of(uint32_t block, bool begins) {
    return (size_t)block * kPartials + begins;
  }
  /* The thread's sums in it. */
  __device__ __forceinline__ float4 *sums_of(size_t partial) const {
    const uint32_t warp = threadIdx.x % 128 / kWarp;
    return a.partial + ((partial * kGroups + kGroup) * a.row_warps + warp) * (kDv / kGroups / 8 * kWarp) +
           threadIdx.x % kWarp;
  }
  __device__ __forceinline__ void store_partial(size_t partial) const {
    if (threadIdx.x % 128 / kWarp >= a.row_warps) return;
    float4 *const to = sums_of(partial);
#pragma unroll
    for (uint32_t k = 0; k < kDv / kGroups / 8; ++k)
      to[k * kWarp] = make_float4(o[4 * k], o[4 * k + 1], o[4 * k + 2], o[4 * k + 3]);
    if (kGroup == 0 && threadIdx.x % 4 == 0)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i)
        a.stats[partial * kRows + row_of_thread() + 8 * i] = make_float2(reference[i], sum[i]);
  }

  /* What the teams of an item have, in their order. */
  __device__ __forceinline__ void load_partials(uint32_t first, uint32_t count) {
    const uint32_t row = row_of_thread();
    reference[0] = reference[1] = minus_infinity(), sum[0] = sum[1] = 0.0f;
#pragma unroll
    for (uint32_t j = 0; j < kDv / kGroups / 2; ++j) o[j] = 0.0f;
    if (threadIdx.x % 128 / kWarp >= a.row_warps) return;
    const auto stats_of = [&](uint32_t which, uint32_t i) {
      return __ldcg(a.stats + partial_of(block_of(first + which), which == 0) * kRows + row + 8 * i);
    };
    for (uint32_t which = 0; which < count; ++which)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) reference[i] = fmaxf(reference[i], stats_of(which, i).x);
#pragma unroll 1
    for (uint32_t which = 0; which < count; ++which) {
      const float4 *const from = sums_of(partial_of(block_of(first + which), which == 0));
      float factor[2];
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        const float2 stats = stats_of(which, i);
        factor[i] = ptx::ex2(stats.x - exponent_of(reference[i]));
        sum[i] = fmaf(stats.y, factor[i], sum[i]);
      }
#pragma unroll
      for (uint32_t k = 0; k < kDv / kGroups / 8; ++k) {
        const float4 x = __ldcg(from + k * kWarp);
        o[4 * k] = fmaf(x.x, factor[0], o[4 * k]), o[4 * k + 1] = fmaf(x.y, factor[0], o[4 * k + 1]);
        o[4 * k + 2] = fmaf(x.z, factor[1], o[4 * k + 2]), o[4 * k + 3] = fmaf(x.w, factor[1], o[4 * k + 3]);
      }
    }
  }

  /* Publishes the block's partial result and counts it, in the counter of the item's first block with these rows; a
   * block is the first of at most one shared item. The last arrival wraps the counter to zero. True in all threads of
   * that block, for which the results of the others are published. */
  __device__ __forceinline__ bool arrive_last(uint32_t first_block, uint32_t count) const {
    if constexpr (kGroup == 1) {
      hopper::named_arrive(kPartialStored, kConsumers);
      hopper::named_sync(kCounted + 1, kConsumers);
    } else {
      hopper::named_sync(kPartialStored, kConsumers); /* orders all threads' stores before thread 0's release */
      if (threadIdx.x == 0) put_word(at.arrived(), ptx::count_arrival(a.arrivals + first_block, count - 1));
      /* Both order `arrived`, and the acquire, before the other threads' reads. */
      hopper::named_arrive(kCounted + 1, kConsumers);
      hopper::named_sync(kCounted, 128);
    }
    return ptx::load_shared(at.arrived()).x == count - 1;
  }

  __device__ __forceinline__ void end(const Walk<C> &walk) {
    add_sums();
    if (!walk.has_all()) {
      const uint32_t first = walk.first_team(), count = walk.team_count();
      store_partial(partial_of(block_of(blockIdx.y), walk.from == 0));
      if (!arrive_last(block_of(first), count)) return;
      load_partials(first, count);
    }
    store(walk);
  }

  __device__ __forceinline__ void run(const Line &line) {
    uint32_t n = 0, round = 0;
    for (Walk<C> walk(a, line); walk.is_open; walk.next(), ++round) {
      begin(walk);
      hopper::barrier_wait(at.q_full(), round % 2);
      if (walk.from < walk.to) attend_all(walk, n);
      n += walk.to - walk.from;
      end(walk);
    }
  }
};

#endif /* ATTN_SM90A */

}  // namespace mla

/* grid: (blocks of a team, teams). */
template <typename C>
__global__ void __launch_bounds__(mla::kThreads, 1) mla_kernel(const __grid_constant__ MlaParams a) {
#ifdef ATTN_SM90A
  using namespace mla;
  extern __shared__ __align__(1024) unsigned char smem_base[];
  const Layout<C> at = {ptx::shared_address(smem_base)};
  const uint32_t warp = __shfl_sync(kFullWarp, threadIdx.x / kWarp, 0), group = warp / 4;
  if (threadIdx.x == 0) at.init_barriers();
  if (threadIdx.x == kWarp) hopper::prefetch_map(&a.k);
  if constexpr (C::kCluster > 1) {
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  } else {
    __syncthreads(); /* orders the barriers' beginning before their use */
  }
  const auto line = line_of<C>(a, ptx::shared_words(at.words()));
  if (group == kGroups) {
    hopper::give_registers<40>();
    if (warp % 4 < kParts)
      KeyFetcher<C>{a, at, warp % 4}.run(line);
    else
      fetch_q<C>(a, at, line);
  } else {
    hopper::take_registers<232>();
    if (group == 0)
      Multiplier<C, 0>(a, at).run(line);
    else
      Multiplier<C, 1>(a, at).run(line);
  }
  if constexpr (C::kCluster > 1) { /* no block ends while another still writes to it */
    __syncwarp();
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
#endif
}

}  // namespace attn
#endif

#endif
