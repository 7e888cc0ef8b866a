#include "tests/kernels/ragged_balance.h"

#include "kernels/tiles/wgmma_general_tile.cuh"

extern "C" double ragged_uneven(const struct attn_problem *problem, uint32_t rows, uint32_t keys, uint32_t tile_heads,
                                uint32_t blocks) {
  constexpr double kTurn = 1.5; /* what lies between two q tiles, in tiles of keys */
  return attn::wgmma_general::ragged_balance(*problem, rows, keys, blocks, kTurn, tile_heads).uneven;
}
