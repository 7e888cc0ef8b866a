/* Attention with the keys of a q tile split over the groups of warps of a block and over the blocks of a cluster. All
 * have the same query rows, and merge their partial results at the end. A group is four warps that multiply by wgmma
 * (compute capability 9.0), 16 rows each, or one warp that multiplies by mma.sync.
 *
 * The code is made for kernels of 2 to 6 us, whose instructions are executed once or twice. Every launch begins with
 * empty instruction and constant caches, so an instruction costs 2.5 clocks to fetch. So all counts are known to the
 * compiler, and the code is as short as it can be: the copy engine loads, the output is not transposed, and full and
 * masked rows take the same path.
 *
 * How partial results are merged: a lane has two rows of its strip, 8 apart, and two columns of every 8. Each group
 * merges a share of that: a row or, with four groups, half of a row's columns. It writes the rest to shared memory,
 * for the lane of the same number in the other groups. Each block of a cluster then merges a share of those columns,
 * and sends the rest asynchronously to the other blocks, where a barrier counts the bytes. So nothing is rearranged
 * and there are no bank conflicts. With each partial result come its reference, the log2 that its weights are
 * relative to, and the sum of its weights; without keys the reference is -inf. */
#ifndef ATTNBENCH_KERNELS_TILES_GROUP_TILE_CUH
#define ATTNBENCH_KERNELS_TILES_GROUP_TILE_CUH

#include "kernels/tiles/attn_params.cuh"

namespace attn::group_tile {

constexpr uint32_t kStripRows = 16;

/* What is fixed when a kernel is compiled. */
struct Shape {
  uint32_t D;
  uint32_t keys = 64;   /* of a tile */
  uint32_t strips = 4;  /* warps of a group: 4, or 1 without wgmma */
  uint32_t groups = 1;  /* of a block: 1, 2 or 4 */
  uint32_t cluster = 1; /* blocks of a cluster: 1, 2 or 4 */
  bool wgmma = true;
  bool one_tile = false; /* there are no more keys than a tile has: code without a loop, which is fetched sooner */
};

constexpr ATTN_HD uint32_t rows_of(const Shape &s) { return s.strips * kStripRows; }
constexpr ATTN_HD uint32_t threads_of(const Shape &s) { return s.strips * s.groups * 32; }
constexpr ATTN_HD uint32_t tile_bytes(const Shape &s) { return s.keys * s.D * 2; }

/* What a lane's group finishes: rows, columns of each, and how many of those its block finishes. */
constexpr ATTN_HD uint32_t lane_rows(const Shape &s) { return s.groups == 1 ? 2 : 1; }
constexpr ATTN_HD uint32_t group_columns(const Shape &s) { return s.D / (s.groups == 4 ? 8 : 4); }
constexpr ATTN_HD uint32_t block_columns(const Shape &s) { return group_columns(s) / s.cluster; }

/* The mbarriers of a block, each with the bytes that it counts: those of Q; those that the other blocks of the
 * cluster send; from BARRIER_KV on, for each group, those of K in each stage and then those of V. */
enum Barrier : uint32_t { BARRIER_Q, BARRIER_RECEIVED, BARRIER_KV };
constexpr uint32_t kStages = 2; /* that have barriers, also where a group holds one tile alone */

/* Named barriers: the warps of group g meet at kTileReadBarrier + g when they have read a tile, so that the next copy
 * may overwrite it. */
constexpr uint32_t kTileReadBarrier = 1;

/* Byte offsets into shared memory; Q comes first. With a second stage, what follows the tiles moves. */
struct Layout {
  uint32_t tiles;          /* [groups][stages]: K, then V */
  uint32_t parts;          /* [group to][strips][groups from, all others]: float4 [columns / 4][32 lanes] */
  uint32_t stats;          /* [groups][rows]: reference, sum */
  uint32_t received;       /* [blocks from][warps][lane rows]: float4 or float2 [][32 lanes] */
  uint32_t received_stats; /* [blocks from][warps][lane rows][8]: reference, sum */
  uint32_t barriers;       /* in the order of Barrier */
  uint32_t end;
};

constexpr ATTN_HD Layout layout_of(const Shape &s, uint32_t stages) {
  Layout at = {};
  const uint32_t warps = s.strips * s.groups, blocks = s.cluster > 1 ? s.cluster : 0;
  at.tiles = rows_of(s) * s.D * 2;
  at.parts = at.tiles + s.groups * stages * 2 * tile_bytes(s);
  at.stats = at.parts + warps * (s.groups - 1) * group_columns(s) * 128;
  at.received = at.stats + (s.groups > 1 ? s.groups * rows_of(s) * 8 : 0);
  at.received_stats = at.received + blocks * warps * lane_rows(s) * block_columns(s) * 128;
  at.barriers = at.received_stats + blocks * warps * lane_rows(s) * 64;
  at.end = at.barriers + 8 * (BARRIER_KV + s.groups * 2 * kStages);
  return at;
}

}  // namespace attn::group_tile

#ifdef __CUDACC__
#include "kernels/tiles/hopper_tile.cuh"
#include "kernels/tiles/mma_tile.cuh"

namespace attn {

/* The argument of the kernels. */
struct GroupParams {
  CUtensorMap maps[3]; /* wgmma: Q in boxes of 64 rows; K and V in boxes of a tile's keys */
  Params attention;
  uint64_t kv_head_factor; /* 2^32 / (Hq / Hkv), rounded up: a division by Hq / Hkv is a product */
  uint32_t stages;         /* tiles of K and V that a group holds: 1 when it has no more, else 2 */
};

namespace group_tile {

/* 1 / x within 1 ulp, for x that is no subnormal; a division handles those too, by many instructions more. */
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/* Brings parts to a common reference: what each is to be multiplied with, and what is known of them together. */
template <uint32_t N>
__device__ __forceinline__ float2 combine(const float2 (&stats)[N], float (&factor)[N]) {
  float reference = stats[0].x, sum = 0.0f;
#pragma unroll
  for (uint32_t n = 1; n < N; ++n) reference = fmaxf(reference, stats[n].x);
  const float base =
      reference == minus_infinity() ? 0.0f : reference; /* no keys at all: all factors are 2^-inf = 0 */
#pragma unroll
  for (uint32_t n = 0; n < N; ++n) factor[n] = ptx::ex2(stats[n].x - base), sum = fmaf(stats[n].y, factor[n], sum);
  return make_float2(reference, sum);
}

/* x = x * own, plus `Parts` times a part that 32 lanes have left as vectors of Width floats, times its factor. */
template <uint32_t Width, uint32_t N>
__device__ __forceinline__ void add_part(float (&x)[N], const unsigned char *from, float factor) {
#pragma unroll
  for (uint32_t e = 0; e < N; e += Width) {
    const float *part = reinterpret_cast<const float *>(from + e * 128) + threadIdx.x % kWarp * Width;
    float y[4] = {};
    if constexpr (Width == 4) {
      const float4 four = load4(part);
      y[0] = four.x, y[1] = four.y, y[2] = four.z, y[3] = four.w;
    } else {
      const float2 two = *reinterpret_cast<const float2 *>(part);
      y[0] = two.x, y[1] = two.y;
    }
#pragma unroll
    for (uint32_t c = 0; c < Width; ++c) x[e + c] = fmaf(y[c], factor, x[e + c]);
  }
}

/* What a warp works on, and how the parts of a block and of a cluster come together. */
template <typename T_, Shape S_>
struct Block {
  using T = T_;
  static constexpr Shape S = S_;
  static constexpr Layout kAt = layout_of(S, 1);
  static constexpr uint32_t kRows = rows_of(S), kShares = S.groups * S.cluster, kWarps = S.strips * S.groups;
  static constexpr uint32_t kLaneRows = lane_rows(S), kColumns = group_columns(S), kOwnColumns = block_columns(S);
  static constexpr uint32_t kWidth = kOwnColumns % 4 == 0 ? 4 : 2; /* floats that are sent at once */

  const GroupParams &a;
  unsigned char *const base;
  const uint32_t behind_tiles; /* the second stage's bytes */
  const uint32_t warp, group, strip, lane, rank;
  const uint32_t row0, head, batch;
  const uint32_t kv_matrix; /* the head's K and V among all */
  uint32_t tiles;           /* of keys, of this group */

  /* grid (Hq * cluster, B, q tiles); under a causal mask the long q tiles first */
  __device__ __forceinline__ Block(const GroupParams &params, unsigned char *smem)
      : a(params),
        base(smem),
        behind_tiles(S.one_tile ? 0 : (a.stages - 1) * S.groups * 2 * tile_bytes(S)),
        warp(__shfl_sync(kFullWarp, threadIdx.x / kWarp, 0)),
        group(warp / S.strips),
        strip(warp % S.strips),
        lane(threadIdx.x % kWarp),
        rank(blockIdx.x % S.cluster),
        row0((a.attention.causal ? gridDim.z - 1 - blockIdx.z : blockIdx.z) * kRows),
        head(blockIdx.x / S.cluster),
        batch(blockIdx.y),
        kv_matrix(batch * a.attention.Hkv + (uint32_t)(head * a.kv_head_factor >> 32)) {
    if constexpr (S.one_tile) {
      tiles = 1;
      return;
    }
    const uint32_t last = min(row0 + kRows, a.attention.Sq) - 1;
    const uint32_t all = ceil_div(visible_keys(a.attention, last), S.keys), first = group * S.cluster + rank;
    tiles = first < all ? (all - first - 1) / kShares + 1 : 0;
  }

  __device__ __forceinline__ uint32_t strip_row() const { return row0 + strip * kStripRows; }
  /* The first key of the i-th tile: neighbours go to the blocks of the cluster in turn, then to their groups. */
  __device__ __forceinline__ uint32_t first_key(uint32_t i) const {
    return (i * kShares + group * S.cluster + rank) * S.keys;
  }
  __device__ __forceinline__ unsigned char *q_tile() const { return base; }
  __device__ __forceinline__ unsigned char *k_tile(uint32_t i) const {
    if constexpr (S.one_tile) return base + kAt.tiles;
    return base + kAt.tiles + (group * a.stages + i % 2) * 2 * tile_bytes(S);
  }
  __device__ __forceinline__ unsigned char *v_tile(uint32_t i) const { return k_tile(i) + tile_bytes(S); }

  __device__ __forceinline__ uint64_t *barrier(uint32_t n) const {
    return reinterpret_cast<uint64_t *>(base + behind_tiles + kAt.barriers) + n;
  }
  __device__ __forceinline__ uint64_t *q_barrier() const { return barrier(BARRIER_Q); }
  __device__ __forceinline__ uint64_t *received_barrier() const { return barrier(BARRIER_RECEIVED); }
  __device__ __forceinline__ uint64_t *k_barrier(uint32_t i) const {
    return barrier(BARRIER_KV + group * 2 * kStages + i % kStages);
  }
  __device__ __forceinline__ uint64_t *v_barrier(uint32_t i) const { return k_barrier(i) + kStages; }
  /* After the barrier stands: what the other blocks of the cluster will send. */
  __device__ __forceinline__ void expect_parts() const {
    constexpr uint32_t kFromWarp = kLaneRows * (kOwnColumns * 128 + 64);
    if (S.cluster > 1) ptx::mbarrier_expect(received_barrier(), (S.cluster - 1) * kWarps * kFromWarp);
  }

  /* ---- merging the groups -------------------------------------------------------------------------------------- */

  /* Element e of share q among the accumulators: row q % 2, and of four shares the columns' half q / 2. */
  static __device__ __forceinline__ constexpr uint32_t element(uint32_t q, uint32_t e) {
    return 4 * (q / 2 * (kColumns / 2) + e / 2) + 2 * (q % 2) + e % 2;
  }
  __device__ __forceinline__ unsigned char *part(uint32_t to, uint32_t from) const {
    const uint32_t slot = (to * S.strips + strip) * (S.groups - 1) + (from - to - 1) % S.groups;
    return base + behind_tiles + kAt.parts + slot * kColumns * 128;
  }
  __device__ __forceinline__ float2 *stats(uint32_t from, uint32_t half) const {
    return reinterpret_cast<float2 *>(base + behind_tiles + kAt.stats) + from * kRows + strip * kStripRows +
           half * 8 + lane / 4;
  }

  /* o: the lane's accumulators; x: all groups' parts of this group's share of them. */
  __device__ __forceinline__ void merge_groups(const float (&o)[S.D / 2], const float2 (&own)[2],
                                               float (&x)[kLaneRows][kColumns], float2 (&total)[kLaneRows]) const {
    if (lane % 4 == 0) *stats(group, 0) = own[0], *stats(group, 1) = own[1];
#pragma unroll
    for (uint32_t q = 0; q < S.groups; ++q) {
      if (q == group) {
#pragma unroll
        for (uint32_t e = 0; e < kColumns; ++e) x[0][e] = o[element(q, e)];
        continue;
      }
      float4 *const to = reinterpret_cast<float4 *>(part(q, group)) + lane;
#pragma unroll
      for (uint32_t e = 0; e < kColumns; e += 4)
        to[e / 4 * kWarp] =
            make_float4(o[element(q, e)], o[element(q, e + 1)], o[element(q, e + 2)], o[element(q, e + 3)]);
    }
    __syncthreads(); /* orders all parts before they are read */
    float2 all[S.groups];
    float factor[S.groups];
#pragma unroll
    for (uint32_t n = 0; n < S.groups; ++n) all[n] = *stats((group + n) % S.groups, group % 2);
    total[0] = combine(all, factor);
#pragma unroll
    for (uint32_t e = 0; e < kColumns; ++e) x[0][e] *= factor[0];
#pragma unroll
    for (uint32_t n = 1; n < S.groups; ++n) add_part<4>(x[0], part(group, (group + n) % S.groups), factor[n]);
  }

  /* ---- merging the blocks of a cluster ------------------------------------------------------------------------ */

  /* What the block of rank `from` sends to the warp of this number, here or in another block. */
  __device__ __forceinline__ unsigned char *received(uint32_t from) const {
    return base + behind_tiles + kAt.received + (from * kWarps + warp) * kLaneRows * kOwnColumns * 128;
  }
  __device__ __forceinline__ unsigned char *received_stats(uint32_t from) const {
    return base + behind_tiles + kAt.received_stats + (from * kWarps + warp) * kLaneRows * 64 + lane / 4 * 8;
  }
  /* Sends columns [to * kOwnColumns, ..) of x to the block of rank `to`. */
  __device__ __forceinline__ void send(const float (&x)[kLaneRows][kColumns], const float2 (&total)[kLaneRows],
                                       uint32_t to) const {
    const uint32_t data = ptx::cluster_address(received(rank), to) + lane * kWidth * 4;
    const uint32_t stats = ptx::cluster_address(received_stats(rank), to);
    const uint32_t mbarrier = ptx::cluster_address(received_barrier(), to);
#pragma unroll
    for (uint32_t i = 0; i < kLaneRows; ++i) {
      if (lane % 4 == 0) ptx::cluster_send(stats + i * 64, mbarrier, total[i]);
#pragma unroll
      for (uint32_t e = 0; e < kOwnColumns; e += kWidth) {
        const float *y = x[i] + to * kOwnColumns + e;
        if constexpr (kWidth == 4)
          ptx::cluster_send(data + (i * kOwnColumns + e) * 128, mbarrier, make_float4(y[0], y[1], y[2], y[3]));
        else
          ptx::cluster_send(data + (i * kOwnColumns + e) * 128, mbarrier, make_float2(y[0], y[1]));
      }
    }
  }
  /* x: the groups' share, merged; own: all blocks' parts of this block's columns of it. A block ends only when all
   * that is sent to it has come. */
  __device__ __forceinline__ void merge_cluster(const float (&x)[kLaneRows][kColumns],
                                                float (&own)[kLaneRows][kOwnColumns],
                                                float2 (&total)[kLaneRows]) const {
    ptx::cluster_wait(); /* all blocks run, and their barriers stand */
#pragma unroll
    for (uint32_t to = 0; to < S.cluster; ++to) {
      if (to != rank) {
        send(x, total, to);
        continue;
      }
#pragma unroll
      for (uint32_t i = 0; i < kLaneRows; ++i)
#pragma unroll
        for (uint32_t e = 0; e < kOwnColumns; ++e) own[i][e] = x[i][to * kOwnColumns + e];
    }
    ptx::mbarrier_wait_received(received_barrier());
#pragma unroll
    for (uint32_t i = 0; i < kLaneRows; ++i) {
      float2 all[S.cluster];
      float factor[S.cluster];
      all[0] = total[i];
#pragma unroll
      for (uint32_t n = 1; n < S.cluster; ++n)
        all[n] = *reinterpret_cast<const float2 *>(received_stats((rank + n) % S.cluster) + i * 64);
      total[i] = combine(all, factor);
#pragma unroll
      for (uint32_t e = 0; e < kOwnColumns; ++e) own[i][e] *= factor[0];
#pragma unroll
      for (uint32_t n = 1; n < S.cluster; ++n)
        add_part<kWidth>(own[i], received((rank + n) % S.cluster) + i * kOwnColumns * 128, factor[n]);
    }
  }

  /* ---- output ------------------------------------------------------------------------------------------------- */

  /* Where this lane's share of O begins, and how many of its rows, 8 apart, exist. */
  struct Place {
    uint32_t *to;
    uint32_t rows;
  };
  /* To be called while the first tiles are on their way: nothing of it is left for the end. */
  __device__ __forceinline__ Place place() const {
    const Params &p = a.attention;
    const uint32_t column = (group / 2 * kColumns + rank * kOwnColumns) * 4 + lane % 4 * 2;
    const uint32_t row = strip_row() + (S.groups == 1 ? 0 : group % 2 * 8) + lane / 4;
    const size_t offset = row_offset(batch, p.Hq, head, p.Sq, row, S.D) + column;
    Place at = {reinterpret_cast<uint32_t *>(static_cast<T *>(p.o) + offset),
                (uint32_t)(row < p.Sq) + (uint32_t)(row + 8 < p.Sq)};
    asm volatile("" : "+l"(at.to), "+r"(at.rows));
    return at;
  }
  /* Pairs of columns, 8 apart. A row that attended no key has sum 0 and becomes zeros. */
  __device__ __forceinline__ void store(const float (&x)[kLaneRows][kOwnColumns], const float2 (&total)[kLaneRows],
                                        const Place &at) const {
#pragma unroll
    for (uint32_t i = 0; i < kLaneRows; ++i) {
      const float factor = total[i].y > 0.0f ? reciprocal(total[i].y) : 0.0f;
      if (i >= at.rows) break;
#pragma unroll
      for (uint32_t e = 0; e < kOwnColumns; e += 2)
        at.to[i * 8 * S.D / 2 + e * 2] = pack<T>(x[i][e] * factor, x[i][e + 1] * factor);
    }
  }

  /* Of the blocks and groups that have a part of a row's columns the first ones. */
  __device__ __forceinline__ void store_lse(const float2 (&total)[kLaneRows], const Place &at) const {
    const Params &p = a.attention;
    if (p.lse == nullptr || rank != 0 || group / 2 != 0 || lane % 4 != 0) return;
    const uint32_t row = strip_row() + (S.groups == 1 ? 0 : group % 2 * 8) + lane / 4;
    float *const to = p.lse + row_offset(batch, p.Hq, head, p.Sq, row, 1);
#pragma unroll
    for (uint32_t i = 0; i < kLaneRows; ++i)
      if (i < at.rows) to[8 * i] = log_sum_exp(total[i].x, total[i].y);
  }

  /* From a group's output, references and sums (each lane's part) to O and LSE. */
  __device__ __forceinline__ void finish(const float (&o)[S.D / 2], const float (&reference)[2],
                                         const float (&sum)[2], const Place &at) const {
    const float2 own[2] = {make_float2(reference[0], quad_sum(sum[0])), make_float2(reference[1], quad_sum(sum[1]))};
    float x[kLaneRows][kColumns];
    float2 total[kLaneRows];
    if constexpr (S.groups > 1) {
      merge_groups(o, own, x, total);
    } else {
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        total[i] = own[i];
#pragma unroll
        for (uint32_t e = 0; e < kColumns; ++e) x[i][e] = o[element(i, e)];
      }
    }
    if constexpr (S.cluster > 1) {
      float merged[kLaneRows][kOwnColumns];
      merge_cluster(x, merged, total);
      store(merged, total, at);
    } else {
      store(x, total, at);
    }
    store_lse(total, at);
  }
};

/* ---- mma.sync: each warp multiplies for itself, and the warps of a group copy its tiles ----------------------- */

/* Starts the copies of a [Count][D] tile by threads 0 .. Threads - 1; rows from `valid` on become zeros. */
template <typename T, uint32_t D, uint32_t Count, uint32_t Threads>
__device__ __forceinline__ void copy_tile(unsigned char *to, const T *rows, uint32_t valid, uint32_t thread) {
  constexpr uint32_t kRowsAtOnce = Threads / (D / 8);
  const uint32_t tile = ptx::shared_address(to), chunk = thread % (D / 8);
#pragma unroll 4
  for (uint32_t r = thread / (D / 8); r < Count; r += kRowsAtOnce) {
    const bool inside = r < valid; /* a masked key has weight 0, and 0 times a NaN were NaN */
    ptx::cp_async_16(tile + mma_tile::Layout<D, true>::at(r, chunk), rows + (inside ? r * D + chunk * 8 : 0), inside);
  }
}

template <typename B>
struct Copies {
  using T = typename B::T;
  const B &block;

  __device__ __forceinline__ void q() const {
    const Params &p = block.a.attention;
    const T *rows = static_cast<const T *>(p.q) + row_offset(block.batch, p.Hq, block.head, p.Sq, block.row0, B::S.D);
    copy_tile<T, B::S.D, B::kRows, threads_of(B::S)>(block.q_tile(), rows, rows_in_tile(p.Sq, block.row0, B::kRows),
                                                     threadIdx.x);
    ptx::cp_async_commit();
  }
  /* Starts the i-th tile of this group, if there is one, and closes a group of copies in any case. */
  __device__ __forceinline__ void tile(const void *tensor, unsigned char *to, uint32_t i) const {
    if (i < block.tiles) {
      const Params &p = block.a.attention;
      const uint32_t first = block.first_key(i);
      const T *rows = static_cast<const T *>(tensor) + ((size_t)block.kv_matrix * p.Skv + first) * B::S.D;
      copy_tile<T, B::S.D, B::S.keys, kWarp>(to, rows, rows_in_tile(p.Skv, first, B::S.keys), threadIdx.x % kWarp);
    }
    ptx::cp_async_commit();
  }
  __device__ __forceinline__ void k(uint32_t i) const { tile(block.a.attention.k, block.k_tile(i), i); }
  __device__ __forceinline__ void v(uint32_t i) const { tile(block.a.attention.v, block.v_tile(i), i); }
  /* Waits for all but the last two. */
  __device__ __forceinline__ void wait() const {
    ptx::cp_async_wait<2>();
    __syncwarp(); /* the group is this warp */
  }
};

template <typename B>
__device__ __forceinline__ void attend_by_warps(const GroupParams &a, unsigned char *smem) {
  static_assert(B::S.strips == 1 && B::S.cluster == 1, "a warp waits for itself alone until the parts are merged");
  using Strip = mma_tile::Strip<typename B::T, B::S.D, 1, true, B::S.keys>;
  const Params &p = a.attention;
  const B block(a, smem);
  const Copies<B> copy{block};
  copy.q(), copy.k(0), copy.v(0), copy.k(1);
  Strip strip(ptx::shared_address(block.q_tile()) + block.strip * kStripRows * 2 * B::S.D);
  strip.reset();
  const typename B::Place at = block.place();
  const uint32_t row = block.strip_row(), valid = rows_in_tile(p.Sq, row, kStripRows);
  const uint32_t row_keys = visible_keys(p, row); /* of the first row; all others attend as many or more */
  const uint32_t strip_keys = valid ? visible_keys(p, row + valid - 1) : 0;
  ptx::cp_async_wait<3>();
  __syncthreads(); /* orders all threads' copies of Q before the reads */
  strip.take_q();
  for (uint32_t i = 0; i < block.tiles; ++i) {
    const uint32_t first = block.first_key(i);
    copy.wait(); /* orders the copies of K before the reads; and the reads of the last V before the next copy */
    copy.v(i + 1);
    if (first < strip_keys) {
      strip.multiply_qk(ptx::shared_address(block.k_tile(i)));
      if (first + B::S.keys > row_keys) strip.mask(p, row, first);
      strip.online_softmax(p.scale_log2);
    }
    copy.wait(); /* orders the copies of V before the reads; and the reads of K before the next copy */
    copy.k(i + 2);
    if (first < strip_keys) strip.multiply_pv(ptx::shared_address(block.v_tile(i)));
  }
  float reference[2];
#pragma unroll
  for (uint32_t i = 0; i < 2; ++i)
    reference[i] = strip.max[0][i] == minus_infinity() ? minus_infinity() : strip.max[0][i] * p.scale_log2;
  block.finish(reinterpret_cast<const float(&)[B::S.D / 2]>(strip.o), reference, strip.sum[0], at);
}

/* ---- wgmma: four warps multiply together, out of tiles that the copy engine fetches --------------------------- */

#ifdef ATTN_SM90A

/* What a warp has of its 16 rows; of a lane's two rows, that of index i is 8 i below the first. */
template <typename T, Shape S>
struct Rows {
  static constexpr uint32_t kS = S.keys / 2, kO = S.D / 2;
  float s[kS], o[kO];
  uint32_t p[kS / 2];
  float reference[2], sum[2];

  static __device__ __forceinline__ uint64_t forward(uint64_t operand, uint32_t bytes) {
    return operand + (bytes >> 4);
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (uint32_t n = 0; n < kO; ++n) o[n] = 0.0f;
    reference[0] = reference[1] = minus_infinity();
    sum[0] = sum[1] = 0.0f;
  }
  /* S = Q K^T */
  __device__ __forceinline__ void multiply_qk(const unsigned char *q_tile, const unsigned char *k_tile) {
    const uint64_t rows = hopper::operand(ptx::shared_address(q_tile));
    const uint64_t keys = hopper::operand(ptx::shared_address(k_tile));
    hopper::wgmma_fence();
#pragma unroll
    for (uint32_t d = 0; d < S.D / 16; ++d)
      hopper::MultiplyQk<T, S.keys>::run(s, forward(rows, d / 4 * 64 * 128 + d % 4 * 32),
                                         forward(keys, d / 4 * S.keys * 128 + d % 4 * 32), d > 0);
    hopper::wgmma_commit();
    hopper::wgmma_wait<0>();
    hopper::pin(s);
  }
  /* O += P V; O = P V when not `keep` */
  __device__ __forceinline__ void multiply_pv(const unsigned char *v_tile, bool keep) {
    const uint64_t v = hopper::operand(ptx::shared_address(v_tile), S.keys * 128);
    hopper::pin(p), hopper::pin(o);
    hopper::wgmma_fence();
#pragma unroll
    for (uint32_t k = 0; k < S.keys / 16; ++k)
      hopper::MultiplyPv<T, S.D>::run(o, p + 4 * k, forward(v, k * 16 * 128), k > 0 || keep);
    hopper::wgmma_commit();
    hopper::wgmma_wait<0>();
    hopper::pin(o);
  }
  /* Scores that a row does not attend become -inf. `row`: the warp's first; `first`: the tile's first key. */
  __device__ __forceinline__ void mask(const Params &params, uint32_t row, uint32_t first) {
    const uint32_t lane = threadIdx.x % kWarp;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t keys = visible_keys(params, row + i * 8 + lane / 4);
      const int visible = (int)rows_in_tile(keys, first, S.keys) - (int)(lane % 4 * 2);
#pragma unroll
      for (uint32_t n = 0; n < S.keys / 8; ++n)
#pragma unroll
        for (uint32_t c = 0; c < 2; ++c)
          if ((int)(n * 8 + c) >= visible) s[4 * n + 2 * i + c] = minus_infinity();
    }
  }
  /* Scores to weights. A row without a key so far has reference -inf and gets weights 2^-inf = 0. */
  __device__ __forceinline__ void online_softmax(float scale_log2, bool first) {
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      float max = s[2 * i];
#pragma unroll
      for (uint32_t n = 1; n < kS / 2; ++n) max = fmaxf(max, s[n / 2 * 4 + 2 * i + n % 2]);
      max = quad_max(max) * scale_log2;
      if (!first) max = fmaxf(max, reference[i]);
      const float base = max == minus_infinity() ? 0.0f : max;
      if (!first) {
        const float factor = ptx::ex2(reference[i] - base);
        sum[i] *= factor;
#pragma unroll
        for (uint32_t n = 0; n < kO / 2; ++n) o[n / 2 * 4 + 2 * i + n % 2] *= factor;
      }
      reference[i] = max;
#pragma unroll
      for (uint32_t n = 0; n < kS / 4; ++n) {
        const float x = ptx::ex2(fmaf(s[4 * n + 2 * i], scale_log2, -base));
        const float y = ptx::ex2(fmaf(s[4 * n + 2 * i + 1], scale_log2, -base));
        sum[i] += x + y;
        p[2 * n + i] = pack<T>(x, y);
      }
    }
  }
};

/* Has the copy engine fetch what a block needs. */
template <typename B>
struct Fetches {
  const B &block;

  /* A tile: `which` of the maps, rows from `first` on. One thread. */
  __device__ __forceinline__ void tile(uint32_t which, unsigned char *to, uint64_t *barrier, uint32_t rows,
                                       uint32_t first, uint32_t matrix) const {
    const uint32_t place = ptx::shared_address(to), counter = ptx::shared_address(barrier);
    hopper::barrier_expect(counter, rows * B::S.D * 2);
#pragma unroll
    for (uint32_t x = 0; x < B::S.D; x += 64)
      hopper::load_box(place + x / 64 * rows * 128, &block.a.maps[which], counter, x, first, matrix,
                       hopper::kEvictLast);
  }
  /* The group's i-th tile of K (0) or V (1). */
  __device__ __forceinline__ void kv(uint32_t v, uint32_t i) const {
    tile(1 + v, block.k_tile(i) + v * tile_bytes(B::S), block.k_barrier(i) + kStages * v, B::S.keys,
         block.first_key(i), block.kv_matrix);
  }
  /* Side by side: a group's first warp fetches K, the second V, and the third of the first group Q. */
  __device__ __forceinline__ void open() const {
    const bool fetches_kv = block.strip < 2;
    if (block.lane == 0 && (fetches_kv || (block.strip == 2 && block.group == 0))) {
      /* This one and the next: a tensor's two stages, or BARRIER_Q and BARRIER_RECEIVED. */
      uint64_t *const barrier = fetches_kv ? block.k_barrier(0) + kStages * block.strip : block.q_barrier();
      ptx::mbarrier_init(barrier, 1);
      ptx::mbarrier_init(barrier + 1, 1);
      hopper::barrier_publish();
      if (fetches_kv) {
#pragma unroll 1
        for (uint32_t i = 0; i < (B::S.one_tile ? 1 : min(block.tiles, 2u)); ++i) kv(block.strip, i);
      } else {
        tile(0, block.q_tile(), barrier, B::kRows, block.row0, block.batch * block.a.attention.Hq + block.head);
        block.expect_parts();
      }
    }
    __syncthreads(); /* orders the initialisation of the barriers before anybody waits at them */
    if (B::S.cluster > 1) ptx::cluster_arrive_relaxed();
  }
  /* The tile after the next, in the place of the one that was used. */
  __device__ __forceinline__ void next(uint32_t used) const {
    if (used + 2 >= block.tiles) return;
    hopper::named_sync(kTileReadBarrier + block.group, hopper::kGroup); /* orders all warps' reads before the copy */
    if (block.lane == 0 && block.strip < 2) kv(block.strip, used + 2);
  }
};

template <typename B>
__device__ __forceinline__ void attend_by_groups(const GroupParams &a, unsigned char *smem) {
  static_assert(B::S.strips == 4 && B::kRows == hopper::kGroupRows, "wgmma multiplies 64 rows");
  const B block(a, smem);
  const Fetches<B> fetch{block};
  fetch.open();
  Rows<typename B::T, B::S> rows;
  rows.clear();
  const typename B::Place at = block.place();
  const uint32_t row = block.strip_row(), row_keys = visible_keys(a.attention, row); /* all others attend as many */
  const float scale_log2 = a.attention.scale_log2;
  hopper::barrier_wait(ptx::shared_address(block.q_barrier()), 0);
  const auto attend = [&](uint32_t i) {
    const uint32_t first = block.first_key(i), parity = i / 2 % 2;
    hopper::barrier_wait(ptx::shared_address(block.k_barrier(i)), parity);
    rows.multiply_qk(block.q_tile(), block.k_tile(i));
    if (first + B::S.keys > row_keys) rows.mask(a.attention, row, first);
    rows.online_softmax(scale_log2, i == 0);
    hopper::barrier_wait(ptx::shared_address(block.v_barrier(i)), parity);
    rows.multiply_pv(block.v_tile(i), i != 0);
  };
  if constexpr (B::S.one_tile) {
    attend(0);
  } else {
#pragma unroll 1
    for (uint32_t i = 0; i < block.tiles; ++i) attend(i), fetch.next(i);
  }
  block.finish(rows.o, rows.reference, rows.sum, at);
}
#endif

}  // namespace group_tile
}  // namespace attn
#endif

#endif
