/* The verdict of one row, from the observations of both sides. */
#include "cli/gate/judge.h"

#include <math.h>
#include <stdio.h>

/* All comparing is done on logarithms, where slower and faster are mirror images. */

/* ---- evidence ------------------------------------------------------------------------------------------------ */

bool judge_is_timed(const struct record *record, enum time_mode mode) {
  return record != NULL && record->status == CELL_ok && (record->time[mode].done || record->process[mode].count > 0);
}

static void observe_one(double us, double mhz, struct compare_observations *out) {
  if (out->count == RANK_MAX) return;
  out->us[out->count] = us;
  out->mhz[out->count++] = mhz;
}

void judge_observe(const struct record *record, enum time_mode mode, struct compare_observations *out) {
  const struct process_record *process = &record->process[mode];
  for (uint32_t i = 0; i < process->count; ++i) observe_one(process->median_us[i], process->sm_clock_mhz[i], out);
  if (process->count == 0) observe_one(record->time[mode].us.median, record->time[mode].sm_clock_mhz, out);
}

/* A time of 0 (below the timer's resolution) or NAN is no observation. */
static bool is_time(double us) { return isfinite(us) && us > 0; }

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

/* Of time, or of time x SM clock = cycles; NAN where either is unknown. */
static double log_of(const struct compare_observations *seen, uint32_t i, bool cycles) {
  const double factor = !cycles ? 1 : is_time(seen->mhz[i]) ? seen->mhz[i] : (double)NAN;
  return is_time(seen->us[i]) ? log(seen->us[i]) + log(factor) : (double)NAN;
}

static size_t take_logs(const struct compare_observations *seen, bool cycles, double *out) {
  size_t count = 0;
  for (uint32_t i = 0; i < seen->count; ++i) {
    const double value = log_of(seen, i, cycles);
    if (!isnan(value)) out[count++] = value;
  }
  return count;
}

static const struct rank_interval no_interval = {NAN, NAN, NAN, 0};

static struct rank_interval paired(const struct compare_evidence *seen, bool cycles, size_t *pairs) {
  double difference[RANK_MAX];
  *pairs = 0;
  for (uint32_t i = 0; i < seen->base.count && i < seen->now.count; ++i) {
    const double value = log_of(&seen->now, i, cycles) - log_of(&seen->base, i, cycles);
    if (!isnan(value)) difference[(*pairs)++] = value;
  }
  return *pairs > 0 ? rank_paired(difference, *pairs, COMPARE_CONFIDENCE) : no_interval;
}

/* *fewest: processes of the smaller side that the estimate rests on. */
static struct rank_interval interval(const struct compare_settings *settings, const struct compare_evidence *seen,
                                     bool cycles, size_t *fewest) {
  if (settings->paired) return paired(seen, cycles, fewest);
  double base[RANK_MAX], now[RANK_MAX];
  const size_t bases = take_logs(&seen->base, cycles, base), nows = take_logs(&seen->now, cycles, now);
  *fewest = bases < nows ? bases : nows;
  return *fewest > 0 ? rank_unpaired(base, bases, now, nows, COMPARE_CONFIDENCE) : no_interval;
}

/* ---- verdict ------------------------------------------------------------------------------------------------- */

static double line_of(const struct compare_row *row) { return log1p(COMPARE_LINE_RATIO * row->threshold); }

/* The threshold whose line lies at the floor, when that is higher. The geometric mean makes it the same both ways. */
static double raised_threshold(const struct compare_settings *settings, const struct compare_row *row) {
  const double around_us = sqrt(row->base.median_us * row->now.median_us);
  const double floor = settings->floor_us[row->mode] / around_us / COMPARE_LINE_RATIO;
  return floor > row->threshold ? floor : row->threshold;
}

/* Slower in time, not in SM cycles, and not for the noise of reading the clock. */
static bool clock_explains(const struct rank_interval *time, const struct rank_interval *cycles, double line) {
  return cycles->estimate < line && time->estimate - cycles->estimate >= COMPARE_CLOCK_SHARE * time->estimate;
}

static enum compare_verdict verdict_of(const struct compare_row *row, const struct rank_interval *time,
                                       const struct rank_interval *cycles) {
  const double line = line_of(row), bound = log1p(COMPARE_BOUND_RATIO * row->threshold);
  if (time->estimate >= line && time->low > bound) {
    return clock_explains(time, cycles, line) ? COMPARE_clock : COMPARE_regressed;
  }
  if (-time->estimate >= line && -time->high > bound) return COMPARE_improved;
  return time->estimate < line && time->high < log1p(row->threshold) ? COMPARE_same : COMPARE_inconclusive;
}

/* --rounds of `attnbench ab`: it measures what does not decide as often again, and judges over both. */
enum { PAIRED_ROUNDS_MAX = PROCESSES_MAX / 2 };

/* An interval narrows with the square root of the processes. How far the estimate lies from what would have to be
 * excluded says how narrow it must be: from a slowdown of the threshold, or from none. */
static uint32_t rounds_to_decide(const struct compare_row *row, const struct rank_interval *time, size_t fewest,
                                 bool paired) {
  const bool over = time->estimate >= line_of(row);
  const double wide = over ? time->estimate - time->low : time->high - time->estimate;
  const double room =
      over ? time->estimate - log1p(COMPARE_BOUND_RATIO * row->threshold) : log1p(row->threshold) - time->estimate;
  const double times = room > 0 ? wide * wide / (room * room) : INFINITY;
  const double rounds = fmax(ceil((double)fewest * times), (double)fewest + 1);
  if (!(rounds <= PROCESSES_MAX)) return 0;
  return paired && rounds > PAIRED_ROUNDS_MAX ? PAIRED_ROUNDS_MAX : (uint32_t)rounds;
}

static double percent(double log_ratio) { return 100 * expm1(log_ratio); }

static void explain_few(const struct compare_settings *settings, size_t fewest, struct compare_row *row) {
  row->rounds_needed = settings->paired ? COMPARE_PAIRS_MIN : COMPARE_BASELINE_MIN;
  if (settings->paired) {
    snprintf(row->reason, sizeof row->reason, "%zu pairs of processes, at least %d are needed", fewest,
             COMPARE_PAIRS_MIN);
  } else {
    snprintf(row->reason, sizeof row->reason,
             "processes: %u of the base and %u new, at least %d of each are needed, %d are advised",
             (unsigned)row->base.processes, (unsigned)row->now.processes, COMPARE_SIDE_MIN, COMPARE_BASELINE_MIN);
  }
}

static void explain_noise(const struct rank_interval *time, struct compare_row *row) {
  char rounds[48] = "";
  if (row->rounds_needed > 0) snprintf(rounds, sizeof rounds, "; about %u rounds would decide", row->rounds_needed);
  snprintf(row->reason, sizeof row->reason, "%+.2f %%, but anything from %+.2f %% to %+.2f %% fits%s",
           percent(time->estimate), percent(time->low), percent(time->high), rounds);
}

static void explain(const struct rank_interval *time, const struct rank_interval *cycles, struct compare_row *row) {
  const double line = line_of(row);
  row->reason[0] = '\0';
  if (row->verdict == COMPARE_inconclusive) {
    explain_noise(time, row);
  } else if (row->verdict == COMPARE_clock) {
    snprintf(row->reason, sizeof row->reason,
             "%+.2f %% in time but %+.2f %% in SM cycles: the clock was %.0f MHz and is %.0f MHz",
             percent(time->estimate), percent(cycles->estimate), row->base.sm_clock_mhz, row->now.sm_clock_mhz);
  } else if (row->verdict == COMPARE_regressed) {
    snprintf(row->reason, sizeof row->reason,
             "%+.2f %%, at least %+.2f %% with %.0f %% confidence; the line is %+.2f %%", percent(time->estimate),
             percent(time->low), 100 * row->confidence, percent(line));
  } else if (row->verdict == COMPARE_improved) {
    snprintf(row->reason, sizeof row->reason, "%+.2f %%, at most %+.2f %% with %.0f %% confidence%s",
             percent(time->estimate), percent(time->high), 100 * row->confidence,
             -cycles->estimate < line ? "; not in SM cycles: the clock rose" : "");
  }
}

void judge_timed(const struct compare_settings *settings, const struct compare_evidence *seen,
                 struct compare_row *row) {
  size_t fewest, with_clock;
  const struct rank_interval time = interval(settings, seen, false, &fewest);
  struct rank_interval cycles = interval(settings, seen, true, &with_clock);
  summarise(&seen->base, &row->base);
  summarise(&seen->now, &row->now);
  /* Clocks of some processes only would compare other processes than the times do. */
  if (with_clock < fewest) cycles = no_interval;
  row->ratio = exp(time.estimate);
  row->ci_low = exp(time.low);
  row->ci_high = exp(time.high);
  row->confidence = time.confidence;
  row->cycles_ratio = exp(cycles.estimate);
  row->rounds_needed = 0;
  row->threshold = fewest > 0 ? raised_threshold(settings, row) : row->threshold;
  const size_t least = settings->paired ? COMPARE_PAIRS_MIN : COMPARE_SIDE_MIN;
  row->verdict = fewest < least ? COMPARE_inconclusive : verdict_of(row, &time, &cycles);
  if (fewest < least) {
    explain_few(settings, fewest, row);
    return;
  }
  if (row->verdict == COMPARE_inconclusive)
    row->rounds_needed = rounds_to_decide(row, &time, fewest, settings->paired);
  explain(&time, &cycles, row);
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
