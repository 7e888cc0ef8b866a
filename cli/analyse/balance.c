/* Counts the tiles of each block's keys, and lets blocks take turns on the SMs as the hardware does. */
#include "cli/analyse/balance.h"

#include <math.h>
#include <stdlib.h>

#include "cli/analyse/gain.h"
#include "cli/base/sorting.h"
#include "kernels/problem/work.h"

/* With more blocks than this an SM has a hundred of them, so that none but the longest one matters: the simulation
 * gives way to a bound. */
enum { BLOCKS_MAX = 16384, SMS_MAX = 512, RESIDENT_MAX = 32 };
/* More items than this are not listed. */
static const uint64_t ITEMS_MAX = UINT64_C(1) << 18;

static uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* ---- the work of an item --------------------------------------------------------------------------------------- */

/* What is asked of a problem and a plan again and again. */
struct items {
  const struct attn_problem *problem;
  const struct attn_plan *plan;
  uint32_t heads;       /* on the grid: query heads, or KV heads whose query heads share q tiles */
  uint32_t tiled_heads; /* query heads whose rows a q tile holds together */
  uint32_t splits;
  struct attn_sequence sequence; /* the one that was asked for last */
  struct attn_mask mask;         /* of that sequence */
};

static struct items items_of(const struct record *r, uint32_t pass) {
  const struct attn_problem *s = &r->attn_case.shape;
  const bool tiled = (metrics_covers(&r->pass[pass].pass) & ATTN_COVERS_HKV) != 0;
  struct items items = {.problem = s,
                        .plan = &r->plan,
                        .heads = tiled ? s->Hkv : s->Hq,
                        .tiled_heads = tiled ? s->Hq / s->Hkv : 1,
                        .splits = r->plan.splits > 1 ? r->plan.splits : 1,
                        .sequence = attn_sequence_of(s, 0)};
  items.mask = attn_mask_of_sequence(s, &items.sequence);
  return items;
}

static void go_to(struct items *items, uint32_t b) {
  if (items->sequence.b == b) return;
  items->sequence = attn_sequence_of(items->problem, b);
  items->mask = attn_mask_of_sequence(items->problem, &items->sequence);
}

static uint32_t q_tiles_of(const struct items *items, uint32_t Sq) {
  const uint32_t block = items->tiled_heads > 1 ? 0 : items->problem->sparse.block;
  return attn_row_tiles(block, Sq * items->tiled_heads, items->plan->tile_q);
}

static uint64_t tiles_over(const struct items *items, struct attn_keys keys) {
  const uint32_t tile = items->plan->tile_kv;
  return keys.first < keys.end ? ceil_div(keys.end, tile) - keys.first / tile : 0;
}

/* Tiles of keys that a q tile of the current sequence loads. One that several heads share is taken to hold all
 * queries. */
static uint64_t tiles_of_rows(const struct items *items, uint32_t h, uint32_t q_tile) {
  const struct attn_problem *s = items->problem;
  const struct attn_mask *mask = &items->mask;
  if (mask->Sq == 0 || mask->Skv == 0) return 0;
  if (items->tiled_heads > 1) return tiles_over(items, attn_mask_rows(mask, 0, mask->Sq));
  const struct attn_row_tile rows = attn_row_tile_of(s->sparse.block, mask->Sq, items->plan->tile_q, q_tile);
  if (rows.rows == 0) return 0;
  const struct attn_keys seen = attn_mask_rows(mask, rows.first, rows.rows);
  if (!attn_is_sparse(s)) return tiles_over(items, seen);
  const struct attn_list list = attn_list_of(s, &items->sequence, h, rows.first / s->sparse.block);
  uint64_t tiles = 0;
  for (uint32_t i = 0; i < list.count; i++)
    tiles += tiles_over(items, attn_keys_in_block(seen, s->sparse.block, attn_list_block(&list, i)));
  return tiles;
}

/* Tiles of keys of all items of one head of a sequence. `times`: heads and sequences that are like it. */
static void count_tiles(const struct items *items, uint32_t h, double times, double *count,
                        struct balance_tiles *out) {
  const uint32_t q_tiles = q_tiles_of(items, items->mask.Sq);
  for (uint32_t tile = 0; tile < q_tiles; tile++) {
    const double tiles = (double)tiles_of_rows(items, h, tile);
    out->most = fmax(out->most, tiles);
    out->mean += times * tiles;
  }
  *count += times * q_tiles;
}

struct balance_tiles balance_tiles_of(const struct record *r, uint32_t pass) {
  const struct attn_problem *s = &r->attn_case.shape;
  struct balance_tiles out = {.most = 0};
  double count = 0;
  if (r->plan.tile_q == 0 || r->plan.tile_kv == 0) return out;
  struct items items = items_of(r, pass);
  for (uint32_t b = 0; attn_is_sparse(s) && b < s->B; b++) {
    go_to(&items, b);
    for (uint32_t h = 0; h < items.heads; h++) count_tiles(&items, h, 1, &count, &out);
  }
  for (uint32_t i = 0; !attn_is_sparse(s) && i < attn_group_count(s); i++) {
    const struct attn_group group = attn_group_of(s, i);
    items.mask = (struct attn_mask){.Sq = group.Sq, .Skv = group.Skv, .left = s->left, .right = s->right};
    count_tiles(&items, 0, group.count, &count, &out);
  }
  out.mean = count > 0 ? out.mean / count : 0;
  return out;
}

/* A split has an equal part of the item's own tiles, which is the best that it can have. */
static uint64_t part_of(uint64_t tiles, uint32_t splits, uint32_t split) {
  return tiles * (split + 1) / splits - tiles * split / splits;
}

/* ---- who has which item ---------------------------------------------------------------------------------------- */

enum dimension { DIM_Q, DIM_SPLIT, DIM_H, DIM_B, DIM_D, DIM_COUNT };
static const unsigned covered_by[DIM_COUNT] = {[DIM_Q] = ATTN_COVERS_Q,
                                               [DIM_SPLIT] = ATTN_COVERS_SPLIT,
                                               [DIM_H] = ATTN_COVERS_H | ATTN_COVERS_HKV,
                                               [DIM_B] = ATTN_COVERS_B,
                                               [DIM_D] = ATTN_COVERS_D};

/* The place of a block: x is the fastest axis, and within an axis the dimensions are walked in the order of the enum.
 * `step` is the distance between two blocks that are neighbours in a dimension. */
struct places {
  uint64_t size[DIM_COUNT], step[DIM_COUNT];
};

/* Heads or sequences beside q tiles, or beside splits, on one axis: a list in an order that the kernel chooses. */
static bool is_list(unsigned covers) {
  return (covers & (covered_by[DIM_H] | covered_by[DIM_B])) != 0 &&
         (covers & (covered_by[DIM_Q] | covered_by[DIM_SPLIT])) != 0;
}

/* False when an axis does not have as many places as its dimensions, so that blocks loop, or some have nothing. */
static bool find_places(const struct items *items, const struct attn_pass *pass, struct places *out) {
  uint64_t step = 1;
  const uint64_t sizes[DIM_COUNT] = {q_tiles_of(items, items->problem->Sq), items->splits, items->heads,
                                     items->problem->B, 1};
  for (int dim = 0; dim < DIM_COUNT; dim++) out->size[dim] = out->step[dim] = 1;
  for (int axis = 0; axis < 3; axis++) {
    uint64_t places = 1;
    for (int dim = 0; dim < DIM_COUNT; dim++) {
      if ((pass->covers[axis] & covered_by[dim]) == 0) continue;
      if (out->size[dim] > 1) return false; /* on two axes */
      const bool is_rest = dim == DIM_D && places > 0 && pass->grid[axis] % places == 0;
      out->step[dim] = step * places;
      out->size[dim] = is_rest ? pass->grid[axis] / places : sizes[dim];
      places *= out->size[dim];
    }
    if (places != pass->grid[axis]) return false;
    step *= places;
  }
  for (int dim = 0; dim < DIM_COUNT; dim++)
    if (out->size[dim] < sizes[dim]) return false; /* a loop in each block */
  return true;
}

static uint32_t place_in(const struct places *places, enum dimension dim, uint64_t block) {
  return (uint32_t)(block / places->step[dim] % places->size[dim]);
}

/* ---- the blocks of an SM --------------------------------------------------------------------------------------- */

struct sm {
  double time, progress; /* how far each of its blocks has come, had it run since the beginning */
  double next;           /* when the first of them ends; infinite without one */
  uint32_t count;
  double end[RESIDENT_MAX]; /* as progress */
};

struct gpu {
  uint32_t sms, resident;
  struct sm sm[SMS_MAX];
};

static void find_next(struct sm *sm) {
  double first = INFINITY;
  for (uint32_t i = 0; i < sm->count; i++) first = fmin(first, sm->end[i]);
  sm->next = sm->count > 0 ? sm->time + (first - sm->progress) * gain_shared(sm->count) : (double)INFINITY;
}

static void begin(struct sm *sm, double work) {
  sm->end[sm->count++] = sm->progress + work;
  find_next(sm);
}

static void end_first(struct sm *sm) {
  uint32_t first = 0;
  for (uint32_t i = 1; i < sm->count; i++)
    if (sm->end[i] < sm->end[first]) first = i;
  sm->time = sm->next, sm->progress = sm->end[first];
  sm->end[first] = sm->end[--sm->count];
  find_next(sm);
}

static struct sm *next_to_end(struct gpu *gpu) {
  struct sm *next = &gpu->sm[0];
  for (uint32_t i = 1; i < gpu->sms; i++)
    if (gpu->sm[i].next < next->next) next = &gpu->sm[i];
  return next;
}

/* The time that blocks take which start in this order. `work` NULL: each has `mean`. The first ones go to the SMs in
 * turn, each later one to where a block ends. */
static double run(struct gpu *gpu, const double *work, double mean, size_t count) {
  const size_t slots = (size_t)gpu->sms * gpu->resident;
  double end = 0;
  for (uint32_t i = 0; i < gpu->sms; i++) gpu->sm[i] = (struct sm){.next = INFINITY};
  for (size_t i = 0; i < count; i++) {
    struct sm *sm = i < slots ? &gpu->sm[i % gpu->sms] : next_to_end(gpu);
    if (i >= slots) end_first(sm);
    begin(sm, work != NULL ? work[i] : mean);
  }
  for (uint32_t i = 0; i < gpu->sms; i++) {
    while (gpu->sm[i].count > 0) end_first(&gpu->sm[i]);
    end = fmax(end, gpu->sm[i].time);
  }
  return end;
}

/* ---- the blocks of a pass -------------------------------------------------------------------------------------- */

struct blocks {
  double work[BLOCKS_MAX]; /* in the order in which they start; of no more than so many */
  uint64_t count;
  double total, longest;
};

/* The blocks, and those of a grid whose kernel takes the q tiles the other way round. */
struct work {
  struct blocks blocks, turned;
};

static void add_block(struct blocks *blocks, double tiles) {
  if (blocks->count < BLOCKS_MAX) blocks->work[blocks->count] = tiles;
  blocks->count++;
  blocks->total += tiles;
  blocks->longest = fmax(blocks->longest, tiles);
}

/* `turned`: the kernel takes the q tiles of a head from the last one on. */
static void list_places(struct items *items, const struct places *places, uint64_t count, bool turned,
                        struct blocks *out) {
  for (uint64_t i = 0; i < count; i++) {
    const uint32_t place = place_in(places, DIM_Q, i), last = (uint32_t)places->size[DIM_Q] - 1;
    go_to(items, place_in(places, DIM_B, i));
    const uint64_t tiles = tiles_of_rows(items, place_in(places, DIM_H, i), turned ? last - place : place);
    add_block(out, (double)part_of(tiles, items->splits, place_in(places, DIM_SPLIT, i)));
  }
}

static void list_items(struct items *items, struct blocks *out) {
  for (uint32_t b = 0; b < items->problem->B; b++) {
    go_to(items, b);
    const uint32_t q_tiles = q_tiles_of(items, items->mask.Sq);
    for (uint32_t h = 0; h < items->heads; h++)
      for (uint32_t tile = 0; tile < q_tiles; tile++) add_block(out, (double)tiles_of_rows(items, h, tile));
  }
}

static int longest_first(const void *a, const void *b) {
  return SORTING_ORDER(*(const double *)b, *(const double *)a);
}

/* Fills the ratios, for so many blocks on an SM at once. A grid whose kernel turns the q tiles round is no worse than
 * its better direction. */
static void simulate(struct gpu *gpu, const struct work *work, struct balance *out) {
  struct blocks sorted = work->blocks;
  const size_t count = (size_t)sorted.count;
  const double equal = run(gpu, NULL, sorted.total / (double)sorted.count, count);
  qsort(sorted.work, count, sizeof *sorted.work, longest_first);
  out->ratio = out->sorted_ratio = run(gpu, sorted.work, 0, count) / equal;
  if (out->order != BALANCE_GRID) return;
  out->ratio = fmin(run(gpu, work->blocks.work, 0, count), run(gpu, work->turned.work, 0, count)) / equal;
}

/* No order makes the longest block shorter than it is alone on its SM. `slots`: blocks at once. */
static void bound(const struct blocks *blocks, double slots, uint32_t per_sm, struct balance *out) {
  const double equal = blocks->total / slots * gain_shared(per_sm);
  out->ratio = out->sorted_ratio = fmax(1, blocks->longest / equal);
}

/* Where an upper bound alone is known of the blocks on an SM, the smaller ratio of that and of one. */
static void find_ratio(const struct pass_metrics *m, const struct device_info *device, const struct work *work,
                       struct balance *out) {
  const struct blocks *blocks = &work->blocks;
  struct gpu gpu = {.sms = device->sms,
                    .resident = m->resident_blocks < RESIDENT_MAX ? m->resident_blocks : RESIDENT_MAX};
  if (blocks->count > BLOCKS_MAX) {
    bound(blocks, (double)gpu.sms * gpu.resident, gpu.resident, out);
    return;
  }
  simulate(&gpu, work, out);
  if (m->resident_exact) return;
  struct balance alone = *out;
  gpu.resident = 1;
  simulate(&gpu, work, &alone);
  out->ratio = fmin(out->ratio, alone.ratio);
  out->sorted_ratio = fmin(out->sorted_ratio, alone.sorted_ratio);
}

/* Do all q tiles have as many keys? */
static bool are_alike(const struct attn_problem *s) {
  return attn_group_count(s) == 1 && !attn_is_sparse(s) && work_pairs(s) == work_unmasked_pairs(s);
}

static uint64_t count_items(const struct items *items) {
  const struct attn_problem *s = items->problem;
  uint64_t count = 0;
  for (uint32_t i = 0; i < attn_group_count(s); i++) {
    const struct attn_group group = attn_group_of(s, i);
    count += (uint64_t)group.count * items->heads * q_tiles_of(items, group.Sq);
  }
  return count;
}

/* Lists the items of each block; false where it is not known which they are. */
static bool find_blocks(struct items *items, const struct attn_pass *pass, const struct pass_metrics *m,
                        struct balance *out, struct work *work) {
  struct places places;
  bool list = false;
  for (int axis = 0; axis < 3; axis++) {
    list = list || is_list(pass->covers[axis]);
    /* Who cuts the keys of all heads on one axis can cut them into equal parts. */
    if (is_list(pass->covers[axis]) && (pass->covers[axis] & ATTN_COVERS_SPLIT) != 0) return false;
  }
  if (!list) {
    out->order = BALANCE_GRID;
    if (m->blocks > ITEMS_MAX || !find_places(items, pass, &places)) return false;
    list_places(items, &places, m->blocks, false, &work->blocks);
    list_places(items, &places, m->blocks, true, &work->turned);
    return true;
  }
  const unsigned all = ATTN_COVERS_B | ATTN_COVERS_Q;
  if ((pass->covers[0] & all) != all || (pass->covers[0] & covered_by[DIM_H]) == 0) return false;
  if (pass->grid[1] != 1 || pass->grid[2] != 1 || items->splits > 1 || count_items(items) > ITEMS_MAX) return false;
  list_items(items, &work->blocks);
  out->order = m->blocks < work->blocks.count ? BALANCE_LOOPS : BALANCE_LIST;
  return m->blocks <= work->blocks.count;
}

/* The list of blocks is large, and is made only where it says something. */
static void weigh(const struct items *items, const struct attn_pass *pass, const struct pass_metrics *m,
                  const struct device_info *device, struct balance *out) {
  struct work work = {.blocks.count = 0};
  const struct blocks *blocks = &work.blocks;
  struct items own = *items;
  if (!find_blocks(&own, pass, m, out, &work) || !(blocks->total > 0)) return;
  out->known = true;
  out->items = blocks->count, out->longest = blocks->longest, out->mean = blocks->total / (double)blocks->count;
  if (out->order == BALANCE_LOOPS)
    bound(blocks, (double)m->blocks, (uint32_t)ceil_div(m->blocks, device->sms), out);
  else
    find_ratio(m, device, &work, out);
}

void balance_of(const struct record *r, uint32_t pass, const struct pass_metrics *m, const struct device_info *device,
                struct balance *out) {
  *out = (struct balance){.ratio = 1, .sorted_ratio = 1};
  if (r->plan.tile_q == 0 || r->plan.tile_kv == 0 || m->resident_blocks == 0) return;
  if (device->sms == 0 || device->sms > SMS_MAX) return;
  const struct items items = items_of(r, pass);
  if (are_alike(items.problem) || (items.tiled_heads > 1 && attn_is_sparse(items.problem))) return;
  weigh(&items, &r->pass[pass].pass, m, device, out);
}
