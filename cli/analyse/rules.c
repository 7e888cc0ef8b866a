/* What the rules share: writing a finding, picking the pass and the mode that it is about. */
#include "cli/analyse/rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/analyse/balance.h"
#include "cli/analyse/gain.h"

/* A pass with less of the row's time than this is not worth a finding. */
static const double PASS_SHARE_MIN = 0.10;

struct rules_text rules_count(uint64_t count, const char *noun) {
  struct rules_text out;
  snprintf(out.text, sizeof out.text, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
  return out;
}

struct rules_text rules_us(double us) {
  struct rules_text out;
  snprintf(out.text, sizeof out.text, "%.*f us", us >= 99.95 ? 0 : us >= 9.995 ? 1 : 2, us);
  return out;
}

static uint32_t passes_of(const struct record *r) {
  return r->plan.pass_count < ATTN_PASSES_MAX ? r->plan.pass_count : ATTN_PASSES_MAX;
}

void rules_prepare(struct rules_row *row) {
  const struct record *r = row->record;
  row->mode = record_mode(r);
  row->now_us = row->metrics->mode[row->mode].known ? r->time[row->mode].us.median : (double)NAN;
  row->counted = row->metrics->counted.known && r->status == CELL_ok ? &row->metrics->counted : NULL;
  snprintf(row->source, sizeof row->source, "measured by %s, %s", r->counters.source, r->counters.cache);
  row->pass_count = passes_of(r);
  row->slowest_pass = rules_slowest_pass(r);
}

void rules_promise(const struct rules_row *row, double new_us, struct finding *f) {
  f->gain_ratio = row->now_us / new_us;
  f->saves_us = row->now_us - new_us;
}

void rules_promise_nothing(struct finding *f) {
  f->change = CHANGE_none;
  f->gain_ratio = f->saves_us = NAN;
}

double rules_headroom(const struct rules_row *row, enum finding_change change) {
  const double *share = row->roofs.share[row->mode];
  const bool other_pipe = change == CHANGE_tensor || change == CHANGE_wgmma;
  /* A hot launch that finds its tensors in L2 needs none of DRAM, whatever a profiler counted; and bytes that were
   * counted are more than the shape's where reads are not shared. */
  const bool any_bytes = metrics_stays_in_l2(row->device, row->mode, row->metrics->bytes) ||
                         (change == CHANGE_share_reads && row->roofs.counted[PIPE_DRAM]);
  double most = 0;
  if (!row->roofs.known || !isfinite(row->now_us)) return INFINITY;
  if (!any_bytes) most = fmax(most, share[PIPE_DRAM]);
  if (!other_pipe) most = fmax(most, share[PIPE_PRODUCTS]);
  return most > 0 ? fmax(1, 1 / most) : (double)INFINITY;
}

void rules_cap_promise(const struct rules_row *row, struct finding *f) {
  const double headroom = rules_headroom(row, f->change);
  if (f->gain_ratio > headroom) rules_promise(row, row->now_us / headroom, f);
}

void rules_promise_ratio(const struct rules_row *row, double ratio, struct finding *f) {
  const double fixed_us = fmin(row->now_us, gain_fixed_us(row->mode, row->pass_count));
  rules_promise(row, fixed_us + (row->now_us - fixed_us) / ratio, f);
  if (!isfinite(row->now_us)) f->gain_ratio = ratio;
}

const struct counter_values *rules_counted_pass(const struct rules_row *row, uint32_t pass) {
  const bool known = row->counted != NULL && pass < row->record->counters.pass_count;
  return known ? &row->record->counters.pass[pass].values : NULL;
}

/* Share of the row's time that a pass takes; 1 when passes were not timed apart. Beside passes that work on query
 * rows, one that only prepares memory has none: its grid is no reason for anything. */
static double share_of(const struct record *r, uint32_t pass) {
  const uint32_t passes = passes_of(r);
  if (passes > 1 && r->pass[pass].pass.row_threads == 0) return 0;
  double total_us = 0;
  for (uint32_t i = 0; i < passes; i++) total_us += r->pass[i].cold_us;
  const bool timed = r->status == CELL_ok && passes > 1 && isfinite(total_us) && total_us > 0;
  return timed ? r->pass[pass].cold_us / total_us : 1;
}

double rules_pass_share(const struct rules_row *row, uint32_t pass) { return share_of(row->record, pass); }

uint32_t rules_slowest_pass(const struct record *r) {
  uint32_t slowest = 0;
  for (uint32_t i = 1; i < passes_of(r); i++)
    if (share_of(r, i) > share_of(r, slowest)) slowest = i;
  return slowest;
}

bool rules_worst_pass(const struct rules_row *row, double (*badness)(const struct rules_row *, uint32_t),
                      uint32_t *pass) {
  double worst = 0;
  for (uint32_t i = 0; i < row->pass_count; i++) {
    const double here = rules_pass_share(row, i) >= PASS_SHARE_MIN ? badness(row, i) : 0;
    if (here > worst) worst = here, *pass = i;
  }
  return worst > 0;
}

struct rules_text rules_prefix_of(const struct rules_row *row, uint32_t pass) {
  struct rules_text prefix = {""};
  if (row->pass_count > 1) snprintf(prefix.text, sizeof prefix.text, "pass %s: ", row->record->pass[pass].name);
  return prefix;
}

/* Hot first: a cold sample carries a constant that hides growth. */
bool rules_pair_mode(const struct rules_row *row, enum time_mode *mode) {
  if (row->narrow == NULL) return false;
  const struct mode_metrics *narrow = row->narrow_metrics->mode, *wide = row->wide_metrics->mode;
  *mode = narrow[TIME_HOT].known && wide[TIME_HOT].known ? TIME_HOT : TIME_COLD;
  return narrow[*mode].known && wide[*mode].known;
}

double rules_tiles_in_a_row(const struct rules_row *row, uint32_t pass) {
  const struct pass_metrics *m = &row->metrics->pass[pass];
  const struct balance_tiles item = balance_tiles_of(row->record, pass);
  const double splits = row->record->plan.splits > 1 ? row->record->plan.splits : 1;
  const double waves = m->waves > 1 ? ceil(m->waves) : 1;
  /* Where items differ, most of them have fewer tiles than the longest one has parts. */
  const double mean =
      metrics_cuts_anywhere(&row->record->pass[pass].pass) ? item.mean / splits : ceil(item.mean / splits);
  const double tiles = fmax(ceil(item.most / splits), ceil(mean * waves * m->rounds));
  return tiles * scaling_serial_pairs(row->shape, m);
}

uint64_t rules_slots(const struct rules_row *row, uint32_t pass) {
  return (uint64_t)row->device->sms * row->metrics->pass[pass].resident_blocks;
}
