/* Holds the time of a row against each limit that is known, and names the one that explains it. */
#include "cli/analyse/bound_by.h"

#include <inttypes.h>
#include <math.h>

#include "cli/analyse/gain.h"
#include "cli/analyse/rules.h"
#include "cli/base/text.h"
#include "kernels/problem/work.h"

/* A draw of this part of the limit is at the limit: the driver's regulation stays a little below it. */
static const double POWER_AT_LIMIT = 0.95;

static const struct {
  const char *name, *help;
} kinds[BOUND_COUNT] = {
#define BOUND_ROW(name, help) {#name, help},
    BOUND_BY_MAP(BOUND_ROW)
#undef BOUND_ROW
};

const char *bound_by_name(uint32_t kind) { return kind < BOUND_COUNT ? kinds[kind].name : NULL; }
const char *bound_by_help(uint32_t kind) { return kind < BOUND_COUNT ? kinds[kind].help : NULL; }
double bound_by_share_min(void) { return finding_limits.near_roof_min; }

/* ---- what is compared ------------------------------------------------------------------------------------------ */

static const enum bound_kind kind_of_pipe[PIPE_COUNT] = {[PIPE_DRAM] = BOUND_bytes,
                                                         [PIPE_PRODUCTS] = BOUND_products,
                                                         [PIPE_EX2] = BOUND_exponentials,
                                                         [PIPE_L2] = BOUND_l2,
                                                         [PIPE_SHARED] = BOUND_shared};

struct facts {
  struct rules_row row;
  const struct time_record *time;
  double share[PIPE_COUNT];          /* of the pipes of an SM: on the SMs that have a block; NAN: not known */
  enum roofs_pipe order[PIPE_COUNT]; /* the known ones, largest share first */
  size_t count;
  double fixed_us;
  double power_limit_w, clock_lost; /* NAN: not known */
};

/* The part of the SMs that have a block of the pass that takes most of the time; 1 where it is not known. */
static double sms_in_use(const struct rules_row *row) {
  const double ratio = row->pass_count > 0 ? row->metrics->pass[row->slowest_pass].sm_ratio : 1;
  return ratio > 0 ? ratio : 1;
}

static void order_pipes(struct facts *facts) {
  for (enum roofs_pipe pipe = 0; pipe < PIPE_COUNT; pipe++) {
    size_t at = facts->count;
    if (!(facts->share[pipe] > 0)) continue;
    for (; at > 0 && facts->share[facts->order[at - 1]] < facts->share[pipe]; at--)
      facts->order[at] = facts->order[at - 1];
    facts->order[at] = pipe;
    facts->count++;
  }
}

/* The steady time where there is one: its clock and its power are those that the kernel keeps. */
static bool gather(const struct record *record, const struct metrics *metrics, const struct device_info *device,
                   double power_limit_w, struct facts *out) {
  *out = (struct facts){
      .row = {.record = record, .shape = &record->attn_case.shape, .metrics = metrics, .device = device},
      .power_limit_w = power_limit_w};
  struct rules_row *row = &out->row;
  roofs_of(record, metrics, device, &row->roofs);
  rules_prepare(row);
  if (metrics->mode[TIME_STEADY].known) row->mode = TIME_STEADY;
  if (!row->roofs.known || !metrics->mode[row->mode].known) return false;
  out->time = &record->time[row->mode];
  row->now_us = out->time->us.median;
  for (enum roofs_pipe pipe = 0; pipe < PIPE_COUNT; pipe++) {
    const bool is_of_sm = pipe == PIPE_PRODUCTS || pipe == PIPE_EX2 || pipe == PIPE_SHARED;
    out->share[pipe] = row->roofs.share[row->mode][pipe] / (is_of_sm ? sms_in_use(row) : 1);
  }
  /* What a profiler counted with its caches flushed is nothing to a launch that finds its tensors in L2. */
  if (metrics_stays_in_l2(device, row->mode, metrics->bytes)) out->share[PIPE_DRAM] = NAN;
  order_pipes(out);
  out->fixed_us = gain_fixed_us(row->mode, row->pass_count);
  out->clock_lost = 1 - out->time->sm_clock_mhz / device->sm_clock_max_mhz;
  return true;
}

/* ---- texts ----------------------------------------------------------------------------------------------------- */

static void append_pipe(const struct facts *facts, enum roofs_pipe pipe, char out[BOUND_BY_TEXT_MAX]) {
  static const char *const names[PIPE_COUNT] = {
      [PIPE_DRAM] = "DRAM", [PIPE_EX2] = "exponentials", [PIPE_L2] = "L2", [PIPE_SHARED] = "shared memory"};
  const char *name = pipe == PIPE_PRODUCTS ? roofs_pipe_name(&facts->row.roofs, pipe) : names[pipe];
  text_append(out, BOUND_BY_TEXT_MAX, "%s %.*f %%%s", name, facts->share[pipe] < 0.01 ? 2 : 0,
              100 * facts->share[pipe], facts->row.roofs.counted[pipe] ? " (counted)" : "");
}

/* "wgmma 87 %, exponentials 52 %, L2 20 %" from the first-th on. */
static void append_pipes(const struct facts *facts, size_t first, char out[BOUND_BY_TEXT_MAX]) {
  for (size_t i = first; i < facts->count; i++) {
    if (i > first) text_append(out, BOUND_BY_TEXT_MAX, ", ");
    append_pipe(facts, facts->order[i], out);
  }
}

/* " at 1755 of 1980 MHz, on 64 of 132 SMs", as far as it is known and needed. The measured clock can be above the
 * highest by rounding. */
static void append_where(const struct facts *facts, char out[BOUND_BY_TEXT_MAX]) {
  const struct device_info *device = facts->row.device;
  const double sms = sms_in_use(&facts->row) * device->sms;
  if (facts->time->sm_clock_mhz > 0)
    text_append(out, BOUND_BY_TEXT_MAX, " at %.0f of %.0f MHz",
                fmin(facts->time->sm_clock_mhz, device->sm_clock_max_mhz), device->sm_clock_max_mhz);
  if (sms < device->sms) text_append(out, BOUND_BY_TEXT_MAX, ", on %.0f of %" PRIu32 " SMs", sms, device->sms);
}

/* ---- limits, in the order in which they are asked -------------------------------------------------------------- */

static bool is_near(const struct facts *facts) {
  return facts->count > 0 && facts->share[facts->order[0]] >= bound_by_share_min();
}

static void put_pipe(const struct facts *facts, struct bound_by *out) {
  const enum roofs_pipe pipe = facts->order[0];
  out->limit = kind_of_pipe[pipe];
  out->ratio = facts->share[pipe];
  append_pipe(facts, pipe, out->text);
  append_where(facts, out->text);
  if (facts->count > 1) text_append(out->text, BOUND_BY_TEXT_MAX, "; then ");
  append_pipes(facts, 1, out->text);
}

/* DRAM has a clock of its own: a lower one of the SMs takes nothing from it. */
static bool is_bytes(const struct facts *facts, struct bound_by *out) {
  if (!is_near(facts) || facts->order[0] != PIPE_DRAM) return false;
  put_pipe(facts, out);
  return true;
}

/* Only of a steady time: its energy was counted from begin to end. What the driver says of power and its reasons
 * during a burst is of the second before it. */
static bool is_power(const struct facts *facts, struct bound_by *out) {
  const double drawn = facts->time->power_w / facts->power_limit_w;
  const bool at_limit = facts->power_limit_w > 0 && drawn >= POWER_AT_LIMIT;
  if (facts->row.mode != TIME_STEADY || !at_limit || !(facts->clock_lost >= finding_limits.clock_lost_min))
    return false;
  out->limit = BOUND_power;
  out->ratio = drawn;
  text_append(out->text, BOUND_BY_TEXT_MAX, "power, %.0f of %.0f W, holds the clock", facts->time->power_w,
              facts->power_limit_w);
  append_where(facts, out->text);
  if (facts->count > 0) text_append(out->text, BOUND_BY_TEXT_MAX, "; there ");
  append_pipes(facts, 0, out->text);
  return true;
}

static bool is_pipe(const struct facts *facts, struct bound_by *out) {
  if (!is_near(facts)) return false;
  put_pipe(facts, out);
  return true;
}

static bool is_launch(const struct facts *facts, struct bound_by *out) {
  out->ratio = fmin(1, facts->fixed_us / facts->row.now_us);
  if (out->ratio < bound_by_share_min()) return false;
  const uint32_t launches = facts->row.pass_count > 0 ? facts->row.pass_count : 1;
  out->limit = BOUND_launch;
  text_append(out->text, BOUND_BY_TEXT_MAX,
              "%s for %" PRIu32 " %s, where launch, first load and last store take %s; ",
              rules_us(facts->row.now_us).text, launches, launches == 1 ? "launch" : "launches",
              rules_us(facts->fixed_us).text);
  append_pipes(facts, 0, out->text);
  return true;
}

/* When no block and no item waits for another one, the time is that of the longest block. Blocks whose tiles are not
 * known may loop over items. */
static bool is_chain(const struct facts *facts, struct bound_by *out) {
  const struct rules_row *row = &facts->row;
  const struct pass_metrics *pass = &row->metrics->pass[row->slowest_pass];
  const bool has_slots = pass->blocks <= row->device->sms || (pass->resident_exact && pass->waves <= 1);
  const bool has_tiles = row->record->plan.tile_q > 0 && row->record->plan.tile_kv > 0;
  if (row->pass_count == 0 || !has_tiles || !has_slots || pass->items_per_block > 1) return false;
  const double work_us = (row->now_us - facts->fixed_us) * rules_pass_share(row, row->slowest_pass);
  const double tiles = rules_tiles_in_a_row(row, row->slowest_pass);
  out->limit = BOUND_chain;
  out->ratio = work_us / row->now_us;
  const uint64_t sms = (uint64_t)round(sms_in_use(row) * row->device->sms);
  text_append(out->text, BOUND_BY_TEXT_MAX, "a chain of %s: %s in a row, %.0f clocks each; %s%s at once on %s; ",
              rules_us(work_us).text, rules_count((uint64_t)tiles, "K/V tile").text,
              work_us / tiles * metrics_clock_mhz(facts->time, row->device), pass->blocks > 1 ? "all " : "",
              rules_count(pass->blocks, "block").text, rules_count(sms, "SM").text);
  append_pipes(facts, 0, out->text);
  return true;
}

static void put_none(const struct facts *facts, struct bound_by *out) {
  out->limit = BOUND_none;
  out->ratio = facts->count > 0 ? facts->share[facts->order[0]] : (double)NAN;
  text_append(out->text, BOUND_BY_TEXT_MAX, "no limit reaches %.0f %%: ", 100 * bound_by_share_min());
  append_pipes(facts, 0, out->text);
  append_where(facts, out->text);
}

void bound_by_of(const struct record *record, const struct metrics *metrics, const struct device_info *device,
                 double power_limit_w, struct bound_by *out) {
  static bool (*const limits[])(const struct facts *, struct bound_by *) = {is_bytes, is_power, is_pipe, is_launch,
                                                                            is_chain};
  struct facts facts;
  *out = (struct bound_by){.known = gather(record, metrics, device, power_limit_w, &facts), .ratio = NAN};
  if (!out->known) return;
  out->mode = facts.row.mode;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    if (limits[i](&facts, out)) return;
  put_none(&facts, out);
}
