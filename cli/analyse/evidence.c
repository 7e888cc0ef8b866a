/* Finds the row that made an advised change. Two settings of one variant count when they differ in that one tunable;
 * two variants, when their plans agree in all that the change does not touch. */
#include "cli/analyse/evidence.h"
#include "cli/analyse/balance.h"
#include "kernels/problem/work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A smaller gain is within measurement error. */
static const double GAIN_MIN = 1.02;
/* Registers per thread of one inner loop inside two kernels. */
static const double SAME_REGISTERS = 0.15;

enum { ROWS_PER_READ = 16, FRAGMENT_ROWS = 16, WARP_THREADS = 32 };

/* ---- variants -------------------------------------------------------------------------------------------------- */

/* The next "key=value" of a spec's tunables; its length, 0 at the end. */
static size_t next_tunable(const char **at) {
  *at += strspn(*at, ",");
  return strcspn(*at, ",");
}

static bool has_tunable(const char *list, const char *wanted, size_t length) {
  for (const char *at = list; next_tunable(&at) > 0; at += next_tunable(&at))
    if (next_tunable(&at) == length && strncmp(at, wanted, length) == 0) return true;
  return false;
}

/* How many of a's tunables b does not have with this value; *key is that of the last. */
static unsigned differing(const char *a, const char *b, const char **key) {
  unsigned count = 0;
  for (const char *at = a; next_tunable(&at) > 0; at += next_tunable(&at)) {
    const size_t length = next_tunable(&at);
    if (has_tunable(b, at, length)) continue;
    *key = at;
    count++;
  }
  return count;
}

static const char *tunables_of(const struct record *r) {
  const char *colon = strchr(r->variant, ':');
  return colon != NULL ? colon + 1 : "";
}

/* One variant, set differently in exactly one tunable: "x:rows=32,vec=1" and "x:vec=1", "x:stages=1" and
 * "x:stages=2". */
static bool differ_in_one_tunable(const struct record *a, const struct record *b) {
  const char *in_a = NULL, *in_b = NULL;
  const unsigned only_a = differing(tunables_of(a), tunables_of(b), &in_a),
                 only_b = differing(tunables_of(b), tunables_of(a), &in_b);
  if (only_a + only_b == 1) return true;
  if (only_a != 1 || only_b != 1) return false;
  const size_t length = strcspn(in_a, "=");
  return strcspn(in_b, "=") == length && strncmp(in_a, in_b, length) == 0;
}

/* ---- plans ----------------------------------------------------------------------------------------------------- */

double evidence_tile_bytes(const struct record *r) {
  const struct attn_plan *plan = &r->plan;
  const uint32_t stages = plan->stages > 0 ? plan->stages : 1;
  const struct attn_problem *problem = &r->attn_case.shape;
  const double kv_bytes = work_row_bytes(problem, ATTN_K) + work_row_bytes(problem, ATTN_V);
  return plan->tile_q * work_row_bytes(problem, ATTN_Q) + (double)stages * plan->tile_kv * kv_bytes;
}

/* Can a thread's registers hold its part of scores (fp32), weights (16 bits) and output (fp32)? */
static bool has_registers_for_all(const struct record *r, const struct pass_record *p) {
  static const double OTHERS = 48; /* fragments of Q, K and V, maxima, sums, addresses */
  const double scores = (double)r->plan.tile_q * r->plan.tile_kv / p->pass.row_threads,
               output = (double)r->plan.tile_q * r->attn_case.shape.Dv / p->pass.row_threads;
  return p->facts.registers >= 1.5 * scores + output + OTHERS;
}

bool evidence_in_registers(const struct record *r) {
  static const double PADDED = 1.25; /* rows padded against bank conflicts, barriers */
  const struct pass_record *p = &r->pass[rules_slowest_pass(r)];
  /* Warps that have no fragment of rows of their own share rows, so each may hold tiles of its own. */
  if (p->pass.row_threads / WARP_THREADS * FRAGMENT_ROWS > r->plan.tile_q) return true;
  /* What the tiles leave of shared memory may then be for merging partial results. */
  if (has_registers_for_all(r, p)) return true;
  return (double)metrics_smem_bytes(p) <= PADDED * evidence_tile_bytes(r);
}

unsigned evidence_covers(const struct record *r) {
  unsigned covers = 0;
  for (uint32_t i = 0; i < r->plan.pass_count && i < ATTN_PASSES_MAX; i++) covers |= metrics_covers(&r->pass[i].pass);
  return covers;
}

/* The properties of a row that changes are recognised by. threads and registers are those of the slowest pass. */
struct form {
  const struct record *record;
  const struct attn_plan *plan;
  const struct pass_metrics *pass;
  const struct device_info *device;
  unsigned covers;
  uint32_t slowest, threads; /* slowest: the pass, by its number */
  double registers, rows_per_thread, busy_threads;
  double uneven_share;
  bool is_vendors, is_tensor;
};

static struct form form_of(const struct record *r, const struct metrics *m, const struct device_info *device) {
  const uint32_t slowest = rules_slowest_pass(r);
  const struct pass_record *main = &r->pass[slowest];
  const uint32_t threads = main->pass.block[0] * main->pass.block[1], rows = main->pass.row_threads;
  return (struct form){.record = r,
                       .plan = &r->plan,
                       .pass = &m->pass[slowest],
                       .device = device,
                       .covers = evidence_covers(r),
                       .slowest = slowest,
                       .threads = threads,
                       .registers = main->facts.registers,
                       .rows_per_thread = (double)r->plan.tile_q / rows,
                       .busy_threads = (double)(rows + main->pass.producer_threads) / threads,
                       .uneven_share = geometry_rules_uneven_share(&r->attn_case.shape, &m->pass[slowest], device),
                       .is_vendors = (evidence_covers(r) & ATTN_COVERS_UNKNOWN) != 0,
                       .is_tensor = r->math == ATTN_MATH_TENSOR || r->math == ATTN_MATH_WGMMA};
}

/* ---- changes --------------------------------------------------------------------------------------------------- */

/* Do at least ROWS_PER_READ rows share a read of K and V in `there` and fewer in `here`, with about as many SMs in
 * use? */
static bool shares_reads(const struct form *here, const struct form *there) {
  const double blocks = (double)here->pass->blocks * here->plan->tile_q / ROWS_PER_READ;
  const bool as_full = there->pass->sm_ratio >= 1 || (double)there->pass->blocks >= blocks;
  return there->plan->tile_q >= ROWS_PER_READ && here->plan->tile_q < ROWS_PER_READ && as_full;
}

/* How unlike the work of the slowest pass's blocks is; 1 where it is not known. */
static double work_ratio(const struct form *form) {
  struct balance balance;
  balance_of(form->record, form->slowest, form->pass, form->device, &balance);
  return balance.ratio;
}

/* Did `there` make the change that is advised to `here`? */
static bool has_made(enum finding_change change, const struct form *here, const struct form *there) {
  switch (change) {
    case CHANGE_grid_bh: return !here->pass->covers_bh && there->pass->covers_bh;
    case CHANGE_splits: return there->plan->splits > here->plan->splits;
    case CHANGE_d_chunks: return (there->covers & ~here->covers & ATTN_COVERS_D) != 0;
    case CHANGE_fewer_rows: return there->plan->tile_q < here->plan->tile_q;
    case CHANGE_more_blocks: return there->pass->blocks > here->pass->blocks;
    case CHANGE_more_resident: return there->pass->resident_blocks > here->pass->resident_blocks;
    case CHANGE_even_waves: return there->uneven_share < here->uneven_share;
    case CHANGE_equal_work: return work_ratio(there) < work_ratio(here);
    case CHANGE_threads_per_row: return there->busy_threads > here->busy_threads;
    case CHANGE_stages: return there->plan->stages > here->plan->stages;
    case CHANGE_share_reads: return shares_reads(here, there);
    case CHANGE_tensor: return there->is_tensor && !here->is_tensor;
    case CHANGE_registers: return !evidence_in_registers(here->record) && evidence_in_registers(there->record);
    case CHANGE_wgmma:
      return here->record->math == ATTN_MATH_TENSOR && (there->record->math == ATTN_MATH_WGMMA || there->is_vendors);
    case CHANGE_none:
    case CHANGE_COUNT: break;
  }
  return false;
}

/* Properties that two variants must have in common, so that their times differ because of the change. */
enum keeps {
  KEEPS_MATH = 1,
  KEEPS_TILES = 2,
  KEEPS_SPLITS = 4,
  KEEPS_STAGES = 8,
  KEEPS_THREADS = 16,
  KEEPS_REGISTERS = 32,
  KEEPS_ROWS_PER_THREAD = 64,
  KEEPS_VARIANT = 128 /* only settings of one variant count */
};

static const unsigned kept_by[CHANGE_COUNT] = {
    [CHANGE_grid_bh] = KEEPS_MATH | KEEPS_SPLITS | KEEPS_STAGES | KEEPS_ROWS_PER_THREAD,
    [CHANGE_splits] = KEEPS_MATH | KEEPS_TILES | KEEPS_STAGES | KEEPS_THREADS | KEEPS_REGISTERS,
    [CHANGE_d_chunks] = KEEPS_MATH,
    [CHANGE_fewer_rows] = KEEPS_VARIANT | KEEPS_SPLITS | KEEPS_STAGES,
    [CHANGE_more_blocks] = KEEPS_VARIANT | KEEPS_TILES | KEEPS_SPLITS | KEEPS_STAGES,
    [CHANGE_more_resident] = KEEPS_VARIANT | KEEPS_TILES | KEEPS_SPLITS,
    [CHANGE_even_waves] = KEEPS_VARIANT | KEEPS_SPLITS | KEEPS_STAGES,
    [CHANGE_equal_work] = KEEPS_VARIANT | KEEPS_TILES | KEEPS_SPLITS | KEEPS_STAGES,
    [CHANGE_threads_per_row] = KEEPS_MATH | KEEPS_TILES | KEEPS_SPLITS | KEEPS_STAGES | KEEPS_THREADS,
    [CHANGE_stages] = KEEPS_MATH | KEEPS_TILES | KEEPS_SPLITS,
    [CHANGE_share_reads] = KEEPS_MATH | KEEPS_SPLITS,
    [CHANGE_tensor] = KEEPS_TILES | KEEPS_SPLITS | KEEPS_STAGES,
    [CHANGE_registers] = KEEPS_MATH | KEEPS_SPLITS,
};

static bool keeps(const struct form *a, const struct form *b, unsigned what) {
  unsigned differ = 0;
  if (a->record->math != b->record->math) differ |= KEEPS_MATH;
  if (a->plan->tile_q != b->plan->tile_q || a->plan->tile_kv != b->plan->tile_kv) differ |= KEEPS_TILES;
  if (a->plan->splits != b->plan->splits) differ |= KEEPS_SPLITS;
  if (a->plan->stages != b->plan->stages) differ |= KEEPS_STAGES;
  if (a->threads != b->threads) differ |= KEEPS_THREADS;
  if (fabs(a->registers - b->registers) > SAME_REGISTERS * fmax(a->registers, b->registers))
    differ |= KEEPS_REGISTERS;
  if (a->rows_per_thread > b->rows_per_thread || a->rows_per_thread < b->rows_per_thread)
    differ |= KEEPS_ROWS_PER_THREAD;
  return (differ & what) == 0;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static bool made_change(const struct rules_row *row, const struct record *there, const struct metrics *metrics,
                        enum finding_change change, unsigned kept) {
  const struct record *here = row->record;
  if (there == here || there->plan.pass_count == 0 || here->plan.pass_count == 0) return false;
  if (strcmp(there->attn_case.key, here->attn_case.key) != 0 || there->injected.done) return false;
  const struct form from = form_of(here, row->metrics, row->device), to = form_of(there, metrics, row->device);
  if ((to.is_vendors && change != CHANGE_wgmma) || !has_made(change, &from, &to)) return false;
  if (strcmp(there->variant_name, here->variant_name) == 0) return differ_in_one_tunable(here, there);
  return (kept & KEEPS_VARIANT) == 0 && keeps(&from, &to, kept);
}

static void look_in(const struct diagnose_evidence *rows, const struct rules_row *row, enum finding_change change,
                    unsigned kept, struct evidence *best) {
  const enum time_mode mode = row->mode;
  for (size_t i = 0; i < rows->count; i++) {
    const struct record *there = &rows->records[i];
    if (rows == &row->here && !record_same_card(there, row->record)) continue;
    if (!rows->metrics[i].mode[mode].known || !made_change(row, there, &rows->metrics[i], change, kept)) continue;
    const double ratio = row->now_us / there->time[mode].us.median;
    if (best->known && ratio <= best->gain_ratio) continue;
    *best =
        (struct evidence){.known = true, .record = there, .source = rows->source, .mode = mode, .gain_ratio = ratio};
  }
}

/* Rows of the row's own report take precedence over rows of another run. */
static struct evidence look_up(const struct rules_row *row, enum finding_change change, unsigned kept) {
  struct evidence best = {.known = false};
  if (change == CHANGE_none || !isfinite(row->now_us)) return best;
  look_in(&row->here, row, change, kept, &best);
  if (!best.known) look_in(&row->elsewhere, row, change, kept, &best);
  return best;
}

struct evidence evidence_of(const struct rules_row *row, enum finding_change change) {
  return look_up(row, change, kept_by[change]);
}

struct evidence evidence_of_pipe(const struct rules_row *row, enum finding_change change) {
  return look_up(row, change, KEEPS_MATH);
}

bool evidence_supports(const struct rules_row *row, struct finding *f) {
  const struct evidence found = evidence_of(row, f->change);
  if (!found.known) return true;
  if (found.gain_ratio < GAIN_MIN) return false;
  const double there_us = found.record->time[found.mode].us.median;
  rules_append(f->advice, "; measured on this case%s%s: %s takes %s, %.3gx faster",
               found.source != NULL ? " in " : "", found.source != NULL ? found.source : "", found.record->variant,
               rules_us(there_us).text, found.gain_ratio);
  f->evidence_file = found.source;
  snprintf(f->evidence, sizeof f->evidence, "%s", found.record->variant);
  rules_promise(row, there_us, f);
  return true;
}
