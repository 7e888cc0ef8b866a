/* Groups rows of one kernel that differ in B and H alone, and compares their times with the waves that they need. */
#include "cli/analyse/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/sorting.h"

/* A record with its place in the caller's array, so that groups can be made by sorting. */
struct member {
  const struct record *record;
  size_t index;
};

uint64_t scaling_pairs(const struct attn_problem *s) { return (uint64_t)s->B * s->Hq; }

/* 0 exactly when both rows belong to one group. */
static int order_groups(const struct record *left, const struct record *right) {
  const struct attn_problem *a = &left->attn_case.shape, *b = &right->attn_case.shape;
  return SORTING_FIRST(strcmp(left->variant, right->variant),
                       strcmp(left->picked, right->picked), /* two kernels do not scale from one to the other */
                       strcmp(left->card, right->card), SORTING_ORDER(a->Sq, b->Sq), SORTING_ORDER(a->Skv, b->Skv),
                       SORTING_ORDER(a->D, b->D), axes_compare_traits(a, b),
                       SORTING_ORDER((uint64_t)a->Hq * b->Hkv, (uint64_t)b->Hq * a->Hkv));
}

/* By group, then by B*Hq, then as given: a group's first member is its smallest, its last its widest. */
static int order_members(const void *left, const void *right) {
  const struct member *a = left, *b = right;
  const uint64_t one = scaling_pairs(&a->record->attn_case.shape), other = scaling_pairs(&b->record->attn_case.shape);
  return SORTING_FIRST(order_groups(a->record, b->record), SORTING_ORDER(one, other),
                       SORTING_ORDER(a->index, b->index));
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
    const struct attn_problem *s = &group[i].record->attn_case.shape;
    if ((want->B == 0 || want->B == s->B) && (want->Hq == 0 || want->Hq == s->Hq)) return &group[i];
  }
  return &group[0];
}

double scaling_serial_pairs(const struct attn_problem *s, const struct pass_metrics *p) {
  return (p->covers_b ? 1.0 : s->B) * (p->covers_h ? 1.0 : s->Hq);
}

/* How long the busiest block takes, in q tiles with all their keys: rows of a group have the same keys, of which a
 * split has its part. */
static double length_of(const struct record *r, const struct pass_metrics *m, uint32_t pass) {
  const bool is_split = (metrics_covers(&r->pass[pass].pass) & ATTN_COVERS_SPLIT) != 0 && r->plan.splits > 1;
  return m->rounds / (is_split ? r->plan.splits : 1);
}

struct cost {
  double waves, load; /* NAN for a row without passes */
  bool is_serial;     /* a block loops over (batch, head) pairs */
};

static struct cost cost_of(const struct record *r, const struct metrics *m) {
  struct cost cost = {0};
  for (uint32_t i = 0; i < r->plan.pass_count && i < ATTN_PASSES_MAX; i++) {
    const double pairs = scaling_serial_pairs(&r->attn_case.shape, &m->pass[i]);
    const double serial = pairs * length_of(r, &m->pass[i], i);
    cost.is_serial = cost.is_serial || pairs > 1;
    cost.waves += ceil(m->pass[i].waves) * serial;
    cost.load += (double)m->pass[i].sm_blocks_max * serial;
  }
  return r->plan.pass_count > 0 ? cost : (struct cost){.waves = NAN, .load = NAN};
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

const char *scaling_verdict_name(uint32_t verdict) {
  return verdict < SCALING_VERDICT_COUNT ? verdicts[verdict].name : NULL;
}
const char *scaling_verdict_help(enum scaling_verdict verdict) { return verdicts[verdict].help; }

static bool is_less(double growth, double expected) { return growth < RESIDUAL_MIN * expected; }
static bool is_at_most(double growth, double expected) { return growth <= RESIDUAL_MAX * expected; }
static bool is_near(double growth, double expected) {
  return !is_less(growth, expected) && is_at_most(growth, expected);
}

/* The verdict for `time`, the time ratio of the row. `was_full`: the baseline filled the GPU. */
static enum scaling_verdict verdict_of(const struct scaling *s, double time, bool is_serial, bool was_full) {
  const bool has_grid = isfinite(s->wave_ratio);
  if (s->work_ratio >= FLAT_WORK_MIN && time < FLAT_TIME_MAX) return SCALING_flat;
  if (!has_grid && is_less(time, s->work_ratio)) return SCALING_sublinear_without_grid;
  if (!has_grid)
    return is_at_most(time, s->work_ratio) ? SCALING_linear_without_grid : SCALING_superlinear_without_grid;
  if (is_less(time, s->wave_ratio)) return SCALING_less_than_waves;
  if (!is_at_most(time, s->wave_ratio))
    return is_at_most(time, s->load_ratio) ? SCALING_as_blocks_per_sm : SCALING_worse_than_waves;
  if (is_serial) return SCALING_serial;
  return was_full && is_near(time, s->work_ratio) ? SCALING_linear : SCALING_as_waves;
}

static double full_pairs(const struct record *r, const struct metrics *m) {
  const struct pass_metrics *p = metrics_of_main_pass(r, m);
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
  /* Hot first: a cold sample carries a constant that hides growth. */
  out->verdict_mode = isfinite(out->time_ratio[TIME_HOT]) ? TIME_HOT : TIME_COLD;
  const double time = out->time_ratio[out->verdict_mode];
  /* Growth is told from less work to more. */
  if (index != base && out->work_ratio > 1 && isfinite(time))
    out->verdict =
        verdict_of(out, time, cost.is_serial, metrics_of_main_pass(&records[base], &metrics[base])->waves >= 1);
}

struct status scaling_of(const struct record *records, const struct metrics *metrics, size_t count,
                         const struct sweep_baseline *baseline, struct scaling *out) {
  for (size_t i = 0; i < count; i++) out[i] = (struct scaling){.known = false};
  if (count == 0) return status_ok();
  OWNED_ARRAY(struct member, members, count, "rows to be grouped; split the sweep into smaller files");
  const size_t n = collect_members(records, count, members);
  for (size_t start = 0, end; start < n; start = end) {
    for (end = start + 1; end < n && order_groups(members[start].record, members[end].record) == 0;) end++;
    if (end - start < 2) continue;
    const size_t base = pick_baseline(&members[start], end - start, baseline)->index;
    for (size_t i = start; i < end; i++)
      fill_row(records, metrics, members[i].index, base, members[end - 1].index, &out[members[i].index]);
  }
  return status_ok();
}
