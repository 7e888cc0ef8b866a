/* The verdict of one row, from the observations of both sides. */
#include "cli/gate/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/text.h"

/* ---- evidence ------------------------------------------------------------------------------------------------ */

/* A time of 0 (below the timer's resolution) or NAN is no observation. */
static bool is_time(double us) { return isfinite(us) && us > 0; }

bool judge_is_timed(const struct record *record, enum time_mode mode) {
  return record != NULL && record->status == CELL_ok && (record->time[mode].done || record->process[mode].count > 0);
}

struct compare_process judge_process(double us, double mhz, uint64_t throttle_reasons, double overhead_us) {
  const double own_us = is_time(us) ? us - overhead_us : 0;
  return (struct compare_process){.us = us,
                                  .mhz = mhz,
                                  .log_us = is_time(own_us) ? log(own_us) : (double)NAN,
                                  .log_mhz = is_time(mhz) ? log(mhz) : (double)NAN,
                                  .throttle_reasons = throttle_reasons};
}

static void clear(struct compare_observations *out) {
  out->count = out->times = out->clocks = 0;
  out->throttle_reasons = 0;
  out->least_us = INFINITY;
  out->most_us = 0;
}

void judge_add(struct compare_process process, struct compare_observations *out) {
  if (out->count == RANK_MAX) return;
  out->process[out->count++] = process;
  out->clocks += !isnan(process.log_mhz);
  out->throttle_reasons |= process.throttle_reasons;
  if (!is_time(process.us)) return;
  ++out->times;
  out->least_us = process.us < out->least_us ? process.us : out->least_us;
  out->most_us = process.us > out->most_us ? process.us : out->most_us;
}

static void add_drawn(const struct compare_side *side, double overhead_us, struct compare_observations *out) {
  const struct compare_drawn *drawn = side->drawn;
  for (uint32_t i = 0; i < drawn->count; ++i) {
    struct compare_process process = side->measured[drawn->process[i]];
    process.us += drawn->slowdown * (process.us - overhead_us);
    process.log_us += drawn->log_slowdown;
    judge_add(process, out);
  }
}

static void add_measured(const struct record *record, enum time_mode mode, double overhead_us,
                         struct compare_observations *out) {
  const struct process_record *from = &record->process[mode];
  const struct time_record *time = &record->time[mode];
  for (uint32_t i = 0; i < from->count; ++i)
    judge_add(judge_process(from->median_us[i], from->sm_clock_mhz[i], from->throttle_reasons[i], overhead_us), out);
  if (from->count == 0) judge_add(judge_process(time->us.median, time->sm_clock_mhz, 0, overhead_us), out);
  out->throttle_reasons |= time->throttle_reasons;
}

void judge_observe(const struct compare_side *side, enum time_mode mode, double overhead_us,
                   struct compare_observations *out) {
  clear(out);
  if (side->drawn != NULL) {
    add_drawn(side, overhead_us, out);
  } else {
    add_measured(side->record, mode, overhead_us, out);
  }
}

void judge_observe_row(const struct compare_row *row, double overhead_us, struct compare_evidence *out) {
  judge_observe(&row->base, row->mode, overhead_us, &out->base);
  judge_observe(&row->now, row->mode, overhead_us, &out->now);
  out->is_unsettled = row->is_unsettled;
  out->is_single = row->is_single;
}

void judge_clear(struct compare_evidence *out) {
  clear(&out->base);
  clear(&out->now);
  out->is_unsettled = out->is_single = false;
}

static void append(const struct compare_observations *from, struct compare_observations *to) {
  for (uint32_t i = 0; i < from->count; ++i) judge_add(from->process[i], to);
}

void judge_append(const struct compare_evidence *from, bool with_base, struct compare_evidence *to) {
  if (with_base) append(&from->base, &to->base);
  append(&from->now, &to->now);
  to->is_unsettled = to->is_unsettled || from->is_unsettled;
  to->is_single = to->is_single || from->is_single;
}

static void keep(uint32_t most, struct compare_observations *seen) {
  const uint32_t count = seen->count < most ? seen->count : most;
  clear(seen);
  for (uint32_t i = 0; i < count; ++i) judge_add(seen->process[i], seen);
}

void judge_keep(uint32_t most, struct compare_evidence *seen) {
  keep(most, &seen->base);
  keep(most, &seen->now);
}

static bool has_broken(const struct compare_observations *seen) { return seen->times < seen->count; }

const char *judge_unfit(const struct compare_settings *settings, const struct compare_evidence *seen) {
  const struct compare_observations *base = &seen->base, *now = &seen->now;
  if (has_broken(base) || has_broken(now)) return "a process has no time";
  /* Cycles cannot be compared, though they were measured. */
  if ((base->clocks == base->count) != (now->clocks == now->count)) return "the SM clock is known on one side only";
  if (seen->is_single) return "a process took a single sample";
  if (((base->throttle_reasons | now->throttle_reasons) & THROTTLE_PROTECTING) != 0)
    return "the device was throttled for its temperature or its power supply";
  if (settings->must_settle && seen->is_unsettled) return "the times were still drifting when they were taken";
  return NULL;
}

static size_t take_times(const struct compare_observations *seen, double us[RANK_MAX]) {
  size_t times = 0;
  for (uint32_t i = 0; i < seen->count; ++i) {
    if (is_time(seen->process[i].us)) us[times++] = seen->process[i].us;
  }
  return times;
}

static double median_us(const struct compare_observations *seen) {
  double us[RANK_MAX];
  return stats_median(us, take_times(seen, us));
}

void judge_summary(const struct compare_observations *seen, struct compare_side *out) {
  double us[RANK_MAX], mhz[RANK_MAX], sum = 0, squares = 0;
  const size_t times = take_times(seen, us);
  size_t clocks = 0;
  for (uint32_t i = 0; i < seen->count; ++i) {
    if (is_time(seen->process[i].mhz)) mhz[clocks++] = seen->process[i].mhz;
  }
  for (size_t i = 0; i < times; ++i) sum += us[i] / (double)times;
  for (size_t i = 0; i < times; ++i) squares += (us[i] - sum) * (us[i] - sum);
  out->processes = (uint32_t)times;
  out->median_us = stats_median(us, times);
  out->spread_ratio = times > 1 ? sqrt(squares / (double)(times - 1)) / sum : (double)NAN;
  out->sm_clock_mhz = stats_median(mhz, clocks);
}

/* ---- grounds ------------------------------------------------------------------------------------------------- */

/* What is compared between the sides. */
enum quantity { TIME, CLOCK, CYCLES, QUANTITIES };

/* Everything that a verdict is made of: what was seen, and what it is held against. */
struct grounds {
  const struct compare_settings *settings;
  const struct compare_row *row;
  struct rank_sample of[QUANTITIES]; /* without observations where clocks are not known */
  size_t fewest;                     /* processes of the smaller side, or pairs, behind the time */
  struct rank_interval time, cycles; /* for the words alone; NAN where clocks are not known */
  struct compare_limits limits;
  struct student_score few; /* of few pairs; without freedom: there are as many as were planned */
  bool is_below_floor;      /* of what the hardware can do: a time of it is none */
  bool is_far_off;          /* of the other processes of its side */
  bool hides_slowdowns;     /* the floor does, and not what was asked for: nothing can be told */
};

static double value_of(const struct compare_process *process, enum quantity quantity) {
  /* A clock counts only where there is a time beside it. */
  return quantity == TIME     ? process->log_us
         : quantity == CYCLES ? process->log_us + process->log_mhz
                              : process->log_mhz + 0 * process->log_us;
}

static size_t take_known(const struct compare_observations *seen, enum quantity quantity, double *out) {
  size_t count = 0;
  for (uint32_t i = 0; i < seen->count; ++i) {
    const double value = value_of(&seen->process[i], quantity);
    if (!isnan(value)) out[count++] = value;
  }
  return count;
}

static size_t take_differences(const struct compare_evidence *seen, enum quantity quantity, double *out) {
  size_t pairs = 0;
  for (uint32_t i = 0; i < seen->base.count && i < seen->now.count; ++i) {
    const double value = value_of(&seen->now.process[i], quantity) - value_of(&seen->base.process[i], quantity);
    if (!isnan(value)) out[pairs++] = value;
  }
  return pairs;
}

/* Returns how many processes of the smaller side, or pairs, the sample consists of. */
static size_t take_sample(const struct compare_evidence *seen, bool paired, enum quantity quantity,
                          struct rank_sample *out) {
  out->base_count = paired ? 0 : take_known(&seen->base, quantity, out->base);
  out->now_count = paired ? take_differences(seen, quantity, out->now) : take_known(&seen->now, quantity, out->now);
  const size_t fewest = paired || out->now_count < out->base_count ? out->now_count : out->base_count;
  if (fewest > 0) rank_start(COMPARE_CONFIDENCE, out);
  return fewest;
}

static void take_samples(const struct compare_evidence *seen, struct grounds *out) {
  const bool paired = out->settings->paired;
  out->fewest = take_sample(seen, paired, TIME, &out->of[TIME]);
  out->of[CLOCK].now_count = 0;
  /* Clocks of some processes only would compare other processes than the times do. */
  if (seen->base.clocks == 0 || take_sample(seen, paired, CYCLES, &out->of[CYCLES]) < out->fewest)
    out->of[CYCLES].now_count = 0;
  if (paired && out->of[CYCLES].now_count > 0) take_sample(seen, paired, CLOCK, &out->of[CLOCK]);
}

static bool is_known(const struct grounds *g, enum quantity quantity) {
  return g->fewest > 0 && g->of[quantity].now_count > 0;
}

/* How the estimate compares with this; false when it is not known. */
static bool reaches(const struct grounds *g, enum quantity quantity, double at) {
  return is_known(g, quantity) && rank_reaches(&g->of[quantity], at);
}

static bool is_below(const struct grounds *g, enum quantity quantity, double at) {
  return is_known(g, quantity) && !rank_reaches(&g->of[quantity], at);
}

static struct rank_interval interval_of(const struct grounds *g, enum quantity quantity) {
  static const struct rank_interval no_interval = {NAN, NAN, NAN, 0};
  return is_known(g, quantity) ? rank_interval(&g->of[quantity]) : no_interval;
}

/* ---- verdict ------------------------------------------------------------------------------------------------- */

double judge_floor_threshold(double floor_us, double around_us) { return floor_us / around_us / COMPARE_LINE_RATIO; }

static bool is_slower(const struct grounds *g, enum quantity quantity) {
  return reaches(g, quantity, g->limits.line) && rank_low_is_above(&g->of[quantity], g->limits.bound);
}

/* An estimate is at most -line when the next number above that is not reached. */
static bool is_faster(const struct grounds *g) {
  return is_below(g, TIME, nextafter(-g->limits.line, INFINITY)) &&
         rank_high_is_below(&g->of[TIME], -g->limits.bound);
}

/* As far as so many processes can tell. */
static bool excludes_slowdown(const struct grounds *g) {
  return rank_excludes(&g->of[TIME], COMPARE_IMPROVED_CONFIDENCE, g->limits.threshold);
}

static bool has_few(const struct grounds *g) {
  return g->fewest < (size_t)(g->settings->paired ? COMPARE_PAIRS_MIN : COMPARE_SIDE_MIN);
}

/* Slower in time, not in SM cycles, and not for the noise of reading the clock. */
static bool clock_explains(const struct grounds *g) {
  if (g->row->dram_bound || !is_below(g, CYCLES, g->limits.line)) return false;
  const double time = interval_of(g, TIME).estimate, cycles = interval_of(g, CYCLES).estimate;
  return time - cycles >= COMPARE_CLOCK_SHARE * time;
}

/* In pairs a clock that is lower on the new side again and again is the new program's doing. */
static bool clock_is_lower(const struct grounds *g) {
  return g->settings->paired && is_known(g, CLOCK) && rank_high_is_below(&g->of[CLOCK], 0);
}

/* Is one such among so many rows no surprise (Bonferroni)? */
static bool may_be_luck(const struct grounds *g) {
  const struct rank_sample *time = &g->of[TIME];
  if (g->row->family == 0) return false;
  const struct student_score score = g->settings->paired
                                         ? student_paired(time->now, time->now_count)
                                         : student_welch(time->base, time->base_count, time->now, time->now_count);
  return student_chance(&score, g->limits.bound) > COMPARE_FAMILY_ERROR / g->row->family;
}

static enum compare_verdict verdict_of_slower(const struct grounds *g) {
  if (clock_explains(g) && !clock_is_lower(g)) return COMPARE_clock;
  return may_be_luck(g) ? COMPARE_inconclusive : COMPARE_regressed;
}

/* ---- few pairs ------------------------------------------------------------------------------------------------ */

bool judge_has_few(const struct compare_settings *settings, const struct compare_evidence *seen) {
  return settings->paired && seen->now.count < settings->pairs_planned;
}

/* Of the logarithms of times; a process without one makes it NAN. */
static double variance_of(const struct compare_observations *seen) {
  double mean = 0, squares = 0;
  for (uint32_t i = 0; i < seen->count; ++i) mean += seen->process[i].log_us / seen->count;
  for (uint32_t i = 0; i < seen->count; ++i)
    squares += (seen->process[i].log_us - mean) * (seen->process[i].log_us - mean);
  return squares / (seen->count - 1);
}

/* Within each side, where a drift of the machine adds to it: that only makes the rule more careful. */
static struct compare_noise noise_of(const struct compare_evidence *seen, double threshold) {
  const double variance = variance_of(&seen->base) + variance_of(&seen->now);
  if (!isfinite(variance)) return (struct compare_noise){0, 0};
  return (struct compare_noise){variance / (threshold * threshold), seen->base.count + seen->now.count - 2.0};
}

static struct student_score score_of_few(const struct compare_evidence *seen, const struct grounds *g) {
  const struct rank_sample *time = &g->of[TIME];
  const double threshold = g->limits.threshold;
  const struct compare_noise own = noise_of(seen, threshold), others = g->row->others;
  const double freedom = own.freedom + others.freedom;
  const double variance = (own.freedom * own.variance + others.freedom * others.variance) / freedom;
  double mean = 0;
  for (size_t i = 0; i < time->now_count; ++i) mean += time->now[i] / (double)time->now_count;
  return (struct student_score){mean, threshold * sqrt(variance / (double)time->now_count), freedom};
}

/* No pair stands out, and a slowdown of the threshold would hardly look like this. */
static bool is_clearly_same(const struct grounds *g) {
  const struct rank_sample *time = &g->of[TIME];
  const double threshold = g->limits.threshold;
  const struct student_score mirrored = {-g->few.mean, g->few.error, g->few.freedom};
  if (time->most >= threshold || time->least <= -threshold) return false;
  if (reaches(g, TIME, g->limits.line) || !reaches(g, TIME, -g->limits.line)) return false;
  if (!g->row->dram_bound && reaches(g, CYCLES, g->limits.line)) return false;
  return student_chance(&mirrored, -threshold) <= COMPARE_FEW_ERROR;
}

static bool is_clearly_slower(const struct grounds *g) {
  return g->of[TIME].least > g->limits.bound && reaches(g, TIME, g->limits.line) && !clock_explains(g) &&
         student_chance(&g->few, g->limits.line) <= COMPARE_FEW_ERROR;
}

static enum compare_verdict verdict_of_few(const struct grounds *g) {
  if (is_clearly_slower(g)) return COMPARE_regressed;
  return is_clearly_same(g) ? COMPARE_same : COMPARE_inconclusive;
}

/* ---- any number of processes ----------------------------------------------------------------------------------- */

static enum compare_verdict verdict_of(const struct grounds *g) {
  const bool paired = g->settings->paired, faster = is_faster(g);
  if (g->is_below_floor) return COMPARE_implausible;
  if (g->is_far_off || is_below(g, TIME, -log(COMPARE_FASTER_MOST)))
    return has_few(g) ? COMPARE_inconclusive : COMPARE_implausible;
  if (g->few.freedom > 0 && !g->hides_slowdowns) return verdict_of_few(g);
  if (has_few(g) || g->hides_slowdowns) return COMPARE_inconclusive;
  if (is_slower(g, TIME)) return verdict_of_slower(g);
  if (!g->row->dram_bound && is_slower(g, CYCLES) && !(faster && paired))
    return paired ? COMPARE_cycles : COMPARE_clock;
  if (faster) return excludes_slowdown(g) ? COMPARE_improved : COMPARE_inconclusive;
  return is_below(g, TIME, g->limits.line) && rank_high_is_below(&g->of[TIME], g->limits.threshold)
             ? COMPARE_same
             : COMPARE_inconclusive;
}

/* ---- reasons ------------------------------------------------------------------------------------------------- */

/* --rounds of `attnbench ab`: what does not decide is measured again, and judged over all. */
enum { PAIRED_ROUNDS_MAX = PROCESSES_MAX / 2 };

/* An interval narrows with the square root of the processes. How far the estimate lies from what would have to be
 * excluded says how narrow it must be: from a slowdown of the threshold, or from none. */
static uint32_t rounds_to_decide(const struct grounds *g) {
  const struct rank_interval *time = &g->time;
  const bool over = time->estimate >= g->limits.line;
  const double wide = over ? time->estimate - time->low : time->high - time->estimate;
  const double room = over ? time->estimate - g->limits.bound : g->limits.threshold - time->estimate;
  const double times = room > 0 ? wide * wide / (room * room) : INFINITY;
  const double rounds = fmax(ceil((double)g->fewest * times), (double)g->fewest + 1);
  if (!(rounds <= PROCESSES_MAX)) return 0;
  return g->settings->paired && rounds > PAIRED_ROUNDS_MAX ? PAIRED_ROUNDS_MAX : (uint32_t)rounds;
}

static double percent(double log_ratio) { return 100 * expm1(log_ratio); }

static void __attribute__((format(printf, 2, 3))) say(struct compare_row *row, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(row->reason, sizeof row->reason, format, list);
  va_end(list);
}

static void explain_few(const struct grounds *g, struct compare_row *row) {
  if (g->settings->paired) {
    row->rounds_needed = COMPARE_PAIRS_MIN;
    say(row, "only %zu pairs of processes; at least %d are needed", g->fewest, COMPARE_PAIRS_MIN);
  } else {
    row->rounds_needed = COMPARE_BASELINE_MIN;
    say(row, "only %u process%s of the base and %u of the new report; at least %d of each are needed, %d are better",
        (unsigned)row->base.processes, row->base.processes == 1 ? "" : "es", (unsigned)row->now.processes,
        COMPARE_SIDE_MIN, COMPARE_PAIRS_PLANNED);
  }
  if (row->ratio < 1 / COMPARE_FASTER_MOST)
    text_append(row->reason, sizeof row->reason, "; look at both reports: the new time is %.0f times as short",
                1 / row->ratio);
}

static void explain_noise(const struct grounds *g, struct compare_row *row) {
  const struct rank_interval *time = &g->time;
  char rounds[96] = "";
  row->rounds_needed = rounds_to_decide(g);
  if (row->rounds_needed > 0) snprintf(rounds, sizeof rounds, "; about %u rounds would decide", row->rounds_needed);
  /* More rounds of the new side alone would not help. */
  if (row->rounds_needed > row->base.processes && row->now.processes >= row->rounds_needed)
    snprintf(rounds, sizeof rounds, "; about %u rounds of each side would decide, and the base has only %u",
             row->rounds_needed, (unsigned)row->base.processes);
  if (is_slower(g, TIME)) {
    say(row, "%+.2f %%, which one of %u rows may show by chance%s", percent(time->estimate), (unsigned)g->row->family,
        rounds);
  } else if (is_faster(g)) {
    say(row, "%+.2f %%, but some processes were slower by the threshold, and so may be the case%s",
        percent(time->estimate), rounds);
  } else {
    say(row, "%+.2f %%, but anything from %+.2f %% to %+.2f %% fits%s", percent(time->estimate), percent(time->low),
        percent(time->high), rounds);
  }
}

static void explain_inconclusive(const struct grounds *g, struct compare_row *row) {
  if (has_few(g)) {
    explain_few(g, row);
  } else if (g->hides_slowdowns) {
    say(row, "differences below --floor-us %g are ignored, and that is %.0f %% of this time; choose a smaller floor",
        row->floor_us, 100 * row->floor_us / row->base.median_us);
  } else {
    explain_noise(g, row);
  }
}

static void explain_implausible(struct compare_row *row) {
  if (row->least_us < COMPARE_PHYSICAL_SHARE * row->physical_us) {
    say(row, "a time of %.4g us, but this shape cannot take less than %.4g us on this device", row->least_us,
        row->physical_us);
  } else if (row->ratio >= 1 / COMPARE_FASTER_MOST) {
    say(row, "one process took %.4g us, ten times less than the others", row->least_us);
  } else {
    say(row, "%.0f times faster than the base; look at both reports, and compare with a new base if it is true",
        1 / row->ratio);
  }
}

/* "time +0.10 %, SM cycles +9.80 %: the clock was 1755 MHz and is 1930 MHz" */
static void explain_clock(const struct grounds *g, const char *end, struct compare_row *row) {
  say(row, "time %+.2f %%, SM cycles %+.2f %%: the clock was %.0f MHz in the base and is %.0f MHz%s",
      percent(g->time.estimate), percent(g->cycles.estimate), row->base.sm_clock_mhz, row->now.sm_clock_mhz, end);
}

static void explain_regressed(const struct grounds *g, struct compare_row *row) {
  if (clock_explains(g) && clock_is_lower(g)) {
    explain_clock(g, ", pair by pair: the new kernel draws more power", row);
    return;
  }
  say(row, "%+.2f %%, at least %+.2f %% with %.0f %% confidence; estimates from %+.2f %% on fail (threshold %.3g %%)",
      percent(g->time.estimate), percent(g->time.low), 100 * row->confidence, percent(g->limits.line),
      100 * row->threshold);
}

static void explain_improved(const struct grounds *g, struct compare_row *row) {
  const bool only_clock = -g->cycles.estimate < g->limits.line;
  say(row, "%+.2f %%, at most %+.2f %% with %.0f %% confidence%s", percent(g->time.estimate), percent(g->time.high),
      100 * row->confidence, only_clock ? "; not in SM cycles: the clock rose" : "");
}

static void explain(const struct grounds *g, struct compare_row *row) {
  const char *of_clock =
      g->settings->paired ? ", without a pattern" : "; measure both at one clock, with attnbench ab";
  row->reason[0] = '\0';
  switch (row->verdict) {
    case COMPARE_implausible: explain_implausible(row); break;
    case COMPARE_inconclusive: explain_inconclusive(g, row); break;
    case COMPARE_regressed: explain_regressed(g, row); break;
    case COMPARE_cycles: explain_clock(g, "; at equal clocks it is slower", row); break;
    case COMPARE_clock: explain_clock(g, of_clock, row); break;
    case COMPARE_improved: explain_improved(g, row); break;
    default: break;
  }
}

/* ---- the row ------------------------------------------------------------------------------------------------- */

struct compare_limits judge_limits(double threshold) {
  return (struct compare_limits){.relative = threshold,
                                 .line = log1p(COMPARE_LINE_RATIO * threshold),
                                 .bound = log1p(COMPARE_BOUND_RATIO * threshold),
                                 .threshold = log1p(threshold)};
}

/* A floor below which no difference counts raises the threshold of short times; one that raises it far hides
 * slowdowns that nobody means to let pass. It is looked at around the geometric mean, which makes it the same both
 * ways. */
static void set_limits(const struct compare_evidence *seen, struct grounds *g) {
  const struct compare_row *row = g->row;
  const double overhead_us = row->event_overhead_us;
  const double least_us = fmin(seen->base.least_us, seen->now.least_us);
  g->limits = row->limits;
  g->is_below_floor = least_us < COMPARE_PHYSICAL_SHARE * row->physical_us;
  g->is_far_off = g->hides_slowdowns = false;
  /* What no median between these two can change. */
  if (judge_floor_threshold(row->floor_us, least_us - overhead_us) < row->limits.relative &&
      fmax(seen->base.most_us, seen->now.most_us) <= COMPARE_FASTER_MOST * least_us)
    return;
  const double base_us = median_us(&seen->base), now_us = median_us(&seen->now);
  const double floor = judge_floor_threshold(row->floor_us, sqrt((base_us - overhead_us) * (now_us - overhead_us)));
  if (g->fewest > 0) g->limits = judge_limits(fmax(row->limits.relative, floor));
  g->hides_slowdowns = floor > COMPARE_RAISED_MOST && floor >= row->limits.relative;
  g->is_far_off = fmin(base_us, now_us) > COMPARE_FASTER_MOST * least_us;
}

/* The order of so few pairs says little; their noise is known better. */
static void fill_few(const struct student_score *few, struct compare_row *row) {
  const double reach = student_quantile(COMPARE_FEW_ERROR, few->freedom) * few->error;
  row->ci_low = fmin(row->ratio, exp(few->mean - reach));
  row->ci_high = fmax(row->ratio, exp(few->mean + reach));
  row->confidence = 1 - COMPARE_FEW_ERROR;
}

static void fill_row(const struct compare_evidence *seen, struct grounds *g, struct compare_row *row) {
  judge_summary(&seen->base, &row->base);
  judge_summary(&seen->now, &row->now);
  g->time = interval_of(g, TIME);
  g->cycles = interval_of(g, CYCLES);
  row->ratio = exp(g->time.estimate);
  row->ci_low = exp(g->time.low);
  row->ci_high = exp(g->time.high);
  row->confidence = g->time.confidence;
  if (g->few.freedom > 0) fill_few(&g->few, row);
  row->cycles_ratio = exp(g->cycles.estimate);
  row->threshold = g->limits.relative;
  row->least_us = fmin(seen->base.least_us, seen->now.least_us);
  row->rounds_needed = 0;
}

struct compare_noise judge_noise(const struct compare_settings *settings, const struct compare_evidence *seen,
                                 const struct compare_row *row) {
  struct grounds g;
  g.settings = settings;
  g.row = row;
  take_samples(seen, &g);
  set_limits(seen, &g);
  return g.fewest > 1 ? noise_of(seen, g.limits.threshold) : (struct compare_noise){0, 0};
}

void judge_timed(const struct compare_settings *settings, const struct compare_evidence *seen,
                 struct compare_row *row) {
  struct grounds g;
  g.settings = settings;
  g.row = row;
  const char *unfit = judge_unfit(settings, seen);
  take_samples(seen, &g);
  set_limits(seen, &g);
  g.few = (struct student_score){.freedom = 0};
  if (judge_has_few(settings, seen) && g.fewest > 1) g.few = score_of_few(seen, &g);
  row->has_ratio = g.fewest > 0;
  row->verdict = verdict_of(&g);
  /* Times that are not fit prove neither of the two verdicts that pass, and no fault of the other side. */
  const bool proves_nothing = unfit != NULL && (row->verdict == COMPARE_same || row->verdict == COMPARE_improved ||
                                                (row->verdict == COMPARE_implausible && !g.is_below_floor));
  if (!settings->only_verdicts) {
    fill_row(seen, &g, row);
    explain(&g, row);
    if (proves_nothing) say(row, "%+.2f %%, but %s", percent(g.time.estimate), unfit);
  }
  if (proves_nothing) row->verdict = COMPARE_inconclusive;
}

/* ---- rows without two times ---------------------------------------------------------------------------------- */

/* Each side's part of a reason that has both. */
enum { PART_MAX = 160 };

/* "skipped (D must be 64)"; what does not fit ends in "...". */
static void describe(const struct record *record, char *out, size_t size) {
  static const char cut[] = " ...)";
  const bool timed = record->status == CELL_ok, has_reason = record->reason[0] != '\0';
  const int length = snprintf(out, size, "%s%s%s%s", timed ? "without a time" : cell_status_name(record->status),
                              has_reason ? " (" : "", record->reason, has_reason ? ")" : "");
  if ((size_t)length >= size) memcpy(out + size - sizeof cut, cut, sizeof cut);
}

static void judge_lost(struct compare_row *row, const char *before) {
  char text[PART_MAX] = "absent";
  if (row->now.record != NULL) describe(row->now.record, text, sizeof text);
  row->verdict = COMPARE_missing;
  snprintf(row->reason, sizeof row->reason, "%s; %s in the new report", before, text);
}

static bool is_implausible(const struct record *record) {
  return record != NULL && record->status == CELL_implausible;
}

void judge_untimed(struct compare_row *row) {
  const struct record *base = row->base.record, *now = row->now.record;
  const bool had = judge_is_timed(base, row->mode), has = judge_is_timed(now, row->mode);
  const struct record *unlikely = is_implausible(now) ? now : is_implausible(base) ? base : NULL;
  char text[COMPARE_TEXT_MAX - 80], before[PART_MAX + 16];
  if (now != NULL && now->status == CELL_wrong) {
    row->verdict = COMPARE_wrong;
    snprintf(row->reason, sizeof row->reason, "%s", now->reason);
  } else if (unlikely != NULL) {
    row->verdict = COMPARE_implausible;
    snprintf(row->reason, sizeof row->reason, "%s%s", unlikely == base ? "in the base: " : "", unlikely->reason);
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
    describe(base, text, PART_MAX);
    snprintf(before, sizeof before, "in the base %s", text);
    judge_lost(row, before);
  }
}
