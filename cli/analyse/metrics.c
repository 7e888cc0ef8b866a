/* Computes rates, roofs, waves and traffic from a record and its plan. */
#include "cli/analyse/metrics.h"

#include <math.h>

#include "kernels/floor.h"
#include "kernels/gpu_models.h"
#include "kernels/occupancy.h"
#include "kernels/problem/work.h"

const char *metrics_roof_name(uint32_t kind) {
  static const char *const names[ROOF_COUNT] = {"none", "tensor_f16", "tensor_e4m3", "fp32", "dram"};
  return kind < ROOF_COUNT ? names[kind] : NULL;
}

/* ---- rates and roofs ----------------------------------------------------------------------------------------- */

/* Microseconds for `flops` on a pipe; 0 when the pipe's rate or the clock is not known. */
static double pipe_us(const struct device_info *dev, enum roof_kind pipe, double clock_mhz, double flops) {
  const enum attn_dtype dtype = pipe == ROOF_TENSOR_E4M3 ? ATTN_E4M3 : ATTN_F16;
  const double per_clk_sm = pipe == ROOF_FP32 ? dev->fp32_flop_per_clk_sm : gpu_tensor_rate(dev, dtype);
  const double flop_per_us = per_clk_sm * dev->sms * clock_mhz;
  return flop_per_us > 0 ? flops / flop_per_us : 0;
}

bool metrics_stays_in_l2(const struct device_info *dev, enum time_mode mode, double bytes) {
  return mode != TIME_COLD && bytes <= (double)dev->l2_bytes;
}

/* Microseconds to move `bytes` through DRAM; 0 when it does not bind. */
static double dram_us(const struct device_info *dev, enum time_mode mode, double bytes) {
  const bool binds = !metrics_stays_in_l2(dev, mode, bytes) && dev->dram_gb_per_s > 0;
  return binds ? bytes / dev->dram_gb_per_s * 1e-3 : 0;
}

static enum roof_kind pipe_of_math(enum attn_math math, enum attn_dtype dtype) {
  const bool tensor = math == ATTN_MATH_TENSOR || math == ATTN_MATH_WGMMA;
  return tensor                   ? (dtype == ATTN_E4M3 ? ROOF_TENSOR_E4M3 : ROOF_TENSOR)
         : math == ATTN_MATH_FP32 ? ROOF_FP32
                                  : ROOF_NONE;
}

double metrics_clock_mhz(const struct time_record *time, const struct device_info *dev) {
  return time->sm_clock_mhz > 0 ? time->sm_clock_mhz : dev->sm_clock_max_mhz;
}

static void hold_against_roofs(const struct record *r, const struct device_info *dev, enum time_mode mode,
                               const struct metrics *m, struct mode_metrics *out) {
  const enum roof_kind pipe = pipe_of_math(r->math, r->attn_case.shape.dtype);
  if (dev->kind == DEVICE_CPU || pipe == ROOF_NONE) return;

  const double median_us = r->time[mode].us.median, clock_mhz = metrics_clock_mhz(&r->time[mode], dev);
  const double compute_us = pipe_us(dev, pipe, clock_mhz, m->flops);
  const double bytes_us = dram_us(dev, mode, m->bytes);
  const double roof_us = fmax(compute_us, bytes_us);
  const double least_us = floor_us(&r->attn_case.shape, dev, mode, clock_mhz);
  if (roof_us > 0) {
    out->roof = bytes_us > compute_us ? ROOF_DRAM : pipe;
    out->roof_clock_mhz = clock_mhz;
    out->roof_ratio = roof_us / median_us;
    out->peak_ratio = fmax(pipe_us(dev, pipe, dev->sm_clock_max_mhz, m->flops), bytes_us) / median_us;
  }
  if (least_us > 0) {
    out->floor_us = least_us;
    out->floor_ratio = median_us / least_us;
  }
}

static struct mode_metrics mode_metrics_of(const struct record *r, const struct device_info *dev, enum time_mode mode,
                                           const struct metrics *m) {
  struct mode_metrics out = {.roof = ROOF_NONE,
                             .tflop_per_s = NAN,
                             .gb_per_s = NAN,
                             .roof_clock_mhz = NAN,
                             .roof_ratio = NAN,
                             .peak_ratio = NAN,
                             .floor_us = NAN,
                             .floor_ratio = NAN};
  const double median_us = r->time[mode].us.median;
  /* Only a row that was right has a speed. */
  out.known = r->status == CELL_ok && r->time[mode].done && median_us > 0;
  if (!out.known) return out;
  out.tflop_per_s = m->flops / median_us * 1e-6;
  out.gb_per_s = m->bytes / median_us * 1e-3;
  hold_against_roofs(r, dev, mode, m, &out);
  return out;
}

/* ---- launch geometry ----------------------------------------------------------------------------------------- */

unsigned metrics_covers(const struct attn_pass *pass) { return pass->covers[0] | pass->covers[1] | pass->covers[2]; }

uint64_t metrics_smem_bytes(const struct pass_record *p) {
  return (uint64_t)p->pass.dynamic_smem_bytes + p->facts.static_smem_bytes;
}

static uint64_t product(const uint32_t extent[3]) { return (uint64_t)extent[0] * extent[1] * extent[2]; }

static void fill_residency(const struct pass_record *p, const struct device_info *dev, struct pass_metrics *out) {
  const struct occupancy computed =
      occupancy_of(dev, out->threads_per_block, p->facts.registers, metrics_smem_bytes(p));
  const bool measured = p->facts.resident_blocks > 0;
  out->resident_blocks = measured ? p->facts.resident_blocks : computed.resident_blocks;
  out->resident_exact = measured || p->facts.registers > 0;
  out->limited_by = computed.limited_by;
  const uint32_t warp_threads = (out->threads_per_block + 31) / 32 * 32;
  if (dev->threads_per_sm > 0)
    out->occupancy_ratio = (double)out->resident_blocks * warp_threads / dev->threads_per_sm;
}

static void fill_waves(const struct device_info *dev, struct pass_metrics *out) {
  const uint64_t slots = (uint64_t)dev->sms * out->resident_blocks;
  out->sm_ratio = out->waves = out->tail_waste_ratio = NAN;
  if (dev->sms == 0) return;
  out->sm_ratio = fmin(1.0, (double)out->blocks / dev->sms);
  out->sm_blocks_max = (out->blocks + dev->sms - 1) / dev->sms;
  if (slots == 0 || out->blocks == 0) return;
  out->waves = (double)out->blocks / (double)slots;
  out->tail_blocks = out->blocks % slots;
  out->tail_waste_ratio = 1 - out->waves / ceil(out->waves);
}

static void fill_cover(const struct attn_pass *pass, struct pass_metrics *out) {
  const unsigned covers = metrics_covers(pass);
  /* What a vendor's axis walks is not known; that it leaves batch and heads out is nothing to assume. */
  const bool unknown = (covers & ATTN_COVERS_UNKNOWN) != 0;
  out->covers_b = unknown || (covers & ATTN_COVERS_B) != 0;
  out->covers_h = unknown || (covers & (ATTN_COVERS_H | ATTN_COVERS_HKV)) != 0;
  out->covers_bh = out->covers_b && out->covers_h;
}

static struct pass_metrics pass_metrics_of(const struct pass_record *p, const struct device_info *dev) {
  struct pass_metrics out = {.blocks = product(p->pass.grid), .threads_per_block = (uint32_t)product(p->pass.block)};
  fill_residency(p, dev, &out);
  fill_waves(dev, &out);
  fill_cover(&p->pass, &out);
  /* row_threads 0: the pass has no compute phase over rows. */
  const uint32_t busy = p->pass.row_threads + p->pass.producer_threads;
  if (p->pass.row_threads > 0 && busy < out.threads_per_block)
    out.idle_thread_ratio = 1 - (double)busy / out.threads_per_block;
  return out;
}

/* ---- traffic ------------------------------------------------------------------------------------------------- */

static uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* Query heads whose rows a q tile holds together. */
static uint32_t tiled_heads(const struct attn_problem *s, const struct attn_pass *pass) {
  return (metrics_covers(pass) & ATTN_COVERS_HKV) ? s->Hq / s->Hkv : 1;
}

uint64_t metrics_tiled_rows(const struct attn_problem *s, const struct attn_pass *pass) {
  return (uint64_t)s->Sq * tiled_heads(s, pass);
}

/* Keys of the K/V tiles that have these ones. */
static double tiled_keys(const struct attn_mask *mask, const struct attn_plan *plan, struct attn_keys seen) {
  const uint64_t end = ceil_div(seen.end, plan->tile_kv) * plan->tile_kv;
  return (double)((end < mask->Skv ? end : mask->Skv) - seen.first / plan->tile_kv * plan->tile_kv);
}

/* Keys that all q tiles of one head of a sequence load together: whole K/V tiles up to the last key that a tile's
 * last row attends. */
static double keys_loaded(const struct attn_mask *mask, const struct attn_plan *plan, uint32_t heads) {
  const uint64_t tiles = ceil_div((uint64_t)mask->Sq * heads, plan->tile_q);
  if (mask->Sq == 0) return 0;
  /* Each of the tiles that several heads share is taken to hold all queries. */
  if (heads != 1) return (double)tiles * attn_keys_count(attn_mask_rows(mask, 0, mask->Sq));
  if (mask->left < 0 && mask->right < 0) return (double)tiles * mask->Skv;
  double keys = 0;
  for (uint32_t tile = 0; tile < tiles; tile++) {
    const struct attn_row_tile rows = attn_row_tile_of(0, mask->Sq, plan->tile_q, tile);
    keys += tiled_keys(mask, plan, attn_mask_rows(mask, rows.first, rows.rows));
  }
  return keys;
}

/* The same of the q tiles of all heads of sequence b, whose blocks of queries have lists. */
static double listed_keys_loaded(const struct attn_problem *s, const struct attn_plan *plan, uint32_t b) {
  const struct attn_sequence sequence = attn_sequence_of(s, b);
  const struct attn_mask mask = attn_mask_of_sequence(s, &sequence);
  const uint32_t block = s->sparse.block, tiles = attn_row_tiles(block, mask.Sq, plan->tile_q);
  double keys = 0;
  for (uint32_t tile = 0; tile < tiles; tile++) {
    const struct attn_row_tile rows = attn_row_tile_of(block, mask.Sq, plan->tile_q, tile);
    const struct attn_keys seen = attn_mask_rows(&mask, rows.first, rows.rows);
    for (uint32_t h = 0; h < s->Hq; h++) {
      const struct attn_list list = attn_list_of(s, &sequence, h, rows.first / block);
      for (uint32_t i = 0; i < list.count; i++)
        keys += tiled_keys(&mask, plan, attn_keys_in_block(seen, block, attn_list_block(&list, i)));
    }
  }
  return keys;
}

/* Keys that all q tiles of all heads and sequences load together. */
static double all_keys_loaded(const struct attn_problem *s, const struct attn_plan *plan, uint32_t heads) {
  double keys = 0;
  for (uint32_t b = 0; attn_is_sparse(s) && b < s->B; b++) keys += listed_keys_loaded(s, plan, b);
  if (attn_is_sparse(s)) return keys;
  for (uint32_t i = 0; i < attn_group_count(s); i++) {
    const struct attn_group group = attn_group_of(s, i);
    const struct attn_mask mask = {.Sq = group.Sq, .Skv = group.Skv, .left = s->left, .right = s->right};
    keys += group.count * keys_loaded(&mask, plan, heads);
  }
  return keys * s->Hq / heads;
}

/* q tiles of one head of a sequence, on average. */
static double q_tiles(const struct attn_problem *s, const struct attn_plan *plan, uint32_t heads) {
  double tiles = 0;
  for (uint32_t i = 0; i < attn_group_count(s); i++) {
    const struct attn_group group = attn_group_of(s, i);
    tiles += group.count * (double)attn_row_tiles(heads > 1 ? 0 : s->sparse.block, group.Sq * heads, plan->tile_q);
  }
  return tiles / s->B;
}

double metrics_q_tiles(const struct record *r, uint32_t pass) {
  const struct attn_problem *s = &r->attn_case.shape;
  return q_tiles(s, &r->plan, tiled_heads(s, &r->pass[pass].pass));
}

/* What an axis walks: each (batch, head) pair with all its q tiles and splits, as far as the axis covers them. A
 * persistent grid has fewer blocks than that, which loop over it. */
struct axis_items {
  double pairs, all;
};

/* How many of the q tiles an axis walks: several axes may share them, of which the last has what the others leave. */
static double q_tiles_of_axis(double tiles, const struct attn_pass *pass, int axis) {
  double left = tiles;
  bool is_last = true;
  for (int other = 0; other < 3; other++) {
    if ((pass->covers[other] & ATTN_COVERS_Q) == 0) continue;
    if (other < axis) left = fmax(1, left / pass->grid[other]);
    if (other > axis) is_last = false;
  }
  return is_last ? left : fmin(left, pass->grid[axis]);
}

static struct axis_items items_of_axis(const struct attn_problem *s, const struct attn_plan *plan,
                                       const struct attn_pass *pass, int axis) {
  const unsigned covers = pass->covers[axis];
  struct axis_items items;
  items.pairs = ((covers & ATTN_COVERS_B) ? (double)s->B : 1) * ((covers & ATTN_COVERS_H) ? (double)s->Hq : 1) *
                ((covers & ATTN_COVERS_HKV) ? (double)s->Hkv : 1);
  const double tiles = q_tiles(s, plan, tiled_heads(s, pass));
  items.all = items.pairs * ((covers & ATTN_COVERS_Q) ? q_tiles_of_axis(tiles, pass, axis) : 1) *
              ((covers & ATTN_COVERS_SPLIT) && plan->splits > 1 ? plan->splits : 1);
  return items;
}

static double items_per_block(const struct attn_problem *s, const struct attn_plan *plan,
                              const struct attn_pass *pass) {
  double items = 1;
  for (int axis = 0; axis < 3 && plan->tile_q > 0; axis++)
    items *= fmax(1, items_of_axis(s, plan, pass, axis).all / pass->grid[axis]);
  return items;
}

bool metrics_cuts_anywhere(const struct attn_pass *pass) {
  const unsigned pairs = ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_HKV;
  for (int axis = 0; axis < 3; axis++)
    if ((pass->covers[axis] & ATTN_COVERS_SPLIT) != 0 && (pass->covers[axis] & pairs) != 0) return true;
  return false;
}

/* (batch, head) pairs among the items of one wave of blocks. Blocks start in grid order, x fastest; an axis that
 * folds pairs with anything else is taken to walk a pair's own items first. */
static double pairs_in_flight(const struct attn_problem *s, const struct attn_plan *plan,
                              const struct attn_pass *pass, const struct pass_metrics *m,
                              const struct device_info *dev) {
  uint64_t window = (uint64_t)dev->sms * m->resident_blocks;
  double pairs = 1;
  for (int axis = 0; axis < 3; axis++) {
    const uint64_t extent = pass->grid[axis], taken = window < extent ? window : extent;
    const struct axis_items items = items_of_axis(s, plan, pass, axis);
    pairs *= fmin(items.pairs, ceil((double)taken * items.pairs / fmax(items.all, (double)extent)));
    window = ceil_div(window, extent);
  }
  return fmin(pairs, (double)s->B * s->Hq);
}

static uint64_t threads_of(const struct attn_pass *pass) {
  return (uint64_t)pass->grid[0] * pass->grid[1] * pass->grid[2] * pass->block[0] * pass->block[1] * pass->block[2];
}

/* Of a library no pass says that it works on query rows. */
uint32_t metrics_main_pass(const struct record *r) {
  uint32_t largest = 0;
  for (uint32_t i = 0; i < r->plan.pass_count && i < ATTN_PASSES_MAX; i++) {
    if (r->pass[i].pass.row_threads > 0) return i;
    if (threads_of(&r->pass[i].pass) > threads_of(&r->pass[largest].pass)) largest = i;
  }
  return largest;
}

const struct pass_metrics *metrics_of_main_pass(const struct record *r, const struct metrics *m) {
  return &m->pass[metrics_main_pass(r)];
}

bool metrics_is_opaque(const struct record *r) {
  return r->plan.pass_count > 0 && (r->pass[0].pass.covers[0] & ATTN_COVERS_UNKNOWN) != 0;
}

static struct traffic traffic_of(const struct record *r, const struct device_info *dev, const struct metrics *m) {
  const struct attn_problem *s = &r->attn_case.shape;
  const struct attn_plan *plan = &r->plan;
  const uint32_t main = metrics_main_pass(r);
  struct traffic out = {
      .requested_bytes = NAN, .held_bytes = NAN, .reread_ratio = NAN, .working_set_bytes = NAN, .dram_bytes = NAN};
  out.known = plan->pass_count > 0 && plan->tile_q > 0 && plan->tile_kv > 0 && m->pass[main].resident_blocks > 0;
  if (!out.known) return out;
  const uint32_t heads = tiled_heads(s, &r->pass[main].pass);
  const double rows = (double)s->Hq * (double)attn_tokens(s, ATTN_ROWS_QUERIES);
  const double key_bytes = work_row_bytes(s, ATTN_K) + work_row_bytes(s, ATTN_V), seen = (double)work_seen_keys(s);
  const double queries = rows * work_row_bytes(s, ATTN_Q), passed_on = 2.0 * (double)plan->workspace_bytes;
  const double results = rows * (work_row_bytes(s, ATTN_O) + work_row_bytes(s, ATTN_LSE));
  const double held = key_bytes * seen, asked = key_bytes * all_keys_loaded(s, plan, heads);
  const double in_flight = pairs_in_flight(s, plan, &r->pass[main].pass, &m->pass[main], dev);
  out.requested_bytes = queries * (plan->splits > 1 ? plan->splits : 1) + asked + results + passed_on;
  out.held_bytes = held;
  out.reread_ratio = asked / held;
  /* Pairs of a batch and a KV head, once for each of the query heads that are not tiled together. */
  out.working_set_bytes = key_bytes * seen / s->B / s->Hkv * ceil(in_flight * s->Hkv / s->Hq * heads);
  out.fits_l2 = out.working_set_bytes <= (double)dev->l2_bytes;
  out.dram_bytes = out.fits_l2 ? m->bytes : out.requested_bytes;
  if (out.fits_l2 && passed_on > 2.0 * (double)dev->l2_bytes) out.dram_bytes += passed_on;
  return out;
}

/* ---- counters ------------------------------------------------------------------------------------------------ */

double metrics_shared_repeats(const struct counter_values *v) {
  return isnan(v->shared_excess_wavefronts) ? v->shared_bank_conflicts : v->shared_excess_wavefronts;
}

/* part / whole; 0 when both are 0. */
static double share(double part, double whole) { return whole > 0 ? part / whole : whole == 0 ? 0 : (double)NAN; }

static struct counted counted_of(const struct counter_record *counters, const struct device_info *dev) {
  struct counted out = {.known = counters->done};
  if (!out.known) return out;
  const struct counter_values *v = &out.total;
  out.total = counter_record_totals(counters);
  out.top_stall = counter_record_top_stall(counters);
  const double dram_bytes = v->dram_read_bytes + v->dram_write_bytes;
  out.metrics.dram_gb_per_s = v->gpu_time_us > 0 ? dram_bytes / v->gpu_time_us * 1e-3 : (double)NAN;
  out.metrics.dram_ratio = dev->dram_gb_per_s > 0 ? out.metrics.dram_gb_per_s / dev->dram_gb_per_s : (double)NAN;
  out.metrics.shared_conflict_ratio = share(metrics_shared_repeats(v), v->shared_wavefronts);
  out.metrics.sectors_per_request = share(v->global_load_sectors, v->global_load_requests);
  out.metrics.global_excess_ratio = share(v->global_excess_sectors, v->global_sectors);
  return out;
}

void metrics_of(const struct record *r, const struct device_info *dev, struct metrics *out) {
  *out = (struct metrics){0};
  out->flops = work_flops(&r->attn_case.shape);
  out->bytes = work_bytes(&r->attn_case.shape);
  out->flop_per_byte = out->flops / out->bytes;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; mode++) out->mode[mode] = mode_metrics_of(r, dev, mode, out);
  for (uint32_t i = 0; i < r->plan.pass_count && i < ATTN_PASSES_MAX; i++) {
    out->pass[i] = pass_metrics_of(&r->pass[i], dev);
    struct pass_metrics *pass = &out->pass[i];
    pass->items_per_block = items_per_block(&r->attn_case.shape, &r->plan, &r->pass[i].pass);
    pass->rounds = metrics_cuts_anywhere(&r->pass[i].pass) ? pass->items_per_block : ceil(pass->items_per_block);
  }
  out->traffic = traffic_of(r, dev, out);
  out->counted = counted_of(&r->counters, dev);
}
