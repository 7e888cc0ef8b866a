/* How unlike the work of a pass's blocks is, and what that costs: a simulation of the GPU's block scheduler, in which
 * a block takes as long as it has tiles of keys. Pure. */
#pragma once

#include "cli/analyse/metrics.h"

/* Who decides which block has which item, an item being a q tile of a head of a sequence, or one of its splits. */
enum balance_order {
  BALANCE_GRID,  /* the grid: one item per block, at the block's place on each axis */
  BALANCE_LIST,  /* the kernel, one item per block: an axis has the q tiles of all heads, in an order of its own */
  BALANCE_LOOPS, /* the kernel, of fewer blocks than items: a block takes whole items one after the other */
};

struct balance {
  bool known; /* false: the axes do not say which items a block has, or the kernel may cut items where it likes */
  enum balance_order order;
  double longest, mean; /* tiles of keys of the longest item, and of an item on average */
  uint64_t items;       /* those without a tile of keys included, where a block is launched for them */
  /* The time of the pass over its time with blocks of equal work, in the order of the grid. Where the order is the
   * kernel's, the least that an order can give. */
  double ratio;
  /* The same when the longest items come first. */
  double sorted_ratio;
};

/* K/V tiles that an item's rows see, before its keys are split: of the longest item, and on average. 0: the plan has
 * no tiles. */
struct balance_tiles {
  double most, mean;
};
struct balance_tiles balance_tiles_of(const struct record *, uint32_t pass);

void balance_of(const struct record *, uint32_t pass, const struct pass_metrics *, const struct device_info *,
                struct balance *out);
