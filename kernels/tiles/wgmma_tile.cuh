/* The kernel of `wgmma`: a block whose warpgroups have roles. One fetches tiles of Q, K and V with the copy engine.
 * Each of the others owns 64 query rows, multiplies them, and keeps their scores and weights in registers.
 *
 * Tiles of K and V share one ring of slots in the order in which they are multiplied. The order goes on across q
 * tiles, so that fetching never pauses at the end of one. A warpgroup's order of work with overlap=1:
 *
 *     S = Q K(0)' ... then for each next tile n, from the last keys to the first:
 *       start S = Q K(n)', start O += P V(n-1), wait for S, softmax of S while the second product runs,
 *       wait for O, P = S
 *     start O += P V(last), start the next q tile's S = Q' K'(0)', wait for O, write O while the other runs
 *
 * so that the tensor cores have work during every softmax but the first of the block. */
#ifndef ATTNBENCH_KERNELS_WGMMA_TILE_CUH
#define ATTNBENCH_KERNELS_WGMMA_TILE_CUH

#include "kernels/tiles/attn_params.cuh"
#include "kernels/tiles/item_order.cuh"

namespace attn::wgmma_tile {

/* What is fixed when a kernel is compiled. */
struct Shape {
  uint32_t D;            /* multiple of 32, 256 at most; columns of the tensors beyond theirs are zeros */
  uint32_t groups = 2;   /* warpgroups that multiply, 64 query rows each */
  uint32_t keys = 128;   /* of a tile; multiple of 16 */
  uint32_t slots;        /* tiles in the ring, K's and V's together */
  uint32_t overlap = 1;  /* 1: softmax under the products of other tiles */
  uint32_t pingpong = 1; /* 1: warpgroups take turns to start products */
  uint32_t fma_exp = 0;  /* sixteenths of the exponentials that are polynomials on the FMA pipe */
  uint32_t lazy = 2;     /* 1: the output is rescaled only when the maximum has grown by more than 2^8; 2: and the
                          * maximum is looked for only when weights have become too large */
  uint32_t hold_q = 0;   /* 1: Q in registers */
  uint32_t cluster = 1;  /* blocks that share the fetched K and V. Never 0, and so the last: compilers disagree on how
                          * a template argument that ends in zeros is spelled in a kernel's name, by which a plan
                          * finds its registers. */
};

constexpr ATTN_HD uint32_t slabs(uint32_t D) { return (D + 63) / 64; }
constexpr ATTN_HD uint32_t q_bytes(const Shape &s) { return s.groups * slabs(s.D) * 64 * 128; }
constexpr ATTN_HD uint32_t slot_bytes(const Shape &s) { return slabs(s.D) * s.keys * 128; }
constexpr uint32_t kWorkInfos = 4; /* rounds whose items the warpgroups know at once */
constexpr ATTN_HD uint32_t work_info_bytes(const Shape &s) { return kWorkInfos * s.groups * 16; }
/* Q [buffers][groups][slabs][64 rows][128 bytes], slots [slots][slabs][keys][128 bytes],
 * work infos [kWorkInfos][groups], barriers [buffers + slots][2] */
constexpr ATTN_HD uint32_t smem_bytes(const Shape &s, uint32_t q_buffers) {
  return q_buffers * q_bytes(s) + s.slots * slot_bytes(s) + work_info_bytes(s) +
         16 * (q_buffers * s.groups + s.slots);
}
/* The next item's Q is fetched under the last products of this one where there is room for both, and a register for
 * the round. */
constexpr ATTN_HD uint32_t q_buffers(const Shape &s) {
  return s.hold_q == 0 && s.groups <= 2 && smem_bytes(s, 2) <= 227 * 1024 ? 2 : 1;
}
constexpr ATTN_HD uint32_t smem_bytes(const Shape &s) { return smem_bytes(s, q_buffers(s)); }
constexpr ATTN_HD uint32_t threads(const Shape &s) { return (s.groups + 1) * 128; }

/* An item is one q tile of one head of one batch, for each block of a cluster: of neighbouring heads that share K and
 * V when there are such, else neighbouring tiles of one head. */
inline bool shares_kv_head(const attn_problem &shape, const Shape &s) {
  return s.cluster > 1 && shape.Hq / shape.Hkv % s.cluster == 0;
}
inline uint32_t items_of_head(const attn_problem &shape, const Shape &s) {
  const uint32_t q_tiles = ceil_div(shape.Sq, s.groups * 64);
  return shares_kv_head(shape, s) ? q_tiles : ceil_div(q_tiles, s.cluster);
}
inline uint32_t items(const attn_problem &shape, const Shape &s) {
  return shape.B * shape.Hq / (shares_kv_head(shape, s) ? s.cluster : 1) * items_of_head(shape, s);
}

}  // namespace attn::wgmma_tile

#ifdef __CUDACC__
#include "kernels/tiles/attn_device.cuh"
#include "kernels/tiles/fragment.cuh"
#include "kernels/tiles/hopper_tile.cuh"

namespace attn {

/* The argument. */
struct WgmmaParams {
  CUtensorMap q, k, v; /* boxes of 64 rows, and of a tile's keys */
  Params attention;
  uint32_t items; /* counted in clusters, as in the orders, of which one is used */
  FullOrder full;
  CausalOrder causal;
  Divider by_ratio;        /* query heads that share a KV head */
  uint32_t shares_kv_head; /* the blocks of a cluster have the same q tile of neighbouring heads; else neighbouring
                            * q tiles of a head */
};

/* `blocks`: of the grid, counted in clusters. `turn_steps`: what the turn from one q tile to the next costs a block,
 * in tiles of keys. */
inline struct status wgmma_params(const attn_problem &shape, const attn_buffers &buffers, const wgmma_tile::Shape &s,
                                  uint32_t blocks, double turn_steps, WgmmaParams *out) {
  const uint64_t heads = (uint64_t)shape.B * shape.Hq, kv_heads = (uint64_t)shape.B * shape.Hkv;
  const uint32_t tile_kv = s.keys / s.cluster;
  const uint32_t q_tiles = wgmma_tile::items_of_head(shape, s), items = wgmma_tile::items(shape, s);
  const uint32_t ratio = shape.Hq / shape.Hkv, shares = wgmma_tile::shares_kv_head(shape, s);
  const CausalWork work = {items / q_tiles, q_tiles, shares ? ratio / s.cluster : ratio, 4ull * shape.Skv * shape.D,
                           turn_steps * s.keys / (s.groups * 64)};
  out->attention = params_of(shape, buffers);
  out->items = items;
  if (out->attention.causal) {
    out->causal = causal_order(work.heads, q_tiles, section_heads(work, blocks));
  } else {
    out->full = full_order(q_tiles);
  }
  out->by_ratio = divider(ratio);
  out->shares_kv_head = shares;
  TRY(tensor_map_make(&out->q, buffers.q, shape.dtype, heads, shape.Sq, shape.D, 64));
  TRY(tensor_map_make(&out->k, buffers.k, shape.dtype, kv_heads, shape.Skv, shape.D, tile_kv));
  return tensor_map_make(&out->v, buffers.v, shape.dtype, kv_heads, shape.Skv, shape.D, tile_kv);
}

namespace wgmma_tile {

template <typename T_, Shape S_>
struct Config {
  using T = T_;
  using Params = WgmmaParams;
  static constexpr Shape S = S_;
  static constexpr uint32_t kD = S.D, kDv = S.D, kKeys = S.keys, kSlots = S.slots, kGroups = S.groups;
  static constexpr uint32_t kQBuffers = q_buffers(S);
  static constexpr uint32_t kSlabs = slabs(kD), kRows = kGroups * 64;
  static constexpr uint32_t kSlotBytes = slot_bytes(S), kGroupBytes = kSlabs * 64 * 128;
  static constexpr bool kTurns = S.pingpong && kGroups > 1;
  /* Whether the last tile, too, is weighed without looking for its maxima. Q is then given back only after that tile
   * was weighed, since its scores may have to be computed again. At D = 64 this makes the loop over the other tiles
   * slower by 1 to 3 %. */
  static constexpr bool kUnseenLast = S.lazy == 2 && S.D >= 128;
  static_assert(S.overlap || !S.hold_q); /* only there is Q's buffer given back */
  /* of 512 per 128 threads: what __launch_bounds__ gives is shared out anew */
  static constexpr uint32_t kConsumerRegisters = kGroups == 4 ? 112 : kGroups == 3 ? 160 : 232;
  static constexpr uint32_t kProducerRegisters = kGroups >= 3 ? 32 : 40;
};

#ifdef ATTN_SM90A

constexpr uint32_t kGroupWarps = hopper::kGroup / kWarp;

/* Named barriers. Warpgroup g waits at kTurnBarrier + g for its turn to start products; the warpgroup before it
 * arrives there when it has started its own. */
constexpr uint32_t kTurnBarrier = 1, kTurnThreads = 2 * hopper::kGroup;

struct Item {
  uint32_t head, kv_head; /* counted through the batch */
  uint32_t row, steps;    /* tiles of keys; at least 1 */
};

template <typename C>
__device__ __forceinline__ uint32_t cluster_rank() {
  if constexpr (C::S.cluster > 1) return ptx::cluster_rank();
  return 0;
}

/* Of this cluster. At least a.items: there is none, nor in later rounds. */
template <typename C>
__device__ __forceinline__ uint32_t item_index(uint32_t round) {
  return attn::item_index(round, blockIdx.x / C::S.cluster, gridDim.x / C::S.cluster);
}

template <typename C>
__device__ __forceinline__ Item item_of(const WgmmaParams &a, uint32_t index) {
  const Params &p = a.attention;
  const Place place = p.causal ? a.causal.place(index) : a.full.place(index);
  uint32_t head = place.head, tile = place.tile, end = tile + 1;
  if (C::S.cluster > 1) {
    const uint32_t rank = cluster_rank<C>();
    if (a.shares_kv_head)
      head = head * C::S.cluster + rank;
    else
      end = (tile + 1) * C::S.cluster, tile = tile * C::S.cluster + rank;
  }
  const uint32_t steps = ceil_div(visible_keys(p, min(end * C::kRows, p.Sq) - 1), C::kKeys);
  return {head, a.by_ratio.quotient(head), tile * C::kRows, max(steps, 1u)};
}

/* Where a side of the ring stands. */
template <uint32_t Slots>
struct Cursor {
  uint32_t slot = 0, parity = 0;

  __device__ __forceinline__ void advance() {
    if (++slot == Slots) slot = 0, parity ^= 1;
  }
};

/* Addresses in shared memory. */
template <typename C>
struct Layout {
  uint32_t base; /* multiple of 1024 */

  __device__ __forceinline__ uint32_t q(uint32_t group, uint32_t round) const {
    return base + q_index(group, round) * C::kGroupBytes;
  }
  __device__ __forceinline__ uint32_t slot(uint32_t i) const {
    return base + C::kQBuffers * C::kGroups * C::kGroupBytes + i * C::kSlotBytes;
  }
  /* What a warpgroup has to do in a round, four words: head; first row; tiles that its rows attend; and how many
   * tiles come before them that only other warpgroups need, of this item in the upper half, of the next in the lower.
   */
  __device__ __forceinline__ uint32_t work_info(uint32_t group, uint32_t round) const {
    return slot(C::kSlots) + (round % kWorkInfos * C::kGroups + group) * 16;
  }
  __device__ __forceinline__ uint32_t q_full(uint32_t group, uint32_t round) const {
    return barrier(q_index(group, round));
  }
  __device__ __forceinline__ uint32_t q_empty(uint32_t group, uint32_t round) const {
    return barrier(C::kQBuffers * C::kGroups + q_index(group, round));
  }
  /* Of the barriers of Q's buffers in a round; `full` flips first. */
  static __device__ __forceinline__ uint32_t q_parity(uint32_t round) { return round / C::kQBuffers % 2; }
  __device__ __forceinline__ uint32_t full(uint32_t i) const { return barrier(2 * C::kQBuffers * C::kGroups + i); }
  __device__ __forceinline__ uint32_t empty(uint32_t i) const { return full(C::kSlots + i); }

  /* Who arrives in each phase. Q has come when its bytes and the work info have: one thread arrives for each. All
   * warps that read a tile give it back, to every block that fetches into it. */
  static constexpr uint32_t kQFullArrivals = 2, kQEmptyArrivals = kGroupWarps;
  static constexpr uint32_t kFullArrivals = 1, kEmptyArrivals = kGroupWarps * C::kGroups * C::S.cluster;

  /* One thread: a barrier for each lane of a warp becomes a loop over the lanes, with a fence each. */
  __device__ __forceinline__ void init_barriers() const {
    for (uint32_t b = 0; b < C::kQBuffers; ++b)
      for (uint32_t g = 0; g < C::kGroups; ++g)
        hopper::barrier_init(q_full(g, b), kQFullArrivals), hopper::barrier_init(q_empty(g, b), kQEmptyArrivals);
    for (uint32_t i = 0; i < C::kSlots; ++i)
      hopper::barrier_init(full(i), kFullArrivals), hopper::barrier_init(empty(i), kEmptyArrivals);
    hopper::barrier_publish();
  }

 private:
  static __device__ __forceinline__ uint32_t q_index(uint32_t group, uint32_t round) {
    return round % C::kQBuffers * C::kGroups + group;
  }
  __device__ __forceinline__ uint32_t barrier(uint32_t i) const {
    return slot(C::kSlots) + work_info_bytes(C::S) + 8 * i;
  }
};

/* ---- fetching ------------------------------------------------------------------------------------------------- */

/* One thread: the tiles of K and V, in the order in which the warpgroups multiply them. */
template <typename C>
struct KvFetcher {
  const WgmmaParams &a;
  const Layout<C> at;
  Cursor<C::kSlots> cursor;

  __device__ __forceinline__ void fetch(const CUtensorMap *map, uint32_t kv_head, uint32_t tile) {
    hopper::barrier_wait(at.empty(cursor.slot), cursor.parity ^ 1);
    hopper::barrier_expect(at.full(cursor.slot), C::kSlotBytes);
    constexpr uint32_t kShare = C::kKeys / C::S.cluster; /* keys that each block of the cluster fetches for all */
    const uint32_t first = cluster_rank<C>() * kShare, to = at.slot(cursor.slot) + first * hopper::kSlabRow;
#pragma unroll
    for (uint32_t i = 0; i < C::kSlabs; ++i) {
      const uint32_t slab = to + i * C::kKeys * hopper::kSlabRow, column = i * hopper::kSlab;
      if constexpr (C::S.cluster > 1)
        hopper::load_box_to_all(slab, map, at.full(cursor.slot), column, tile * C::kKeys + first, kv_head,
                                (1 << C::S.cluster) - 1, hopper::kEvictLast);
      else
        hopper::load_box(slab, map, at.full(cursor.slot), column, tile * C::kKeys, kv_head, hopper::kEvictLast);
    }
    cursor.advance();
  }
  __device__ __forceinline__ void run() {
    for (uint32_t round = 0, index; (index = item_index<C>(round)) < a.items; ++round) {
      const Item item = item_of<C>(a, index);
      uint32_t tile = item.steps - 1;
      fetch(&a.k, item.kv_head, tile);
      for (; tile > 0; --tile) {
        if (!C::S.overlap) fetch(&a.v, item.kv_head, tile);
        fetch(&a.k, item.kv_head, tile - 1);
        if (C::S.overlap) fetch(&a.v, item.kv_head, tile);
      }
      fetch(&a.v, item.kv_head, 0);
    }
  }
};

/* Tiles of an item that a warpgroup's rows attend. */
template <typename C>
__device__ __forceinline__ uint32_t group_steps(const Params &p, const Item &item, uint32_t group) {
  const uint32_t end = min(item.row + group * 64 + 64, p.Sq);
  return max(ceil_div(visible_keys(p, end - 1), C::kKeys), 1u);
}

/* One thread fetches each warpgroup's rows of Q, as soon as the warpgroup has no more use for its last ones. While
 * they are on their way it writes the work info, so that an item is worked out by a thread that has nothing else to
 * do. */
template <typename C>
struct QFetcher {
  const WgmmaParams &a;
  const Layout<C> at;

  __device__ __forceinline__ void fetch(const Item &item, uint32_t round, uint32_t group) const {
    hopper::barrier_expect(at.q_full(group, round), C::kGroupBytes);
#pragma unroll
    for (uint32_t i = 0; i < C::kSlabs; ++i)
      hopper::load_box(at.q(group, round) + i * 64 * hopper::kSlabRow, &a.q, at.q_full(group, round),
                       i * hopper::kSlab, item.row + group * 64, item.head, hopper::kEvictFirst);
  }
  /* `skipped`: tiles that come before those of the warpgroup in the next item. */
  __device__ __forceinline__ void write_work_info(const Item &item, uint32_t round, uint32_t group,
                                                  uint32_t skipped) const {
    const uint32_t steps = group_steps<C>(a.attention, item, group);
    ptx::store_shared(at.work_info(group, round),
                      make_uint4(item.head, item.row + group * 64, steps, item.steps - steps << 16 | skipped));
    hopper::barrier_arrive(at.q_full(group, round));
  }
  __device__ __forceinline__ void run() const {
    uint32_t index = item_index<C>(0);
    if (index >= a.items) return;
    Item item = item_of<C>(a, index);
    for (uint32_t g = 0; g < C::kGroups; ++g) fetch(item, 0, g); /* the first product waits for these */
    for (uint32_t round = 0; index < a.items; ++round) {
      index = item_index<C>(round + 1);
      const bool is_last = index >= a.items;
      const Item next = is_last ? item : item_of<C>(a, index);
#pragma unroll 1
      for (uint32_t g = 0; g < C::kGroups; ++g) {
        if (round > 0) {
          hopper::barrier_wait(at.q_empty(g, round), Layout<C>::q_parity(round) ^ 1);
          fetch(item, round, g);
        }
        write_work_info(item, round, g, is_last ? 0 : next.steps - group_steps<C>(a.attention, next, g));
      }
      item = next;
    }
  }
};

/* ---- multiplying ---------------------------------------------------------------------------------------------- */

/* The softmax of a thread's two rows. Weights are 2^(score * scale - reference); any reference gives the same
 * quotients, so it need not be the maximum itself. */
template <typename C>
struct Softmax {
  static constexpr uint32_t kScores = C::kKeys / 2;
  static constexpr float kGrowth = 8.0f; /* lazy: weights stay below 2^8 */
  const float scale, inverse_scale;      /* log2(e) / sqrt(D) */
  float reference[2], sum[2], factor[2];

  __device__ __forceinline__ explicit Softmax(float scale_log2)
      : scale(scale_log2), inverse_scale(1.0f / scale_log2) {}

  __device__ __forceinline__ void reset() {
    reference[0] = reference[1] = minus_infinity();
    sum[0] = sum[1] = 0.0f;
  }

  /* Scores to weights. True: what was summed before, and the output, is to be multiplied by factor[]. `Plain`: no
   * score is minus infinity. */
  template <bool Plain>
  __device__ __forceinline__ bool run(float (&s)[kScores]) {
    const bool raised = raise(s);
    float part[2];
    weigh<Plain>(s, part);
    sum[0] += part[0], sum[1] += part[1];
    return raised;
  }
  /* The same on the reference as it is. False: some weight of the warp is too large for it, and the scores are lost.
   */
  __device__ __forceinline__ bool run_unseen(float (&s)[kScores]) {
    constexpr float kLargest = 32768.0f; /* of a thread's weights together, and so of each: f16 ends at 65504 */
    float part[2];
    weigh<true>(s, part);
    if (__any_sync(kFullWarp, part[0] > kLargest || part[1] > kLargest)) return false;
    sum[0] += part[0], sum[1] += part[1];
    return true;
  }

 private:
  /* Which groups of 8 columns; evenly spread. */
  static constexpr __device__ bool on_fma_pipe(uint32_t j) {
    return (j + 1) * C::S.fma_exp / 16 > j * C::S.fma_exp / 16;
  }

  static constexpr float kMagic = 12582912.0f; /* 1.5 * 2^23: what is added to it is rounded to an integer */

  /* 2^(s * scale - base) for an integer `base`, 75e-6 of it at most away: shift is kMagic - base, exactly. */
  static __device__ __forceinline__ float exp2_by_fma(float s, float scale, float shift) {
    const float r = fmaf(s, scale, shift);     /* kMagic + the exponent, in the low bits */
    const float f = fmaf(s, scale, shift - r); /* the rest, in [-0.5, 0.5] */
    const float y = fmaf(fmaf(fmaf(0.0551716691f, f, 0.2426111222f), f, 0.6932609855f), f, 0.9999280736f);
    return __int_as_float(__float_as_int(y) + (__float_as_int(r) << 23));
  }

  template <bool Plain>
  __device__ __forceinline__ void weigh(float (&s)[kScores], float (&total)[2]) const {
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float base = reference[i] == minus_infinity() ? 0.0f : reference[i];
      const float shift = kMagic - base, least = (base - 126.0f) * inverse_scale,
                  most = (base + 126.0f) * inverse_scale;
      float part[2] = {0.0f, 0.0f};
#pragma unroll
      for (uint32_t j = 0; j < C::kKeys / 8; ++j)
#pragma unroll
        for (uint32_t c = 0; c < 2; ++c) {
          float &x = s[4 * j + 2 * i + c];
          if (Plain && on_fma_pipe(j))
            x = exp2_by_fma(fminf(fmaxf(x, least), most), scale, shift);
          else
            x = ptx::ex2(fmaf(x, scale, -base));
          part[c] += x;
        }
      total[i] = part[0] + part[1];
    }
  }

  __device__ __forceinline__ bool raise(const float (&s)[kScores]) {
    float largest[2];
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      float x[2] = {fmaxf(s[2 * i], s[2 * i + 1]), fmaxf(s[4 + 2 * i], s[4 + 2 * i + 1])};
#pragma unroll
      for (uint32_t j = 2; j < C::kKeys / 8; ++j)
        x[j % 2] = fmaxf(x[j % 2], fmaxf(s[4 * j + 2 * i], s[4 * j + 2 * i + 1]));
      largest[i] = fmaxf(x[0], x[1]) * scale;
    }
    if (C::S.lazy) {
      const bool grew = largest[0] - reference[0] > kGrowth || largest[1] - reference[1] > kGrowth;
      if (!__any_sync(kFullWarp, grew)) return false;
    }
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      float next = fmaxf(reference[i], quad_max(largest[i]));
      if (C::S.fma_exp) next = ceilf(next);
      factor[i] = ptx::ex2(reference[i] - (next == minus_infinity() ? 0.0f : next));
      reference[i] = next;
      sum[i] *= factor[i];
    }
    return true;
  }
};

/* One warpgroup and its 64 rows. */
template <typename C>
struct Multiplier {
  using T = typename C::T;
  const typename C::Params &a;
  const Layout<C> at;
  const uint32_t group;
  Cursor<C::kSlots> cursor;
  Softmax<C> softmax;
  float s[C::kKeys / 2], o[C::kDv / 2];
  uint32_t p[C::kKeys / 4], q[C::S.hold_q ? C::kD / 4 : 1];

  __device__ __forceinline__ Multiplier(const typename C::Params &params, const Layout<C> &layout, uint32_t g,
                                        float scale_log2)
      : a(params), at(layout), group(g), softmax(scale_log2) {}

  /* Waits for the next tile of the ring; its slot. */
  __device__ __forceinline__ uint32_t acquire() {
    const uint32_t slot = cursor.slot;
    hopper::barrier_wait(at.full(slot), cursor.parity);
    cursor.advance();
    return slot;
  }
  /* The warp has read the slot; says so to every block that fetches into it. */
  __device__ __forceinline__ void release(uint32_t slot) {
    if constexpr (C::S.cluster > 1) {
      if (threadIdx.x % kWarp < C::S.cluster) hopper::barrier_arrive_at(at.empty(slot), threadIdx.x % kWarp);
    } else {
      if (threadIdx.x % kWarp == 0) hopper::barrier_arrive(at.empty(slot));
    }
  }
  __device__ __forceinline__ void release_q(uint32_t round) {
    if (threadIdx.x % kWarp == 0) hopper::barrier_arrive(at.q_empty(group, round));
  }
  static __device__ __forceinline__ uint32_t swizzled(uint32_t slab, uint32_t row, uint32_t chunk) {
    return slab + row * 128 + (chunk ^ row % 8) * 16;
  }
  /* Waits for the rows of Q of this round. */
  __device__ __forceinline__ void acquire_q(uint32_t round) {
    hopper::barrier_wait(at.q_full(group, round), Layout<C>::q_parity(round));
    if constexpr (C::S.hold_q) {
      const uint32_t lane = threadIdx.x % kWarp, row = threadIdx.x % 128 / kWarp * 16 + lane % 16;
#pragma unroll
      for (uint32_t d = 0; d < C::kD / 16; ++d) {
        uint32_t four[4];
        ptx::ldmatrix_x4(four, swizzled(at.q(group, round) + d / 4 * 64 * 128, row, d % 4 * 2 + lane / 16));
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) q[4 * d + i] = four[i];
      }
    }
  }
  /* Where Q is in registers, and a product with it has been started: the fence need not be waited for before. */
  __device__ __forceinline__ void release_held_q(uint32_t round) {
    if constexpr (C::S.hold_q) hopper::fence_async(), release_q(round);
  }
  __device__ __forceinline__ void begin_turn() {
    if (C::kTurns) hopper::named_sync(kTurnBarrier + group, kTurnThreads);
  }
  __device__ __forceinline__ void end_turn() {
    if (C::kTurns) hopper::named_arrive(kTurnBarrier + (group + 1 == C::kGroups ? 0 : group + 1), kTurnThreads);
  }

  static __device__ __forceinline__ uint64_t forward(uint64_t operand, uint32_t bytes) {
    return (operand & 0xffffffff00000000ull) | ((uint32_t)operand + (bytes >> 4));
  }

  /* Starts S = Q K' */
  __device__ __forceinline__ void start_qk(uint32_t slot, uint32_t round) {
    const uint64_t rows = hopper::operand(at.q(group, round)), keys = hopper::operand(at.slot(slot));
    hopper::wgmma_fence();
#pragma unroll
    for (uint32_t d = 0; d < C::kD / 16; ++d) {
      const uint64_t k = forward(keys, d / 4 * C::kKeys * 128 + d % 4 * 32);
      if constexpr (C::S.hold_q)
        hopper::MultiplyQkRegisters<T, C::kKeys>::run(s, q + 4 * d, k, d > 0);
      else
        hopper::MultiplyQk<T, C::kKeys>::run(s, forward(rows, d / 4 * 64 * 128 + d % 4 * 32), k, d > 0);
    }
    hopper::wgmma_commit();
  }
  /* Starts O += P V; O = P V when not `keep`. */
  __device__ __forceinline__ void start_pv(uint32_t slot, bool keep) {
    const uint64_t v = hopper::operand(at.slot(slot), C::kKeys * 128);
    hopper::wgmma_fence();
#pragma unroll
    for (uint32_t k = 0; k < C::kKeys / 16; ++k)
      hopper::MultiplyPv<T, C::kDv>::run(o, p + 4 * k, forward(v, k * 16 * 128), k > 0 || keep);
    hopper::wgmma_commit();
  }
  __device__ __forceinline__ void fence() { hopper::pin(s), hopper::pin(p); }
  template <int Pending>
  __device__ __forceinline__ void wait() {
    hopper::wgmma_wait<Pending>();
  }

  __device__ __forceinline__ void pack_weights() {
#pragma unroll
    for (uint32_t i = 0; i < C::kKeys / 4; ++i) p[i] = pack<T>(s[2 * i], s[2 * i + 1]);
  }
  __device__ __forceinline__ void rescale(bool raised) {
    if (C::S.lazy && !raised) return;
#pragma unroll
    for (uint32_t j = 0; j < C::kDv / 2; ++j) o[j] *= softmax.factor[j / 2 % 2];
  }

  /* How many tiles come before the masked ones. Under a causal mask the tile of the first row's last key counts as
   * masked even where that key is the tile's last: all rows attend it, and so have a reference when the plain tiles
   * begin, which do not look for one. */
  __device__ __forceinline__ uint32_t plain_tiles(uint32_t row) const {
    const uint32_t keys = visible_keys(a.attention, row);
    return (a.attention.causal && keys > 0 ? keys - 1 : keys) / C::kKeys;
  }

  /* Scores of a tile that a row does not attend become minus infinity. */
  __device__ __forceinline__ void mask(uint32_t row, uint32_t first) {
    const uint32_t lane = threadIdx.x % kWarp;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t keys = visible_keys(a.attention, row + threadIdx.x % 128 / kWarp * 16 + i * 8 + lane / 4);
      const int32_t left = (int32_t)(keys - first) - (int32_t)(lane % 4 * 2);
#pragma unroll
      for (uint32_t j = 0; j < C::kKeys / 8; ++j)
#pragma unroll
        for (int32_t c = 0; c < 2; ++c)
          if ((int32_t)(8 * j) + c >= left) s[4 * j + 2 * i + c] = minus_infinity();
    }
  }

  /* Writes the rows of O, normalised, and their LSE. A row that attended no key has sum 0 and becomes zeros. */
  __device__ __forceinline__ void store(uint32_t round) {
    const Params &at_ = a.attention;
    const uint4 info = ptx::load_shared(at.work_info(group, round)); /* again: kept, it would occupy registers */
    const uint32_t lane = threadIdx.x % kWarp, head = info.x;
    const uint32_t row = info.y + threadIdx.x % 128 / kWarp * 16 + lane / 4;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float total = quad_sum(softmax.sum[i]), f = total > 0.0f ? 1.0f / total : 0.0f;
      const size_t place = (size_t)head * at_.Sq + row + 8 * i;
      T *const to = static_cast<T *>(at_.o) + place * at_.D;
      if (at_.lse != nullptr && lane % 4 == 0 && row + 8 * i < at_.Sq)
        at_.lse[place] = log_sum_exp(softmax.reference[i], total);
#pragma unroll
      for (uint32_t j = 0; j < C::kD / 8; j += 4) {
        uint32_t w[4];
#pragma unroll
        for (uint32_t k = 0; k < 4; ++k) w[k] = pack<T>(o[4 * (j + k) + 2 * i] * f, o[4 * (j + k) + 2 * i + 1] * f);
        quad_transpose(w);
        const uint32_t column = 8 * (j + lane % 4);
        if (row + 8 * i < at_.Sq && column < at_.D)
          *reinterpret_cast<uint4 *>(to + column) = make_uint4(w[0], w[1], w[2], w[3]);
      }
    }
  }

  /* The warp's scores once more, by mma.sync, whose accumulator has the same layout. */
  __device__ __forceinline__ void multiply_again(uint32_t slot, uint32_t round) {
    multiply_again(slot, round, [](float(&c)[4], const uint32_t(&left)[4], uint32_t b0, uint32_t b1) {
      ptx::mma_16x8x16<T>(c, left, b0, b1);
    });
  }
  /* mma(c, a, b0, b1): adds the products of 32 bytes of the rows of Q and of K to c. */
  template <typename Mma>
  __device__ __forceinline__ void multiply_again(uint32_t slot, uint32_t round, Mma mma) {
    const uint32_t thread = ptx::opaque(threadIdx.x % 128); /* nothing of this is computed ahead */
    const uint32_t lane = thread % kWarp, q_row = thread / kWarp * 16 + lane % 16;
    const uint32_t k_row = lane / 16 * 8 + lane % 8;
#pragma unroll
    for (uint32_t i = 0; i < C::kKeys / 2; ++i) s[i] = 0.0f;
#pragma unroll(C::S.hold_q ? C::S.D / 16 : 1)
    for (uint32_t d = 0; d < C::S.D / 16; ++d) {
      uint32_t left[4];
      if constexpr (C::S.hold_q) {
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) left[i] = q[4 * d + i];
      } else {
        ptx::ldmatrix_x4(left, swizzled(at.q(group, round) + d / 4 * 64 * 128, q_row, d % 4 * 2 + lane / 16));
      }
#pragma unroll
      for (uint32_t j = 0; j < C::kKeys / 16; ++j) {
        uint32_t right[4];
        ptx::ldmatrix_x4(right,
                         swizzled(at.slot(slot) + d / 4 * C::kKeys * 128, 16 * j + k_row, d % 4 * 2 + lane / 8 % 2));
#pragma unroll
        for (uint32_t h = 0; h < 2; ++h) {
          float four[4];
#pragma unroll
          for (uint32_t i = 0; i < 4; ++i) four[i] = s[8 * j + 4 * h + i];
          mma(four, left, right[2 * h], right[2 * h + 1]);
#pragma unroll
          for (uint32_t i = 0; i < 4; ++i) s[8 * j + 4 * h + i] = four[i];
        }
      }
    }
    hopper::fence_async(); /* these reads, before the copy engine's next write there */
  }

  enum Kind { MASKED, PLAIN, UNSEEN };

  /* One tile further: `tile` is the one whose scores are begun, the weights are those of the tile after it. */
  template <Kind K>
  __device__ __forceinline__ void step(uint32_t round, uint32_t row, uint32_t tile, bool keep) {
    const uint32_t k = acquire();
    begin_turn();
    fence();
    start_qk(k, round);
    const uint32_t v = acquire();
    start_pv(v, keep);
    end_turn();
    wait<1>();
    hopper::pin(s);
    bool raised = false;
    if constexpr (K == UNSEEN) {
      if (!softmax.run_unseen(s)) {
        multiply_again(k, round);
        raised = softmax.template run<true>(s);
      }
      release(k);
      if (C::kUnseenLast && !C::S.hold_q && tile == 0) release_q(round);
    } else {
      release(k);
      if (!C::S.hold_q && tile == 0) release_q(round);
      if (K == MASKED) mask(row, tile * C::kKeys);
      raised = softmax.template run<K == PLAIN>(s);
    }
    wait<0>();
    hopper::pin(o), hopper::pin(p);
    release(v);
    rescale(raised);
    pack_weights();
  }

  /* Tiles that only other warpgroups need. */
  __device__ __forceinline__ void drop(uint32_t tiles) {
#pragma unroll 1
    for (; tiles > 0; --tiles) release(acquire());
  }
  /* Of an item's tiles that only other warpgroups need: all but the last V, which comes after the next K. */
  __device__ __forceinline__ void drop_before_first(uint32_t tiles) {
    if (tiles > 0) drop(2 * tiles - 1);
  }

  /* Passes on the warpgroup's turns for those tiles, since the others wait for them. */
  __device__ __forceinline__ void skip_turns(uint32_t round) {
    uint32_t tiles =
        ptx::load_shared(at.work_info(group, round)).w >> 16; /* again: kept, it would occupy registers */
    if (tiles > 0) drop(1);
#pragma unroll 1
    for (; tiles > 0; --tiles) begin_turn(), end_turn();
  }

  __device__ __forceinline__ void run_overlapped() {
    if (item_index<C>(0) >= a.items) return;
    acquire_q(0);
    drop_before_first(ptx::load_shared(at.work_info(group, 0)).w >> 16);
    uint32_t k = acquire();
    if (group + 1 == C::kGroups) end_turn();
    begin_turn();
    fence();
    start_qk(k, 0);
    end_turn();
    release_held_q(0);
    wait<0>();
    hopper::pin(s);
    for (uint32_t round = 0;; ++round) {
      const uint4 info = ptx::load_shared(at.work_info(group, round));
      const uint32_t row = info.y, plain = plain_tiles(row);
      uint32_t tile = info.z - 1;
      softmax.reset();
      release(k);
      if (!C::S.hold_q && tile == 0) release_q(round);
      if (tile >= plain) mask(row, tile * C::kKeys);
      softmax.template run<false>(s);
      pack_weights();
      skip_turns(round);
      bool keep = false;
      for (; tile > plain; keep = true) --tile, step<MASKED>(round, row, tile, keep);
      if constexpr (C::S.lazy == 2) {
        const uint32_t last = C::kUnseenLast ? 0 : 1;
        for (; tile > last; keep = true) --tile, step<UNSEEN>(round, row, tile, keep);
        if constexpr (!C::kUnseenLast) {
          if (tile > 0) tile = 0, step<PLAIN>(round, row, 0, keep), keep = true;
        }
      } else {
        for (; tile > 0; keep = true) --tile, step<PLAIN>(round, row, tile, keep);
      }
      const uint32_t v = acquire();
      drop_before_first(ptx::load_shared(at.work_info(group, round)).w & 0xffff);
      begin_turn();
      fence();
      if (item_index<C>(round + 1) >= a.items) {
        start_pv(v, keep);
        end_turn();
        wait<0>();
        hopper::pin(o);
        store(round);
        return;
      }
      start_pv(v, keep);
      acquire_q(round + 1);
      k = acquire();
      start_qk(k, round + 1);
      end_turn();
      release_held_q(round + 1);
      wait<1>();
      hopper::pin(o);
      release(v);
      store(round);
      wait<0>();
      hopper::pin(s);
    }
  }

  /* Without overlap inside the warpgroup: softmax and products in turns. */
  __device__ __forceinline__ void run_in_turns() {
    for (uint32_t round = 0; item_index<C>(round) < a.items; ++round) {
      acquire_q(round);
      const uint4 info = ptx::load_shared(at.work_info(group, round));
      const uint32_t row = info.y, steps = info.z, plain = plain_tiles(row);
      softmax.reset();
      drop(info.w >> 16 << 1);
      for (uint32_t tile = steps; tile-- > 0;) {
        const uint32_t k = acquire();
        fence();
        start_qk(k, round);
        wait<0>();
        hopper::pin(s);
        release(k);
        if (!C::S.hold_q && tile == 0) release_q(round);
        if (tile >= plain) mask(row, tile * C::kKeys);
        const bool raised = softmax.template run<false>(s);
        if (tile + 1 < steps) rescale(raised);
        pack_weights();
        const uint32_t v = acquire();
        fence();
        start_pv(v, tile + 1 < steps);
        wait<0>();
        hopper::pin(o);
        release(v);
      }
      store(round);
    }
  }
};

#endif /* ATTN_SM90A */

}  // namespace wgmma_tile

/* grid: the items, or fewer blocks that take several each. */
template <typename C>
__global__ void __launch_bounds__((C::kGroups + 1) * 128, 1) wgmma_kernel(const __grid_constant__ WgmmaParams a) {
#ifdef ATTN_SM90A
  using namespace wgmma_tile;
  extern __shared__ __align__(1024) unsigned char smem_base[];
  const Layout<C> at = {ptx::shared_address(smem_base)};
  const uint32_t warp = __shfl_sync(kFullWarp, threadIdx.x / kWarp, 0), group = warp / 4;
  if (threadIdx.x == 0) at.init_barriers();
  if (threadIdx.x == kWarp) hopper::prefetch_map(&a.q), hopper::prefetch_map(&a.k), hopper::prefetch_map(&a.v);
  if constexpr (C::S.cluster > 1) {
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  } else {
    __syncthreads(); /* orders the barriers' beginning before their use */
  }
  if (group == C::kGroups) {
    hopper::give_registers<C::kProducerRegisters>();
    if (warp % 4 == 0 && threadIdx.x % kWarp == 0) KvFetcher<C>{a, at, {}}.run();
    if (warp % 4 == 1 && threadIdx.x % kWarp == 0) QFetcher<C>{a, at}.run();
  } else {
    hopper::take_registers<C::kConsumerRegisters>();
    Multiplier<C> multiplier(a, at, group, a.attention.scale_log2);
    if constexpr (C::S.overlap)
      multiplier.run_overlapped();
    else
      multiplier.run_in_turns();
  }
  if constexpr (C::S.cluster > 1) { /* no block ends while another still writes to it */
    __syncwarp();
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
#endif
}

}  // namespace attn
#endif

#endif
