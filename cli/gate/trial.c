/* Judges one row of a drawn gate. */
#include "cli/gate/trial.h"

#include <math.h>

#include "cli/base/stats.h"
#include "cli/gate/confirm.h"

/* ---- what can matter ----------------------------------------------------------------------------------------- */

void trial_prepare(double most_slowdown, struct trial_row *row) {
  double shortest = INFINITY, longest = -INFINITY;
  uint32_t clocks = 0;
  for (uint32_t i = 0; i < row->processes; ++i) {
    shortest = fmin(shortest, row->us[0][i]);
    longest = fmax(longest, row->us[0][i]);
    clocks += !isnan(row->mhz[0][i]);
  }
  const double least_us = exp(shortest), most_us = exp(longest) * (1 + most_slowdown);
  const double floor = judge_floor_threshold(row->floor_us, least_us);
  row->has_clocks = clocks > 0;
  row->may_lose_clocks = clocks > 0 && clocks < row->processes;
  row->is_plain = floor <= row->threshold && !judge_hides_slowdowns(floor, row->threshold) &&
                  !judge_is_implausible(least_us + row->overhead_us, row->physical_us, most_us + row->overhead_us,
                                        most_us + row->overhead_us);
  row->limits = judge_limits(row->threshold);
  row->limits.dram_bound = row->dram_bound;
}

/* ---- evidence ------------------------------------------------------------------------------------------------ */

static void append(const struct trial *trial, const struct trial_row *row, unsigned look, const uint8_t *processes,
                   struct judge_logs *out) {
  const bool with_clocks = row->has_clocks && !row->dram_bound;
  for (uint32_t i = 0; i < trial->rounds; ++i) {
    out->us[out->count] = row->us[look][processes[i]];
    out->mhz[out->count++] = with_clocks ? row->mhz[look][processes[i]] : (double)NAN;
  }
}

/* The base of two samples stays what it is; only the new side is measured again. */
static bool takes_base(const struct trial *trial, unsigned look, unsigned looks) {
  return trial->paired || (looks & ((1u << look) - 1)) == 0;
}

static void gather(const struct trial *trial, const struct trial_row *row, unsigned looks, struct judge_logs *base,
                   struct judge_logs *now) {
  base->count = now->count = 0;
  for (unsigned look = 0; look < DRAWS_LOOKS; ++look) {
    if ((looks >> look & 1) == 0) continue;
    if (takes_base(trial, look, looks)) append(trial, row, look, trial->draws->base[look], base);
    append(trial, row, look, trial->draws->now[look], now);
  }
}

static bool has(const struct trial *trial, const uint8_t *processes, uint64_t bits) {
  for (uint32_t i = 0; i < trial->rounds; ++i) {
    if ((bits >> processes[i] & 1) != 0) return true;
  }
  return false;
}

/* Was the clock of a process of one side unknown, and of none of the other? */
static bool loses_clocks(const struct trial *trial, const struct trial_row *row, unsigned looks) {
  bool lost[2] = {false, false};
  for (unsigned look = 0; look < DRAWS_LOOKS; ++look) {
    if ((looks >> look & 1) == 0) continue;
    for (uint32_t i = 0; i < trial->rounds; ++i) {
      lost[0] = lost[0] || isnan(row->mhz[look][trial->draws->base[look][i]]);
      lost[1] = lost[1] || isnan(row->mhz[look][trial->draws->now[look][i]]);
    }
  }
  return lost[0] != lost[1];
}

static bool is_unfit(const struct trial *trial, const struct trial_row *row, unsigned looks) {
  if (looks == 0) return false;
  if (row->is_unfit || (row->may_lose_clocks && loses_clocks(trial, row, looks))) return true;
  for (unsigned look = 0; look < DRAWS_LOOKS && row->protecting != 0; ++look) {
    if ((looks >> look & 1) == 0) continue;
    if (has(trial, trial->draws->base[look], row->protecting)) return true;
    if (has(trial, trial->draws->now[look], row->protecting)) return true;
  }
  return false;
}

/* ---- estimates ----------------------------------------------------------------------------------------------- */

void trial_forget(struct trial_cache *cache) { cache->estimated = cache->sorted[0] = cache->sorted[1] = 0; }

static const struct judge_estimates *estimates_of(const struct trial *trial, const struct trial_row *row,
                                                  unsigned looks, struct trial_cache *cache) {
  if ((cache->estimated >> looks & 1) == 0) {
    struct judge_logs base, now;
    gather(trial, row, looks, &base, &now);
    cache->estimates[looks] = judge_estimate(trial->paired, &base, &now);
    cache->estimated |= UINT32_C(1) << looks;
  }
  return &cache->estimates[looks];
}

static double value_of(const struct trial_row *row, unsigned look, bool with_clock, uint8_t process) {
  return row->us[look][process] + (with_clock ? row->mhz[look][process] : 0);
}

static void sort_look(const struct trial *trial, const struct trial_row *row, bool with_clock, unsigned look,
                      bool with_base, struct rank_sorted *out) {
  for (uint32_t i = 0; i < trial->rounds; ++i) {
    const double base = value_of(row, look, with_clock, trial->draws->base[look][i]),
                 now = value_of(row, look, with_clock, trial->draws->now[look][i]);
    out->now[out->now_count++] = trial->paired ? now - base : now;
    if (with_base && !trial->paired) out->base[out->base_count++] = base;
  }
}

static const struct rank_sorted *sorted_of(const struct trial *trial, const struct trial_row *row, bool with_clock,
                                           unsigned looks, struct trial_cache *cache) {
  struct rank_sorted *out = &(with_clock ? cache->cycles : cache->time)[looks];
  if ((cache->sorted[with_clock] >> looks & 1) != 0) return out;
  cache->sorted[with_clock] |= UINT32_C(1) << looks;
  out->base_count = out->now_count = 0;
  for (unsigned look = 0; look < DRAWS_LOOKS; ++look) {
    if ((looks >> look & 1) != 0) sort_look(trial, row, with_clock, look, out->base_count == 0, out);
  }
  rank_sort(out, COMPARE_CONFIDENCE);
  return out;
}

/* ---- verdicts ------------------------------------------------------------------------------------------------ */

static bool may_be_luck(const struct trial *trial, const struct trial_row *row, const struct rank_sorted *time,
                        uint32_t family) {
  if (family == 0) return false;
  const struct student_score score = trial->paired
                                         ? student_paired(time->now, time->now_count)
                                         : student_welch(time->base, time->base_count, time->now, time->now_count);
  return student_may_be_luck(&score, row->limits.bound - trial->shift, COMPARE_FAMILY_ERROR / family);
}

/* Most verdicts need no estimate: whether it lies above or below the lines is told by counting. False where the rule
 * asks for more: the row may be faster, or its clock explains what is seen. */
static bool is_told_by_counting(const struct trial *trial, const struct trial_row *row, unsigned looks,
                                uint32_t family, struct trial_cache *cache, enum compare_verdict *out) {
  const struct judge_limits *limits = &row->limits;
  const double by = trial->shift;
  if (!row->is_plain || row->may_lose_clocks || trial->rounds < COMPARE_PAIRS_MIN) return false;
  const struct rank_sorted *time = sorted_of(trial, row, false, looks, cache);
  const bool reaches = rank_reaches(time, by, limits->line);
  const bool with_clock = row->has_clocks && !row->dram_bound;
  const bool cycles_reach = with_clock && rank_reaches(sorted_of(trial, row, true, looks, cache), by, limits->line);
  if (reaches && rank_low_is_above(time, by, limits->bound)) {
    *out = may_be_luck(trial, row, time, family) ? COMPARE_inconclusive : COMPARE_regressed;
    return !with_clock || cycles_reach;
  }
  *out = !reaches && rank_high_is_below(time, by, limits->threshold) ? COMPARE_same : COMPARE_inconclusive;
  return !cycles_reach && rank_reaches(time, by, -limits->line / 2);
}

static struct judge_estimates shifted(const struct judge_estimates *from, double by) {
  struct judge_estimates out = *from;
  const enum judge_quantity moved[] = {JUDGE_TIME, JUDGE_CYCLES};
  for (unsigned i = 0; i < sizeof moved / sizeof *moved; ++i) {
    out.of[moved[i]].estimate += by;
    out.of[moved[i]].low += by;
    out.of[moved[i]].high += by;
  }
  out.score.mean += by;
  return out;
}

static double take_us(const struct trial_row *row, double by, const struct judge_logs *logs, double *least_us) {
  double us[RANK_MAX];
  for (uint32_t i = 0; i < logs->count; ++i) {
    us[i] = exp(logs->us[i] + by) + row->overhead_us;
    *least_us = fmin(*least_us, us[i]);
  }
  return stats_median(us, logs->count);
}

/* Of a row whose floor or whose limits of plausible times may matter. */
static struct judge_limits limits_of(const struct trial *trial, const struct trial_row *row, unsigned looks) {
  struct judge_logs base, now;
  double least_us = INFINITY;
  gather(trial, row, looks, &base, &now);
  const double base_us = take_us(row, 0, &base, &least_us), now_us = take_us(row, trial->shift, &now, &least_us);
  const double around_us = sqrt((base_us - row->overhead_us) * (now_us - row->overhead_us));
  const double floor = judge_floor_threshold(row->floor_us, around_us);
  struct judge_limits limits = judge_limits(fmax(row->threshold, floor));
  limits.dram_bound = row->dram_bound;
  limits.is_implausible = judge_is_implausible(least_us, row->physical_us, base_us, now_us);
  limits.hides_slowdowns = judge_hides_slowdowns(floor, row->threshold);
  return limits;
}

enum compare_verdict trial_verdict(const struct trial *trial, const struct trial_row *row, unsigned looks,
                                   uint32_t family, struct trial_cache *cache) {
  enum compare_verdict verdict;
  if (!is_told_by_counting(trial, row, looks, family, cache, &verdict)) {
    const struct judge_estimates e = shifted(estimates_of(trial, row, looks, cache), trial->shift);
    const struct judge_limits limits = row->is_plain ? row->limits : limits_of(trial, row, looks);
    verdict = judge_verdict(trial->paired, family, &limits, &e);
  }
  return is_unfit(trial, row, looks) ? judge_verdict_unfit(verdict) : verdict;
}

/* ---- measured again ------------------------------------------------------------------------------------------ */

void trial_start(const struct trial *trial, const struct trial_row *row, uint32_t family, struct trial_cache *cache,
                 struct trial_state *out) {
  *out = (struct trial_state){.verdict = trial_verdict(trial, row, 1, family, cache)};
}

bool trial_wants(const struct trial_state *state) { return confirm_wants_more(state->verdict, state->looks); }

void trial_look(const struct trial *trial, const struct trial_row *row, unsigned look, uint32_t family,
                struct trial_cache *cache, struct trial_state *state) {
  if (state->looks == 0) state->first = state->verdict;
  ++state->looks;
  if (is_unfit(trial, row, state->fresh)) state->fresh = 0;
  state->fresh |= 1u << look;
  const enum compare_verdict fresh = trial_verdict(trial, row, state->fresh, family, cache);
  if (compare_is_alarm(state->first) || is_unfit(trial, row, 1)) {
    state->verdict = fresh;
    return;
  }
  state->verdict = trial_verdict(trial, row, state->fresh | 1, family, cache);
  if (compare_is_alarm(state->verdict) && !compare_is_alarm(fresh)) state->verdict = COMPARE_inconclusive;
}
