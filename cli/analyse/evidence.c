/* Finds the row that made an advised change. Two settings of one variant count when they differ in that one tunable;
 * two variants, when their plans agree in all that the change does not touch. */
#include "cli/analyse/evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Less than this is not told apart from none. */
static const double GAIN_MIN = 1.02;
/* Registers per thread of one inner loop inside two kernels. */
static const double SAME_REGISTERS = 0.15;

enum { ROWS_PER_READ = 16 };

/* ---- variants ----------------------------------------------------------------------------------------------------
 */

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

/* ---- plans -------------------------------------------------------------------------------------------------------
 */

static uint32_t slowest(const struct record *r) {
  uint32_t pass = 0;
  for (uint32_t i = 1; i < r->plan.pass_count && i < ATTN_PASSES_MAX; i++)
    if (r->pass[i].cold_us > r->pass[pass].cold_us) pass = i;
  return pass;
}
static const struct attn_pass *main_pass(const struct record *r) { return &r->pass[slowest(r)].pass; }
static uint32_t threads_of(const struct record *r) { return main_pass(r)->block[0] * main_pass(r)->block[1]; }
static double busy_threads(const struct record *r) {
  return (double)(main_pass(r)->row_threads + main_pass(r)->producer_threads) / threads_of(r);
}
static double rows_per_thread(const struct record *r) { return (double)r->plan.tile_q / main_pass(r)->row_threads; }
static unsigned covers_of(const struct record *r) {
  unsigned covers = 0;
  for (uint32_t i = 0; i < r->plan.pass_count && i < ATTN_PASSES_MAX; i++)
    for (int axis = 0; axis < 3; axis++) covers |= r->pass[i].pass.covers[axis];
  return covers;
}
static bool is_vendors(const struct record *r) { return (covers_of(r) & ATTN_COVERS_UNKNOWN) != 0; }
static bool is_tensor(const struct record *r) { return r->math == ATTN_MATH_TENSOR || r->math == ATTN_MATH_WGMMA; }
double evidence_tile_bytes(const struct record *r) {
  const struct attn_plan *plan = &r->plan;
  const uint32_t stages = plan->stages > 0 ? plan->stages : 1;
  return (double)(plan->tile_q + 2 * stages * plan->tile_kv) * r->attn_case.shape.D *
         attn_dtype_bytes(r->attn_case.shape.dtype);
}

bool evidence_in_registers(const struct record *r) {
  static const double PADDED = 1.25; /* rows padded against bank conflicts, barriers */
  const struct pass_record *p = &r->pass[slowest(r)];
  return (double)p->pass.dynamic_smem_bytes + p->facts.static_smem_bytes <= PADDED * evidence_tile_bytes(r);
}

static bool same_registers(const struct record *a, const struct record *b) {
  const double here = a->pass[slowest(a)].facts.registers, there = b->pass[slowest(b)].facts.registers;
  return fabs(here - there) <= SAME_REGISTERS * fmax(here, there);
}

enum keeps {
  KEEPS_MATH = 1,
  KEEPS_TILES = 2,
  KEEPS_SPLITS = 4,
  KEEPS_STAGES = 8,
  KEEPS_THREADS = 16,
  KEEPS_REGISTERS = 32,
  KEEPS_ROWS_PER_THREAD = 64,
  KEEPS_VARIANT = 128
};

static bool keeps(const struct record *a, const struct record *b, unsigned what) {
  const struct attn_plan *p = &a->plan, *q = &b->plan;
  return (!(what & KEEPS_MATH) || a->math == b->math) &&
         (!(what & KEEPS_TILES) || (p->tile_q == q->tile_q && p->tile_kv == q->tile_kv)) &&
         (!(what & KEEPS_SPLITS) || p->splits == q->splits) && (!(what & KEEPS_STAGES) || p->stages == q->stages) &&
         (!(what & KEEPS_THREADS) || threads_of(a) == threads_of(b)) &&
         (!(what & KEEPS_REGISTERS) || same_registers(a, b)) &&
         (!(what & KEEPS_ROWS_PER_THREAD) ||
          !(rows_per_thread(a) > rows_per_thread(b)) == !(rows_per_thread(a) < rows_per_thread(b)));
}

/* Did `there` make the change that is advised to `here`? */
struct pair {
  const struct record *here, *there;
  const struct pass_metrics *here_pass, *there_pass;
};
static bool covers_bh(const struct pair *p) { return !p->here_pass->covers_bh && p->there_pass->covers_bh; }
static bool more_splits(const struct pair *p) { return p->there->plan.splits > p->here->plan.splits; }
static bool d_on_grid(const struct pair *p) {
  return ((covers_of(p->there) & ~covers_of(p->here)) & ATTN_COVERS_D) != 0;
}
static bool fewer_rows(const struct pair *p) { return p->there->plan.tile_q < p->here->plan.tile_q; }
static bool more_blocks(const struct pair *p) { return p->there_pass->blocks > p->here_pass->blocks; }
static bool more_resident(const struct pair *p) {
  return p->there_pass->resident_blocks > p->here_pass->resident_blocks;
}
static bool busier_threads(const struct pair *p) { return busy_threads(p->there) > busy_threads(p->here); }
static bool more_stages(const struct pair *p) { return p->there->plan.stages > p->here->plan.stages; }
static bool shares_reads(const struct pair *p) {
  const double blocks = (double)p->here_pass->blocks * p->here->plan.tile_q / ROWS_PER_READ;
  const bool as_full = p->there_pass->sm_ratio >= 1 || (double)p->there_pass->blocks >= blocks;
  return p->there->plan.tile_q >= ROWS_PER_READ && p->here->plan.tile_q < ROWS_PER_READ && as_full;
}
static bool on_tensor(const struct pair *p) { return is_tensor(p->there) && !is_tensor(p->here); }
static bool in_registers(const struct pair *p) {
  return !evidence_in_registers(p->here) && evidence_in_registers(p->there);
}
static bool on_wgmma(const struct pair *p) {
  return p->here->math == ATTN_MATH_TENSOR && (p->there->math == ATTN_MATH_WGMMA || is_vendors(p->there));
}

static const struct {
  bool (*made)(const struct pair *);
  unsigned keeps; /* KEEPS_VARIANT: only settings of one variant count */
} changes[CHANGE_COUNT] = {
    [CHANGE_grid_bh] = {covers_bh, KEEPS_MATH | KEEPS_SPLITS | KEEPS_STAGES | KEEPS_ROWS_PER_THREAD},
    [CHANGE_splits] = {more_splits, KEEPS_MATH | KEEPS_TILES | KEEPS_STAGES | KEEPS_THREADS | KEEPS_REGISTERS},
    [CHANGE_d_chunks] = {d_on_grid, KEEPS_MATH},
    [CHANGE_fewer_rows] = {fewer_rows, KEEPS_VARIANT | KEEPS_SPLITS | KEEPS_STAGES},
    [CHANGE_more_blocks] = {more_blocks, KEEPS_VARIANT | KEEPS_TILES | KEEPS_SPLITS | KEEPS_STAGES},
    [CHANGE_more_resident] = {more_resident, KEEPS_VARIANT | KEEPS_TILES | KEEPS_SPLITS},
    [CHANGE_threads_per_row] = {busier_threads,
                                KEEPS_MATH | KEEPS_TILES | KEEPS_SPLITS | KEEPS_STAGES | KEEPS_THREADS},
    [CHANGE_stages] = {more_stages, KEEPS_MATH | KEEPS_TILES | KEEPS_SPLITS},
    [CHANGE_share_reads] = {shares_reads, KEEPS_MATH | KEEPS_SPLITS},
    [CHANGE_tensor] = {on_tensor, KEEPS_TILES | KEEPS_SPLITS | KEEPS_STAGES},
    [CHANGE_registers] = {in_registers, KEEPS_MATH | KEEPS_SPLITS},
    [CHANGE_wgmma] = {on_wgmma, 0},
};

/* ---- rows --------------------------------------------------------------------------------------------------------
 */

static bool made_change(const struct rules_row *row, const struct record *there, const struct metrics *metrics,
                        enum finding_change change) {
  const struct record *here = row->record;
  const struct pair pair = {here, there, &row->metrics->pass[slowest(here)], &metrics->pass[slowest(there)]};
  if (there == here || there->plan.pass_count == 0 || here->plan.pass_count == 0) return false;
  if (strcmp(there->attn_case.key, here->attn_case.key) != 0 || there->injected.done) return false;
  if (is_vendors(there) && change != CHANGE_wgmma) return false;
  const bool one_variant = strcmp(there->variant_name, here->variant_name) == 0;
  if (one_variant ? !differ_in_one_tunable(here, there) : (changes[change].keeps & KEEPS_VARIANT) != 0) return false;
  return (one_variant || keeps(here, there, changes[change].keeps)) && changes[change].made(&pair);
}

static void look_in(const struct diagnose_evidence *rows, const struct rules_row *row, enum finding_change change,
                    struct evidence *best) {
  enum time_mode mode;
  const double here_us = rules_time_us(row, &mode);
  for (size_t i = 0; i < rows->count; i++) {
    const struct record *there = &rows->records[i];
    if (rows == &row->here && !record_same_card(there, row->record)) continue;
    if (!rows->metrics[i].mode[mode].known || !made_change(row, there, &rows->metrics[i], change)) continue;
    const double ratio = here_us / there->time[mode].us.median;
    if (best->known && ratio <= best->gain_ratio) continue;
    *best =
        (struct evidence){.known = true, .record = there, .source = rows->source, .mode = mode, .gain_ratio = ratio};
  }
}

/* What was measured beside the row comes before what another run measured. */
struct evidence evidence_of(const struct rules_row *row, enum finding_change change) {
  struct evidence best = {.known = false};
  enum time_mode mode;
  if (changes[change].made == NULL || !isfinite(rules_time_us(row, &mode))) return best;
  look_in(&row->here, row, change, &best);
  if (!best.known) look_in(&row->elsewhere, row, change, &best);
  return best;
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
