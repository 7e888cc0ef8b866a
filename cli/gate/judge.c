/* The verdict of one row, from the observations of both sides. */
#include "cli/gate/judge.h"

#include <math.h>
#include <stdio.h>

#include "cli/gate/student.h"

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
static const uint64_t protecting = 0x8 | 0x20 | 0x40 | 0x80;

const char *judge_unfit(const struct compare_settings *settings, const struct compare_evidence *seen) {
  const uint64_t reasons = seen->base.throttle_reasons | seen->now.throttle_reasons;
  if (has_broken(&seen->base) || has_broken(&seen->now)) return "a process has no time";
  if (has_lost_clocks(seen)) return "the SM clock is known on one side only";
  if (seen->base.is_single || seen->now.is_single) return "a process took a single sample";
  if ((reasons & protecting) != 0) return "the device was throttled for its temperature or its power supply";
  if (settings->must_settle && (seen->base.is_unsettled || seen->now.is_unsettled))
    return "the times were still drifting when they were taken";
  return NULL;
}

static void summarise(const struct compare_observations *seen, struct compare_side *out) {
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

/* What is compared between the sides. */
enum quantity { TIME, CLOCK, CYCLES, QUANTITY_COUNT };

static double log_of(const struct compare_observations *seen, uint32_t i, enum quantity quantity) {
  const double own_us = seen->us[i] - seen->overhead_us;
  const double us = is_time(seen->us[i]) && is_time(own_us) ? log(own_us) : (double)NAN;
  const double mhz = is_time(seen->mhz[i]) ? log(seen->mhz[i]) : (double)NAN;
  /* A clock counts only where there is a time beside it. */
  return quantity == TIME ? us : quantity == CYCLES ? us + mhz : mhz + 0 * us;
}

static size_t take_logs(const struct compare_observations *seen, enum quantity quantity, double out[RANK_MAX]) {
  size_t count = 0;
  for (uint32_t i = 0; i < seen->count; ++i) {
    const double value = log_of(seen, i, quantity);
    if (!isnan(value)) out[count++] = value;
  }
  return count;
}

static const struct rank_interval no_interval = {NAN, NAN, NAN, 0};

/* Everything a verdict is made of. */
struct estimates {
  struct rank_interval of[QUANTITY_COUNT]; /* NAN, which no comparison holds for, where clocks are not known */
  size_t fewest;                           /* processes of the smaller side, or pairs, behind the time */
  double luck;                             /* the chance of this slowdown when the true one is below the bound */
};

static size_t take_differences(const struct compare_evidence *seen, enum quantity quantity, double out[RANK_MAX]) {
  size_t pairs = 0;
  for (uint32_t i = 0; i < seen->base.count && i < seen->now.count; ++i) {
    const double value = log_of(&seen->now, i, quantity) - log_of(&seen->base, i, quantity);
    if (!isnan(value)) out[pairs++] = value;
  }
  return pairs;
}

static struct rank_interval paired(const struct compare_evidence *seen, enum quantity quantity, size_t *pairs) {
  double difference[RANK_MAX];
  *pairs = take_differences(seen, quantity, difference);
  return *pairs > 0 ? rank_paired(difference, *pairs, COMPARE_CONFIDENCE) : no_interval;
}

/* *fewest: processes of the smaller side that the estimate rests on. */
static struct rank_interval interval(const struct compare_settings *settings, const struct compare_evidence *seen,
                                     enum quantity quantity, size_t *fewest) {
  if (settings->paired) return paired(seen, quantity, fewest);
  double base[RANK_MAX], now[RANK_MAX];
  const size_t bases = take_logs(&seen->base, quantity, base), nows = take_logs(&seen->now, quantity, now);
  *fewest = bases < nows ? bases : nows;
  return *fewest > 0 ? rank_unpaired(base, bases, now, nows, COMPARE_CONFIDENCE) : no_interval;
}

static double line_of(const struct compare_row *row) { return log1p(COMPARE_LINE_RATIO * row->threshold); }
static double bound_of(const struct compare_row *row) { return log1p(COMPARE_BOUND_RATIO * row->threshold); }

static struct estimates estimate(const struct compare_settings *settings, const struct compare_evidence *seen) {
  struct estimates out = {.fewest = 0};
  size_t with_clock;
  out.of[TIME] = interval(settings, seen, TIME, &out.fewest);
  out.of[CLOCK] = interval(settings, seen, CLOCK, &with_clock);
  out.of[CYCLES] = interval(settings, seen, CYCLES, &with_clock);
  /* Clocks of some processes only would compare other processes than the times do. */
  if (with_clock < out.fewest) out.of[CLOCK] = out.of[CYCLES] = no_interval;
  return out;
}

/* The chance of such a mean when the true slowdown is `shift`. */
static double luck_of(const struct compare_settings *settings, const struct compare_evidence *seen, double shift) {
  double base[RANK_MAX], now[RANK_MAX];
  if (settings->paired) return student_paired(now, take_differences(seen, TIME, now), shift);
  const size_t bases = take_logs(&seen->base, TIME, base), nows = take_logs(&seen->now, TIME, now);
  return student_welch(base, bases, now, nows, shift);
}

/* ---- verdict ------------------------------------------------------------------------------------------------- */

/* The threshold whose line lies at the floor, when that is higher. The geometric mean makes it the same both ways. */
static double floor_threshold(const struct compare_settings *settings, const struct compare_row *row) {
  const double off_us = row->event_overhead_us;
  const double around_us = sqrt((row->base.median_us - off_us) * (row->now.median_us - off_us));
  return settings->floor_us[row->mode] / around_us / COMPARE_LINE_RATIO;
}

/* Does the floor, and not what was asked for, let slowdowns pass that nobody means to let pass? */
static bool hides_slowdowns(const struct compare_settings *settings, const struct compare_row *row) {
  const double floor = floor_threshold(settings, row);
  return floor > COMPARE_RAISED_MOST && floor >= row->threshold;
}

static bool is_slower(const struct compare_row *row, const struct rank_interval *seen) {
  return seen->estimate >= line_of(row) && seen->low > bound_of(row);
}

static bool is_faster(const struct compare_row *row, const struct rank_interval *seen) {
  return -seen->estimate >= line_of(row) && -seen->high > bound_of(row);
}

/* Slower in time, not in SM cycles, and not for the noise of reading the clock. */
static bool clock_explains(const struct compare_row *row, const struct estimates *e) {
  const double time = e->of[TIME].estimate, cycles = e->of[CYCLES].estimate;
  return !row->dram_bound && cycles < line_of(row) && time - cycles >= COMPARE_CLOCK_SHARE * time;
}

/* In pairs a clock that is lower on the new side again and again is the new program's doing. */
static bool clock_is_lower(const struct compare_settings *settings, const struct estimates *e) {
  return settings->paired && e->of[CLOCK].high < 0;
}

static bool is_implausible(const struct compare_row *row) {
  const double most = COMPARE_FASTER_MOST * row->least_us;
  return row->least_us < COMPARE_PHYSICAL_SHARE * row->physical_us || row->ratio < 1 / COMPARE_FASTER_MOST ||
         fmin(row->base.median_us, row->now.median_us) > most;
}

/* Is one such among so many rows no surprise (Bonferroni)? */
static bool may_be_luck(const struct compare_settings *settings, const struct estimates *e) {
  return settings->family > 0 && e->luck > COMPARE_FAMILY_ERROR / settings->family;
}

static enum compare_verdict verdict_of(const struct compare_settings *settings, const struct compare_row *row,
                                       const struct estimates *e) {
  const struct rank_interval *time = &e->of[TIME];
  if (is_implausible(row)) return COMPARE_implausible;
  if (e->fewest < (size_t)(settings->paired ? COMPARE_PAIRS_MIN : COMPARE_SIDE_MIN)) return COMPARE_inconclusive;
  if (hides_slowdowns(settings, row)) return COMPARE_inconclusive;
  if (is_slower(row, time)) {
    if (clock_explains(row, e) && !clock_is_lower(settings, e)) return COMPARE_clock;
    return may_be_luck(settings, e) ? COMPARE_inconclusive : COMPARE_regressed;
  }
  const bool faster = is_faster(row, time);
  if (!row->dram_bound && is_slower(row, &e->of[CYCLES]) && !(faster && settings->paired))
    return settings->paired ? COMPARE_cycles : COMPARE_clock;
  if (faster) return COMPARE_improved;
  return time->estimate < line_of(row) && time->high < log1p(row->threshold) ? COMPARE_same : COMPARE_inconclusive;
}

/* ---- how many rounds would decide ---------------------------------------------------------------------------- */

/* --rounds of `attnbench ab`: what does not decide is measured again, and judged over all. */
enum { PAIRED_ROUNDS_MAX = PROCESSES_MAX / 2 };

/* An interval narrows with the square root of the processes. How far the estimate lies from what would have to be
 * excluded says how narrow it must be: from a slowdown of the threshold, or from none. */
static uint32_t rounds_to_decide(const struct compare_row *row, const struct estimates *e, bool paired) {
  const struct rank_interval *time = &e->of[TIME];
  const bool over = time->estimate >= line_of(row);
  const double wide = over ? time->estimate - time->low : time->high - time->estimate;
  const double room = over ? time->estimate - bound_of(row) : log1p(row->threshold) - time->estimate;
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

static void explain_noise(const struct compare_settings *settings, const struct estimates *e,
                          struct compare_row *row) {
  const struct rank_interval *time = &e->of[TIME];
  char rounds[48] = "";
  row->rounds_needed = rounds_to_decide(row, e, settings->paired);
  if (row->rounds_needed > 0) snprintf(rounds, sizeof rounds, "; about %u rounds would decide", row->rounds_needed);
  if (is_slower(row, time)) {
    snprintf(row->reason, sizeof row->reason, "%+.2f %%, which one of %u rows may show by chance%s",
             percent(time->estimate), (unsigned)settings->family, rounds);
    return;
  }
  snprintf(row->reason, sizeof row->reason, "%+.2f %%, but anything from %+.2f %% to %+.2f %% fits%s",
           percent(time->estimate), percent(time->low), percent(time->high), rounds);
}

static void explain_inconclusive(const struct compare_settings *settings, const struct estimates *e,
                                 struct compare_row *row) {
  if (e->fewest < (size_t)(settings->paired ? COMPARE_PAIRS_MIN : COMPARE_SIDE_MIN)) {
    explain_few(settings, e->fewest, row);
  } else if (hides_slowdowns(settings, row)) {
    explain_floor(settings, row);
  } else {
    explain_noise(settings, e, row);
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
static void explain_clock(const struct estimates *e, const char *end, struct compare_row *row) {
  snprintf(row->reason, sizeof row->reason,
           "time %+.2f %%, SM cycles %+.2f %%: the clock was %.0f MHz in the base and is %.0f MHz%s",
           percent(e->of[TIME].estimate), percent(e->of[CYCLES].estimate), row->base.sm_clock_mhz,
           row->now.sm_clock_mhz, end);
}

static void explain_regressed(const struct compare_settings *settings, const struct estimates *e,
                              struct compare_row *row) {
  const struct rank_interval *time = &e->of[TIME];
  if (clock_explains(row, e) && clock_is_lower(settings, e)) {
    explain_clock(e, ", pair by pair: the new kernel draws more power", row);
    return;
  }
  snprintf(row->reason, sizeof row->reason,
           "%+.2f %%, at least %+.2f %% with %.0f %% confidence; estimates from %+.2f %% on fail (threshold %.3g %%)",
           percent(time->estimate), percent(time->low), 100 * row->confidence, percent(line_of(row)),
           100 * row->threshold);
}

static void explain(const struct compare_settings *settings, const struct estimates *e, struct compare_row *row) {
  const struct rank_interval *time = &e->of[TIME];
  row->reason[0] = '\0';
  if (row->verdict == COMPARE_implausible) explain_implausible(row);
  if (row->verdict == COMPARE_inconclusive) explain_inconclusive(settings, e, row);
  if (row->verdict == COMPARE_regressed) explain_regressed(settings, e, row);
  if (row->verdict == COMPARE_cycles) explain_clock(e, "; at equal clocks it is slower", row);
  if (row->verdict == COMPARE_clock) {
    explain_clock(e, settings->paired ? ", without a pattern" : "; measure both at one clock, with attnbench ab",
                  row);
  }
  if (row->verdict == COMPARE_improved) {
    snprintf(row->reason, sizeof row->reason, "%+.2f %%, at most %+.2f %% with %.0f %% confidence%s",
             percent(time->estimate), percent(time->high), 100 * row->confidence,
             -e->of[CYCLES].estimate < line_of(row) ? "; not in SM cycles: the clock rose" : "");
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

static void fill_ratios(const struct estimates *e, struct compare_row *row) {
  const struct rank_interval *time = &e->of[TIME];
  row->ratio = exp(time->estimate);
  row->ci_low = exp(time->low);
  row->ci_high = exp(time->high);
  row->confidence = time->confidence;
  row->cycles_ratio = exp(e->of[CYCLES].estimate);
  row->rounds_needed = 0;
}

void judge_timed(const struct compare_settings *settings, const struct compare_evidence *seen,
                 struct compare_row *row) {
  struct estimates e = estimate(settings, seen);
  const char *unfit = judge_unfit(settings, seen);
  summarise(&seen->base, &row->base);
  summarise(&seen->now, &row->now);
  fill_ratios(&e, row);
  row->least_us = least_of(seen);
  if (e.fewest > 0) row->threshold = fmax(row->threshold, floor_threshold(settings, row));
  e.luck = luck_of(settings, seen, bound_of(row));
  row->verdict = verdict_of(settings, row, &e);
  explain(settings, &e, row);
  if (unfit == NULL || (row->verdict != COMPARE_same && row->verdict != COMPARE_improved)) return;
  row->verdict = COMPARE_inconclusive;
  snprintf(row->reason, sizeof row->reason, "%+.2f %%, but %s", percent(e.of[TIME].estimate), unfit);
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
