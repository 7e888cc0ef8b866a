/* Groups rows that differ in B and H alone, and compares their times with the waves that they need. */
#include "cli/analyse/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A record with its place in the caller's array, so that groups can be made by sorting. */
struct member {
  const struct record *record;
  size_t index;
};

static int order_u64(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

uint64_t scaling_pairs(const struct attn_shape *s) { return (uint64_t)s->B * s->Hq; }

/* 0 exactly when both rows belong to one group. */
static int order_groups(const struct record *left, const struct record *right) {
  const struct attn_shape *a = &left->attn_case.shape, *b = &right->attn_case.shape;
  const int by_variant = strcmp(left->variant, right->variant), by_card = strcmp(left->card, right->card);
  const int orders[] = {
      order_u64(a->Sq, b->Sq),         order_u64(a->Skv, b->Skv),
      order_u64(a->D, b->D),           order_u64(a->dtype, b->dtype),
      order_u64(a->causal, b->causal), order_u64((uint64_t)a->Hq * b->Hkv, (uint64_t)b->Hq * a->Hkv),
      order_u64(a->lse, b->lse)};
  if (by_variant != 0) return by_variant;
  if (by_card != 0) return by_card;
  for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
    if (orders[i] != 0) return orders[i];
  return 0;
}

/* By group, then by B*Hq, then as given: a group's first member is its smallest, its last its widest. */
static int order_members(const void *left, const void *right) {
  const struct member *a = left, *b = right;
  const int by_group = order_groups(a->record, b->record);
  if (by_group != 0) return by_group;
  const int by_pairs =
      order_u64(scaling_pairs(&a->record->attn_case.shape), scaling_pairs(&b->record->attn_case.shape));
  return by_pairs != 0 ? by_pairs : order_u64(a->index, b->index);
}

static size_t collect_members(const struct record *records, size_t count, struct member *members) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++)
    if (records[i].status == CELL_ok || records[i].status == CELL_planned)
      members[n++] = (struct member){&records[i], i};
  qsort(members, n, sizeof *members, order_members);
  return n;
}

static const struct member *pick_baseline(const struct member *group, size_t size,
                                          const struct sweep_baseline *want) {
  for (size_t i = 0; want != NULL && i < size; i++) {
    const struct attn_shape *s = &group[i].record->attn_case.shape;
    if ((want->B == 0 || want->B == s->B) && (want->Hq == 0 || want->Hq == s->Hq)) return &group[i];
  }
  return &group[0];
}

double scaling_serial_pairs(const struct attn_shape *s, const struct pass_metrics *p) {
  return (p->covers_b ? 1.0 : s->B) * (p->covers_h ? 1.0 : s->Hq);
}

/* Items that the busiest block works off in sequence: more than 1 in a persistent grid, which folds B, H and Q into
 * one axis and starts a wave of blocks that loop over it. */
static double rounds_of(const struct record *r, const struct pass_metrics *m, uint32_t pass) {
  const unsigned folded = ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q;
  const struct attn_shape *s = &r->attn_case.shape;
  if ((r->pass[pass].pass.covers[0] & folded) != folded || r->plan.tile_q == 0 || m->blocks == 0) return 1;
  const double items = (double)scaling_pairs(s) * ceil((double)s->Sq / r->plan.tile_q);
  return fmax(1, ceil(items / (double)m->blocks));
}

struct cost {
  double waves, load; /* NAN for a row without passes */
};

static struct cost cost_of(const struct record *r, const struct metrics *m) {
  struct cost cost = {0, 0};
  for (uint32_t i = 0; i < r->plan.pass_count && i < ATTN_PASSES_MAX; i++) {
    const double serial = scaling_serial_pairs(&r->attn_case.shape, &m->pass[i]) * rounds_of(r, &m->pass[i], i);
    cost.waves += ceil(m->pass[i].waves) * serial;
    cost.load += (double)m->pass[i].sm_blocks_max * serial;
  }
  return r->plan.pass_count > 0 ? cost : (struct cost){NAN, NAN};
}

/* ---- verdicts ------------------------------------------------------------------------------------------------ */

static const double FLAT_TIME_MAX = 1.2, FLAT_WORK_MIN = 2.0;
static const double RESIDUAL_MIN = 0.8, RESIDUAL_MAX = 1.25;

static const struct {
  const char *name, *help;
} verdicts[SCALING_VERDICT_COUNT] = {
#define SCALING_ROW(name_, help_) {#name_, help_},
    SCALING_MAP(SCALING_ROW)
#undef SCALING_ROW
};

const char *scaling_verdict_name(enum scaling_verdict verdict) { return verdicts[verdict].name; }
const char *scaling_verdict_help(enum scaling_verdict verdict) { return verdicts[verdict].help; }

/* What a verdict is made from. */
struct growth {
  double time, work, waves, load; /* ratios; waves and load NAN without passes */
  bool has_grid, serial, was_full;
};

static bool is_near(double a, double b) { return a >= RESIDUAL_MIN * b && a <= RESIDUAL_MAX * b; }

static bool is_flat(const struct growth *g) { return g->work >= FLAT_WORK_MIN && g->time < FLAT_TIME_MAX; }
static bool is_sublinear(const struct growth *g) { return !g->has_grid && g->time < RESIDUAL_MIN * g->work; }
static bool is_linear_time(const struct growth *g) { return !g->has_grid && is_near(g->time, g->work); }
static bool is_superlinear(const struct growth *g) { return !g->has_grid; }
static bool is_less(const struct growth *g) { return g->time < RESIDUAL_MIN * g->waves; }
static bool is_serial(const struct growth *g) { return g->serial && g->time <= RESIDUAL_MAX * g->waves; }
static bool is_linear(const struct growth *g) {
  return g->was_full && g->time <= RESIDUAL_MAX * g->waves && is_near(g->time, g->work);
}
static bool is_as_waves(const struct growth *g) { return g->time <= RESIDUAL_MAX * g->waves; }
static bool is_as_load(const struct growth *g) { return g->time <= RESIDUAL_MAX * g->load; }

/* The first row that applies is the verdict. */
static enum scaling_verdict verdict_of(const struct growth *g) {
  static const struct {
    bool (*applies)(const struct growth *);
    enum scaling_verdict verdict;
  } order[] = {{is_flat, SCALING_flat},
               {is_sublinear, SCALING_sublinear_without_grid},
               {is_linear_time, SCALING_linear_without_grid},
               {is_superlinear, SCALING_superlinear_without_grid},
               {is_less, SCALING_less_than_waves},
               {is_serial, SCALING_serial},
               {is_linear, SCALING_linear},
               {is_as_waves, SCALING_as_waves},
               {is_as_load, SCALING_as_blocks_per_sm}};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    if (order[i].applies(g)) return order[i].verdict;
  return SCALING_worse_than_waves;
}

static bool has_serial_loop(const struct record *r, const struct metrics *m) {
  for (uint32_t i = 0; i < r->plan.pass_count && i < ATTN_PASSES_MAX; i++)
    if (scaling_serial_pairs(&r->attn_case.shape, &m->pass[i]) > 1) return true;
  return false;
}

/* Hot first: a cold sample carries a constant that hides growth. */
static void judge(const struct record *r, const struct metrics *m, const struct metrics *base_metrics,
                  struct scaling *out) {
  static const enum time_mode preference[] = {TIME_HOT, TIME_COLD};
  /* Growth is told from less work to more. */
  if (out->is_baseline || !(out->work_ratio > 1)) return;
  for (size_t i = 0; i < sizeof preference / sizeof *preference && out->verdict == SCALING_none; i++) {
    if (!isfinite(out->time_ratio[preference[i]])) continue;
    const struct growth growth = {.time = out->time_ratio[preference[i]],
                                  .work = out->work_ratio,
                                  .waves = out->wave_ratio,
                                  .load = out->load_ratio,
                                  .has_grid = isfinite(out->wave_ratio),
                                  .serial = has_serial_loop(r, m),
                                  .was_full = base_metrics->pass[0].waves >= 1};
    out->verdict = verdict_of(&growth);
    out->verdict_mode = preference[i];
  }
}

static double full_pairs(const struct record *r, const struct metrics *m) {
  const struct pass_metrics *p = &m->pass[0];
  const bool grows = r->plan.pass_count > 0 && p->covers_bh && p->waves > 0;
  return grows ? ceil((double)scaling_pairs(&r->attn_case.shape) / p->waves) : NAN;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static void fill_time(const struct record *r, const struct metrics *m, const struct record *base,
                      const struct metrics *base_metrics, struct scaling *out) {
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; mode++) {
    const bool known = m->mode[mode].known && base_metrics->mode[mode].known;
    out->time_ratio[mode] = known ? r->time[mode].us.median / base->time[mode].us.median : NAN;
    out->residual[mode] = out->time_ratio[mode] / out->wave_ratio;
    out->us_per_bh[mode] =
        m->mode[mode].known ? r->time[mode].us.median / (double)scaling_pairs(&r->attn_case.shape) : NAN;
    out->timed = out->timed || known;
  }
}

static void fill_row(const struct record *records, const struct metrics *metrics, size_t index, size_t base,
                     size_t widest, struct scaling *out) {
  const struct cost cost = cost_of(&records[index], &metrics[index]);
  const struct cost base_cost = cost_of(&records[base], &metrics[base]);
  *out = (struct scaling){.known = true,
                          .is_baseline = index == base,
                          .baseline_index = base,
                          .widest_index = widest,
                          .bh_ratio = (double)scaling_pairs(&records[index].attn_case.shape) /
                                      (double)scaling_pairs(&records[base].attn_case.shape),
                          .work_ratio = metrics[index].flops / metrics[base].flops,
                          .wave_ratio = cost.waves / base_cost.waves,
                          .load_ratio = cost.load / base_cost.load,
                          .full_bh = full_pairs(&records[index], &metrics[index])};
  memcpy(out->baseline_key, records[base].attn_case.key, sizeof out->baseline_key);
  fill_time(&records[index], &metrics[index], &records[base], &metrics[base], out);
  judge(&records[index], &metrics[index], &metrics[base], out);
}

struct status scaling_of(const struct record *records, const struct metrics *metrics, size_t count,
                         const struct sweep_baseline *baseline, struct scaling *out) {
  for (size_t i = 0; i < count; i++) out[i] = (struct scaling){.known = false};
  if (count == 0) return status_ok();
  struct member *members = calloc(count, sizeof *members);
  if (members == NULL)
    return status_make(STATUS_MEMORY, "scaling: no memory to group %zu rows; split the sweep into smaller files",
                       count);

  const size_t n = collect_members(records, count, members);
  for (size_t start = 0, end; start < n; start = end) {
    for (end = start + 1; end < n && order_groups(members[start].record, members[end].record) == 0;) end++;
    if (end - start < 2) continue;
    const size_t base = pick_baseline(&members[start], end - start, baseline)->index;
    for (size_t i = start; i < end; i++)
      fill_row(records, metrics, members[i].index, base, members[end - 1].index, &out[members[i].index]);
  }
  free(members);
  return status_ok();
}
