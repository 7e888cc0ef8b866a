/* The verdict of one row, from the observations of both sides. */
#include "cli/gate/judge.h"

#include <math.h>
#include <stdio.h>

/* All comparing is done on logarithms, where slower and faster are mirror images. */

/* ---- evidence ------------------------------------------------------------------------------------------------ */

bool judge_is_timed(const struct record *record, enum time_mode mode) {
  return record != NULL && record->status == CELL_ok && (record->time[mode].done || record->process[mode].count > 0);
}

void judge_observe_one(double us, double mhz, struct compare_observations *out) {
  if (out->count == RANK_MAX) return;
  out->us[out->count] = us;
  out->mhz[out->count++] = mhz;
}

void judge_observe(const struct record *record, enum time_mode mode, struct compare_observations *out) {
  const struct process_record *process = &record->process[mode];
  const struct time_record *time = &record->time[mode];
  for (uint32_t i = 0; i < process->count; ++i) {
    judge_observe_one(process->median_us[i], process->sm_clock_mhz[i], out);
    out->throttle_reasons |= process->throttle_reasons[i];
  }
  if (process->count == 0) judge_observe_one(time->us.median, time->sm_clock_mhz, out);
  out->throttle_reasons |= time->throttle_reasons;
  out->is_unsettled = out->is_unsettled || !time->settled;
  out->is_single = out->is_single || time->us.n < 2;
}

void judge_observe_row(const struct compare_row *row, double overhead_us, struct compare_evidence *out) {
  *out = (struct compare_evidence){.base = {.overhead_us = overhead_us}, .now = {.overhead_us = overhead_us}};
  judge_observe(row->base.record, row->mode, &out->base);
  judge_observe(row->now.record, row->mode, &out->now);
}

/* A time of 0 (below the timer's resolution) or NAN is no observation. */
static bool is_time(double us) { return isfinite(us) && us > 0; }

static bool has_broken(const struct compare_observations *seen) {
  for (uint32_t i = 0; i < seen->count; ++i) {
    if (!is_time(seen->us[i])) return true;
  }
  return false;
}

static uint32_t clocks_of(const struct compare_observations *seen) {
  uint32_t known = 0;
  for (uint32_t i = 0; i < seen->count; ++i) known += is_time(seen->mhz[i]);
  return known;
}

/* Clocks of all processes of one side, but not of the other: cycles cannot be compared, though they were measured. */
static bool has_lost_clocks(const struct compare_evidence *seen) {
  const bool base = clocks_of(&seen->base) == seen->base.count, now = clocks_of(&seen->now) == seen->now.count;
  return base != now;
}

/* NVML's bits of a device that protects itself: hardware and thermal slowdown, power brake. A power cap is no fault:
 * it is what a kernel that draws much power meets every time. */
const uint64_t judge_protecting = 0x8 | 0x20 | 0x40 | 0x80;

const char *judge_unfit(const struct compare_settings *settings, const struct compare_evidence *seen) {
  const uint64_t reasons = seen->base.throttle_reasons | seen->now.throttle_reasons;
  if (has_broken(&seen->base) || has_broken(&seen->now)) return "a process has no time";
  if (has_lost_clocks(seen)) return "the SM clock is known on one side only";
  if (seen->base.is_single || seen->now.is_single) return "a process took a single sample";
  if ((reasons & judge_protecting) != 0) return "the device was throttled for its temperature or its power supply";
  if (settings->must_settle && (seen->base.is_unsettled || seen->now.is_unsettled))
    return "the times were still drifting when they were taken";
  return NULL;
}

void judge_summary(const struct compare_observations *seen, struct compare_side *out) {
  double us[RANK_MAX], mhz[RANK_MAX], sum = 0, squares = 0;
  size_t times = 0, clocks = 0;
  for (uint32_t i = 0; i < seen->count; ++i) {
    if (is_time(seen->us[i])) us[times++] = seen->us[i];
    if (is_time(seen->mhz[i])) mhz[clocks++] = seen->mhz[i];
  }
  for (size_t i = 0; i < times; ++i) sum += us[i] / (double)times;
  for (size_t i = 0; i < times; ++i) squares += (us[i] - sum) * (us[i] - sum);
  out->processes = (uint32_t)times;
  out->median_us = stats_median(us, times);
  out->spread_ratio = times > 1 ? sqrt(squares / (double)(times - 1)) / sum : (double)NAN;
  out->sm_clock_mhz = stats_median(mhz, clocks);
}

/* ---- estimates ----------------------------------------------------------------------------------------------- */

static void take_logs(const struct compare_observations *seen, struct judge_logs *out) {
  out->count = seen->count;
  for (uint32_t i = 0; i < seen->count; ++i) {
    const double own_us = seen->us[i] - seen->overhead_us;
    out->us[i] = is_time(seen->us[i]) && is_time(own_us) ? log(own_us) : (double)NAN;
    out->mhz[i] = is_time(seen->mhz[i]) ? log(seen->mhz[i]) : (double)NAN;
  }
}

static double value_of(const struct judge_logs *logs, uint32_t i, enum judge_quantity quantity) {
  /* A clock counts only where there is a time beside it. */
  return quantity == JUDGE_TIME     ? logs->us[i]
         : quantity == JUDGE_CYCLES ? logs->us[i] + logs->mhz[i]
                                    : logs->mhz[i] + 0 * logs->us[i];
}

static size_t take_known(const struct judge_logs *logs, enum judge_quantity quantity, double out[RANK_MAX]) {
  size_t count = 0;
  for (uint32_t i = 0; i < logs->count; ++i) {
    const double value = value_of(logs, i, quantity);
    if (!isnan(value)) out[count++] = value;
  }
  return count;
}

static size_t take_differences(const struct judge_logs *base, const struct judge_logs *now,
                               enum judge_quantity quantity, double out[RANK_MAX]) {
  size_t pairs = 0;
  for (uint32_t i = 0; i < base->count && i < now->count; ++i) {
    const double value = value_of(now, i, quantity) - value_of(base, i, quantity);
    if (!isnan(value)) out[pairs++] = value;
  }
  return pairs;
}

static const struct rank_interval no_interval = {NAN, NAN, NAN, 0};

/* Returns processes of the smaller side, or pairs, that the estimate rests on. *score may be NULL. */
static size_t interval_of_pairs(const struct judge_logs *base, const struct judge_logs *now,
                                enum judge_quantity quantity, struct rank_interval *out,
                                struct student_score *score) {
  double difference[RANK_MAX];
  const size_t pairs = take_differences(base, now, quantity, difference);
  *out = pairs > 0 ? rank_paired(difference, pairs, COMPARE_CONFIDENCE) : no_interval;
  if (score != NULL) *score = student_paired(difference, pairs);
  return pairs;
}

static size_t interval_of_samples(const struct judge_logs *base, const struct judge_logs *now,
                                  enum judge_quantity quantity, struct rank_interval *out,
                                  struct student_score *score) {
  double from[RANK_MAX], to[RANK_MAX];
  const size_t bases = take_known(base, quantity, from), nows = take_known(now, quantity, to);
  const size_t fewest = bases < nows ? bases : nows;
  *out = fewest > 0 ? rank_unpaired(from, bases, to, nows, COMPARE_CONFIDENCE) : no_interval;
  if (score != NULL) *score = student_welch(from, bases, to, nows);
  return fewest;
}

struct judge_estimates judge_estimate(bool paired, const struct judge_logs *base, const struct judge_logs *now) {
  size_t (*const interval)(const struct judge_logs *, const struct judge_logs *, enum judge_quantity,
                           struct rank_interval *, struct student_score *) =
      paired ? interval_of_pairs : interval_of_samples;
  struct judge_estimates out;
  out.fewest = interval(base, now, JUDGE_TIME, &out.of[JUDGE_TIME], &out.score);
  interval(base, now, JUDGE_CLOCK, &out.of[JUDGE_CLOCK], NULL);
  /* Clocks of some processes only would compare other processes than the times do. */
  if (interval(base, now, JUDGE_CYCLES, &out.of[JUDGE_CYCLES], NULL) < out.fewest)
    out.of[JUDGE_CLOCK] = out.of[JUDGE_CYCLES] = no_interval;
  return out;
}

/* ---- verdict ------------------------------------------------------------------------------------------------- */

struct judge_limits judge_limits(double threshold) {
  return (struct judge_limits){.line = log1p(COMPARE_LINE_RATIO * threshold),
                               .bound = log1p(COMPARE_BOUND_RATIO * threshold),
                               .threshold = log1p(threshold)};
}

double judge_floor_threshold(double floor_us, double around_us) { return floor_us / around_us / COMPARE_LINE_RATIO; }

bool judge_hides_slowdowns(double floor_threshold, double asked_threshold) {
  return floor_threshold > COMPARE_RAISED_MOST && floor_threshold >= asked_threshold;
}

bool judge_is_implausible(double least_us, double physical_us, double base_median_us, double now_median_us) {
  return least_us < COMPARE_PHYSICAL_SHARE * physical_us ||
         fmin(base_median_us, now_median_us) > COMPARE_FASTER_MOST * least_us;
}

static bool is_slower(const struct judge_limits *limits, const struct rank_interval *seen) {
  return seen->estimate >= limits->line && seen->low > limits->bound;
}

static bool is_faster(const struct judge_limits *limits, const struct rank_interval *seen) {
  return -seen->estimate >= limits->line && -seen->high > limits->bound;
}

/* Slower in time, not in SM cycles, and not for the noise of reading the clock. */
static bool clock_explains(const struct judge_limits *limits, const struct judge_estimates *e) {
  const double time = e->of[JUDGE_TIME].estimate, cycles = e->of[JUDGE_CYCLES].estimate;
  return !limits->dram_bound && cycles < limits->line && time - cycles >= COMPARE_CLOCK_SHARE * time;
}

/* In pairs a clock that is lower on the new side again and again is the new program's doing. */
static bool clock_is_lower(bool paired, const struct judge_estimates *e) {
  return paired && e->of[JUDGE_CLOCK].high < 0;
}

static bool is_too_fast(const struct rank_interval *time) { return time->estimate < -log(COMPARE_FASTER_MOST); }

/* Is one such among so many rows no surprise (Bonferroni)? */
static bool may_be_luck(uint32_t family, const struct judge_limits *limits, const struct judge_estimates *e) {
  return family > 0 && student_may_be_luck(&e->score, limits->bound, COMPARE_FAMILY_ERROR / family);
}

static enum compare_verdict verdict_of_slower(bool paired, uint32_t family, const struct judge_limits *limits,
                                              const struct judge_estimates *e) {
  if (clock_explains(limits, e) && !clock_is_lower(paired, e)) return COMPARE_clock;
  return may_be_luck(family, limits, e) ? COMPARE_inconclusive : COMPARE_regressed;
}

enum compare_verdict judge_verdict(bool paired, uint32_t family, const struct judge_limits *limits,
                                   const struct judge_estimates *e) {
  const struct rank_interval *time = &e->of[JUDGE_TIME];
  if (limits->is_implausible || is_too_fast(time)) return COMPARE_implausible;
  if (e->fewest < (size_t)(paired ? COMPARE_PAIRS_MIN : COMPARE_SIDE_MIN)) return COMPARE_inconclusive;
  if (limits->hides_slowdowns) return COMPARE_inconclusive;
  if (is_slower(limits, time)) return verdict_of_slower(paired, family, limits, e);
  const bool faster = is_faster(limits, time);
  if (!limits->dram_bound && is_slower(limits, &e->of[JUDGE_CYCLES]) && !(faster && paired))
    return paired ? COMPARE_cycles : COMPARE_clock;
  if (faster) return COMPARE_improved;
  return time->estimate < limits->line && time->high < limits->threshold ? COMPARE_same : COMPARE_inconclusive;
}

enum compare_verdict judge_verdict_unfit(enum compare_verdict verdict) {
  return verdict == COMPARE_same || verdict == COMPARE_improved ? COMPARE_inconclusive : verdict;
}

/* ---- how many rounds would decide ---------------------------------------------------------------------------- */

/* --rounds of `attnbench ab`: what does not decide is measured again, and judged over all. */
enum { PAIRED_ROUNDS_MAX = PROCESSES_MAX / 2 };

/* An interval narrows with the square root of the processes. How far the estimate lies from what would have to be
 * excluded says how narrow it must be: from a slowdown of the threshold, or from none. */
static uint32_t rounds_to_decide(const struct judge_limits *limits, const struct judge_estimates *e, bool paired) {
  const struct rank_interval *time = &e->of[JUDGE_TIME];
  const bool over = time->estimate >= limits->line;
  const double wide = over ? time->estimate - time->low : time->high - time->estimate;
  const double room = over ? time->estimate - limits->bound : limits->threshold - time->estimate;
  const double times = room > 0 ? wide * wide / (room * room) : INFINITY;
  const double rounds = fmax(ceil((double)e->fewest * times), (double)e->fewest + 1);
  if (!(rounds <= PROCESSES_MAX)) return 0;
  return paired && rounds > PAIRED_ROUNDS_MAX ? PAIRED_ROUNDS_MAX : (uint32_t)rounds;
}

/* ---- reasons ------------------------------------------------------------------------------------------------- */

static double percent(double log_ratio) { return 100 * expm1(log_ratio); }

static void explain_few(const struct compare_settings *settings, size_t fewest, struct compare_row *row) {
  row->rounds_needed = settings->paired ? COMPARE_PAIRS_MIN : COMPARE_BASELINE_MIN;
  if (settings->paired) {
    snprintf(row->reason, sizeof row->reason, "only %zu pairs of processes; at least %d are needed", fewest,
             COMPARE_PAIRS_MIN);
  } else {
    snprintf(row->reason, sizeof row->reason,
             "only %u process%s of the base and %u of the new report; at least %d of each are needed, %d are better",
             (unsigned)row->base.processes, row->base.processes == 1 ? "" : "es", (unsigned)row->now.processes,
             COMPARE_SIDE_MIN, COMPARE_BASELINE_MIN);
  }
}

static void explain_floor(const struct compare_settings *settings, struct compare_row *row) {
  snprintf(row->reason, sizeof row->reason,
           "differences below --floor-us %g are ignored, and that is %.0f %% of this time; choose a smaller floor",
           settings->floor_us[row->mode], 100 * settings->floor_us[row->mode] / row->base.median_us);
}

static void explain_noise(const struct compare_settings *settings, const struct judge_limits *limits,
                          const struct judge_estimates *e, struct compare_row *row) {
  const struct rank_interval *time = &e->of[JUDGE_TIME];
  char rounds[48] = "";
  row->rounds_needed = rounds_to_decide(limits, e, settings->paired);
  if (row->rounds_needed > 0) snprintf(rounds, sizeof rounds, "; about %u rounds would decide", row->rounds_needed);
  if (is_slower(limits, time)) {
    snprintf(row->reason, sizeof row->reason, "%+.2f %%, which one of %u rows may show by chance%s",
             percent(time->estimate), (unsigned)settings->family, rounds);
    return;
  }
  snprintf(row->reason, sizeof row->reason, "%+.2f %%, but anything from %+.2f %% to %+.2f %% fits%s",
           percent(time->estimate), percent(time->low), percent(time->high), rounds);
}

static void explain_inconclusive(const struct compare_settings *settings, const struct judge_limits *limits,
                                 const struct judge_estimates *e, struct compare_row *row) {
  if (e->fewest < (size_t)(settings->paired ? COMPARE_PAIRS_MIN : COMPARE_SIDE_MIN)) {
    explain_few(settings, e->fewest, row);
  } else if (limits->hides_slowdowns) {
    explain_floor(settings, row);
  } else {
    explain_noise(settings, limits, e, row);
  }
}

static void explain_implausible(struct compare_row *row) {
  if (row->least_us < COMPARE_PHYSICAL_SHARE * row->physical_us) {
    snprintf(row->reason, sizeof row->reason,
             "a time of %.4g us, but this shape cannot take less than %.4g us on this device", row->least_us,
             row->physical_us);
  } else if (row->ratio >= 1 / COMPARE_FASTER_MOST) {
    snprintf(row->reason, sizeof row->reason, "one process took %.4g us, ten times less than the others",
             row->least_us);
  } else {
    snprintf(row->reason, sizeof row->reason,
             "%.0f times faster than the base; look at both reports, and compare with a new base if it is true",
             1 / row->ratio);
  }
}

/* "time +0.10 %, SM cycles +9.80 %: the clock was 1755 MHz and is 1930 MHz" */
static void explain_clock(const struct judge_estimates *e, const char *end, struct compare_row *row) {
  snprintf(row->reason, sizeof row->reason,
           "time %+.2f %%, SM cycles %+.2f %%: the clock was %.0f MHz in the base and is %.0f MHz%s",
           percent(e->of[JUDGE_TIME].estimate), percent(e->of[JUDGE_CYCLES].estimate), row->base.sm_clock_mhz,
           row->now.sm_clock_mhz, end);
}

static void explain_regressed(const struct compare_settings *settings, const struct judge_limits *limits,
                              const struct judge_estimates *e, struct compare_row *row) {
  const struct rank_interval *time = &e->of[JUDGE_TIME];
  if (clock_explains(limits, e) && clock_is_lower(settings->paired, e)) {
    explain_clock(e, ", pair by pair: the new kernel draws more power", row);
    return;
  }
  snprintf(row->reason, sizeof row->reason,
           "%+.2f %%, at least %+.2f %% with %.0f %% confidence; estimates from %+.2f %% on fail (threshold %.3g %%)",
           percent(time->estimate), percent(time->low), 100 * row->confidence, percent(limits->line),
           100 * row->threshold);
}

static void explain(const struct compare_settings *settings, const struct judge_limits *limits,
                    const struct judge_estimates *e, struct compare_row *row) {
  const struct rank_interval *time = &e->of[JUDGE_TIME];
  row->reason[0] = '\0';
  if (row->verdict == COMPARE_implausible) explain_implausible(row);
  if (row->verdict == COMPARE_inconclusive) explain_inconclusive(settings, limits, e, row);
  if (row->verdict == COMPARE_regressed) explain_regressed(settings, limits, e, row);
  if (row->verdict == COMPARE_cycles) explain_clock(e, "; at equal clocks it is slower", row);
  if (row->verdict == COMPARE_clock) {
    explain_clock(e, settings->paired ? ", without a pattern" : "; measure both at one clock, with attnbench ab",
                  row);
  }
  if (row->verdict == COMPARE_improved) {
    snprintf(row->reason, sizeof row->reason, "%+.2f %%, at most %+.2f %% with %.0f %% confidence%s",
             percent(time->estimate), percent(time->high), 100 * row->confidence,
             -e->of[JUDGE_CYCLES].estimate < limits->line ? "; not in SM cycles: the clock rose" : "");
  }
}

static double least_of(const struct compare_evidence *seen) {
  double least = NAN;
  const struct compare_observations *const sides[] = {&seen->base, &seen->now};
  for (size_t side = 0; side < 2; ++side) {
    for (uint32_t i = 0; i < sides[side]->count; ++i) {
      if (is_time(sides[side]->us[i])) least = fmin(least, sides[side]->us[i]);
    }
  }
  return least;
}

/* ---- the row ------------------------------------------------------------------------------------------------- */

static void fill_ratios(const struct judge_estimates *e, struct compare_row *row) {
  const struct rank_interval *time = &e->of[JUDGE_TIME];
  row->ratio = exp(time->estimate);
  row->ci_low = exp(time->low);
  row->ci_high = exp(time->high);
  row->confidence = time->confidence;
  row->cycles_ratio = exp(e->of[JUDGE_CYCLES].estimate);
  row->rounds_needed = 0;
}

/* Around which times the floor is looked at: the geometric mean makes it the same both ways. */
static double around_us(const struct compare_row *row) {
  return sqrt((row->base.median_us - row->event_overhead_us) * (row->now.median_us - row->event_overhead_us));
}

static struct judge_limits limits_of(double floor_threshold, double asked, const struct compare_row *row) {
  struct judge_limits limits = judge_limits(row->threshold);
  limits.dram_bound = row->dram_bound;
  limits.is_implausible =
      judge_is_implausible(row->least_us, row->physical_us, row->base.median_us, row->now.median_us);
  limits.hides_slowdowns = judge_hides_slowdowns(floor_threshold, asked);
  return limits;
}

void judge_timed(const struct compare_settings *settings, const struct compare_evidence *seen,
                 struct compare_row *row) {
  struct judge_logs base, now;
  take_logs(&seen->base, &base);
  take_logs(&seen->now, &now);
  const struct judge_estimates e = judge_estimate(settings->paired, &base, &now);
  const char *unfit = judge_unfit(settings, seen);
  const double asked = row->threshold;
  judge_summary(&seen->base, &row->base);
  judge_summary(&seen->now, &row->now);
  fill_ratios(&e, row);
  row->least_us = least_of(seen);
  const double floor = judge_floor_threshold(settings->floor_us[row->mode], around_us(row));
  if (e.fewest > 0) row->threshold = fmax(asked, floor);
  const struct judge_limits limits = limits_of(floor, asked, row);
  row->verdict = judge_verdict(settings->paired, settings->family, &limits, &e);
  explain(settings, &limits, &e, row);
  if (unfit == NULL || judge_verdict_unfit(row->verdict) == row->verdict) return;
  row->verdict = judge_verdict_unfit(row->verdict);
  snprintf(row->reason, sizeof row->reason, "%+.2f %%, but %s", percent(e.of[JUDGE_TIME].estimate), unfit);
}

/* ---- rows without two times ---------------------------------------------------------------------------------- */

/* "skipped (D must be 64)" */
static void describe(const struct record *record, char *out, size_t size) {
  const bool timed = record->status == CELL_ok;
  snprintf(out, size, "%s%s%s%s", timed ? "without a time" : cell_status_name(record->status),
           record->reason[0] != '\0' ? " (" : "", record->reason, record->reason[0] != '\0' ? ")" : "");
}

static void judge_lost(struct compare_row *row, const char *before) {
  char text[COMPARE_TEXT_MAX - 80] = "absent";
  if (row->now.record != NULL) describe(row->now.record, text, sizeof text);
  row->verdict = COMPARE_missing;
  snprintf(row->reason, sizeof row->reason, "%s; %s in the new report", before, text);
}

void judge_untimed(struct compare_row *row) {
  const struct record *base = row->base.record, *now = row->now.record;
  const bool had = judge_is_timed(base, row->mode), has = judge_is_timed(now, row->mode);
  char text[COMPARE_TEXT_MAX - 80];
  if (now != NULL && now->status == CELL_wrong) {
    row->verdict = COMPARE_wrong;
    snprintf(row->reason, sizeof row->reason, "%s", now->reason);
  } else if (had) {
    judge_lost(row, "measured in the base");
  } else if (now != NULL && cell_status_exit_code(now->status) != EXIT_CODE_OK) {
    judge_lost(row, base == NULL ? "not in the base" : "not measured in the base either");
  } else if (base == NULL || has) {
    row->verdict = COMPARE_added;
    describe(base != NULL ? base : now, text, sizeof text);
    snprintf(row->reason, sizeof row->reason, "%s%s", base != NULL ? "in the base " : "not in the base; ",
             base == NULL && has ? "measured now" : text);
  } else if (now != NULL && base->status == now->status) {
    row->verdict = COMPARE_untimed;
    describe(now, row->reason, sizeof row->reason);
  } else {
    describe(base, text, sizeof text);
    char before[COMPARE_TEXT_MAX];
    snprintf(before, 160, "in the base %s", text);
    judge_lost(row, before);
  }
}
