/* The kernel of `wgmma_paged`: that of `wgmma_general` (wgmma_general_tile.cuh) for batches as servers form them. K
 * and V may lie in pages. A q tile has the rows of several query heads that share K and V: row r is query r / heads,
 * head r % heads. So a sequence with one query and four heads for a KV head is one item of four rows, and its keys
 * are read once.
 *
 * A warpgroup may have no row of an item, as a sequence that is decoded has few. It then drops the item's tiles and
 * multiplies nothing. In kernels whose warpgroups take turns, this could block the others. Here they take no turns.
 *
 * The copy engine fetches a tile of keys in boxes of a page each, or of a part of one (page_boxes.cuh). Where V ends
 * within a tile, one warp waits for that tile, writes zeros behind the last key, and gives the tile on. */
#ifndef ATTNBENCH_KERNELS_WGMMA_PAGED_TILE_CUH
#define ATTNBENCH_KERNELS_WGMMA_PAGED_TILE_CUH

#include "kernels/tiles/page_boxes.cuh"
#include "kernels/tiles/wgmma_general_tile.cuh"

namespace attn::wgmma_paged {

using wgmma_general::rows;
using wgmma_general::Shape;

/* Two barriers more. */
constexpr ATTN_HD uint32_t block_smem_bytes(const Shape &s) { return wgmma_general::smem_bytes(s) + 16; }

/* Log2 of the heads of a q tile: those that share K and V, where they divide a warpgroup's 64 rows; else one. */
inline uint32_t pack_of(const attn_problem &shape) {
  const uint32_t heads = shape.Hq / shape.Hkv;
  uint32_t pack = 0;
  while (1u << pack < heads && pack < 6) ++pack;
  return 1u << pack == heads ? pack : 0;
}

/* Why no kernel here takes a problem, whatever its types; nullptr: one does. */
inline const char *refusal(const attn_problem &shape) {
  const char *why = page_refusal(shape);
  return why != nullptr ? why : wgmma_general::refusal(shape);
}

}  // namespace attn::wgmma_paged

#ifdef __CUDACC__

namespace attn {

/* The argument. */
struct WgmmaPagedParams : WgmmaGeneralParams {
  uint32_t pack;             /* log2 of the heads of a q tile */
  const int32_t *page_table; /* [sequence][entries]; nullptr: K and V are contiguous */
  uint32_t entries;
  PageBoxes boxes;
};

namespace wgmma_paged {

inline struct status params_make(const attn_problem &shape, const attn_buffers &buffers, const Shape &s,
                                 uint32_t pack, uint32_t blocks, double turn_steps, WgmmaPagedParams *out) {
  const attn_view k = attn_view_of(&shape, ATTN_K), v = attn_view_of(&shape, ATTN_V);
  attn_view q = attn_view_of(&shape, ATTN_Q); /* as [batch][tokens][heads]: the heads of a token are neighbours */
  std::swap(q.heads, q.tokens), std::swap(q.head_stride, q.token_stride);
  const uint32_t keys = s.dense.keys;
  wgmma_general::settings_make(shape, buffers, rows(s) >> pack, keys, blocks, turn_steps, out, 1u << pack);
  out->pack = pack;
  out->page_table = buffers.page_table, out->entries = attn_pages_for(shape.Skv, shape.page);
  out->boxes = page_boxes(shape, keys);
  TRY(tensor_map_make(&out->q, buffers.q, shape.dtype, q, 1u << pack, 64u >> pack));
  TRY(tensor_map_make(&out->k, buffers.k, shape.dtype, k, out->boxes.rows));
  return tensor_map_make(&out->v, buffers.v, shape.dtype, v, out->boxes.rows);
}

template <typename T_, Shape S_>
struct Config : wgmma_general::Config<T_, S_> {
  using Params = WgmmaPagedParams;
  static constexpr bool kPacked = true, kLists = false;
  static constexpr uint32_t kConsumerRegisters = 224, kProducerRegisters = 56; /* a whole warp fetches keys */
  static_assert(S_.dense.pingpong == 0 && (S_.dense.keys & (S_.dense.keys - 1)) == 0);
};

#ifdef ATTN_SM90A

using wgmma_general::Item;

/* Addresses in shared memory: behind those of wgmma_general two barriers. A tile of V with keys behind the last one
 * has come; it has been cleared. */
template <typename C>
struct Layout : wgmma_general::Layout<C> {
  __device__ __forceinline__ uint32_t tail_full() const {
    return this->more_info(0, 0) + wgmma_tile::kWorkInfos * C::kGroups * 48;
  }
  __device__ __forceinline__ uint32_t tail_empty() const { return tail_full() + 8; }
  __device__ __forceinline__ void init_barriers() const {
    hopper::barrier_init(tail_full(), 1), hopper::barrier_init(tail_empty(), 1);
    wgmma_general::Layout<C>::init_barriers();
  }
};

/* Does a page with keys of the item's last tile go on behind the sequence's last key? */
template <typename C>
__device__ __forceinline__ bool has_tail(const WgmmaPagedParams &a, const Item &item) {
  return a.page_table != nullptr && item.tiles.end * C::kKeys > item.mask.Skv &&
         (item.mask.Skv & ((1u << a.boxes.shift) - 1)) != 0;
}

/* One warp: the tiles of K and V, in the order in which the warpgroups multiply them. A lane has one of a tile's
 * boxes. */
template <typename C>
struct KvFetcher {
  const WgmmaPagedParams &a;
  const Layout<C> at;
  const uint32_t items;
  wgmma_tile::Cursor<C::kSlots> cursor;
  uint32_t tails; /* parity of how many there were */

  /* Where the lane's box of a tile begins. */
  __device__ __forceinline__ Box box_of(const Item &item, uint32_t tile) const {
    const uint32_t key = tile * C::kKeys + min(threadIdx.x % kWarp * a.boxes.rows, C::kKeys - a.boxes.rows);
    if (a.page_table == nullptr) return {item.k_first + key, item.batch};
    return box_at(a.boxes, a.page_table + (size_t)item.sequence * a.entries, key, item.mask.Skv);
  }

  /* `has_end`: the tile is given on by the warp that clears its end. */
  template <uint32_t Slabs>
  __device__ __forceinline__ void fetch(const CUtensorMap *map, const Item &item, Box box, bool has_end = false) {
    const uint32_t lane = threadIdx.x % kWarp, to = at.slot(cursor.slot) + lane * a.boxes.rows * hopper::kSlabRow;
    uint32_t full = at.full(cursor.slot);
    hopper::barrier_wait(at.empty(cursor.slot), cursor.parity ^ 1);
    if (has_end) {
      hopper::barrier_wait(at.tail_empty(), tails ^ 1);
      full = at.tail_full(), tails ^= 1;
    }
    if (lane == 0) hopper::barrier_expect(full, Slabs * C::kKeys * hopper::kSlabRow);
    if (lane * a.boxes.rows < C::kKeys)
#pragma unroll
      for (uint32_t i = 0; i < Slabs; ++i)
        hopper::load_box(to + i * C::kKeys * hopper::kSlabRow, map, full, i * hopper::kSlab, box.token, item.kv_head,
                         box.matrix, hopper::kEvictLast);
    cursor.advance();
  }
  __device__ __forceinline__ void run() {
    constexpr uint32_t kVSlabs = wgmma_tile::slabs(C::kDv);
    for (uint32_t round = 0, index; (index = wgmma_tile::item_index<C>(round)) < items; ++round) {
      const Item item = wgmma_general::item_of<C>(a, index);
      uint32_t left = item.tiles.count() - 1; /* tiles before `box`'s */
      bool has_end = has_tail<C>(a, item);
      Box box = box_of(item, item.tiles.begin + left);
      fetch<C::kSlabs>(&a.k, item, box);
      Box next = box_of(item, item.tiles.begin + (left > 0 ? left - 1 : 0));
#pragma unroll 1
      for (; left > 0; --left) {
        const Box then = box_of(item, item.tiles.begin + (left > 1 ? left - 2 : 0)); /* loaded ahead of its use */
        fetch<C::kSlabs>(&a.k, item, next);
        fetch<kVSlabs>(&a.v, item, box, has_end);
        box = next, next = then, has_end = false;
      }
      fetch<kVSlabs>(&a.v, item, box, has_end);
    }
  }
};

/* One warp: zeros behind the last key of V. */
template <typename C>
__device__ __forceinline__ void clear_tails(const WgmmaPagedParams &a, const Layout<C> &at, uint32_t items) {
  const uint32_t lane = threadIdx.x % kWarp;
  uint32_t first = 0, parity = 0; /* the slot of the item's first tile */
  for (uint32_t round = 0, index; (index = wgmma_tile::item_index<C>(round)) < items; ++round) {
    const Item item = wgmma_general::item_of<C>(a, index);
    const uint32_t tiles = item.tiles.count();
    if (has_tail<C>(a, item)) {
      const uint32_t slot = (first + (tiles > 1 ? 2 : 1)) % C::kSlots; /* K, K of the tile before, V */
      const uint32_t keys = item.mask.Skv - (item.tiles.end - 1) * C::kKeys;
      hopper::barrier_wait(at.tail_full(), parity);
      parity ^= 1;
      clear_keys<C::kDv, C::kKeys * hopper::kSlabRow>(at.slot(slot), keys, C::kKeys, lane, kWarp);
      hopper::fence_async();
      __syncwarp();
      if (lane == 0) hopper::barrier_arrive(at.full(slot)), hopper::barrier_arrive(at.tail_empty());
    }
    first = (first + 2 * tiles) % C::kSlots;
  }
}

template <typename C>
struct Multiplier : wgmma_general::GeneralMultiplier<C> {
  using Base = wgmma_general::GeneralMultiplier<C>;
  using Base::acquire_q, Base::release_q, Base::drop, Base::has_next, Base::more_info, Base::work_info,
      Base::run_items;

  __device__ __forceinline__ Multiplier(const WgmmaPagedParams &params, const Layout<C> &layout, uint32_t g)
      : Base(params, layout, g) {}

  __device__ __forceinline__ bool is_idle(uint32_t round) const {
    return (ptx::load_shared(more_info(round)).y & 0xffff) == 0;
  }

  __device__ __forceinline__ void run(uint32_t items) {
    if (wgmma_tile::item_index<C>(0) >= items) return;
    for (uint32_t round = 0;; ++round) {
      acquire_q(round);
      if (is_idle(round)) {
        const uint32_t tiles = work_info(round).x;
        const bool is_last = !has_next(round);
        release_q(round);
        drop(2 * tiles);
        if (is_last) return;
        continue;
      }
      round = run_items(round);
      if (!has_next(round)) return;
    }
  }
};

#endif /* ATTN_SM90A */

}  // namespace wgmma_paged

/* grid: the items, or fewer blocks that take several each. */
template <typename C>
__global__ void __launch_bounds__((C::kGroups + 1) * 128, 1)
    wgmma_paged_kernel(const __grid_constant__ WgmmaPagedParams a) {
#ifdef ATTN_SM90A
  using namespace wgmma_paged;
  extern __shared__ __align__(1024) unsigned char smem_base[];
  const wgmma_paged::Layout<C> at = {{{ptx::shared_address(smem_base)}}};
  const uint32_t warp = __shfl_sync(kFullWarp, threadIdx.x / kWarp, 0), group = warp / 4;
  const uint32_t items = wgmma_general::item_count(a);
  if (threadIdx.x == 0) at.init_barriers();
  if (threadIdx.x == kWarp) hopper::prefetch_map(&a.q), hopper::prefetch_map(&a.k), hopper::prefetch_map(&a.v);
  __syncthreads(); /* orders the barriers' beginning before their use */
  if (group == C::kGroups) {
    hopper::give_registers<C::kProducerRegisters>();
    if (warp % 4 == 0) wgmma_paged::KvFetcher<C>{a, at, items, {}, 0}.run();
    if (warp % 4 == 1 && threadIdx.x % kWarp == 0) wgmma_general::QFetcher<C>{a, at, items}.run();
    if (warp % 4 == 2) wgmma_paged::clear_tails<C>(a, at, items);
  } else {
    hopper::take_registers<C::kConsumerRegisters>();
    wgmma_paged::Multiplier<C>(a, at, group).run(items);
  }
#endif
}

}  // namespace attn
#endif

#endif
