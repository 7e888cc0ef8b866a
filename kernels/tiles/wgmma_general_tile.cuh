/* The kernel of `wgmma_general`: that of `wgmma` (wgmma_tile.cuh) for windows, soft caps, sinks, V narrower than K,
 * tensors with any strides, and lists of blocks.
 *
 * An item, the q tile of one head, attends the tiles of keys [begin, end); each of its warpgroups attends a part of
 * them, [its begin, its end), with as many tiles as the others or fewer. The ring has all tiles of the item, from the
 * last to the first, so a warpgroup drops those before its own (`skipped`) and those behind (`left`). Warpgroups of
 * earlier rows begin and end earlier in the keys, and so run ahead of the others in the ring: no tile is multiplied
 * only because another warpgroup needs it. Turns count tiles, so a warpgroup passes on those that others need beyond
 * its own.
 *
 * How far they can be apart: one warpgroup still holds V of its last tile, another waits for the first K of the next
 * item. That is 2 (left + skipped) slots of the ring, where no other number of tiles is larger.
 *
 * With lists of blocks, tiles are numbered through the item's list from its first keys, and all warpgroups multiply
 * all of them. A tile and an item each lie in one block. */
#ifndef ATTNBENCH_KERNELS_WGMMA_GENERAL_TILE_CUH
#define ATTNBENCH_KERNELS_WGMMA_GENERAL_TILE_CUH

#include <algorithm>
#include <vector>

#include "kernels/tiles/wgmma_tile.cuh"

namespace attn::wgmma_general {

using wgmma_tile::kWorkInfos;

/* Features that only some kernels are compiled for. Without them a kernel has half of the code, so more of it stays
 * in the instruction cache from one item to the next. */
constexpr uint32_t kSoftcap = 1, kBlockLists = 2;

struct Shape {
  wgmma_tile::Shape dense; /* without clusters, with overlap and turns; D is that of Q and K */
  uint32_t Dv;             /* at most D */
  uint32_t extras = 0;     /* kSoftcap | kBlockLists */
  uint32_t blocks = 1;     /* thread blocks on an SM: 1, or 3 of one warpgroup each. Never 0, and so the last: see
                            * wgmma_tile::Shape::cluster */
};

/* The shape without its extras. Passes before the kernel do not depend on extras: with this shape they are compiled
 * once, not once for each set of extras. */
template <typename AnyShape>
constexpr AnyShape without_extras(AnyShape shape) {
  shape.extras = 0;
  return shape;
}

/* Two more entries of 16 bytes for each work info, and one for a list of blocks. */
constexpr ATTN_HD uint32_t more_info_bytes(const Shape &s) { return kWorkInfos * s.dense.groups * 48; }
/* Q has a second buffer where shared memory has room for it beside the ring: items are short under a window, and the
 * first product of the next one need not wait for Q then. */
constexpr ATTN_HD uint32_t q_buffers(const Shape &s) {
  return wgmma_tile::smem_bytes(s.dense, 2) + more_info_bytes(s) <= (228 / s.blocks - 1) * 1024 ? 2 : 1;
}
constexpr ATTN_HD uint32_t smem_bytes(const Shape &s) {
  return wgmma_tile::smem_bytes(s.dense, q_buffers(s)) + more_info_bytes(s);
}
constexpr ATTN_HD uint32_t rows(const Shape &s) { return s.dense.groups * 64; } /* of a q tile */

/* A range of tiles of keys; never empty, since a product must end every item. */
struct Tiles {
  uint32_t begin, end;

  constexpr ATTN_HD uint32_t count() const { return end - begin; }
};

/* The tiles with the keys that the rows [row, row + count) of the mask see, within `within`. Rows past the last count
 * as the last. */
ATTN_HD inline Tiles tiles_of(const attn_mask &mask, uint32_t row, uint32_t count, uint32_t keys, Tiles within) {
  const uint32_t last = mask.Sq - 1, first = row < last ? row : last;
  const uint32_t rows = row + count - 1 < last ? count : last - first + 1;
  const attn_keys seen = attn_mask_rows(&mask, first, rows);
  const uint32_t begin = seen.first / keys, end = ceil_div(seen.end, keys);
  Tiles tiles;
  tiles.begin = begin < within.begin ? within.begin : begin < within.end ? begin : within.end - 1;
  tiles.end = end <= tiles.begin ? tiles.begin + 1 : end < within.end ? end : within.end;
  return tiles;
}
/* Of all keys, at least one tile. */
ATTN_HD inline Tiles all_tiles(const attn_mask &mask, uint32_t keys) {
  const uint32_t tiles = ceil_div(mask.Skv, keys);
  return {0, tiles > 0 ? tiles : 1};
}

/* ---- planning ------------------------------------------------------------------------------------------------- */

/* Items of all sequences and heads, with q tiles of `rows` queries of `tile_heads` neighbouring heads. */
inline uint64_t items(const attn_problem &shape, uint32_t rows, uint32_t tile_heads = 1) {
  uint64_t tiles = 0;
  for (uint32_t i = 0; i < attn_group_count(&shape); ++i) {
    const attn_group group = attn_group_of(&shape, i);
    tiles += (uint64_t)group.count * ceil_div(group.Sq, rows);
  }
  return tiles * (shape.Hq / tile_heads);
}

/* Tiles of `keys` keys that a q tile of `rows` rows takes the time of, which are those of the warpgroup that has the
 * most: the mean over some q tiles that are spread over the rows, and the most of these. */
struct Steps {
  double mean, most;
};
inline Steps steps_of(const attn_problem &shape, uint32_t rows, uint32_t keys) {
  const uint32_t groups = attn_group_count(&shape), samples_most = groups < 32 ? 64 : 2;
  Steps steps = {0, 0};
  double all = 0; /* q tiles */
  for (uint32_t i = 0; i < groups; ++i) {
    const attn_group group = attn_group_of(&shape, i);
    const attn_mask mask = {group.Sq, group.Skv, shape.left, shape.right};
    const uint32_t tiles = ceil_div(group.Sq, rows), samples = tiles < samples_most ? tiles : samples_most;
    for (uint32_t k = 0; k < samples; ++k) {
      const uint32_t first = (uint32_t)((2ull * k + 1) * tiles / (2ull * samples)) * rows;
      uint32_t count = 0;
      for (uint32_t row = first; row < first + rows && row < group.Sq; row += 64)
        count = std::max(count, tiles_of(mask, row, 64, keys, all_tiles(mask, keys)).count());
      steps.mean += (double)count * group.count * tiles / samples, steps.most = fmax(steps.most, count);
    }
    all += (double)group.count * tiles;
  }
  if (all > 0) steps.mean /= all;
  if (attn_is_sparse(&shape)) { /* a share of them; more or less of a few lists counts little */
    const double most = attn_blocks_most(&shape), share = most / attn_blocks_in(&shape, shape.Skv);
    steps.mean *= shape.sparse.density > 0 ? shape.sparse.density / 1000.0 : fmin(share, 1);
    steps.most = fmin(steps.most, most * shape.sparse.block / keys);
  }
  return steps;
}

constexpr uint32_t kOrderThreads = 1024; /* of the block of a pass that orders items */

/* The time of `rounds` rounds over items that take `mean` on average. Where items are nearly equal, a part of a round
 * counts as a whole one. Otherwise it counts as a part, and the result is at least `longest`. */
inline double time_of_rounds(double rounds, double mean, double longest) {
  return fmax((longest < 1.1 * mean ? ceil(rounds) : rounds) * mean, longest);
}

/* How the items of any lengths are shared out. */
struct Balance {
  uint32_t section; /* heads (CausalOrder) */
  double uneven;    /* the time of the busiest block over the mean */
};
/* Sections of as few heads as share K and V, or of more where those load the blocks more evenly. `length`: tiles of
 * keys of the q tiles of a head, in the order in which a section has them. `unit`: heads that share K and V, of which
 * `unit_bytes` are in use at once. A block's time for an item is its length and `turn`. */
inline Balance even_section(const std::vector<uint32_t> &length, uint32_t heads, uint32_t unit, double unit_bytes,
                            uint32_t blocks, double turn) {
  constexpr uint32_t kTries = 32, kRounds = 128;
  constexpr double kSpread = 0.05, kLargest = 32 << 20;
  const uint32_t tiles = (uint32_t)length.size(), units = ceil_div(heads, unit);
  Balance best = {unit, 1};
  double cheapest = 0;
  if (tiles == 0 || blocks > 1024 || (uint64_t)heads * tiles > INT32_MAX) return best;
  for (uint32_t of_units = 1; of_units <= units && of_units <= kTries; ++of_units) {
    const uint32_t section = of_units * unit < heads ? of_units * unit : heads, items = heads * tiles;
    const CausalOrder order = causal_order(heads, tiles, section);
    std::vector<double> work(blocks);
    double all = 0;
    for (uint32_t round = 0; round < kRounds && (uint64_t)round * blocks < items; ++round)
      for (uint32_t b = 0; b < blocks; ++b) {
        const uint32_t index = item_index(round, b, blocks);
        if (index >= items) continue;
        const double time = length[order.place(index).tile] + turn;
        work[b] += time, all += time;
      }
    const double uneven = *std::max_element(work.begin(), work.end()) * blocks / all;
    const double cost = uneven * (1 + kSpread * of_units * unit_bytes / kLargest);
    if (of_units == 1 || cost < cheapest) best = {section, uneven}, cheapest = cost;
  }
  return best;
}

/* As even_section, of a ragged batch. q tiles have `rows` queries of `tile_heads` heads, tiles of keys `keys` keys.
 */
inline Balance ragged_balance(const attn_problem &shape, uint32_t rows, uint32_t keys, uint32_t blocks, double turn,
                              uint32_t tile_heads = 1) {
  constexpr uint64_t kListed = 1 << 16; /* q tiles of a head; more of them are even in any order */
  const uint32_t heads = shape.Hq / tile_heads, unit = heads / shape.Hkv;
  if (items(shape, rows, tile_heads) > kListed * heads) return {unit, 1};
  std::vector<uint32_t> length; /* the longest last, as a section has them where it does not descend */
  double shared_keys = 0;       /* those that several q tiles of a head read */
  for (uint32_t i = 0; i < attn_group_count(&shape); ++i) {
    const attn_group group = attn_group_of(&shape, i);
    const attn_mask mask = {group.Sq, group.Skv, shape.left, shape.right};
    for (uint32_t row = 0; row < group.Sq; row += rows)
      length.insert(length.end(), group.count, tiles_of(mask, row, rows, keys, all_tiles(mask, keys)).count());
    if (group.Sq > rows) shared_keys += (double)group.count * group.Skv;
  }
  std::sort(length.begin(), length.end());
  const double bytes = 2.0 * shared_keys * (shape.D + shape.Dv);
  return even_section(length, heads, unit, bytes, blocks, turn);
}

/* The time of a launch of `blocks` blocks, in the unit of `turn`, what a block takes from one item to the next, and
 * of `step`, for a tile. */
inline double cost(const attn_problem &shape, uint32_t rows, uint32_t keys, uint32_t turn, uint32_t step,
                   uint32_t blocks) {
  const Steps steps = steps_of(shape, rows, keys);
  const double rounds = (double)items(shape, rows) / blocks, mean = steps.mean * step + turn;
  if (!attn_is_ragged(&shape)) return time_of_rounds(rounds, mean, steps.most * step + turn);
  return rounds * mean * ragged_balance(shape, rows, keys, blocks, (double)turn / step).uneven;
}

/* The order of the items for `blocks` blocks, with q tiles of `rows` queries of `tile_heads` heads and tiles of
 * `keys` keys. `turn`: what lies between two items, in tiles. */
inline CausalOrder item_order(const attn_problem &shape, uint32_t rows, uint32_t keys, uint32_t blocks, double turn,
                              uint32_t tile_heads = 1) {
  const uint32_t ratio = shape.Hq / shape.Hkv / tile_heads,
                 heads = (attn_is_ragged(&shape) ? 1 : shape.B) * (shape.Hq / tile_heads);
  const uint32_t q_tiles = ceil_div(shape.Sq, rows), width = shape.D + shape.Dv;
  const bool grows = shape.left < 0 && shape.right >= 0; /* items become longer with their rows */
  if (attn_is_ragged(&shape))
    return causal_order(heads, q_tiles, ragged_balance(shape, rows, keys, blocks, turn, tile_heads).section);
  if (attn_is_sparse(&shape) || grows) {
    const CausalWork work = {heads, q_tiles, ratio, 2ull * shape.Skv * width, turn * keys / rows};
    return causal_order(heads, q_tiles, section_heads(work, blocks));
  }
  if (shape.left < 0) return causal_order(heads, q_tiles, 1);
  const attn_mask mask = attn_mask_of(&shape);
  std::vector<uint32_t> length;
  for (uint32_t tile = 0; tile < q_tiles; ++tile)
    length.push_back(tiles_of(mask, tile * rows, rows, keys, all_tiles(mask, keys)).count());
  const double bytes = 2.0 * keys * *std::max_element(length.begin(), length.end()) * width;
  return causal_order(heads, q_tiles, even_section(length, heads, ratio, bytes, blocks, turn).section);
}

/* Why no kernel here takes a problem, whatever its types; nullptr: one does. */
inline const char *refusal(const attn_problem &shape) {
  if (attn_tokens(&shape, ATTN_ROWS_QUERIES) == 0 || attn_tokens(&shape, ATTN_ROWS_KEYS) == 0)
    return "batch must have a query and a key: a tensor without elements has no tensor map";
  if ((uint64_t)shape.B * shape.Hq * ceil_div(shape.Sq, 64) > INT32_MAX)
    return "B * Hq * ceil(Sq / 64) must be at most 2^31 - 1, the limit of grid.x";
  if (attn_is_sparse(&shape) && attn_is_ragged(&shape)) return "lists of blocks are taken where lengths are equal";
  return nullptr;
}

/* The passes `order`, of ragged batches and lists of blocks alone, and `main`, with q tiles of `rows` queries of
 * `tile_heads` heads. `blocks`: as many as there are, each taking several items; 0: one for each item. */
inline void plan_passes(const attn_problem &shape, uint32_t rows, uint32_t keys, uint32_t groups, uint32_t blocks,
                        uint32_t smem_bytes, const void *order, const void *main, attn_plan *plan,
                        uint32_t tile_heads = 1) {
  const uint32_t count = (uint32_t)items(shape, rows, tile_heads), heads = shape.Hq / tile_heads;
  const unsigned covers_heads = shape.Hkv < shape.Hq && heads == shape.Hkv ? ATTN_COVERS_HKV : ATTN_COVERS_H;
  plan->pass_count = attn_is_ragged(&shape) || attn_is_sparse(&shape) ? 2 : 1;
  plan->tile_q = rows * tile_heads, plan->tile_kv = keys, plan->splits = 1;
  if (plan->pass_count == 2) {
    plan->workspace_bytes = attn_is_ragged(&shape) ? 32 + 32ull * (count / heads) /* a RaggedOrder */
                                                   : sizeof(uint32_t) * (uint64_t)count;
    attn_pass &pass = plan->pass[0];
    pass.name = "order";
    pass.kernel = order;
    set_grid(pass, 1, ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING);
    set_block(pass, kOrderThreads, 0, 0);
  }
  attn_pass &pass = plan->pass[plan->pass_count - 1];
  pass.name = "main";
  pass.kernel = main;
  set_grid(pass, blocks > 0 && blocks < count ? blocks : count, ATTN_COVERS_B | covers_heads | ATTN_COVERS_Q, 1,
           ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING);
  set_block(pass, (groups + 1) * 128, groups * 128, smem_bytes, 128);
}

}  // namespace attn::wgmma_general

#ifdef __CUDACC__

namespace attn {

/* A q tile of a sequence of a ragged batch, as the first pass of a launch puts them into an order: those with the
 * most tiles of keys first. */
struct alignas(32) RaggedTile {
  uint32_t row, Sq, Skv, q_first, k_first; /* first query of the tile; the sequence's lengths, and where it begins */
  uint32_t sequence;
};
struct RaggedOrder {
  uint32_t tiles;
  Divider by_tiles;
  RaggedTile tile[1]; /* so many */
};

/* The argument of the first pass. */
struct RaggedParams {
  const int32_t *cu_seqlens_q, *cu_seqlens_k;
  uint32_t B;
  int32_t left, right;
  RaggedOrder *order;
  uint32_t rows; /* queries of a q tile, where it has several heads */
};

/* The argument of the first pass where there are lists of blocks. */
struct SparseParams {
  attn_lists lists;
  CausalOrder order;
  Divider by_block, by_tiles;
  uint32_t rows; /* of a q tile */
  uint32_t *sorted;
};

/* The argument. */
struct WgmmaGeneralParams {
  CUtensorMap q, k, v;        /* [batch][heads][tokens][columns]; boxes of 64 rows, and of a tile's keys */
  uint32_t items;             /* of a batch whose sequences have one length */
  const RaggedOrder *ragged;  /* of one whose sequences differ; else nullptr */
  CausalOrder order;          /* of a ragged batch the sections of heads alone */
  const uint32_t *sorted;     /* items by their number in [B][Hq][q tiles], in the order in which they are taken;
                               * nullptr: as `order` has them */
  Divider by_tiles;           /* q tiles of a head */
  attn_lists lists;           /* of blocks; counts is nullptr where there are none */
  uint32_t block_tiles;       /* tiles of keys of a block */
  Divider by_block;           /* rows of a block */
  Divider by_heads, by_ratio; /* heads that have q tiles of their own: all, and those that share a KV head */
  uint32_t heads, Dv;         /* these heads: Hq, where a q tile has one */
  attn_mask mask;             /* a ragged batch's sequences have their own Sq and Skv */
  float scale_log2;           /* of scores, or of tanh where they are capped */
  float cap_scale;            /* a product of Q and K times this is what tanh is taken of; 0: scores are not capped */
  float cap[3];   /* a product x gives x (cap[0] + cap[1] x^2 + cap[2] x^4), the exponent of its weight, ... */
  float cap_most; /* ... where x^2 is no more than this */
  const float *sink;
  void *o;
  float *lse;
  attn_view o_view, lse_view;
};

namespace wgmma_general {

/* tanh(x) / x by powers of x^2 where |x| is at most kTanhMost, off by 4.0e-7 of it (Chebyshev's interpolation; with a
 * cap of 50 an exponent is off by 5e-6, which is a hundredth of what f16 rounds a weight by). */
constexpr double kTanh[] = {0.9999996034626533, -0.3332189698899057, 0.1284143392712167}, kTanhMost = 0.25;

/* `rows`: queries of a q tile. */
inline RaggedParams order_params(const attn_problem &shape, const attn_buffers &buffers, uint32_t rows) {
  return {buffers.cu_seqlens_q,
          buffers.cu_seqlens_k,
          shape.B,
          shape.left,
          shape.right,
          static_cast<RaggedOrder *>(buffers.workspace),
          rows};
}

inline SparseParams sort_params(const attn_buffers &buffers, uint32_t rows, const WgmmaGeneralParams &main) {
  return {main.lists, main.order, main.by_block, main.by_tiles, rows, static_cast<uint32_t *>(buffers.workspace)};
}

/* All but the tensor maps, for q tiles of `rows` queries of `tile_heads` heads and tiles of `keys` keys.
 * `turn_steps`: as wgmma_params. */
inline void settings_make(const attn_problem &shape, const attn_buffers &buffers, uint32_t rows, uint32_t keys,
                          uint32_t blocks, double turn_steps, WgmmaGeneralParams *out, uint32_t tile_heads = 1) {
  const uint32_t heads = shape.Hq / tile_heads, q_tiles = ceil_div(shape.Sq, rows);
  const double scale = 1 / sqrt((double)shape.D);
  out->items = shape.B * heads * q_tiles;
  out->order = item_order(shape, rows, keys, blocks, turn_steps, tile_heads);
  out->by_heads = divider(heads), out->by_ratio = divider(heads / shape.Hkv), out->by_tiles = divider(q_tiles);
  if (attn_is_sparse(&shape)) {
    out->sorted = static_cast<const uint32_t *>(buffers.workspace);
    out->lists = attn_lists_of(&shape, buffers.block_counts, buffers.block_indices);
    out->block_tiles = shape.sparse.block / keys, out->by_block = divider(shape.sparse.block);
  }
  out->heads = heads, out->Dv = shape.Dv;
  out->mask = attn_mask_of(&shape);
  out->cap_scale = shape.softcap > 0 ? (float)(scale / shape.softcap) : 0.0f;
  out->scale_log2 = (float)(M_LOG2E * (shape.softcap > 0 ? shape.softcap : scale));
  const double squared = (double)out->cap_scale * out->cap_scale;
  for (uint32_t i = 0; i < 3; ++i)
    out->cap[i] = (float)(kTanh[i] * pow(squared, i) * out->cap_scale * M_LOG2E * shape.softcap);
  out->cap_most = shape.softcap > 0 ? (float)(kTanhMost * kTanhMost / squared) : 0.0f;
  out->sink = buffers.sink, out->o = buffers.o, out->lse = buffers.lse;
  out->o_view = attn_view_of(&shape, ATTN_O), out->lse_view = attn_view_of(&shape, ATTN_LSE);
  out->ragged = attn_is_ragged(&shape) ? static_cast<const RaggedOrder *>(buffers.workspace) : nullptr;
}

inline struct status params_make(const attn_problem &shape, const attn_buffers &buffers, const Shape &s,
                                 uint32_t blocks, double turn_steps, WgmmaGeneralParams *out) {
  const attn_view q = attn_view_of(&shape, ATTN_Q), k = attn_view_of(&shape, ATTN_K),
                  v = attn_view_of(&shape, ATTN_V);
  settings_make(shape, buffers, rows(s), s.dense.keys, blocks, turn_steps, out);
  TRY(tensor_map_make(&out->q, buffers.q, shape.dtype, q, 64));
  TRY(tensor_map_make(&out->k, buffers.k, shape.dtype, k, s.dense.keys));
  return tensor_map_make(&out->v, buffers.v, shape.dtype, v, s.dense.keys);
}

template <typename T_, Shape S_>
struct Config : wgmma_tile::Config<T_, S_.dense> {
  using Params = WgmmaGeneralParams;
  using Dense = wgmma_tile::Config<T_, S_.dense>;
  static constexpr uint32_t kDv = S_.Dv, kQBuffers = q_buffers(S_), kBlocks = S_.blocks;
  static constexpr uint32_t kConsumerRegisters = kBlocks == 1 ? Dense::kConsumerRegisters : 120;
  static constexpr uint32_t kProducerRegisters = kBlocks == 1 ? Dense::kProducerRegisters : 40;
  static constexpr bool kScaled = false, kPacked = false, kSplit = false;
  static constexpr bool kCaps = (S_.extras & kSoftcap) != 0, kLists = (S_.extras & kBlockLists) != 0;
  static constexpr bool kSinks = true, kLse = true, kWindows = true;
  /* Tiles that two warpgroups can be apart, with their rows. */
  static constexpr uint32_t kApart = ceil_div((S_.dense.groups - 1) * 64, S_.dense.keys);
  static_assert(S_.dense.slots >= 4 * kApart && (S_.blocks == 1 || (S_.blocks == 3 && S_.dense.groups == 1)) &&
                S_.Dv <= S_.dense.D && S_.dense.cluster == 1 && S_.dense.hold_q == 0 && S_.dense.overlap == 1 &&
                S_.dense.lazy == 2 && S_.dense.fma_exp == 0);
};

#ifdef ATTN_SM90A

using wgmma_tile::Cursor;
using wgmma_tile::Multiplier;

constexpr uint32_t kIdleNext = 1u << 30;

/* Addresses in shared memory. */
template <typename C>
struct Layout : wgmma_tile::Layout<C> {
  /* Beside the four words of a work info there are eight more. First tile (lower half) and end (upper half) of the
   * warpgroup's tiles; the same of the tiles in which no row has a masked key; tiles of the item before them (lower)
   * and behind them (upper); tiles of the next item before them (lower) and turns to pass on (upper). Then: the
   * position of the first row among the keys; rows that exist, whether there is a next item (upper bit) and whether
   * the warpgroup has no row of it (kIdleNext); query head; keys of the sequence. Then two 64-bit numbers: the first
   * row's element of O, and of LSE. A warpgroup without rows, where tiles have several heads, has one word of the
   * first four: how many tiles of keys the item has. Where blocks share the keys of a q tile, the number of the part
   * stands in the place of O's element. */
  __device__ __forceinline__ uint32_t more_info(uint32_t group, uint32_t round) const {
    constexpr uint32_t kBarriers = 16 * (C::kQBuffers * C::kGroups + C::kSlots);
    return this->slot(C::kSlots) + wgmma_tile::work_info_bytes(C::S) + kBarriers +
           (round % kWorkInfos * C::kGroups + group) * 32;
  }
  /* Behind these, where there are lists of blocks: the address of the item's first block (64 bits), how many of its
   * tiles come before the item's, and the item's last tile of keys. */
  __device__ __forceinline__ uint32_t list_info(uint32_t group, uint32_t round) const {
    return scale_info(group, round);
  }
  /* In the same place, where tensors have scales: 16 bytes (scale_words). */
  __device__ __forceinline__ uint32_t scale_info(uint32_t group, uint32_t round) const {
    return more_info(0, 0) + kWorkInfos * C::kGroups * 32 + (round % kWorkInfos * C::kGroups + group) * 16;
  }
};

struct Item {
  uint32_t batch, head, kv_head; /* of the query's batch; a ragged one has batch 0 alone. The first head of several */
  uint32_t sequence;
  uint32_t row, q_first, k_first;
  attn_mask mask;
  Tiles tiles;
};

__device__ __forceinline__ uint32_t item_count(const WgmmaGeneralParams &a) {
  return a.ragged != nullptr ? a.ragged->tiles * a.heads : a.items;
}

/* The head, and the q tile by its number in the order of all sequences: longest first in every other section of
 * heads, so that the last section ends with the shortest. */
__device__ __forceinline__ Place ragged_place(const WgmmaGeneralParams &a, uint32_t index) {
  const CausalOrder &order = a.order;
  const uint32_t tiles = a.ragged->tiles, part = order.by_heads.quotient(a.ragged->by_tiles.quotient(index));
  const uint32_t within = index - part * order.section * tiles;
  const bool is_last = part + 1 == order.sections, descends = (order.sections - part) % 2 != 0;
  const uint32_t tile = is_last ? order.by_last.quotient(within) : order.by_heads.quotient(within);
  const uint32_t head = part * order.section + within - tile * (is_last ? order.last : order.section);
  return {head, descends ? tile : tiles - 1 - tile};
}
/* The same where all sequences have one length; heads are counted through the batch. */
__device__ __forceinline__ Place place_of(const WgmmaGeneralParams &a, uint32_t index, bool has_lists) {
  if (!has_lists || a.sorted == nullptr) return a.order.place(index);
  const uint32_t entry = a.sorted[index], head = a.by_tiles.quotient(entry);
  return {head, entry - head * a.order.q_tiles};
}

/* Queries among so many rows of a q tile. Where a tile has several heads, row r is of query r / heads. */
template <typename C>
__device__ __forceinline__ uint32_t queries(const typename C::Params &a, uint32_t rows) {
  if constexpr (C::kPacked)
    return rows >> a.pack;
  else
    return rows;
}

template <typename C>
__device__ __forceinline__ Item item_of(const typename C::Params &a, uint32_t index) {
  Item item;
  item.mask = a.mask;
  if constexpr (C::kSplit) {
    a.parts.template put_place<C::kRows>(index, a.heads, a.by_heads, &item);
  } else if (a.ragged != nullptr) {
    const Place place = ragged_place(a, index);
    const RaggedTile &t = a.ragged->tile[place.tile];
    item.batch = 0, item.sequence = t.sequence, item.head = place.head;
    item.row = t.row, item.q_first = t.q_first, item.k_first = t.k_first;
    item.mask.Sq = t.Sq, item.mask.Skv = t.Skv;
  } else {
    const Place place = place_of(a, index, C::kLists);
    item.batch = item.sequence = a.by_heads.quotient(place.head);
    item.head = place.head - item.batch * a.heads;
    item.row = place.tile * queries<C>(a, C::kRows), item.q_first = item.k_first = 0;
  }
  item.kv_head = a.by_ratio.quotient(item.head);
  if constexpr (C::kPacked) item.head <<= a.pack;
  item.tiles = tiles_of(item.mask, item.row, queries<C>(a, C::kRows), C::kKeys, all_tiles(item.mask, C::kKeys));
  if constexpr (C::kSplit) item.tiles = a.parts.keys_of(index, item.tiles);
  return item;
}

template <typename C>
__device__ __forceinline__ Tiles group_tiles(const typename C::Params &a, const Item &item, uint32_t group) {
  return tiles_of(item.mask, item.row + queries<C>(a, group * 64), queries<C>(a, 64), C::kKeys, item.tiles);
}
/* Queries that a warpgroup has of an item. */
template <typename C>
__device__ __forceinline__ uint32_t group_queries(const typename C::Params &a, const Item &item, uint32_t group) {
  const uint32_t row = item.row + queries<C>(a, group * 64);
  return row < item.mask.Sq ? min(item.mask.Sq - row, queries<C>(a, 64)) : 0;
}

/* A tile whose keys lie behind those of any sequence. */
constexpr uint32_t kNoTile = 1 << 22;

/* The blocks of a list that have tiles which the rows of an item see: [begin, end) of the indices. */
struct List {
  const int32_t *index;
  uint32_t begin, end;
  uint32_t first, tiles; /* number of the item's first tile, and how many they are; 0: the list is empty */

  /* Of a block, those within the item's. */
  __device__ __forceinline__ Tiles of_block(uint32_t i, uint32_t block_tiles, const Tiles &within) const {
    const uint32_t block = (uint32_t)index[i] * block_tiles;
    return {max(block, within.begin), min(block + block_tiles, within.end)};
  }
};
/* All blocks are full but for the first and the last, so that a list is counted by its ends. */
__device__ __forceinline__ List list_of(const WgmmaGeneralParams &a, const Item &item) {
  const uint64_t number =
      ((uint64_t)item.sequence * a.heads + item.head) * a.lists.q_blocks + a.by_block.quotient(item.row);
  List list = {a.lists.indices + number * a.lists.most, 0, (uint32_t)a.lists.counts[number], item.tiles.begin, 0};
#pragma unroll 1
  while (list.end > 0 && (uint32_t)list.index[list.end - 1] * a.block_tiles >= item.tiles.end) --list.end;
#pragma unroll 1
  while (list.begin < list.end && ((uint32_t)list.index[list.begin] + 1) * a.block_tiles <= item.tiles.begin)
    ++list.begin;
  if (list.begin == list.end) return list;
  const Tiles first = list.of_block(list.begin, a.block_tiles, item.tiles),
              last = list.of_block(list.end - 1, a.block_tiles, item.tiles);
  list.first = first.begin;
  list.tiles = first.count();
  if (list.end - list.begin > 1) list.tiles += (list.end - list.begin - 2) * a.block_tiles + last.count();
  return list;
}

/* Goes through the tiles of an item from the last one: all of its range, or those of its list. */
struct Walk {
  Tiles run;      /* neighbours; the tile is the last one of them */
  uint32_t begin; /* of the item's range */
  uint32_t left;  /* tiles that come after this one */
  const int32_t *ahead;
  uint32_t blocks, next; /* of the list, after this one; the next of them, loaded ahead of its use */

  __device__ __forceinline__ Walk(const WgmmaGeneralParams &a, const Item &item, bool has_lists)
      : run(item.tiles), begin(item.tiles.begin), left(item.tiles.count() - 1), ahead(nullptr), blocks(0), next(0) {
    if (!has_lists || a.lists.counts == nullptr) return;
    const List list = list_of(a, item);
    left = list.tiles > 0 ? list.tiles - 1 : 0;
    if (list.tiles == 0) {
      run = {begin, begin + 1};
      return;
    }
    run = list.of_block(list.end - 1, a.block_tiles, item.tiles);
    blocks = list.end - 1 - list.begin, ahead = list.index + list.begin + blocks;
    load();
  }
  __device__ __forceinline__ uint32_t tile() const { return run.end - 1; }
  __device__ __forceinline__ void advance(uint32_t block_tiles) {
    --left;
    if (--run.end > run.begin) return;
    run = {max(next * block_tiles, begin), (next + 1) * block_tiles};
    load();
  }

 private:
  __device__ __forceinline__ void load() {
    if (blocks > 0) next = (uint32_t) * --ahead, --blocks;
  }
};

/* ---- fetching ------------------------------------------------------------------------------------------------- */

/* One thread: a tile of K or V to this place; the barrier counts its bytes. */
template <typename C, uint32_t Slabs>
__device__ __forceinline__ void fetch_keys(const CUtensorMap *map, const Item &item, uint32_t tile, uint32_t to,
                                           uint32_t full) {
  hopper::barrier_expect(full, Slabs * C::kKeys * hopper::kSlabRow);
#pragma unroll
  for (uint32_t i = 0; i < Slabs; ++i)
    hopper::load_box(to + i * C::kKeys * hopper::kSlabRow, map, full, i * hopper::kSlab,
                     item.k_first + tile * C::kKeys, item.kv_head, item.batch, hopper::kEvictLast);
}

/* One thread: the tiles of K and V, in the order in which the warpgroups multiply them. */
template <typename C>
struct KvFetcher {
  const WgmmaGeneralParams &a;
  const Layout<C> at;
  const uint32_t items;
  Cursor<C::kSlots> cursor;

  template <uint32_t Slabs>
  __device__ __forceinline__ void fetch(const CUtensorMap *map, const Item &item, uint32_t tile) {
    hopper::barrier_wait(at.empty(cursor.slot), cursor.parity ^ 1);
    fetch_keys<C, Slabs>(map, item, tile, at.slot(cursor.slot), at.full(cursor.slot));
    cursor.advance();
  }
  __device__ __forceinline__ void run() {
    constexpr uint32_t kVSlabs = wgmma_tile::slabs(C::kDv);
    for (uint32_t round = 0, index; (index = wgmma_tile::item_index<C>(round)) < items; ++round) {
      const Item item = item_of<C>(a, index);
      Walk walk(a, item, C::kLists);
      uint32_t tile = walk.tile();
      fetch<C::kSlabs>(&a.k, item, tile);
      while (walk.left > 0) {
        walk.advance(a.block_tiles);
        fetch<C::kSlabs>(&a.k, item, walk.tile());
        fetch<kVSlabs>(&a.v, item, tile);
        tile = walk.tile();
      }
      fetch<kVSlabs>(&a.v, item, tile);
    }
  }
};

/* One thread: each warpgroup's rows of Q, and what the warpgroup has to know of its work. */
template <typename C>
struct QFetcher {
  const typename C::Params &a;
  const Layout<C> at;
  const uint32_t items;

  __device__ __forceinline__ void fetch(const Item &item, uint32_t round, uint32_t group) const {
    if (C::kPacked && group_queries<C>(a, item, group) == 0) {
      hopper::barrier_arrive(at.q_full(group, round));
      return;
    }
    hopper::barrier_expect(at.q_full(group, round), C::kGroupBytes);
    const uint32_t query = item.q_first + item.row + queries<C>(a, group * 64);
#pragma unroll
    for (uint32_t i = 0; i < C::kSlabs; ++i)
      hopper::load_box(at.q(group, round) + i * 64 * hopper::kSlabRow, &a.q, at.q_full(group, round),
                       i * hopper::kSlab, C::kPacked ? item.head : query, C::kPacked ? query : item.head, item.batch,
                       hopper::kEvictFirst);
  }
  /* Tiles in which the warpgroup's rows, from query `row` on, see every key. Where the mask has a right bound, the
   * tile with the first row's last key is not one of them: it is masked, and so gives every row a reference before
   * the tiles that do not look for a maximum. */
  __device__ __forceinline__ Tiles plain_tiles(const attn_mask &mask, uint32_t row, const Tiles &tiles) const {
    const uint32_t last = mask.Sq - 1;
    const attn_keys of_first = attn_mask_row(&mask, min(row, last)),
                    of_last = attn_mask_row(&mask, min(row + queries<C>(a, 64) - 1, last));
    const uint32_t end = of_first.end - (mask.right >= 0 && of_first.end > 0);
    return {min(ceil_div(of_last.first, C::kKeys), tiles.end), min(end / C::kKeys, tiles.end)};
  }
  /* The thread has few registers, and time: each of these works the item out again. */
  __device__ __forceinline__ void write_place(uint32_t index, uint32_t next, uint32_t round, uint32_t group) const {
    const Item item = item_of<C>(a, ptx::opaque(index));
    const uint32_t row = item.row + queries<C>(a, group * 64);
    uint32_t rows = group_queries<C>(a, item, group);
    if constexpr (C::kPacked) {
      rows <<= a.pack;
      if (next < items && group_queries<C>(a, item_of<C>(a, ptx::opaque(next)), group) == 0) rows |= kIdleNext;
    }
    ptx::store_shared(at.more_info(group, round),
                      make_uint4(row + item.mask.Skv - item.mask.Sq, rows | (next < items ? 1u << 31 : 0), item.head,
                                 item.mask.Skv));
    if constexpr (C::kSplit) {
      ptx::store_shared(at.more_info(group, round) + 16, make_uint4(a.parts.number_of(index), 0, 0, 0));
      return;
    }
    const uint64_t o = attn_view_token(&a.o_view, item.batch, item.head, item.q_first + row);
    const uint64_t lse = attn_view_token(&a.lse_view, item.batch, item.head, item.q_first + row);
    ptx::store_shared(at.more_info(group, round) + 16,
                      make_uint4((uint32_t)o, (uint32_t)(o >> 32), (uint32_t)lse, (uint32_t)(lse >> 32)));
  }
  /* The tiles of a list are numbered through it. All warpgroups go through the same ones. */
  __device__ __forceinline__ void write_list(uint32_t index, uint32_t round, uint32_t group) const {
    const Item item = item_of<C>(a, ptx::opaque(index));
    const List list = list_of(a, item);
    const Tiles plain = plain_tiles(item.mask, item.row + queries<C>(a, group * 64), item.tiles);
    uint32_t masked[2] = {0, 0}; /* tiles with a bound of the mask: the first ones, and the last ones */
#pragma unroll 1
    for (uint32_t i = list.end; i > list.begin; --i) {
      const Tiles tiles = list.of_block(i - 1, a.block_tiles, item.tiles);
      if (tiles.end <= plain.end) break;
      masked[1] += tiles.end - max(tiles.begin, plain.end);
    }
#pragma unroll 1
    for (uint32_t i = list.begin; i < list.end; ++i) {
      const Tiles tiles = list.of_block(i, a.block_tiles, item.tiles);
      if (tiles.begin >= plain.begin) break;
      masked[0] += min(tiles.end, plain.begin) - tiles.begin;
    }
    /* Some rows may see no key of the masked ones, so the first tile behind these is looked through as well: then all
     * have a reference. */
    const uint32_t seen = masked[1] > 0 ? min(masked[1] + 1, list.tiles) : 0;
    const uint32_t tiles = max(list.tiles, 1u), plain_end = list.tiles == 0 ? 0 : list.tiles - seen;
    const uint64_t first = reinterpret_cast<uint64_t>(list.index + list.begin);
    const uint32_t before = list.tiles == 0 ? 0 : list.first % a.block_tiles;
    const uint32_t last = list.tiles == 0 ? kNoTile : list.of_block(list.end - 1, a.block_tiles, item.tiles).end - 1;
    ptx::store_shared(at.work_info(group, round), make_uint4(tiles << 16, masked[0] | plain_end << 16, 0, 0));
    ptx::store_shared(at.list_info(group, round), make_uint4((uint32_t)first, (uint32_t)(first >> 32), before, last));
  }
  /* `next`: the item of the next round; not below `items` where there is none. */
  __device__ __forceinline__ void write_tiles(uint32_t index, uint32_t next, uint32_t round, uint32_t group) const {
    uint32_t turns = 0, skipped = 0; /* of the warpgroup that has the most tiles; of the next item */
    if (next < items) {
      const Item then = item_of<C>(a, next);
      if (!C::kPacked || group_queries<C>(a, then, group) > 0)
        skipped = then.tiles.end - group_tiles<C>(a, then, group).end;
    }
    const Item item = item_of<C>(a, ptx::opaque(index));
    if (C::kPacked && group_queries<C>(a, item, group) == 0) {
      ptx::store_shared(at.work_info(group, round), make_uint4(item.tiles.count(), 0, 0, 0));
      return;
    }
#pragma unroll 1
    for (uint32_t g = 0; g < C::kGroups; ++g) turns = max(turns, group_tiles<C>(a, item, g).count());
    const Tiles tiles = group_tiles<C>(a, item, group),
                plain = plain_tiles(item.mask, item.row + queries<C>(a, group * 64), tiles);
    ptx::store_shared(at.work_info(group, round),
                      make_uint4(tiles.begin | tiles.end << 16, plain.begin | plain.end << 16,
                                 (item.tiles.end - tiles.end) | (tiles.begin - item.tiles.begin) << 16,
                                 skipped | (turns - tiles.count()) << 16));
  }
  __device__ __forceinline__ void run() const {
    uint32_t index = wgmma_tile::item_index<C>(0);
#pragma unroll 1
    for (uint32_t g = 0; index < items && g < C::kGroups; ++g) /* the first product waits for these */
      fetch(item_of<C>(a, index), 0, g);
    for (uint32_t round = 0; index < items; ++round) {
      const uint32_t next = wgmma_tile::item_index<C>(round + 1);
      /* Before the wait for a free buffer of Q: behind it, warpgroups would run out of work. Nobody reads the
       * work info of four rounds ago any more: a warpgroup that has given back the Q of the last round or of the one
       * before it has stored the output of the one before that. */
#pragma unroll 1
      for (uint32_t g = 0; g < C::kGroups; ++g) {
        write_place(index, next, round, g);
        if (C::kLists && a.lists.counts != nullptr)
          write_list(index, round, g);
        else
          write_tiles(index, next, round, g);
        if constexpr (C::kScaled) {
          const Item item = item_of<C>(a, ptx::opaque(index));
          ptx::store_shared(at.scale_info(g, round), scale_words(a, item.sequence, item.kv_head));
        }
        if (round == 0) hopper::barrier_arrive(at.q_full(g, round));
      }
      const Item item = item_of<C>(a, ptx::opaque(index));
#pragma unroll 1
      for (uint32_t g = 0; round > 0 && g < C::kGroups; ++g) {
        hopper::barrier_wait(at.q_empty(g, round), at.q_parity(round) ^ 1);
        fetch(item, round, g);
        hopper::barrier_arrive(at.q_full(g, round));
      }
      index = next;
    }
  }
};

/* ---- multiplying ---------------------------------------------------------------------------------------------- */

template <typename C>
struct GeneralMultiplier : Multiplier<C> {
  using Base = Multiplier<C>;
  using T = typename C::T;
  using Base::a, Base::at, Base::group, Base::softmax, Base::s, Base::o, Base::p;
  using Base::acquire, Base::release, Base::release_q, Base::acquire_q, Base::begin_turn, Base::end_turn;
  using Base::drop, Base::drop_before_first;
  using Base::start_qk, Base::start_pv, Base::fence, Base::pack_weights, Base::rescale, Base::multiply_again;
  using typename Base::Kind;

  bool wide = false; /* scores of the warp's last tile were too large for run_unseen_capped */

  __device__ __forceinline__ GeneralMultiplier(const typename C::Params &params, const Layout<C> &layout, uint32_t g)
      : Base(params, layout, g, params.scale_log2) {}

  __device__ __forceinline__ uint32_t more_info(uint32_t round) const {
    return Layout<C>{at}.more_info(group, round);
  }

  /* Of the tile's heads, that of a row. */
  __device__ __forceinline__ uint32_t head_of(uint32_t row) const {
    if constexpr (C::kPacked)
      return row & ((1u << a.pack) - 1);
    else
      return 0;
  }

  __device__ __forceinline__ uint4 work_info(uint32_t round) const {
    return ptx::load_shared(at.work_info(group, round));
  }

  /* Scores of products become tanh of `scale` times them, which is what softcap asks for; the softmax then has its
   * scale. 0: they stay. */
  __device__ __forceinline__ void cap(float scale) {
    if (!C::kCaps || scale == 0.0f) return;
    float most = 0.0f;
#pragma unroll
    for (uint32_t i = 0; i < C::kKeys / 2; ++i) most = fmaxf(most, fabsf(s[i]));
    wide = __any_sync(kFullWarp, most * scale > (float)kTanhMost);
    if (__any_sync(kFullWarp, most * scale > 0.5f)) {
#pragma unroll
      for (uint32_t i = 0; i < C::kKeys / 2; ++i) s[i] = tanh_any(s[i] * scale);
    } else {
#pragma unroll
      for (uint32_t i = 0; i < C::kKeys / 2; ++i) s[i] = tanh_small(s[i] * scale);
    }
  }

  /* Softmax::run_unseen of capped scores. The polynomial gives the exponent at once, and the loop checks that its
   * inputs are in its range. */
  __device__ __forceinline__ bool run_unseen_capped() {
    constexpr float kLargest = 32768.0f;
    float sum[2], most[2] = {0.0f, 0.0f};
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float base = softmax.reference[i] == minus_infinity() ? 0.0f : softmax.reference[i];
      float part[2] = {0.0f, 0.0f};
#pragma unroll
      for (uint32_t j = 0; j < C::kKeys / 8; ++j)
#pragma unroll
        for (uint32_t c = 0; c < 2; ++c) {
          float &x = s[4 * j + 2 * i + c];
          const float u = x * x;
          most[c] = fmaxf(most[c], u);
          x = ptx::ex2(fmaf(x, fmaf(fmaf(a.cap[2], u, a.cap[1]), u, a.cap[0]), -base));
          part[c] += x;
        }
      sum[i] = part[0] + part[1];
    }
    const bool fails = sum[0] > kLargest || sum[1] > kLargest || fmaxf(most[0], most[1]) > a.cap_most;
    if (__any_sync(kFullWarp, fails)) return false;
    softmax.sum[0] += sum[0], softmax.sum[1] += sum[1];
    return true;
  }
  __device__ __forceinline__ bool run_unseen() {
    if (C::kCaps && a.cap_scale != 0.0f && !wide) return run_unseen_capped();
    cap(a.cap_scale);
    return softmax.run_unseen(s);
  }

  /* The keys of a tile by its number in the round, which is that of a list where there are lists. */
  __device__ __forceinline__ uint32_t tile_of(uint32_t round, uint32_t tile) const {
    if (!C::kLists || a.lists.counts == nullptr) return tile;
    const uint4 info = ptx::load_shared(Layout<C>{at}.list_info(group, round));
    if (tile == last_tile(round)) return info.w;
    const int32_t *const index = reinterpret_cast<const int32_t *>(info.x | (uint64_t)info.y << 32);
    const uint32_t number = info.z + tile, block = number / a.block_tiles;
    return (uint32_t)index[block] * a.block_tiles + number - block * a.block_tiles;
  }

  /* Scores of a tile that a row does not see become minus infinity. A warp compares with the bounds that one of its
   * rows has within the tile. */
  __device__ __forceinline__ void mask(uint32_t round, uint32_t tile) {
    const uint32_t lane = threadIdx.x % kWarp;
    const uint4 place = ptx::load_shared(more_info(round));
    const int32_t keys = (int32_t)place.w, tile_key = (int32_t)(tile * C::kKeys);
    /* The position of the warp's first row, and how many positions behind it row `rows` is. */
    const int32_t position = (int32_t)place.x + (int32_t)queries<C>(a, threadIdx.x % 128 / kWarp * 16);
    const auto behind = [&](uint32_t rows) {
      if constexpr (C::kPacked)
        return (int32_t)(queries<C>(a, threadIdx.x % 128 / kWarp * 16 + rows) + place.x) - position;
      return (int32_t)rows;
    };
    const int32_t first_key = tile_key + (int32_t)(lane % 4 * 2);
    const bool has_end =
        (a.mask.right < 0 ? keys : min(position + a.mask.right + 1, keys)) < tile_key + (int32_t)C::kKeys;
    const bool has_first = C::kWindows && a.mask.left >= 0 && position + behind(15) - a.mask.left > tile_key;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const int32_t at_ = position + behind(i * 8 + lane / 4);
      const int32_t end = (a.mask.right < 0 ? keys : min(at_ + a.mask.right + 1, keys)) - first_key;
      const int32_t first = at_ - a.mask.left - first_key;
      if (has_end)
#pragma unroll
        for (uint32_t j = 0; j < C::kKeys / 8; ++j)
#pragma unroll
          for (int32_t c = 0; c < 2; ++c)
            if ((int32_t)(8 * j) + c >= end) s[4 * j + 2 * i + c] = minus_infinity();
      if (has_first)
#pragma unroll
        for (uint32_t j = 0; j < C::kKeys / 8; ++j)
#pragma unroll
          for (int32_t c = 0; c < 2; ++c)
            if ((int32_t)(8 * j) + c < first) s[4 * j + 2 * i + c] = minus_infinity();
    }
  }

  /* Writes the rows of O, normalised, and their LSE. A sink's logit counts as one more score without a value. A row
   * that sees no key has sum 0 and becomes zeros. */
  __device__ __forceinline__ void store(uint32_t round) {
    const float sum[2] = {quad_sum(softmax.sum[0]), quad_sum(softmax.sum[1])};
    store(round, sum, sum, 1.0f);
  }
  /* The output is O * scale / divisor; `sum` is what the LSE is made of. */
  __device__ __forceinline__ void store(uint32_t round, const float (&divisor)[2], const float (&sum)[2],
                                        float scale) {
    const uint4 what = ptx::load_shared(more_info(round));
    const uint4 where = ptx::load_shared(more_info(round) + 16);
    const uint32_t lane = threadIdx.x % kWarp, row = threadIdx.x % 128 / kWarp * 16 + lane / 4;
    const uint32_t rows = what.y & 0xffff;
    const bool has_sink = C::kSinks && a.sink != nullptr;
    const auto sink_of = [&](uint32_t head) { return has_sink ? a.sink[head] * 1.44269504f : minus_infinity(); };
    float sink = C::kPacked ? 0.0f : sink_of(what.z);
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t r = row + 8 * i, query = queries<C>(a, r), head = head_of(r);
      if constexpr (C::kPacked) sink = sink_of(what.z + head);
      float total = sum[i], below = divisor[i], reference = softmax.reference[i], factor = 1.0f;
      if (has_sink) {
        const float most = fmaxf(reference, sink), base = most == minus_infinity() ? 0.0f : most;
        factor = ptx::ex2(reference - base);
        total = fmaf(total, factor, ptx::ex2(sink - base)), below = fmaf(below, factor, ptx::ex2(sink - base));
        reference = most;
      }
      const float f = below > 0.0f ? factor * scale / below : 0.0f;
      T *const to = static_cast<T *>(a.o) + (where.x | (uint64_t)where.y << 32) + query * a.o_view.token_stride +
                    (C::kPacked ? head * a.o_view.head_stride : 0);
      if (C::kLse && a.lse != nullptr && lane % 4 == 0 && r < rows)
        a.lse[(where.z | (uint64_t)where.w << 32) + query + (C::kPacked ? head * a.lse_view.head_stride : 0)] =
            log_sum_exp(reference, total);
#pragma unroll
      for (uint32_t j = 0; j < C::kDv / 8; j += 4) {
        uint32_t w[4];
#pragma unroll
        for (uint32_t k = 0; k < 4; ++k) w[k] = pack<T>(o[4 * (j + k) + 2 * i] * f, o[4 * (j + k) + 2 * i + 1] * f);
        quad_transpose(w);
        const uint32_t column = 8 * (j + lane % 4);
        if (r < rows && column < a.Dv) *reinterpret_cast<uint4 *>(to + column) = make_uint4(w[0], w[1], w[2], w[3]);
      }
    }
  }

  /* Of the tiles of a round: which are the first and the last, where those begin and end that need no mask, and
   * where the masked ones end that come first, and those that are multiplied without a look at the maximum. Read
   * again wherever they are needed: kept, they would occupy registers. */
  __device__ __forceinline__ uint32_t first_tile(uint32_t round) const { return work_info(round).x & 0xffff; }
  __device__ __forceinline__ uint32_t last_tile(uint32_t round) const { return (work_info(round).x >> 16) - 1; }
  __device__ __forceinline__ uint32_t plain_begin(uint32_t round) const { return work_info(round).y & 0xffff; }
  __device__ __forceinline__ uint32_t plain_end(uint32_t round) const { return work_info(round).y >> 16; }

  __device__ __forceinline__ uint32_t masked_end(uint32_t round) const {
    return min(last_tile(round), max(plain_end(round), first_tile(round)));
  }
  __device__ __forceinline__ uint32_t unseen_end(uint32_t round) const {
    return min(masked_end(round), max(plain_begin(round), first_tile(round) + 1));
  }

  /* One tile further, as Multiplier::step. */
  template <Kind K>
  __device__ __forceinline__ void step(uint32_t round, uint32_t tile, bool keep) {
    const uint32_t keys = K == Base::UNSEEN ? 0 : tile_of(round, tile); /* loaded ahead of its use */
    const uint32_t k = acquire();
    begin_turn();
    fence();
    start_qk(k, round);
    const uint32_t v = acquire();
    start_pv(v, keep);
    end_turn();
    this->template wait<1>();
    hopper::pin(s);
    bool raised = false;
    if constexpr (K == Base::UNSEEN) {
      if (!run_unseen()) {
        multiply_again(k, round);
        cap(a.cap_scale);
        raised = softmax.template run<true>(s);
      }
      release(k);
    } else {
      release(k);
      if (tile == first_tile(round)) release_q(round);
      cap(a.cap_scale);
      mask(round, keys);
      raised = softmax.template run<false>(s);
    }
    this->template wait<0>();
    hopper::pin(o), hopper::pin(p);
    release(v);
    rescale(raised);
    pack_weights();
  }

  /* The tiles from the one before `tile` to `end`, masked or not. */
  __device__ __forceinline__ void masked_steps(uint32_t round, uint32_t tile, uint32_t end, bool &keep) {
#pragma unroll 1
    while (tile > end) step<Base::MASKED>(round, --tile, keep), keep = true;
  }

  /* The first tile of a round, whose product has been waited for, and the turns to pass on. */
  __device__ __forceinline__ void begin_round(uint32_t round, uint32_t k) {
    const uint32_t tile = last_tile(round);
    softmax.reset();
    release(k);
    if (tile == first_tile(round)) release_q(round);
    cap(a.cap_scale);
    if (tile < plain_begin(round) || tile >= plain_end(round)) mask(round, tile_of(round, tile));
    softmax.template run<false>(s);
    pack_weights();
    if ((work_info(round).z & 0xffff) > 0) drop(1); /* V of the last tile before them */
#pragma unroll 1
    for (uint32_t turns = work_info(round).w >> 16; turns > 0; --turns) begin_turn(), end_turn();
  }

  /* Waits for V of the last tile, and drops what lies between it and the first K of the next round. */
  __device__ __forceinline__ uint32_t acquire_last(uint32_t round) {
    const uint4 info = work_info(round);
    const uint32_t left = info.z >> 16;
    if (left > 0) drop(1); /* K of the tile behind comes before it */
    const uint32_t v = acquire();
    if (left > 0) drop(2 * left - 1);
    drop_before_first(info.w & 0xffff);
    return v;
  }

  __device__ __forceinline__ bool has_next(uint32_t round) const {
    return ptx::load_shared(more_info(round)).y >> 31 != 0;
  }

  /* The tiles of a round but the first one. Returns whether O holds products. */
  __device__ __forceinline__ bool run_tiles(uint32_t round) {
    bool keep = false;
    uint32_t tile = last_tile(round), end = masked_end(round);
#pragma unroll 1
    for (;;) { /* twice at most: short items have the instructions of one masked step in the cache */
      masked_steps(round, tile, end, keep);
      if (end == first_tile(round)) return keep;
#pragma unroll 1
      for (uint32_t tiles = end - unseen_end(round); tiles > 0; --tiles)
        step<Base::UNSEEN>(round, 0, keep), keep = true;
      tile = unseen_end(round), end = first_tile(round);
    }
  }

  /* Is there a next item, and has the warpgroup rows of it? */
  __device__ __forceinline__ bool goes_on(uint32_t round) const {
    const uint32_t word = ptx::load_shared(more_info(round)).y;
    return word >> 31 != 0 && (!C::kPacked || (word & kIdleNext) == 0);
  }

  /* From the item of a round, whose Q is there, to one that is not followed by another with rows of the warpgroup;
   * returns its round. */
  __device__ __forceinline__ uint32_t run_items(uint32_t round) {
    drop_before_first(work_info(round).z & 0xffff);
    uint32_t k = acquire();
    if (round == 0 && group + 1 == C::kGroups) end_turn();
    begin_turn();
    fence();
    start_qk(k, round);
    end_turn();
    this->template wait<0>();
    hopper::pin(s);
    for (;; ++round) {
      begin_round(round, k);
      const bool keep = run_tiles(round);
      const uint32_t v = acquire_last(round);
      begin_turn();
      fence();
      if (!goes_on(round)) {
        start_pv(v, keep);
        end_turn();
        this->template wait<0>();
        hopper::pin(o);
        if (C::kPacked) release(v); /* other items may come */
        store(round);
        return round;
      }
      start_pv(v, keep);
      acquire_q(round + 1);
      k = acquire();
      start_qk(k, round + 1);
      end_turn();
      this->template wait<1>();
      hopper::pin(o);
      release(v);
      store(round);
      this->template wait<0>();
      hopper::pin(s);
    }
  }

  __device__ __forceinline__ void run(uint32_t items) {
    if (wgmma_tile::item_index<C>(0) >= items) return;
    acquire_q(0);
    run_items(0);
  }
};

#endif /* ATTN_SM90A */

}  // namespace wgmma_general

/* Calls with(count, tile) for each q tile of `rows` rows of all sequences of a ragged batch; count: tiles of `keys`
 * keys that its rows see. For a block of kOrderThreads threads; a warp takes a sequence at a time. Params has B,
 * left, right and the cu_seqlens. */
template <typename Params, typename With>
__device__ __forceinline__ void for_ragged_tiles(const Params &a, uint32_t rows, uint32_t keys, With with) {
  using namespace wgmma_general;
  for (uint32_t b = threadIdx.x / kWarp; b < a.B; b += kOrderThreads / kWarp) {
    const uint32_t q_first = (uint32_t)a.cu_seqlens_q[b], k_first = (uint32_t)a.cu_seqlens_k[b];
    const attn_mask mask = {(uint32_t)a.cu_seqlens_q[b + 1] - q_first, (uint32_t)a.cu_seqlens_k[b + 1] - k_first,
                            a.left, a.right};
    for (uint32_t row = threadIdx.x % kWarp * rows; row < mask.Sq; row += kWarp * rows)
      with(tiles_of(mask, row, rows, keys, all_tiles(mask, keys)).count(),
           RaggedTile{row, mask.Sq, mask.Skv, q_first, k_first, b});
  }
}

/* The q tiles of all sequences of a ragged batch, by how many tiles of keys their rows see: counted by that number,
 * most first, then each put behind those that were counted before it. grid: one block of kOrderThreads threads. */
template <typename C>
__global__ void __launch_bounds__(wgmma_general::kOrderThreads, 1) wgmma_general_order(RaggedParams a) {
  constexpr uint32_t kClasses = wgmma_general::kOrderThreads;
  __shared__ uint32_t place[kClasses], sums[kWarp];
  const uint32_t thread = threadIdx.x;
  const uint32_t rows = C::kPacked ? a.rows : C::kRows;
  const auto for_tiles = [&](auto with) {
    for_ragged_tiles(a, rows, C::kKeys,
                     [&](uint32_t count, const RaggedTile &tile) { with(kClasses - min(count, kClasses), tile); });
  };
  place[thread] = 0;
  __syncthreads();
  for_tiles([&](uint32_t which, const RaggedTile &) { atomicAdd(&place[which], 1u); });
  __syncthreads();
  const uint32_t until = sum_until(place[thread], sums);
  place[thread] = until - place[thread];
  if (thread == kClasses - 1) a.order->tiles = until, a.order->by_tiles = divider(max(until, 1u));
  __syncthreads();
  for_tiles([&](uint32_t which, const RaggedTile &tile) { a.order->tile[atomicAdd(&place[which], 1u)] = tile; });
}

/* The items of a problem with lists of blocks: each section of heads (CausalOrder) by the length of the lists,
 * counted and put behind one another as above. grid: the sections; a block of kOrderThreads each. */
template <typename C>
__global__ void __launch_bounds__(wgmma_general::kOrderThreads, 1)
    wgmma_general_sort(const __grid_constant__ SparseParams a) {
  constexpr uint32_t kClasses = wgmma_general::kOrderThreads;
  __shared__ uint32_t place[kClasses], sums[kWarp];
  const uint32_t thread = threadIdx.x, part = blockIdx.x;
  const bool is_last = part + 1 == a.order.sections, descends = (a.order.sections - part) % 2 != 0;
  const uint32_t begin = part * a.order.section * a.order.q_tiles,
                 end = begin + (is_last ? a.order.last : a.order.section) * a.order.q_tiles;
  const auto for_items = [&](auto with) {
    for (uint32_t item = begin + thread; item < end; item += kClasses) {
      const uint32_t head = a.by_tiles.quotient(item), row = (item - head * a.order.q_tiles) * a.rows;
      const uint32_t blocks = (uint32_t)a.lists.counts[(uint64_t)head * a.lists.q_blocks + a.by_block.quotient(row)];
      const uint32_t length = min(blocks, kClasses - 1);
      with(descends ? kClasses - 1 - length : length, item);
    }
  };
  place[thread] = 0;
  __syncthreads();
  for_items([&](uint32_t which, uint32_t) { atomicAdd(&place[which], 1u); });
  __syncthreads();
  place[thread] = begin + sum_until(place[thread], sums) - place[thread];
  __syncthreads();
  for_items([&](uint32_t which, uint32_t item) { a.sorted[atomicAdd(&place[which], 1u)] = item; });
}

/* grid: the items, or fewer blocks that take several each. */
template <typename C>
__global__ void __launch_bounds__((C::kGroups + 1) * 128, C::kBlocks)
    wgmma_general_kernel(const __grid_constant__ WgmmaGeneralParams a) {
#ifdef ATTN_SM90A
  using namespace wgmma_general;
  extern __shared__ __align__(1024) unsigned char smem_base[];
  const wgmma_general::Layout<C> at = {{ptx::shared_address(smem_base)}};
  const uint32_t warp = __shfl_sync(kFullWarp, threadIdx.x / kWarp, 0), group = warp / 4;
  if (threadIdx.x == 0) at.init_barriers();
  if (threadIdx.x == kWarp) hopper::prefetch_map(&a.q), hopper::prefetch_map(&a.k), hopper::prefetch_map(&a.v);
  __syncthreads(); /* orders the barriers' beginning before their use */
  if (group == C::kGroups) {
    hopper::give_registers<C::kProducerRegisters>();
    if (warp % 4 == 0 && threadIdx.x % kWarp == 0) wgmma_general::KvFetcher<C>{a, at, item_count(a), {}}.run();
    if (warp % 4 == 1 && threadIdx.x % kWarp == 0) wgmma_general::QFetcher<C>{a, at, item_count(a)}.run();
  } else {
    hopper::take_registers<C::kConsumerRegisters>();
    GeneralMultiplier<C>(a, at, group).run(item_count(a));
  }
#endif
}

}  // namespace attn
#endif

#endif
