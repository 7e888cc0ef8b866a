/* The kernel of `wgmma_paged`: that of `wgmma_general` (wgmma_general_tile.cuh) for batches as servers form them. K
 * and V may lie in pages. A q tile has the rows of several query heads that share K and V: row r is query r / heads,
 * head r % heads. So a sequence with one query and four heads for a KV head is one item of four rows, and its keys
 * are read once.
 *
 * A warpgroup may have no row of an item, as a sequence that is decoded has few. It then drops the item's tiles and
 * multiplies nothing. In kernels whose warpgroups take turns, this could block the others. Here they take no turns.
 *
 * Such an item waits for memory, and one whose rows fill both warpgroups for tensor cores. Of a ragged batch they are
 * two lists, lone items and joint ones, each with the longest first. Some blocks begin with lone items and the others
 * with joint ones, so that at any time both are under way; a block whose list is empty goes on with the other one.
 * The pass before computes how many begin with which. From its second item on a block takes the next one of a list
 * when it needs it, a few tiles before the end of the last one, so that all blocks end at about the same time. One
 * thread takes it, and passes its number on to the warps that fetch keys and clear tails. The warpgroups learn of it
 * with its rows of Q. After the last item they get a work info that says so in place of rows.
 *
 * The copy engine fetches a tile of keys in boxes of a page each, or of a part of one. Behind the last key of a
 * sequence its last page may hold anything, NaN too. In K the mask removes it. In V it would be multiplied by
 * weights of 0, and 0 * NaN is NaN: one warp waits for such a tile, writes zeros there, and gives the tile on. */
#ifndef ATTNBENCH_KERNELS_WGMMA_PAGED_TILE_CUH
#define ATTNBENCH_KERNELS_WGMMA_PAGED_TILE_CUH

#include "kernels/tiles/wgmma_general_tile.cuh"

namespace attn::wgmma_paged {

using wgmma_general::rows;
using wgmma_general::Shape;

/* Four barriers more, and the number of the next item. */
constexpr ATTN_HD uint32_t block_smem_bytes(const Shape &s) { return wgmma_general::smem_bytes(s) + 48; }

constexpr uint32_t kLeastPage = 8; /* tokens: the swizzle repeats after so many rows */

/* Log2 of the heads of a q tile: those that share K and V, where they divide a warpgroup's 64 rows; else one. */
inline uint32_t pack_of(const attn_problem &shape) {
  const uint32_t heads = shape.Hq / shape.Hkv;
  uint32_t pack = 0;
  while (1u << pack < heads && pack < 6) ++pack;
  return 1u << pack == heads ? pack : 0;
}

/* Why no kernel here takes a problem, whatever its types; nullptr: one does. */
inline const char *refusal(const attn_problem &shape) {
  if (attn_is_paged(&shape) && (shape.page < kLeastPage || (shape.page & (shape.page - 1)) != 0))
    return "page must be a power of two from 8 on, as the copy engine fetches 8 rows at least";
  return wgmma_general::refusal(shape);
}

/* What a block takes for items of each list, joint ones and lone ones: from one item to the next, and for a tile of
 * keys. */
struct Times {
  float turn[2], step[2];
};

}  // namespace attn::wgmma_paged

#ifdef __CUDACC__

namespace attn {

/* The argument. */
struct WgmmaPagedParams : WgmmaGeneralParams {
  uint32_t pack;             /* log2 of the heads of a q tile */
  const int32_t *page_table; /* [sequence][entries]; nullptr: K and V are contiguous */
  uint32_t entries;
  uint32_t page_shift; /* log2 of the tokens of a page */
  uint32_t box_rows;   /* keys that the copy engine takes at once: those of a page, or of a tile if they are fewer */
  uint32_t pages;      /* of the cache; the copy engine reads zeros from this number on */
  uint32_t once;       /* K and V of a sequence with no more queries than this are read by one item alone */
  uint32_t *taken;     /* RaggedOrder's */
};

/* The argument of the first pass. */
struct PagedOrderParams : RaggedParams {
  Divider by_heads;
  uint32_t heads, blocks; /* that have q tiles of their own; of the main pass */
  wgmma_paged::Times times;
};

namespace wgmma_paged {

inline struct status params_make(const attn_problem &shape, const attn_buffers &buffers, const Shape &s,
                                 uint32_t pack, uint32_t blocks, double turn_steps, WgmmaPagedParams *out) {
  const attn_view k = attn_view_of(&shape, ATTN_K), v = attn_view_of(&shape, ATTN_V);
  attn_view q = attn_view_of(&shape, ATTN_Q); /* as [batch][tokens][heads]: the heads of a token are neighbours */
  std::swap(q.heads, q.tokens), std::swap(q.head_stride, q.token_stride);
  const uint32_t keys = s.dense.keys;
  wgmma_general::settings_make(shape, buffers, rows(s) >> pack, keys, blocks, turn_steps, out, 1u << pack,
                               64u >> pack);
  out->pack = pack;
  out->once = out->heads == shape.Hkv && shape.prefix == 0 ? rows(s) >> pack : 0;
  if (attn_is_ragged(&shape)) out->taken = static_cast<RaggedOrder *>(buffers.workspace)->taken;
  out->page_table = buffers.page_table, out->entries = attn_pages_for(shape.Skv, shape.page);
  while (shape.page >> out->page_shift > 1) ++out->page_shift;
  out->box_rows = attn_is_paged(&shape) && shape.page < keys ? shape.page : keys;
  out->pages = k.batch;
  TRY(tensor_map_make(&out->q, buffers.q, shape.dtype, q, 1u << pack, 64u >> pack));
  TRY(tensor_map_make(&out->k, buffers.k, shape.dtype, k, out->box_rows));
  return tensor_map_make(&out->v, buffers.v, shape.dtype, v, out->box_rows);
}

inline PagedOrderParams order_params(const attn_problem &shape, const attn_buffers &buffers, const Shape &s,
                                     uint32_t pack, uint32_t blocks, const Times &times) {
  const uint32_t heads = shape.Hq >> pack;
  return {wgmma_general::order_params(shape, buffers, rows(s) >> pack), divider(heads), heads, blocks, times};
}

template <typename T_, Shape S_>
struct Config : wgmma_general::Config<T_, S_> {
  using Params = WgmmaPagedParams;
  static constexpr bool kPacked = true;
  static constexpr uint32_t kConsumerRegisters = 224, kProducerRegisters = 56; /* a whole warp fetches keys */
  static_assert(S_.dense.pingpong == 0 && (S_.dense.keys & (S_.dense.keys - 1)) == 0);
};

#ifdef ATTN_SM90A

using wgmma_general::Item;

/* Of a block's items, by their number, joint ones before lone ones. */
__device__ __forceinline__ uint32_t item_count(const WgmmaPagedParams &a) {
  return a.ragged != nullptr ? (a.ragged->tiles + a.ragged->lone) * a.heads : a.items;
}
/* Do blocks take their next items from the lists? Else they have fixed ones: one each, or all of the same length. */
__device__ __forceinline__ bool takes_items(const WgmmaPagedParams &a, uint32_t items) {
  return a.ragged != nullptr && gridDim.x < items;
}
/* Not below `items`: the block has none. */
template <typename C>
__device__ __forceinline__ uint32_t first_item(const WgmmaPagedParams &a, uint32_t items) {
  const uint32_t index = wgmma_tile::item_index<C>(0);
  if (!takes_items(a, items)) return index;
  const uint32_t lone_blocks = a.ragged->lone_blocks;
  return index < lone_blocks ? a.ragged->tiles * a.heads + index : index - lone_blocks;
}

/* In the place of the number of rows of a warpgroup: there is no item. */
constexpr uint32_t kEnd = 1u << 31;

/* Addresses in shared memory: behind those of wgmma_general four barriers and a number.
 *
 * A tile of V with keys behind the last one has come; it has been cleared. The number of the next item has come; it
 * is wanted, by all who read it, and so they have read the last one. */
template <typename C>
struct Layout : wgmma_general::Layout<C> {
  __device__ __forceinline__ uint32_t tail_full() const {
    return this->more_info(0, 0) + wgmma_tile::kWorkInfos * C::kGroups * 48;
  }
  __device__ __forceinline__ uint32_t tail_empty() const { return tail_full() + 8; }
  __device__ __forceinline__ uint32_t next_full() const { return tail_full() + 16; }
  __device__ __forceinline__ uint32_t next_wanted() const { return tail_full() + 24; }
  __device__ __forceinline__ uint32_t next() const { return tail_full() + 32; }
  __device__ __forceinline__ void init_barriers() const {
    hopper::barrier_init(tail_full(), 1), hopper::barrier_init(tail_empty(), 1);
    hopper::barrier_init(next_full(), 1), hopper::barrier_init(next_wanted(), kNextReaders);
    wgmma_general::Layout<C>::init_barriers();
  }

  /* The warps that fetch keys and that clear tails; in round r they want the item of r + 1, and then wait for it. */
  static constexpr uint32_t kNextReaders = 2;
  __device__ __forceinline__ void want_next() const {
    __syncwarp(); /* all lanes have read the last one */
    if (threadIdx.x % kWarp == 0) hopper::barrier_arrive(next_wanted());
  }
  __device__ __forceinline__ uint32_t take_next(uint32_t round) const {
    hopper::barrier_wait(next_full(), round % 2);
    return ptx::load_shared(next()).x;
  }
};

/* Does a page with keys of the item's last tile go on behind the sequence's last key? */
template <typename C>
__device__ __forceinline__ bool has_tail(const WgmmaPagedParams &a, const Item &item) {
  return a.page_table != nullptr && item.tiles.end * C::kKeys > item.mask.Skv &&
         (item.mask.Skv & ((1u << a.page_shift) - 1)) != 0;
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

  /* Tiles of an item that are not fetched yet when the next one is asked for: what is known of it, and its Q, come
   * while the warpgroups multiply these. Asked for earlier, it would wait here while other blocks have no more work.
   */
  static constexpr uint32_t kAhead = 4;

  struct Box {
    uint32_t token, matrix;
  };

  /* Where the lane's box of a tile begins. */
  __device__ __forceinline__ Box box_of(const Item &item, uint32_t tile) const {
    const uint32_t key = tile * C::kKeys + min(threadIdx.x % kWarp * a.box_rows, C::kKeys - a.box_rows);
    if (a.page_table == nullptr) return {item.k_first + key, item.batch};
    if (key >= item.mask.Skv) return {0, a.pages};
    const uint32_t page = key >> a.page_shift;
    return {key - (page << a.page_shift), (uint32_t)__ldg(a.page_table + (size_t)item.sequence * a.entries + page)};
  }

  /* `has_end`: the tile is given on by the warp that clears its end. */
  template <uint32_t Slabs>
  __device__ __forceinline__ void fetch(const CUtensorMap *map, const Item &item, Box box, uint64_t policy,
                                        bool has_end = false) {
    const uint32_t lane = threadIdx.x % kWarp, to = at.slot(cursor.slot) + lane * a.box_rows * hopper::kSlabRow;
    uint32_t full = at.full(cursor.slot);
    hopper::barrier_wait(at.empty(cursor.slot), cursor.parity ^ 1);
    if (has_end) {
      hopper::barrier_wait(at.tail_empty(), tails ^ 1);
      full = at.tail_full(), tails ^= 1;
    }
    if (lane == 0) hopper::barrier_expect(full, Slabs * C::kKeys * hopper::kSlabRow);
    if (lane * a.box_rows < C::kKeys)
#pragma unroll
      for (uint32_t i = 0; i < Slabs; ++i)
        hopper::load_box(to + i * C::kKeys * hopper::kSlabRow, map, full, i * hopper::kSlab, box.token, item.kv_head,
                         box.matrix, policy);
    cursor.advance();
  }
  __device__ __forceinline__ void run() {
    constexpr uint32_t kVSlabs = wgmma_tile::slabs(C::kDv);
    for (uint32_t round = 0, index = first_item<C>(a, items); index < items; index = at.take_next(round++)) {
      const Item item = wgmma_general::item_of<C>(a, index);
      const uint64_t policy = item.mask.Sq <= a.once ? hopper::kEvictFirst : hopper::kEvictLast;
      uint32_t left = item.tiles.count() - 1; /* tiles before `box`'s */
      bool has_end = has_tail<C>(a, item);
      Box box = box_of(item, item.tiles.begin + left);
      if (left < kAhead) at.want_next();
      fetch<C::kSlabs>(&a.k, item, box, policy);
      Box next = box_of(item, item.tiles.begin + (left > 0 ? left - 1 : 0));
#pragma unroll 1
      for (; left > 0; --left) {
        const Box then = box_of(item, item.tiles.begin + (left > 1 ? left - 2 : 0)); /* loaded ahead of its use */
        if (left == kAhead) at.want_next();
        fetch<C::kSlabs>(&a.k, item, next, policy);
        fetch<kVSlabs>(&a.v, item, box, policy, has_end);
        box = next, next = then, has_end = false;
      }
      fetch<kVSlabs>(&a.v, item, box, policy, has_end);
    }
  }
};

/* One warp: zeros behind the last key of V. */
template <typename C>
__device__ __forceinline__ void clear_tails(const WgmmaPagedParams &a, const Layout<C> &at, uint32_t items) {
  constexpr uint32_t kChunks = wgmma_tile::slabs(C::kDv) * 8; /* of 16 bytes, of a key */
  const uint32_t lane = threadIdx.x % kWarp;
  uint32_t first = 0, parity = 0; /* the slot of the item's first tile */
  for (uint32_t round = 0, index = first_item<C>(a, items); index < items; index = at.take_next(round++)) {
    at.want_next();
    const Item item = wgmma_general::item_of<C>(a, index);
    const uint32_t tiles = item.tiles.count();
    if (has_tail<C>(a, item)) {
      const uint32_t slot = (first + (tiles > 1 ? 2 : 1)) % C::kSlots; /* K, K of the tile before, V */
      const uint32_t keys = item.mask.Skv - (item.tiles.end - 1) * C::kKeys;
      hopper::barrier_wait(at.tail_full(), parity);
      parity ^= 1;
#pragma unroll 1
      for (uint32_t i = lane; i < (C::kKeys - keys) * kChunks; i += kWarp)
        ptx::store_shared(
            at.slot(slot) + (i % kChunks / 8 * C::kKeys + keys + i / kChunks) * hopper::kSlabRow + i % 8 * 16,
            make_uint4(0, 0, 0, 0));
      hopper::fence_async();
      __syncwarp();
      if (lane == 0) hopper::barrier_arrive(at.full(slot)), hopper::barrier_arrive(at.tail_empty());
    }
    first = (first + 2 * tiles) % C::kSlots;
  }
}

/* One thread: takes the block's items, and fetches each warpgroup's rows of Q with what the warpgroup has to know.
 *
 * A work info has no facts on the next item, which is not known yet when it is written. A warpgroup without rows has
 * 0 of them and, as the first word of its tiles, how many the item has; behind the last item it has kEnd rows. */
template <typename C>
struct QFetcher : wgmma_general::QFetcher<C> {
  using Base = wgmma_general::QFetcher<C>;
  using Base::a, Base::items;
  const Layout<C> at;
  uint32_t list; /* the block takes items from it: 0, joint ones; 1, lone ones */

  __device__ __forceinline__ QFetcher(const WgmmaPagedParams &params, const Layout<C> &layout, uint32_t count)
      : Base{params, layout, count},
        at(layout),
        list(takes_items(params, count) && blockIdx.x < params.ragged->lone_blocks) {}

  /* The item that follows that of a round; not below `items`: none does. */
  __device__ __forceinline__ uint32_t following(uint32_t round) {
    if (!takes_items(a, items)) return wgmma_tile::item_index<C>(round + 1);
    const uint32_t joint = a.ragged->tiles * a.heads;
#pragma unroll 1
    for (uint32_t tries = 0; tries < 2; ++tries, list ^= 1) {
      const uint32_t number = atomicAdd(a.taken + list, 1u);
      if (number < (list == 0 ? joint : items - joint)) return number + (list == 0 ? 0 : joint);
    }
    return items;
  }
  __device__ __forceinline__ bool has_rows(uint32_t index, uint32_t group) const {
    return index < items &&
           wgmma_general::group_queries<C>(a, wgmma_general::item_of<C>(a, ptx::opaque(index)), group) > 0;
  }
  __device__ __forceinline__ void fetch(uint32_t index, uint32_t round, uint32_t group) const {
    if (has_rows(index, group))
      Base::fetch(wgmma_general::item_of<C>(a, index), round, group);
    else
      hopper::barrier_arrive(at.q_full(group, round));
  }
  __device__ __forceinline__ void write_info(uint32_t index, uint32_t round, uint32_t group) const {
    if (!has_rows(index, group)) {
      const bool is_end = index >= items;
      const uint32_t tiles = is_end ? 0 : wgmma_general::item_of<C>(a, ptx::opaque(index)).tiles.count();
      ptx::store_shared(at.work_info(group, round), make_uint4(tiles, 0, 0, 0));
      ptx::store_shared(at.more_info(group, round), make_uint4(0, is_end ? kEnd : 0, 0, 0));
      return;
    }
    Base::write_place(index, items, round, group);
    const Item item = wgmma_general::item_of<C>(a, ptx::opaque(index));
    const auto tiles = wgmma_general::group_tiles<C>(a, item, group),
               plain = this->plain_tiles(item.mask, item.row + wgmma_general::queries<C>(a, group * 64), tiles);
    ptx::store_shared(at.work_info(group, round),
                      make_uint4(tiles.begin | tiles.end << 16, plain.begin | plain.end << 16,
                                 (item.tiles.end - tiles.end) | (tiles.begin - item.tiles.begin) << 16, 0));
  }
  __device__ __forceinline__ void run() {
    uint32_t index = first_item<C>(a, items);
#pragma unroll 1
    for (uint32_t g = 0; g < C::kGroups; ++g) fetch(index, 0, g); /* the first product waits for these */
    for (uint32_t round = 0;; ++round) {
      /* Before the wait for a free buffer of Q, and over a work info that nobody reads any more, as in
       * wgmma_general: warpgroups read those of a round from its Q on, and until they have stored its output. */
#pragma unroll 1
      for (uint32_t g = 0; g < C::kGroups; ++g) {
        write_info(index, round, g);
        if (round == 0) hopper::barrier_arrive(at.q_full(g, round));
      }
#pragma unroll 1
      for (uint32_t g = 0; round > 0 && g < C::kGroups; ++g) {
        hopper::barrier_wait(at.q_empty(g, round), at.q_parity(round) ^ 1);
        fetch(index, round, g);
        hopper::barrier_arrive(at.q_full(g, round));
      }
      if (index >= items) return;
      hopper::barrier_wait(at.next_wanted(), round % 2);
      index = following(round);
      ptx::store_shared(at.next(), make_uint4(index, 0, 0, 0));
      hopper::barrier_arrive(at.next_full());
    }
  }
};

/* One warpgroup and its 64 rows. */
template <typename C>
struct Multiplier : wgmma_general::GeneralMultiplier<C> {
  using Base = wgmma_general::GeneralMultiplier<C>;
  using Base::acquire_q, Base::release_q, Base::drop, Base::more_info, Base::work_info;
  using Base::begin_round, Base::run_tiles, Base::acquire_last, Base::drop_before_first, Base::store;
  using Base::s, Base::o, Base::acquire, Base::release, Base::fence, Base::start_qk, Base::start_pv;

  __device__ __forceinline__ Multiplier(const WgmmaPagedParams &params, const Layout<C> &layout, uint32_t g)
      : Base(params, layout, g) {}

  /* That exist of the warpgroup's in a round, whose Q has come; or kEnd. */
  __device__ __forceinline__ uint32_t rows_of(uint32_t round) const { return ptx::load_shared(more_info(round)).y; }
  __device__ __forceinline__ bool has_rows(uint32_t round) const { return rows_of(round) - 1 < kEnd - 1; }

  /* The product with the first tile of a round that the warpgroup's rows attend; the tile's slot. */
  __device__ __forceinline__ uint32_t start_first(uint32_t round) {
    drop_before_first(work_info(round).z & 0xffff);
    const uint32_t k = acquire();
    start_qk(k, round);
    return k;
  }

  /* From the item of a round, of which the warpgroup has rows, to one that is not followed by another such; returns
   * the round after it. The Q of these rounds has come. */
  __device__ __forceinline__ uint32_t run_items(uint32_t round) {
    fence();
    uint32_t k = start_first(round);
    this->template wait<0>();
    hopper::pin(s);
    for (;; ++round) {
      begin_round(round, k);
      const bool keep = run_tiles(round);
      const uint32_t v = acquire_last(round);
      acquire_q(round + 1);
      fence();
      if (!has_rows(round + 1)) {
        start_pv(v, keep);
        this->template wait<0>();
        hopper::pin(o);
        release(v);
        store(round);
        return round + 1;
      }
      start_pv(v, keep);
      k = start_first(round + 1);
      this->template wait<1>();
      hopper::pin(o);
      release(v);
      store(round);
      this->template wait<0>();
      hopper::pin(s);
    }
  }

  __device__ __forceinline__ void run() {
    acquire_q(0);
    for (uint32_t round = 0, rows; (rows = rows_of(round)) != kEnd;) {
      if (rows == 0) {
        const uint32_t tiles = work_info(round).x;
        release_q(round);
        drop(2 * tiles);
        acquire_q(++round);
      } else {
        round = run_items(round);
      }
    }
  }
};

#endif /* ATTN_SM90A */

}  // namespace wgmma_paged

/* The q tiles of all sequences of a ragged batch: joint ones and then lone ones, each list as wgmma_general_order
 * sorts; and how many blocks begin with lone items. grid: one block of 1024 threads; a warp takes a sequence at a
 * time.
 *
 * As many blocks as the lone items' share of the time asks for, and a few more, since the joint ones go on behind
 * them. But where items are long, a list whose last round has few of them takes longer than that. So there are no
 * fewer blocks than the lone items need to end in time, and no more than leave the joint ones as many as these need.
 * In time is a little more than the mean of all blocks, or what one of the lists takes with all of them. */
template <typename C>
__global__ void __launch_bounds__(1024, 1) wgmma_paged_order(const __grid_constant__ PagedOrderParams a) {
  using wgmma_general::tiles_of, wgmma_general::all_tiles;
  constexpr uint32_t kClasses = 1024, kRounds = 16;
  constexpr float kSpare = 1.05f;
  __shared__ uint32_t place[2][kClasses], sums[2][kWarp], tiles[2], fitting, late;
  __shared__ float times[2][kWarp], least[2];
  const uint32_t thread = threadIdx.x, lane = thread % kWarp, warp = thread / kWarp, blocks = a.blocks;
  const auto length_of = [&](const RaggedTile &tile) {
    const attn_mask mask = {tile.Sq, tile.Skv, a.left, a.right};
    return tiles_of(mask, tile.row, a.rows, C::kKeys, all_tiles(mask, C::kKeys)).count();
  };
  const auto time_of = [&](uint32_t list, uint32_t length) {
    return (float)length * a.times.step[list] + a.times.turn[list];
  };
  const auto for_tiles = [&](auto with) {
    for (uint32_t b = warp; b < a.B; b += kClasses / kWarp) {
      const uint32_t q_first = (uint32_t)a.cu_seqlens_q[b], k_first = (uint32_t)a.cu_seqlens_k[b],
                     Sq = (uint32_t)a.cu_seqlens_q[b + 1] - q_first, Skv = (uint32_t)a.cu_seqlens_k[b + 1] - k_first;
      for (uint32_t row = lane * a.rows; row < Sq; row += kWarp * a.rows)
        with(Sq - row <= a.rows / C::kGroups ? 1u : 0u, RaggedTile{row, Sq, Skv, q_first, k_first, b});
    }
  };
  const auto class_of = [&](uint32_t length) { return kClasses - min(length, kClasses); };

  if (thread == 0) fitting = late = 0, least[0] = least[1] = 0.0f;
  place[0][thread] = place[1][thread] = 0;
  __syncthreads();
  float time[2] = {0.0f, 0.0f}; /* of all items of a head */
  for_tiles([&](uint32_t list, const RaggedTile &tile) {
    const uint32_t length = length_of(tile);
    time[list] += time_of(list, length);
    atomicAdd(&place[list][class_of(length)], 1u);
  });
#pragma unroll
  for (uint32_t list = 0; list < 2; ++list) {
    for (uint32_t step = kWarp / 2; step > 0; step /= 2) time[list] += __shfl_xor_sync(kFullWarp, time[list], step);
    if (lane == 0) times[list][warp] = time[list];
  }
  __syncthreads();
  uint32_t until[2];
#pragma unroll
  for (uint32_t list = 0; list < 2; ++list) {
    until[list] = sum_until(place[list][thread], sums[list]);
    if (thread == kClasses - 1) tiles[list] = until[list];
  }
  __syncthreads();
  const uint32_t joint = tiles[0], lone = tiles[1];
  place[0][thread] = until[0] - place[0][thread];
  place[1][thread] = until[1] - place[1][thread] + joint;
  if (thread == kClasses - 1)
    a.order->tiles = joint, a.order->lone = lone, a.order->by_tiles = divider(max(joint, 1u));
  __syncthreads();
  for_tiles([&](uint32_t list, const RaggedTile &tile) {
    a.order->tile[atomicAdd(&place[list][class_of(length_of(tile))], 1u)] = tile;
  });
  __syncthreads();

  const uint32_t items[2] = {joint * a.heads, lone * a.heads};
  uint32_t lone_blocks = joint > 0 ? 0 : blocks;
  if (joint > 0 && lone > 0) {
    float all[2] = {0.0f, 0.0f};
    for (uint32_t w = 0; w < kWarp; ++w) all[0] += times[0][w], all[1] += times[1][w];
    all[0] *= (float)a.heads, all[1] *= (float)a.heads;
    /* How long a list lasts on so many blocks: its mean for each, or until the first item of a round has ended, which
     * begins when the items before it are spread evenly. */
    const auto bound = [&](uint32_t list, uint32_t on) {
      if (on == 0) return -minus_infinity();
      float most = all[list] / (float)on, before = 0.0f, last = 0.0f;
      for (uint32_t round = 0; round < kRounds && round * on < items[list]; ++round) {
        const RaggedTile &tile = a.order->tile[(list == 0 ? 0 : joint) + a.by_heads.quotient(round * on)];
        const float first = time_of(list, length_of(tile));
        before += round > 0 ? 0.5f * (last + first) : 0.0f, last = first;
        most = fmaxf(most, before + first);
      }
      return most;
    };
    /* One half of the threads for each list; a thread tries one number of blocks for lone items. */
    const uint32_t list = thread / (kClasses / 2), number = thread % (kClasses / 2),
                   on = list == 0 ? blocks - number : number;
    const float mine = number <= blocks ? bound(list, on) : 0.0f;
    if (number <= blocks && on == blocks) least[list] = mine;
    __syncthreads();
    const float limit = fmaxf(kSpare * (all[0] + all[1]) / (float)blocks, fmaxf(least[0], least[1]));
    if (number <= blocks && list == 0 && mine <= limit) atomicAdd(&fitting, 1u);
    if (number <= blocks && list == 1 && mine > limit) atomicAdd(&late, 1u);
    __syncthreads();
    lone_blocks = max((uint32_t)ceilf((float)blocks * kSpare * all[1] / (all[0] + all[1])), late);
    lone_blocks = min(lone_blocks, fitting - 1);
  }
  if (thread == 0) { /* each block begins with an item of its list */
    lone_blocks = min(max(lone_blocks, blocks - min(blocks, items[0])), min(items[1], blocks));
    a.order->lone_blocks = lone_blocks;
    a.order->taken[0] = blocks - lone_blocks, a.order->taken[1] = lone_blocks;
  }
}

/* grid: the items, or fewer blocks that take several each. */
template <typename C>
__global__ void __launch_bounds__((C::kGroups + 1) * 128, 1)
    wgmma_paged_kernel(const __grid_constant__ WgmmaPagedParams a) {
#ifdef ATTN_SM90A
  using namespace wgmma_paged;
  extern __shared__ __align__(1024) unsigned char smem_base[];
  const wgmma_paged::Layout<C> at = {{{ptx::shared_address(smem_base)}}};
  const uint32_t warp = __shfl_sync(kFullWarp, threadIdx.x / kWarp, 0), group = warp / 4;
  const uint32_t items = item_count(a);
  if (threadIdx.x == 0) at.init_barriers();
  if (threadIdx.x == kWarp) hopper::prefetch_map(&a.q), hopper::prefetch_map(&a.k), hopper::prefetch_map(&a.v);
  __syncthreads(); /* orders the barriers' beginning before their use */
  if (group == C::kGroups) {
    hopper::give_registers<C::kProducerRegisters>();
    if (warp % 4 == 0) wgmma_paged::KvFetcher<C>{a, at, items, {}, 0}.run();
    if (warp % 4 == 1 && threadIdx.x % kWarp == 0) wgmma_paged::QFetcher<C>(a, at, items).run();
    if (warp % 4 == 2) wgmma_paged::clear_tails<C>(a, at, items);
  } else {
    hopper::take_registers<C::kConsumerRegisters>();
    wgmma_paged::Multiplier<C>(a, at, group).run();
  }
#endif
}

}  // namespace attn
#endif

#endif
