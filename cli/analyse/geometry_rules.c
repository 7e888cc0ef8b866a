/* Findings from the launch geometry; time is quoted as evidence where there is some. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/analyse/rules.h"
#include "kernels/occupancy.h"

static const double TAIL_WASTE_MIN = 0.20;
static const double LOW_OCCUPANCY_MAX = 0.50;
static const double IDLE_THREADS_MIN = 0.25;
static const double SERIAL_GROWTH_MIN = 0.5; /* of the growth of the work: less does not show a serial grid */

enum { GRID_YZ_MAX = 65535, SMEM_STEP_BYTES = 128, D_SPLIT_MIN = 256, D_CHUNK_MIN = 64 };

static uint64_t ceil_div(uint64_t a, uint64_t b) { return b == 0 ? 0 : (a + b - 1) / b; }

static uint64_t slots_of(const struct diagnose_row *row, uint32_t pass) {
  return (uint64_t)row->device->sms * row->metrics->pass[pass].resident_blocks;
}

/* ---- the grid against the GPU -------------------------------------------------------------------------------- */

static double serial_badness(const struct diagnose_row *row, uint32_t pass) {
  return scaling_serial_pairs(row->shape, &row->metrics->pass[pass]) - 1;
}

static const char *missing_axes(const struct pass_metrics *m) {
  return m->covers_b ? "H" : m->covers_h ? "B" : "B*H";
}

/* The group's evidence: blocks, then time, against B*H. Empty without a second row. */
static void put_serial_growth(const struct diagnose_row *row, uint32_t pass, char out[FINDING_TEXT_MAX]) {
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
            time >= SERIAL_GROWTH_MIN * work ? "serialised over B*H" : "other costs still hide the serial loop");
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

bool diagnose_grid_misses_bh(const struct diagnose_row *row, struct finding *f) {
  if (!rules_worst_pass(row, serial_badness, &f->pass)) return false;
  const struct attn_pass *pass = &row->record->pass[f->pass].pass;
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  const uint64_t factor = (uint64_t)scaling_serial_pairs(row->shape, m);
  char growth[FINDING_TEXT_MAX];
  uint64_t grid[3];
  put_serial_growth(row, f->pass, growth);
  rules_put(f->measured,
            "%sgrid (%u,%u,%u) = %" PRIu64 " blocks for B*H = %" PRIu64 ": a block loops over %" PRIu64
            " (batch, head) pairs%s",
            rules_prefix_of(row, f->pass).text, pass->grid[0], pass->grid[1], pass->grid[2], m->blocks,
            scaling_pairs(row->shape), factor, growth);
  covering_grid(pass, factor, grid);
  rules_put(f->advice,
            "put %s on a grid axis: grid (%" PRIu64 ",%" PRIu64 ",%" PRIu64 ") = %" PRIu64
            " blocks, one (batch, head) pair each",
            missing_axes(m), grid[0], grid[1], grid[2], m->blocks * factor);
  return true;
}

/* A pass that is not the slowest is judged by its SMs alone: free slots beside its blocks would not shorten it. */
static double empty_share(const struct diagnose_row *row, uint32_t pass) {
  const struct pass_metrics *m = &row->metrics->pass[pass];
  if (pass != rules_slowest_pass(row) && m->sm_ratio >= 1) return 0;
  return m->waves < 1 ? 1 - m->waves : 0;
}

static bool covers_splits(const struct attn_pass *pass) {
  return ((pass->covers[0] | pass->covers[1] | pass->covers[2]) & ATTN_COVERS_SPLIT) != 0;
}

/* KV splits that would bring the pass to one wave, at most the K/V tiles; *wanted is without that limit. */
static uint64_t splits_to_fill(const struct diagnose_row *row, uint32_t pass, uint64_t *wanted) {
  const struct attn_plan *plan = &row->record->plan;
  const uint64_t splits_now = plan->splits > 1 ? plan->splits : 1;
  const uint64_t kv_tiles = ceil_div(row->shape->Skv, plan->tile_kv);
  const bool can_split = splits_now == 1 || covers_splits(&row->record->pass[pass].pass);
  *wanted = ceil_div(slots_of(row, pass) * splits_now, row->metrics->pass[pass].blocks);
  const uint64_t splits = *wanted < kv_tiles ? *wanted : kv_tiles;
  return can_split && splits > splits_now ? splits : splits_now;
}

/* Chunks of D that would bring the pass to one wave; 0 where D is on the grid already, or is no better choice than
 * the keys: a chunk costs a part of all scores. */
static uint64_t chunks_to_fill(const struct diagnose_row *row, uint32_t pass) {
  const struct attn_shape *s = row->shape;
  const struct record *r = row->record;
  if (s->D < D_SPLIT_MIN || s->D < s->Skv) return 0;
  for (uint32_t i = 0; i < r->plan.pass_count; i++)
    for (int axis = 0; axis < 3; axis++)
      if (r->pass[i].pass.covers[axis] & ATTN_COVERS_D) return 0;
  const uint64_t wanted = ceil_div(slots_of(row, pass), row->metrics->pass[pass].blocks);
  const uint64_t most = ceil_div(s->D, D_CHUNK_MIN);
  return wanted < most ? wanted : most;
}

void diagnose_fill_advice(const struct diagnose_row *row, uint32_t pass, char out[FINDING_TEXT_MAX]) {
  const struct attn_plan *plan = &row->record->plan;
  const struct pass_metrics *m = &row->metrics->pass[pass];
  const uint64_t slots = slots_of(row, pass), splits_now = plan->splits > 1 ? plan->splits : 1;
  uint64_t wanted;
  const uint64_t splits = splits_to_fill(row, pass, &wanted), chunks = chunks_to_fill(row, pass);
  if (serial_badness(row, pass) > 0)
    rules_put(out, "put %s on the grid first: %" PRIu64 " blocks instead of %" PRIu64, missing_axes(m),
              m->blocks * (uint64_t)scaling_serial_pairs(row->shape, m), m->blocks);
  else if (chunks > 1)
    rules_put(out,
              "split D = %u over blocks (d_split): %" PRIu64 " chunks give %" PRIu64
              " blocks where one wave holds %" PRIu64 ", and let a block share K and V between queries",
              row->shape->D, chunks, m->blocks * chunks, slots);
  else if (splits > splits_now)
    rules_put(out, "%s %" PRIu64 " per q tile: %" PRIu64 " blocks where one wave holds %" PRIu64 "%s",
              splits_now > 1 ? "raise the K/V splits to" : "split K/V over blocks (split_kv), splits =", splits,
              m->blocks / splits_now * splits, slots,
              splits < wanted ? "; there are no more K/V tiles, so the rest needs a smaller q tile or more B*H" : "");
  else if (plan->tile_q <= 1)
    rules_put(out,
              "split D (columns of the output) over blocks, or batch %.1fx more B*H: one wave is %" PRIu64 " blocks",
              1 / m->waves, slots);
  else
    rules_put(
        out, "give each block fewer rows (q tile of %u now), or batch %.1fx more B*H: one wave is %" PRIu64 " blocks",
        plan->tile_q, 1 / m->waves, slots);
}

bool diagnose_below_one_wave(const struct diagnose_row *row, struct finding *f) {
  if (!rules_worst_pass(row, empty_share, &f->pass)) return false;
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  const uint64_t busy = m->blocks < row->device->sms ? m->blocks : row->device->sms;
  rules_put(f->measured,
            "%s%" PRIu64 " blocks on %u SMs: %" PRIu64 " SMs get one = %.1f %%; %.3g wave, as %s%u fit on one SM",
            rules_prefix_of(row, f->pass).text, m->blocks, row->device->sms, busy, 100 * m->sm_ratio, m->waves,
            m->resident_exact ? "" : "at most ", m->resident_blocks);
  diagnose_fill_advice(row, f->pass, f->advice);
  return true;
}

/* Idle share of the slots over all waves; within the first wave, of the SMs while the busiest one works its blocks
 * off. */
static double uneven_share(const struct diagnose_row *row, uint32_t pass) {
  const struct pass_metrics *m = &row->metrics->pass[pass];
  double waste = 0;
  if (m->waves > 1) waste = m->tail_waste_ratio;
  if (m->waves <= 1 && m->sm_blocks_max > 1)
    waste = 1 - (double)m->blocks / ((double)m->sm_blocks_max * row->device->sms);
  return waste >= TAIL_WASTE_MIN ? waste : 0;
}

static void put_uneven_sms(const struct diagnose_row *row, const struct finding *f, const struct pass_metrics *m,
                           char out[FINDING_TEXT_MAX]) {
  const uint64_t most = m->sm_blocks_max, sms = row->device->sms, busiest = m->blocks - (most - 1) * sms;
  rules_put(out,
            "%s%" PRIu64 " blocks on %" PRIu64 " SMs: %" PRIu64 " SMs carry %" PRIu64 " blocks, the other %" PRIu64
            " carry %" PRIu64 " (mean %.2f)",
            rules_prefix_of(row, f->pass).text, m->blocks, sms, busiest, most, sms - busiest, most - 1,
            (double)m->blocks / (double)sms);
}

bool diagnose_tail_wave(const struct diagnose_row *row, struct finding *f) {
  if (!rules_worst_pass(row, uneven_share, &f->pass)) return false;
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  const uint64_t unit = m->waves > 1 ? slots_of(row, f->pass) : row->device->sms;
  const uint64_t below = m->blocks / unit * unit;
  if (m->waves > 1)
    rules_put(f->measured,
              "%s%" PRIu64 " blocks = %.2f waves of %" PRIu64 ": the last wave has %" PRIu64
              " blocks; %.0f %% of all slots stay idle",
              rules_prefix_of(row, f->pass).text, m->blocks, m->waves, unit, m->tail_blocks,
              100 * m->tail_waste_ratio);
  else
    put_uneven_sms(row, f, m, f->measured);
  rules_put(f->advice,
            "choose tiles or splits that give %" PRIu64 " or %" PRIu64 " blocks, or run %" PRIu64
            " persistent blocks that share the work",
            below, below + unit, unit);
  return true;
}

/* ---- what a block takes -------------------------------------------------------------------------------------- */

static uint64_t smem_of(const struct pass_record *p) {
  return (uint64_t)p->pass.dynamic_smem_bytes + p->facts.static_smem_bytes;
}

/* Full GPUs only: below one wave more resident blocks would find no work. */
static double occupancy_lack(const struct diagnose_row *row, uint32_t pass, const char *resource) {
  const struct pass_metrics *m = &row->metrics->pass[pass];
  const bool limits = strcmp(m->limited_by, resource) == 0 && m->resident_blocks > 0;
  return limits && m->waves >= 1 && m->occupancy_ratio < LOW_OCCUPANCY_MAX ? 1 - m->occupancy_ratio : 0;
}
static double smem_lack(const struct diagnose_row *row, uint32_t pass) {
  return occupancy_lack(row, pass, "shared memory");
}
static double register_lack(const struct diagnose_row *row, uint32_t pass) {
  return occupancy_lack(row, pass, "registers");
}

bool diagnose_smem_limits_occupancy(const struct diagnose_row *row, struct finding *f) {
  if (!rules_worst_pass(row, smem_lack, &f->pass)) return false;
  const struct pass_record *p = &row->record->pass[f->pass];
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  uint64_t bytes = smem_of(p) / SMEM_STEP_BYTES * SMEM_STEP_BYTES;
  while (bytes > 0 && occupancy_of(row->device, m->threads_per_block, 0, bytes).resident_blocks <= m->resident_blocks)
    bytes -= SMEM_STEP_BYTES;
  rules_put(f->measured, "%s%" PRIu64 " bytes of shared memory per block: blocks per SM %u, occupancy %.0f %%",
            rules_prefix_of(row, f->pass).text, smem_of(p), m->resident_blocks, 100 * m->occupancy_ratio);
  diagnose_append_occupancy(row, f->pass, f->measured);
  rules_put(f->advice,
            "need at most %" PRIu64 " bytes per block (fewer stages, smaller tiles, 16-bit staging) to fit %u blocks",
            bytes, m->resident_blocks + 1);
  return true;
}

bool diagnose_registers_limit_occupancy(const struct diagnose_row *row, struct finding *f) {
  if (!rules_worst_pass(row, register_lack, &f->pass)) return false;
  const struct pass_record *p = &row->record->pass[f->pass];
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  uint32_t registers = p->facts.registers;
  while (registers > 1 &&
         occupancy_of(row->device, m->threads_per_block, registers, 0).resident_blocks <= m->resident_blocks)
    registers--;
  rules_put(f->measured, "%s%u registers per thread x %u threads: blocks per SM %u, occupancy %.0f %%",
            rules_prefix_of(row, f->pass).text, p->facts.registers, m->threads_per_block, m->resident_blocks,
            100 * m->occupancy_ratio);
  diagnose_append_occupancy(row, f->pass, f->measured);
  rules_put(
      f->advice,
      "need at most %u registers per thread to fit %u blocks: __launch_bounds__(%u, %u), or less state per thread",
      registers, m->resident_blocks + 1, m->threads_per_block, m->resident_blocks + 1);
  return true;
}

/* Local memory that is there but never touched costs nothing: where a profiler counted, its count decides. */
static double local_memory(const struct diagnose_row *row, uint32_t pass) {
  const struct counter_values *counted = rules_counted_pass(row, pass);
  const bool knows = counted != NULL && isfinite(counted->local_bytes);
  return knows ? counted->local_bytes : row->record->pass[pass].facts.local_bytes;
}

/* A compiler's figure that is not known leaves the traffic alone to speak. */
static void put_spills(const struct diagnose_row *row, uint32_t pass, char out[FINDING_TEXT_MAX]) {
  const struct pass_facts *facts = &row->record->pass[pass].facts;
  const struct counter_values *counted = rules_counted_pass(row, pass);
  rules_put(out, "%s", rules_prefix_of(row, pass).text);
  if (facts->local_bytes > 0)
    rules_append(out, "%u bytes of local memory per thread at %u registers per thread", facts->local_bytes,
                 facts->registers);
  if (counted != NULL && isfinite(counted->local_bytes))
    rules_append(out, "%s%.3g MB of local memory loaded and stored per launch (%s)",
                 facts->local_bytes > 0 ? "; " : "", counted->local_bytes / 1e6, rules_source_of(row).text);
}

bool diagnose_spills(const struct diagnose_row *row, struct finding *f) {
  if (!rules_worst_pass(row, local_memory, &f->pass)) return false;
  const uint32_t bytes = row->record->pass[f->pass].facts.local_bytes;
  char fewer[48] = "";
  put_spills(row, f->pass, f->measured);
  if (bytes > 0) snprintf(fewer, sizeof fewer, "at least %u ", (bytes + 3) / 4);
  rules_put(f->advice,
            "keep %sfewer 32-bit values alive per thread (smaller tile per thread, constant indices into "
            "unrolled arrays), or allow more registers in __launch_bounds__",
            fewer);
  return true;
}

static double idle_share(const struct diagnose_row *row, uint32_t pass) {
  const double idle = row->metrics->pass[pass].idle_thread_ratio;
  return idle >= IDLE_THREADS_MIN ? idle : 0;
}

bool diagnose_idle_threads(const struct diagnose_row *row, struct finding *f) {
  if (!rules_worst_pass(row, idle_share, &f->pass)) return false;
  const struct pass_metrics *m = &row->metrics->pass[f->pass];
  const uint32_t busy = row->record->pass[f->pass].pass.row_threads, sharers = m->threads_per_block / busy;
  rules_put(f->measured, "%s%u of %u threads hold a query row in the compute phase: %.0f %% wait",
            rules_prefix_of(row, f->pass).text, busy, m->threads_per_block, 100 * m->idle_thread_ratio);
  if (sharers > 1)
    rules_put(f->advice, "let %u threads share a query row (each takes D/%u, shuffle reduction) or launch %u threads",
              sharers, sharers, busy);
  else
    rules_put(f->advice, "launch %u threads, or spread the rows over all %u", busy, m->threads_per_block);
  return true;
}
