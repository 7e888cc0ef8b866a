/* The order in which a grid of blocks takes the q tiles of all heads. Under a causal mask they differ in length. */
#ifndef ATTNBENCH_KERNELS_TILES_ITEM_ORDER_CUH
#define ATTNBENCH_KERNELS_TILES_ITEM_ORDER_CUH

#include <stdint.h>

#include "kernels/host_device.h"
#include "kernels/tiles/attn_params.cuh"

namespace attn {

/* Division by a number that the host knows: one product and one shift, exact for numerators below 2^31 (Granlund and
 * Montgomery 1994). A division by a variable is some twenty instructions, one after the other, and the first load of
 * a block waits for a few of them. */
struct Divider {
  uint32_t multiplier, shift;

  constexpr ATTN_HD uint32_t quotient(uint32_t n) const { return (uint32_t)((uint64_t)n * multiplier >> shift); }
};

constexpr ATTN_HD Divider divider(uint32_t by) {
  uint32_t log2 = 0;
  while (by > 1ull << log2) ++log2;
  return {(uint32_t)(((1ull << (31 + log2)) + by - 1) / by), 31 + log2};
}
static_assert(divider(1).quotient(0x7fffffff) == 0x7fffffff);
static_assert(divider(3).quotient(0x7fffffff) == 0x7fffffff / 3);
static_assert(divider(641).quotient(3350208 * 641 - 1) == 3350207);
static_assert(divider(0x40000001).quotient(0x40000000) == 0 && divider(0x40000001).quotient(0x40000001) == 1);
static_assert(divider(0x7fffffff).quotient(0x7ffffffe) == 0);

/* The item of a block in a round of the grid over the items. Odd rounds run backwards, which evens out what blocks
 * get when items become shorter. */
constexpr ATTN_HD uint32_t item_index(uint32_t round, uint32_t block, uint32_t blocks) {
  return round * blocks + (round % 2 ? blocks - 1 - block : block);
}

struct Place {
  uint32_t head, tile;
};

/* Full masks: the q tiles of a head follow each other and share its K and V in L2. */
struct FullOrder {
  uint32_t q_tiles; /* of a head */
  Divider by_tiles;

  constexpr ATTN_HD Place place(uint32_t index) const {
    const uint32_t head = by_tiles.quotient(index);
    return {head, index - head * q_tiles};
  }
};

constexpr FullOrder full_order(uint32_t q_tiles) { return {q_tiles, divider(q_tiles)}; }

/* Causal masks: sections of heads one after the other; the items of a section are sorted by length, and the last
 * section ends with its shortest. The section before it runs the other way, so that lengths never jump and odd rounds
 * undo what even rounds did. */
struct CausalOrder {
  uint32_t q_tiles;                 /* of a head */
  uint32_t section, last, sections; /* heads of a section, and of the last one; how many there are */
  Divider by_items, by_heads, by_last;

  constexpr ATTN_HD Place place(uint32_t index) const {
    const uint32_t part = by_items.quotient(index), within = index - part * section * q_tiles;
    const bool is_last = part + 1 == sections, descends = (sections - part) % 2 != 0;
    const uint32_t tile = is_last ? by_last.quotient(within) : by_heads.quotient(within);
    const uint32_t head = part * section + within - tile * (is_last ? last : section);
    return {head, descends ? q_tiles - 1 - tile : tile};
  }
};

constexpr CausalOrder causal_order(uint32_t heads, uint32_t q_tiles, uint32_t section) {
  const uint32_t sections = ceil_div(heads, section), last = heads - (sections - 1) * section;
  return {q_tiles, section, last, sections, divider(section * q_tiles), divider(section), divider(last)};
}

/* Work of the busiest of `blocks` over the mean, as far as the first rounds tell. `turn`: what lies between two
 * items, in q tiles' worth of keys. */
inline double imbalance(const CausalOrder &order, uint32_t items, uint32_t blocks, double turn) {
  enum { BLOCKS_MAX = 512, ROUNDS_MAX = 32 };
  double work[BLOCKS_MAX] = {}, most = 0, all = 0;
  if (blocks > BLOCKS_MAX) return 1;
  for (uint32_t round = 0; round < ROUNDS_MAX && (uint64_t)round * blocks < items; ++round)
    for (uint32_t b = 0; b < blocks; ++b) {
      const uint32_t index = item_index(round, b, blocks);
      if (index < items) work[b] += turn + 1 + order.place(index).tile;
    }
  for (uint32_t b = 0; b < blocks; ++b) all += work[b], most = most > work[b] ? most : work[b];
  return most * blocks / all;
}

/* What the order of a causal mask depends on beside the grid. */
struct CausalWork {
  uint32_t heads, q_tiles; /* of each */
  uint32_t unit;           /* heads that share K and V */
  uint64_t unit_bytes;     /* of these K and V */
  double turn;             /* between two items, in q tiles' worth of keys */
};

/* Heads of a section: at least 32 items, and at most what fits with its K and V in the larger half of a 50 MB L2. In
 * a small section the tiles of a head follow each other while its K and V are still there, which is worth up to a
 * twentieth against sections as large as that. But most numbers of heads give the same blocks the long items in
 * several rounds, and then the busiest block has up to a third more than the mean; so many numbers are tried. All
 * heads at once are tried too where a third of L2 holds them: with two rounds that alone pairs long items with short
 * ones. */
inline uint32_t section_heads(const CausalWork &work, uint32_t blocks) {
  constexpr double kSpread = 0.05, kLargest = 32 << 20;
  constexpr uint64_t kTries = 64;
  const uint64_t units = ceil_div(work.heads, work.unit), fit = (uint64_t)kLargest / work.unit_bytes,
                 least = ceil_div(32u, work.unit * work.q_tiles), most = fit < units ? fit : units,
                 step = most > least + kTries ? (most - least) / kTries : 1;
  uint32_t best = 0;
  double cheapest = 0;
  const auto consider = [&](uint64_t of_units) {
    const uint32_t section = (uint32_t)(of_units < units ? of_units * work.unit : work.heads);
    const CausalOrder order = causal_order(work.heads, work.q_tiles, section);
    const double cost = imbalance(order, work.heads * work.q_tiles, blocks, work.turn) *
                        (1 + kSpread * (double)(of_units * work.unit_bytes) / kLargest);
    if (best == 0 || cost < cheapest) best = section, cheapest = cost;
  };
  for (uint64_t of_units = least; best == 0 || of_units <= most; of_units += step) consider(of_units);
  if (units * work.unit_bytes <= 16ull << 20) consider(units);
  return best;
}

}  // namespace attn

#endif
