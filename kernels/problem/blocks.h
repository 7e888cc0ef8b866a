/* The keys that a tile of query rows sees where attention is block-sparse: those that its mask leaves (mask.h) of the
 * blocks that its list has. Oracles, CPU kernels, scalar kernels and the counts of work enumerate keys by the
 * functions of this file.
 *
 * Queries and keys of each sequence are cut into blocks of the same size, the last one being shorter. Each block of
 * queries of each query head has a list of blocks of keys, in ascending order. A tile of rows lies within one block
 * of queries, and so has one list; it goes through the list, and of each block takes the part that the mask leaves:
 *
 *   const struct attn_blocks blocks = attn_blocks_of(&lists, b, h, row);
 *   for (uint32_t i = 0; i < blocks.count; ++i)
 *     const struct attn_keys keys = attn_blocks_keys(&blocks, i, attn_mask_rows(&mask, row, rows));
 *
 * A problem without blocks has one block of all keys, so that the same loop computes it.
 *
 * The lists are inputs: counts, int32 [B][Hq][blocks of queries], and indices, int32 [B][Hq][blocks of
 * queries][most], of which those behind the count are -1. What is in them follows from the problem (attn_list_of), so
 * that any entry can be computed alone: inputs, work and tests need no table. Valid C, C++ and CUDA.
 */
#ifndef ATTNBENCH_KERNELS_PROBLEM_BLOCKS_H
#define ATTNBENCH_KERNELS_PROBLEM_BLOCKS_H

#include "kernels/problem/place.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline ATTN_HD bool attn_is_sparse(const struct attn_problem *p) { return p->sparse.block > 0; }

/* Blocks of `length` queries or keys. */
static inline ATTN_HD uint32_t attn_blocks_in(const struct attn_problem *p, uint32_t length) {
  if (!attn_is_sparse(p)) return 0;
  return length / p->sparse.block + (length % p->sparse.block != 0);
}

/* ---- tiles of rows ------------------------------------------------------------------------------------------- */

/* Tiles of at most `tile_rows` rows in `rows` rows of a sequence, none of which lies in two blocks of queries. */
static inline ATTN_HD uint32_t attn_row_tiles(uint32_t block, uint32_t rows, uint32_t tile_rows) {
  const uint32_t whole = block > 0 ? rows / block : 0, rest = rows - whole * block;
  const uint32_t of_block = block > 0 ? (block - 1) / tile_rows + 1 : 0;
  return whole * of_block + (rest > 0 ? (rest - 1) / tile_rows + 1 : 0);
}

/* Rows [first, first + rows) of a sequence; no rows: the sequence has fewer tiles. */
struct attn_row_tile {
  uint32_t first, rows;
};

static inline ATTN_HD struct attn_row_tile attn_row_tile_of(uint32_t block, uint32_t Sq, uint32_t tile_rows,
                                                            uint32_t index) {
  const uint32_t of_block = block > 0 ? (block - 1) / tile_rows + 1 : 1;
  const uint64_t start = block > 0 ? (uint64_t)(index / of_block) * block : 0;
  const uint64_t first = start + (uint64_t)(block > 0 ? index % of_block : index) * tile_rows;
  const uint64_t end = block > 0 && start + block < Sq ? start + block : Sq;
  struct attn_row_tile tile = {Sq, 0};
  if (first >= end) return tile;
  tile.first = (uint32_t)first;
  tile.rows = (uint32_t)(end - first < tile_rows ? end - first : tile_rows);
  return tile;
}

/* ---- lists as kernels read them ------------------------------------------------------------------------------ */

/* The inputs that hold the lists; counts is NULL where the problem has none. */
struct attn_lists {
  const int32_t *counts, *indices;
  uint32_t block, heads, q_blocks, most;
};

/* The list of a tile of rows. */
struct attn_blocks {
  const int32_t *index; /* NULL: one block of all keys */
  uint32_t count, block;
};

static inline ATTN_HD struct attn_blocks attn_blocks_of(const struct attn_lists *lists, uint32_t b, uint32_t h,
                                                        uint32_t row) {
  struct attn_blocks out;
  out.index = NULL;
  out.count = 1;
  out.block = 0;
  if (lists->counts == NULL) return out;
  const uint64_t list = ((uint64_t)b * lists->heads + h) * lists->q_blocks + row / lists->block;
  out.index = lists->indices + list * lists->most;
  out.count = (uint32_t)lists->counts[list];
  out.block = lists->block;
  return out;
}

/* The part of a range of keys that lies in block `key_block`; from 0 to 0 where none does. */
static inline ATTN_HD struct attn_keys attn_keys_in_block(struct attn_keys keys, uint32_t block, uint32_t key_block) {
  const uint64_t first = (uint64_t)key_block * block, end = first + block;
  if (keys.first < first) keys.first = first < keys.end ? (uint32_t)first : keys.end;
  if (keys.end > end) keys.end = end > keys.first ? (uint32_t)end : keys.first;
  if (keys.first == keys.end) keys.first = keys.end = 0;
  return keys;
}

/* The part of a range of keys that lies in the i-th block of a list. */
static inline ATTN_HD struct attn_keys attn_blocks_keys(const struct attn_blocks *blocks, uint32_t i,
                                                        struct attn_keys keys) {
  return blocks->index == NULL ? keys : attn_keys_in_block(keys, blocks->block, (uint32_t)blocks->index[i]);
}

/* ---- what is in the lists ------------------------------------------------------------------------------------ */

/* The list of one block of queries. Its candidates are the blocks of keys that the mask leaves at least one of its
 * rows. Those of `always` and of `window` are in it: the first ones of all (`global`), and those around the diagonal
 * block, which holds the position of the last row (mask.h). Of the others, `random` ones: the others are cut into as
 * many strata, and one of each is drawn, so that the blocks are spread over all keys and any of them is known by its
 * number. */
struct attn_list {
  uint32_t seed;                   /* of this list */
  struct attn_keys all;            /* blocks: the candidates */
  struct attn_keys always, window; /* blocks that are in it, in this order; window starts at always.end or later */
  uint32_t random;                 /* blocks drawn */
  uint32_t before;                 /* those of them that lie before the window */
  uint32_t count;                  /* blocks in all */
};

/* Candidates that are neither in `always` nor in `window`: they are numbered in ascending order. */
static inline ATTN_HD uint32_t attn_list_others(const struct attn_list *list) {
  return list->window.first - list->always.end + list->all.end - list->window.end;
}

/* The number, among the others, of the one that is drawn from stratum i. */
static inline ATTN_HD uint32_t attn_list_drawn(const struct attn_list *list, uint32_t i) {
  const uint64_t others = attn_list_others(list);
  const uint32_t first = (uint32_t)(i * others / list->random), end = (uint32_t)((i + 1) * others / list->random);
  return first + attn_drawn_length(attn_drawn_bits(list->seed, i + 1), end - first) - 1;
}

/* How many of `candidates` blocks a list has by its density d: a uniformly distributed share of d +- min(d, 1 - d) /
 * 2, to the nearest. */
static inline ATTN_HD uint32_t attn_list_target(uint32_t density, uint32_t candidates, uint32_t random) {
  const int64_t spread = density < 1000 - density ? density : 1000 - density;
  const int64_t share = ((int64_t)density << 32) + spread * ((int64_t)random - INT64_C(0x80000000));
  return (uint32_t)((candidates * share + (INT64_C(500) << 32)) / (INT64_C(1000) << 32));
}

static inline ATTN_HD uint32_t attn_clamp_block(int64_t block, struct attn_keys range) {
  return block <= range.first ? range.first : block >= range.end ? range.end : (uint32_t)block;
}

/* The blocks that are in a list whatever is drawn. */
static inline ATTN_HD void attn_list_fix(const struct attn_sparse *sparse, int64_t position, struct attn_list *list) {
  const int64_t block = sparse->block,
                diagonal = position >= 0 ? position / block : -((block - 1 - position) / block);
  const bool is_global = diagonal >= 0 && diagonal < (int64_t)sparse->global;
  list->always.first = list->all.first;
  list->always.end = is_global ? list->all.end : attn_clamp_block(sparse->global, list->all);
  list->window.first = list->always.end;
  list->window.end = list->all.end;
  list->window.first = attn_clamp_block(diagonal - sparse->sliding + 1, list->window);
  list->window.end = attn_clamp_block(diagonal + sparse->sliding, list->window);
}

/* The list of block `q_block` of the queries of one query head of a sequence; empty behind the sequence's end. */
static inline ATTN_HD struct attn_list attn_list_of(const struct attn_problem *p,
                                                    const struct attn_sequence *sequence, uint32_t h,
                                                    uint32_t q_block) {
  const struct attn_sparse *sparse = &p->sparse;
  const struct attn_mask mask = attn_mask_of_sequence(p, sequence);
  const uint64_t row = (uint64_t)q_block * sparse->block;
  struct attn_list list;
  list.all.first = list.all.end = 0;
  list.always = list.window = list.all;
  list.random = list.before = list.count = 0;
  list.seed = attn_drawn_bits(sparse->seed, (sequence->b * p->Hq + h) * attn_blocks_in(p, p->Sq) + q_block);
  if (row >= mask.Sq) return list;
  const uint32_t left = mask.Sq - (uint32_t)row, rows = left < sparse->block ? left : sparse->block;
  const struct attn_keys keys = attn_mask_rows(&mask, (uint32_t)row, rows);
  if (keys.first >= keys.end) return list;
  list.all.first = keys.first / sparse->block;
  list.all.end = attn_blocks_in(p, keys.end);
  attn_list_fix(sparse, (int64_t)row + rows - 1 + mask.Skv - mask.Sq, &list);
  const uint32_t others = attn_list_others(&list), candidates = list.all.end - list.all.first;
  const uint32_t target = attn_list_target(sparse->density, candidates, attn_drawn_bits(list.seed, 0));
  const uint32_t fixed = candidates - others, wanted = sparse->density == 0 ? sparse->random
                                                       : target > fixed     ? target - fixed
                                                                            : 0;
  list.random = wanted < others ? wanted : others;
  list.count = fixed + list.random;
  if (list.random == 0) return list;
  const uint32_t gap = list.window.first - list.always.end;
  list.before = (uint32_t)((uint64_t)gap * list.random / others);
  if (list.before < list.random && attn_list_drawn(&list, list.before) < gap) ++list.before;
  return list;
}

/* The list by its number in [B][Hq][blocks of queries]. */
static inline ATTN_HD struct attn_list attn_list_numbered(const struct attn_problem *p, uint64_t number) {
  const uint32_t q_blocks = attn_blocks_in(p, p->Sq);
  const uint64_t head = number / q_blocks;
  const struct attn_sequence sequence = attn_sequence_of(p, (uint32_t)(head / p->Hq));
  return attn_list_of(p, &sequence, (uint32_t)(head % p->Hq), (uint32_t)(number % q_blocks));
}

/* Its i-th block of keys, i < count. */
static inline ATTN_HD uint32_t attn_list_block(const struct attn_list *list, uint32_t i) {
  const uint32_t always = list->always.end - list->always.first, gap = list->window.first - list->always.end;
  const uint32_t window = list->window.end - list->window.first;
  if (i < always) return list->always.first + i;
  i -= always;
  if (i >= list->before && i < list->before + window) return list->window.first + i - list->before;
  const uint32_t other = attn_list_drawn(list, i < list->before ? i : i - window);
  return other < gap ? list->always.end + other : list->window.end + other - gap;
}

/* Is this block of keys in the list? */
static inline ATTN_HD bool attn_list_has(const struct attn_list *list, uint32_t key_block) {
  if (key_block < list->all.first || key_block >= list->all.end) return false;
  if (key_block < list->always.end || (key_block >= list->window.first && key_block < list->window.end)) return true;
  if (list->random == 0) return false;
  const uint32_t gap = list->window.first - list->always.end;
  const uint32_t other =
      key_block < list->window.first ? key_block - list->always.end : key_block - list->window.end + gap;
  const uint64_t stratum = ((uint64_t)(other + 1) * list->random - 1) / attn_list_others(list);
  return attn_list_drawn(list, (uint32_t)stratum) == other;
}

/* The most blocks that a list can have, at least 1: the extent of the indices. 0 without lists. */
static inline ATTN_HD uint32_t attn_blocks_most(const struct attn_problem *p) {
  const struct attn_sparse *s = &p->sparse;
  const uint32_t keys = attn_blocks_in(p, p->Skv), all = keys > 0 ? keys : 1;
  if (!attn_is_sparse(p)) return 0;
  const uint64_t pattern = 2 * (uint64_t)s->sliding - 1 + s->random;
  const uint64_t most = s->density > 0  ? attn_list_target(s->density, all, UINT32_MAX)
                        : s->global > 0 ? all
                                        : pattern;
  return most < 1 ? 1 : most < all ? (uint32_t)most : all;
}

static inline ATTN_HD struct attn_lists attn_lists_of(const struct attn_problem *p, const int32_t *counts,
                                                      const int32_t *indices) {
  struct attn_lists lists;
  lists.counts = counts;
  lists.indices = indices;
  lists.block = p->sparse.block;
  lists.heads = p->Hq;
  lists.q_blocks = attn_blocks_in(p, p->Sq);
  lists.most = attn_blocks_most(p);
  return lists;
}

/* The keys that a row of queries sees: how many they are. */
static inline ATTN_HD uint32_t attn_seen_keys(const struct attn_problem *p, const struct attn_place *place) {
  const struct attn_keys keys = attn_keys_of(p, place);
  uint32_t seen = 0;
  if (!attn_is_sparse(p)) return attn_keys_count(keys);
  const struct attn_list list = attn_list_of(p, &place->sequence, place->h, place->token / p->sparse.block);
  for (uint32_t i = 0; i < list.count; ++i)
    seen += attn_keys_count(attn_keys_in_block(keys, p->sparse.block, attn_list_block(&list, i)));
  return seen;
}

#ifdef __cplusplus
}
#endif
#endif
