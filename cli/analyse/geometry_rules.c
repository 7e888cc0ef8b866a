/* Findings from the launch geometry; time is quoted as evidence where there is some. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/analyse/balance.h"
#include "cli/analyse/evidence.h"
#include "cli/analyse/gain.h"
#include "kernels/problem/work.h"

enum { GRID_YZ_MAX = 65535, D_SPLIT_MIN = 256, D_CHUNK_MIN = 64, SHARED_READ_ROWS = 16, WARP_THREADS = 32 };

static uint64_t ceil_div(uint64_t a, uint64_t b) { return b == 0 ? 0 : (a + b - 1) / b; }

/* ---- the grid against the GPU -------------------------------------------------------------------------------- */

static double serial_badness(const struct rules_row *row, uint32_t pass) {
  return scaling_serial_pairs(row->shape, &row->metrics->pass[pass]) - 1;
}

/* The group's evidence: blocks, then time, against B*H. Empty without a second row. */
static void put_serial_growth(const struct rules_row *row, uint32_t pass, char out[FINDING_TEXT_MAX]) {
  out[0] = 0;
  if (row->narrow == NULL) return;
  const uint64_t narrow_blocks = row->narrow_metrics->pass[pass].blocks,
                 blocks = row->wide_metrics->pass[pass].blocks;
  const double work = row->wide_metrics->flops / row->narrow_metrics->flops;
  char geometry[120];
  snprintf(geometry, sizeof geometry, "; blocks %s %" PRIu64 " while B*H grows %" PRIu64 " -> %" PRIu64,
           blocks == narrow_blocks ? "stay at" : "reach only", blocks, scaling_pairs(&row->narrow->attn_case.shape),
           scaling_pairs(&row->wide->attn_case.shape));
  enum time_mode mode;
  if (!rules_pair_mode(row, &mode)) {
    rules_put(out, "%s", geometry);
    return;
  }
  const double time = row->wide->time[mode].us.median / row->narrow->time[mode].us.median;
  rules_put(out, "%s and %s time grew %.1fx for %.1fx the work: %s", geometry, time_mode_name(mode), time, work,
            time >= finding_limits.serial_growth_min * work ? "serialised over B*H"
                                                            : "other costs still hide the serial loop");
}

/* The same grid with `factor` more blocks: on an axis that covers nothing, else folded into x, which alone has no
 * limit of 65535. */
static void covering_grid(const struct attn_pass *pass, uint64_t factor, uint64_t grid[3]) {
  for (int axis = 0; axis < 3; axis++) grid[axis] = pass->grid[axis];
  int target = 0;
  for (int axis = 2; axis > 0; axis--)
    if (grid[axis] == 1 && pass->covers[axis] == ATTN_COVERS_NOTHING && factor <= GRID_YZ_MAX) target = axis;
  grid[target] *= factor;
}

bool geometry_rules_grid_misses_bh(const struct rules_row *row, struct finding *f) {
  if (!rules_worst_pass(row, serial_badness, &f->pass)) return false;
  const struct attn_pass *pass = &row->record->pass[f->pass].pass;
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  const uint64_t factor = (uint64_t)scaling_serial_pairs(row->shape, m);
  char growth[FINDING_TEXT_MAX];
  uint64_t grid[3];
  put_serial_growth(row, f->pass, growth);
  rules_put(f->measured,
            "%sgrid (%u,%u,%u) = %s for B*H = %" PRIu64 ": a block loops over %" PRIu64 " (batch, head) pairs%s",
            rules_prefix_of(row, f->pass).text, pass->grid[0], pass->grid[1], pass->grid[2],
            rules_count(m->blocks, "block").text, scaling_pairs(row->shape), factor, growth);
  covering_grid(pass, factor, grid);
  const char *missing_axes = m->covers_b ? "H" : m->covers_h ? "B" : "B*H";
  rules_put(f->advice,
            "put %s on a grid axis: grid (%" PRIu64 ",%" PRIu64 ",%" PRIu64 ") = %" PRIu64
            " blocks, one (batch, head) pair each",
            missing_axes, grid[0], grid[1], grid[2], m->blocks * factor);
  f->change = CHANGE_grid_bh;
  rules_promise_ratio(row,
                      (double)factor * gain_blocks(row->device, m->blocks, m->resident_blocks) /
                          gain_blocks(row->device, m->blocks * factor, m->resident_blocks),
                      f);
  return true;
}

/* ---- more blocks --------------------------------------------------------------------------------------------- */

/* A way to more blocks: `factor` times as many, and what the row then takes. */
struct way {
  enum finding_change change;
  uint64_t factor;
  double new_us; /* of a row that was not timed: in units of its time now */
};

/* The time with `factor` times the blocks, a block taking `work` of its time now, and `extra_us` on top. */
static double time_with(const struct rules_row *row, uint32_t pass, double factor, double work, double extra_us) {
  const struct pass_metrics *m = &row->metrics->pass[pass];
  const uint64_t blocks = (uint64_t)ceil((double)m->blocks * factor);
  const double ratio = work * gain_blocks(row->device, blocks, m->resident_blocks) /
                       gain_blocks(row->device, m->blocks, m->resident_blocks);
  if (!isfinite(row->now_us)) return ratio;
  const double fixed_us = fmin(row->now_us, gain_fixed_us(row->mode, row->pass_count));
  return fixed_us + (row->now_us - fixed_us) * ratio + extra_us;
}

/* The fewest parts up to `most` that come within 5 % of the best time, a block taking 1 / parts of its time now. */
static struct way best_way(const struct rules_row *row, uint32_t pass, enum finding_change change, uint64_t most,
                           double blocks_ratio, double extra_us) {
  static const double AS_GOOD = 1.05;
  struct way best = {.change = change, .factor = 1, .new_us = INFINITY};
  for (uint64_t parts = 2; parts <= most; parts++) {
    const double us = time_with(row, pass, (double)parts * blocks_ratio, 1 / (double)parts, extra_us);
    if (us * AS_GOOD < best.new_us) best.factor = parts, best.new_us = us;
  }
  return best;
}

static uint64_t at_most(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t splits_now(const struct rules_row *row) {
  return row->record->plan.splits > 1 ? row->record->plan.splits : 1;
}

/* Parts that bring the pass to one wave. */
static uint64_t parts_to_wave(const struct rules_row *row, uint32_t pass) {
  return ceil_div(rules_slots(row, pass), row->metrics->pass[pass].blocks);
}

/* K/V tiles of an item that splits can share out. Where each block of queries has a list of its own, the longest one
 * says little of the others. */
static uint64_t kv_tiles_of(const struct rules_row *row, uint32_t pass) {
  const struct balance_tiles tiles = balance_tiles_of(row->record, pass);
  return (uint64_t)ceil(attn_is_sparse(row->shape) ? tiles.mean : tiles.most);
}

static struct way way_of_splits(const struct rules_row *row, uint32_t pass) {
  const uint64_t kv_tiles = kv_tiles_of(row, pass);
  const bool is_split = splits_now(row) > 1,
             can_split = !is_split || (evidence_covers(row->record) & ATTN_COVERS_SPLIT) != 0;
  const uint64_t most = can_split ? at_most(parts_to_wave(row, pass), kv_tiles / splits_now(row)) : 1;
  return best_way(row, pass, CHANGE_splits, most, 1, is_split ? 0 : gain_pass_us());
}

/* Half of the rows, where a warp has rows to give: a fragment of 16 is the least of a tensor core's. */
static struct way way_of_rows(const struct rules_row *row, uint32_t pass) {
  const struct attn_plan *plan = &row->record->plan;
  const uint32_t warps = row->record->pass[pass].pass.row_threads / WARP_THREADS;
  const bool tensor = row->record->math != ATTN_MATH_FP32;
  const uint64_t least = tensor ? (uint64_t)SHARED_READ_ROWS * (warps > 0 ? warps : 1) : SHARED_READ_ROWS;
  struct way way = {.change = CHANGE_fewer_rows, .factor = 1, .new_us = INFINITY};
  if (plan->tile_q >= 2 * least) way.factor = 2, way.new_us = time_with(row, pass, 2, gain_fewer_rows(2), 0);
  return way;
}

bool geometry_rules_split_d(const struct rules_row *row, uint32_t pass, uint64_t *chunks, double *new_us) {
  const struct attn_problem *s = row->shape;
  const uint32_t tile_q = row->record->plan.tile_q;
  if (s->D < D_SPLIT_MIN || s->D < work_most_keys(s) || (evidence_covers(row->record) & ATTN_COVERS_D) != 0)
    return false;
  const double rows = fmin(SHARED_READ_ROWS, s->Sq), sharing = tile_q > 0 && tile_q < rows ? tile_q / rows : 1;
  const uint64_t blocks = (uint64_t)fmax(1, (double)row->metrics->pass[pass].blocks * sharing);
  const uint64_t most = at_most(ceil_div(rules_slots(row, pass), blocks), ceil_div(s->D, D_CHUNK_MIN));
  const struct way way = best_way(row, pass, CHANGE_d_chunks, most, sharing, gain_pass_us());
  *chunks = way.factor;
  *new_us = way.new_us;
  return way.factor > 1;
}

static struct way way_of_chunks(const struct rules_row *row, uint32_t pass) {
  struct way way = {.change = CHANGE_d_chunks, .factor = 1, .new_us = INFINITY};
  geometry_rules_split_d(row, pass, &way.factor, &way.new_us);
  return way;
}

/* Blocks that loop over items: more of them, up to a wave, share the same items. */
static struct way way_of_items(const struct rules_row *row, uint32_t pass) {
  const struct pass_metrics *m = &row->metrics->pass[pass];
  const double slots = (double)rules_slots(row, pass), items = m->items_per_block * (double)m->blocks;
  const double ratio = fmin(slots, items) / (double)m->blocks;
  struct way way = {.change = CHANGE_more_blocks, .factor = 1, .new_us = INFINITY};
  if (m->items_per_block > 1 && ratio > 1)
    way = (struct way){CHANGE_more_blocks, (uint64_t)ratio, time_with(row, pass, ratio, 1 / ratio, 0)};
  return way;
}

/* ---- below one wave ------------------------------------------------------------------------------------------ */

/* Idle SMs; or, where every SM has a block, slots that more blocks for the same items would fill: a pass that is not
 * the slowest is judged by its SMs alone. What a serial grid leaves idle is grid_misses_bh's. */
static double empty_share(const struct rules_row *row, uint32_t pass) {
  const struct pass_metrics *m = &row->metrics->pass[pass];
  if (serial_badness(row, pass) > 0 || !(m->waves < 1)) return 0;
  if (m->sm_ratio >= 1) return pass == row->slowest_pass && m->items_per_block > 1 ? 1 - m->waves : 0;
  return 1 - m->sm_ratio;
}

static void put_way(const struct rules_row *row, uint32_t pass, const struct way *way, char out[FINDING_TEXT_MAX]) {
  const struct attn_plan *plan = &row->record->plan;
  const struct pass_metrics *m = &row->metrics->pass[pass];
  const uint64_t slots = rules_slots(row, pass), blocks = m->blocks * way->factor, now = splits_now(row);
  const bool has_rows = metrics_tiled_rows(row->shape, &row->record->pass[pass].pass) > 1;
  const bool all_tiles =
      way->change == CHANGE_splits && way->factor * now >= kv_tiles_of(row, pass) && blocks < slots;
  if (way->change == CHANGE_splits)
    rules_put(out, "%s %" PRIu64 " per q tile: %" PRIu64 " blocks where one wave holds %" PRIu64 "%s%s%s",
              now > 1 ? "raise the K/V splits to" : "split K/V over blocks (flash decoding), splits =",
              way->factor * now, blocks, slots, all_tiles ? "; there are no more K/V tiles, so the rest needs " : "",
              all_tiles && has_rows ? "a smaller q tile or " : "", all_tiles ? "more B*H" : "");
  else if (way->change == CHANGE_d_chunks)
    rules_put(out,
              "split D = %u over blocks (d_split), %" PRIu64
              " chunks, and let a block share K and V between queries; one wave holds %" PRIu64 " blocks",
              row->shape->D, way->factor, slots);
  else if (way->change == CHANGE_fewer_rows)
    rules_put(out,
              "give each block fewer rows: a q tile of %" PRIu64 " instead of %u makes %" PRIu64
              " blocks where one wave holds %" PRIu64,
              plan->tile_q / way->factor, plan->tile_q, blocks, slots);
  else
    rules_put(out,
              "launch %" PRIu64 " blocks instead of %" PRIu64 ": they loop over %.0f items, enough for a full wave",
              at_most(slots, (uint64_t)(m->items_per_block * (double)m->blocks)), m->blocks,
              m->items_per_block * (double)m->blocks);
}

/* The way that promises most, of those that gain enough and did not lose where they were measured. Where
 * next to all SMs have a block, more of them for the same items alone. */
static bool choose_way(const struct rules_row *row, uint32_t pass, struct way *best) {
  const bool full = 1 - row->metrics->pass[pass].sm_ratio < finding_limits.idle_sms_min;
  struct way ways[] = {way_of_items(row, pass), way_of_chunks(row, pass), way_of_splits(row, pass),
                       way_of_rows(row, pass)};
  const double now_us = isfinite(row->now_us) ? row->now_us : 1;
  *best = (struct way){.new_us = INFINITY};
  for (size_t i = 0; i < (full ? 1 : sizeof ways / sizeof *ways); i++) {
    ways[i].new_us = fmax(ways[i].new_us, now_us / rules_headroom(row, ways[i].change));
    if (!(now_us >= finding_limits.fill_gain_min * ways[i].new_us) || ways[i].new_us >= best->new_us) continue;
    const struct evidence found = evidence_of(row, ways[i].change);
    if (!found.known || found.gain_ratio >= 1) *best = ways[i];
  }
  return best->factor > 1 || best->change == CHANGE_more_blocks;
}

/* Takes the promise back where even the fastest kernel that splits the keys on this pipe is slower than the row. */
static void doubt_splits(const struct rules_row *row, struct finding *f) {
  const struct evidence other = evidence_of_pipe(row, CHANGE_splits);
  if (f->change != CHANGE_splits || evidence_of(row, CHANGE_splits).known || !other.known || other.gain_ratio >= 1)
    return;
  rules_promise_nothing(f);
  rules_append(f->advice, "; the gain is open: %s splits the keys, differs in more, and takes %s here",
               other.record->variant, rules_us(other.record->time[other.mode].us.median).text);
}

bool geometry_rules_below_one_wave(const struct rules_row *row, struct finding *f) {
  if (!rules_worst_pass(row, empty_share, &f->pass)) return false;
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  const uint64_t busy = m->blocks < row->device->sms ? m->blocks : row->device->sms;
  struct way way;
  const bool helps = choose_way(row, f->pass, &way);
  const bool worth_saying = 1 - m->sm_ratio >= finding_limits.idle_sms_min && f->pass == row->slowest_pass;
  if (!helps && !worth_saying) return false;
  rules_put(f->measured, "%s%s on %u SMs: %s (%.1f %%) %s one; %.3g waves, since %s%s fit%s on one SM",
            rules_prefix_of(row, f->pass).text, rules_count(m->blocks, "block").text, row->device->sms,
            rules_count(busy, "SM").text, 100 * m->sm_ratio, busy == 1 ? "gets" : "get", m->waves,
            m->resident_exact ? "" : "at most ", rules_count(m->resident_blocks, "block").text,
            m->resident_blocks == 1 ? "s" : "");
  if (!helps) {
    rules_put(f->advice,
              "batch more B*H: %.3g times as much fits into one wave. Splitting this launch further would take as "
              "much time as it saves",
              1 / m->waves);
    return true;
  }
  put_way(row, f->pass, &way, f->advice);
  f->change = way.change;
  rules_promise(row, way.new_us, f);
  doubt_splits(row, f);
  return true;
}

/* ---- the last wave ------------------------------------------------------------------------------------------- */

/* Do all q tiles of a head have as many keys? Under a mask, and in sequences of unlike lengths, they do not. */
static bool tiles_are_alike(const struct attn_problem *problem) {
  return attn_group_count(problem) == 1 && work_pairs(problem) == work_unmasked_pairs(problem);
}

double geometry_rules_uneven_share(const struct attn_problem *problem, const struct pass_metrics *m,
                                   const struct device_info *device) {
  if (m->waves > 1) return m->tail_waste_ratio;
  double waste = 0;
  if (m->sm_blocks_max > 1) waste = 1 - (double)m->blocks / ((double)m->sm_blocks_max * device->sms);
  if (m->sm_ratio >= 1 && tiles_are_alike(problem) && !(scaling_serial_pairs(problem, m) > 1))
    waste = fmax(waste, 1 - m->items_per_block / m->rounds);
  return waste;
}

/* Waves that are counted from an upper bound of the resident blocks may be more, and full. */
static double uneven_badness(const struct rules_row *row, uint32_t pass) {
  const struct pass_metrics *m = &row->metrics->pass[pass];
  const double waste = geometry_rules_uneven_share(row->shape, m, row->device);
  return waste >= finding_limits.tail_waste_min && (m->resident_exact || m->waves <= 1) ? waste : 0;
}

/* Between what the waves say, where blocks do not slow each other, and what the busiest SM says, where they do. */
static double even_gain(const struct rules_row *row, uint32_t pass) {
  const struct pass_metrics *m = &row->metrics->pass[pass];
  const double load = (double)m->sm_blocks_max * row->device->sms / (double)m->blocks;
  const double rounds = m->rounds / m->items_per_block;
  return m->waves > 1 ? sqrt(load / (1 - m->tail_waste_ratio)) : fmax(load, rounds) / pow(fmax(load, rounds), 0.25);
}

static void put_uneven_sms(const struct rules_row *row, const struct finding *f, const struct pass_metrics *m,
                           char out[FINDING_TEXT_MAX]) {
  const uint64_t most = m->sm_blocks_max, sms = row->device->sms, busiest = m->blocks - (most - 1) * sms;
  rules_put(out, "%s%s on %s: %s %s %s, the other %" PRIu64 " %s %" PRIu64 " (mean %.2f)",
            rules_prefix_of(row, f->pass).text, rules_count(m->blocks, "block").text, rules_count(sms, "SM").text,
            rules_count(busiest, "SM").text, busiest == 1 ? "carries" : "carry", rules_count(most, "block").text,
            sms - busiest, sms - busiest == 1 ? "carries" : "carry", most - 1, (double)m->blocks / (double)sms);
}

/* Blocks of one wave that loop over items, some once more than others. */
static void put_uneven_rounds(const struct rules_row *row, struct finding *f) {
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  const double rounds = m->items_per_block, items = rounds * (double)m->blocks;
  rules_put(f->measured,
            "%s%.0f items for %" PRIu64 " blocks that loop over them: %.2f rounds, of which the last is %.0f %% full",
            rules_prefix_of(row, f->pass).text, items, m->blocks, rounds, 100 * (rounds - floor(rounds)));
  rules_put(f->advice,
            "choose tiles that make a whole number of items per block, or split the items of the last round");
}

/* Where blocks are of unlike work, a short one in the last wave does not take as long as the wave before: what the
 * simulation finds stands alone. */
static bool is_simulated(const struct rules_row *row, uint32_t pass) {
  struct finding found = {.pass = 0};
  return !tiles_are_alike(row->shape) && balance_rules_imbalanced(row, &found) && found.pass == pass;
}

bool geometry_rules_tail_wave(const struct rules_row *row, struct finding *f) {
  if (!rules_worst_pass(row, uneven_badness, &f->pass) || is_simulated(row, f->pass)) return false;
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  const uint64_t unit = m->waves > 1 ? rules_slots(row, f->pass) : row->device->sms;
  const uint64_t below = m->blocks / unit * unit;
  f->change = CHANGE_even_waves;
  rules_promise_ratio(row, even_gain(row, f->pass), f);
  if (m->waves <= 1 && 1 - m->items_per_block / m->rounds >= finding_limits.tail_waste_min) {
    put_uneven_rounds(row, f);
    return true;
  }
  if (m->waves > 1)
    rules_put(f->measured,
              "%s%" PRIu64 " blocks = %.2f waves of %" PRIu64
              ": the last wave has %s; %.0f %% of all places for blocks stay idle",
              rules_prefix_of(row, f->pass).text, m->blocks, m->waves, unit,
              rules_count(m->tail_blocks, "block").text, 100 * m->tail_waste_ratio);
  else
    put_uneven_sms(row, f, m, f->measured);
  rules_put(f->advice, "choose tiles or splits that give %" PRIu64 " or %" PRIu64 " blocks", below, below + unit);
  return true;
}
