/* How often the gate is wrong: draws gates from measured processes and counts their verdicts. */
#include "cli/gate/power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gate/confirm.h"
#include "cli/gate/judge.h"
#include "cli/record/cards.h"
#include "cli/record/event_overhead.h"

/* Both sides of the first measurement and of the second. */
enum { BASE, NOW, AGAIN_BASE, AGAIN_NOW, SIDES };

struct bench {
  const struct journal_data *evidence;
  const struct compare_power_settings *settings;
  uint32_t processes;
  uint64_t random;
  struct journal_data side[SIDES]; /* records are copies; only their processes change */
  uint32_t drawn[SIDES][PROCESSES_MAX];
  uint32_t order[PROCESSES_MAX]; /* of two samples: the processes as they were shuffled */
};

/* ---- chance -------------------------------------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea, Flood). */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* 0 to n - 1; the bias of n / 2^64 is nothing. */
static uint32_t below(uint64_t *state, uint32_t n) { return (uint32_t)(next_random(state) % n); }

static void shuffle(uint64_t *state, uint32_t *items, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) items[i] = i;
  for (uint32_t i = count; i > 1; --i) {
    const uint32_t j = below(state, i), kept = items[i - 1];
    items[i - 1] = items[j];
    items[j] = kept;
  }
}

/* log C(n, k) p^k (1-p)^(n-k), summed over k = 0..hits. */
static double binomial_tail(uint64_t hits, uint64_t n, double p) {
  double sum = 0;
  for (uint64_t k = 0; k <= hits; ++k) {
    const double a = (double)n, b = (double)k;
    sum += exp(lgamma(a + 1) - lgamma(b + 1) - lgamma(a - b + 1) + b * log(p) + (a - b) * log1p(-p));
  }
  return sum;
}

double power_upper(uint64_t hits, uint64_t n) {
  if (hits >= n) return 1;
  double low = (double)hits / (double)n, high = 1;
  for (unsigned i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    if (middle > 0 && binomial_tail(hits, n, middle) > 0.05) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return high;
}

/* ---- drawing ------------------------------------------------------------------------------------------------- */

/* Pairs of neighbours in time, each in random order; `first` pairs of the shuffled list are skipped. */
static void draw_pairs(struct bench *bench, const uint32_t *pairs, uint32_t first, uint32_t *base, uint32_t *now) {
  for (uint32_t i = 0; i < bench->settings->rounds; ++i) {
    const uint32_t turned = below(&bench->random, 2);
    base[i] = 2 * pairs[first + i] + turned;
    now[i] = 2 * pairs[first + i] + 1 - turned;
  }
}

static void draw_paired(struct bench *bench, bool again) {
  uint32_t pairs[PROCESSES_MAX];
  const uint32_t all = bench->processes / 2, rounds = bench->settings->rounds;
  const bool leftover = all >= 2 * rounds;
  shuffle(&bench->random, pairs, all);
  if (!again) draw_pairs(bench, pairs, 0, bench->drawn[BASE], bench->drawn[NOW]);
  if (!again && !leftover) shuffle(&bench->random, pairs, all);
  draw_pairs(bench, pairs, leftover && !again ? rounds : 0, bench->drawn[AGAIN_BASE], bench->drawn[AGAIN_NOW]);
}

/* The base stays what it is; only the new side is measured again. */
static void draw_unpaired(struct bench *bench, bool again) {
  uint32_t *items = bench->order, others[PROCESSES_MAX];
  const uint32_t rounds = bench->settings->rounds, rest = bench->processes - rounds;
  const bool leftover = rest >= 2 * rounds && !again;
  if (!again) shuffle(&bench->random, items, bench->processes);
  if (!leftover) shuffle(&bench->random, others, rest);
  for (uint32_t i = 0; i < rounds; ++i) {
    bench->drawn[BASE][i] = bench->drawn[AGAIN_BASE][i] = items[i];
    bench->drawn[NOW][i] = items[rounds + i];
    bench->drawn[AGAIN_NOW][i] = leftover ? items[2 * rounds + i] : items[rounds + others[i]];
  }
}

static bool takes_leftover(const struct compare_power_settings *settings, uint32_t processes) {
  return processes >= (settings->compare.paired ? 4 : 3) * settings->rounds;
}

/* All sides; or `again`, those of one more measurement of the suspects. */
static void draw(struct bench *bench, bool again) {
  if (bench->settings->compare.paired) {
    draw_paired(bench, again);
  } else {
    draw_unpaired(bench, again);
  }
}

/* The drawn processes of one cell, its times multiplied. */
static void fill(const struct bench *bench, unsigned side, size_t cell, double factor) {
  const struct record *from = &bench->evidence->records[cell];
  struct record *to = &bench->side[side].records[cell];
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    if (!judge_is_timed(from, mode)) continue;
    const double overhead_us =
        event_overhead_in(mode, cards_info(bench->evidence, from), cards_event_overhead_us(bench->evidence, from));
    const double off_us = event_overhead_off(
        overhead_us, event_overhead_shortest(from->process[mode].median_us, from->process[mode].count));
    to->process[mode].count = bench->settings->rounds;
    for (uint32_t i = 0; i < bench->settings->rounds; ++i) {
      const uint32_t process = bench->drawn[side][i];
      const double us = from->process[mode].median_us[process];
      to->process[mode].median_us[i] = us + (factor - 1) * (us - off_us);
      to->process[mode].sm_clock_mhz[i] = from->process[mode].sm_clock_mhz[process];
    }
  }
}

/* ---- suites -------------------------------------------------------------------------------------------------- */

/* Cells first to first + count - 1 of a suite, the new side slower by `slowdown`. */
struct suite {
  size_t first, count;
  const struct compare_settings *settings;
  double slowdown;
  struct journal_data part[SIDES];
};

static void fill_sides(struct bench *bench, struct suite *suite, unsigned from) {
  for (unsigned side = from; side < SIDES; ++side) {
    suite->part[side] = bench->side[side];
    suite->part[side].records += suite->first;
    suite->part[side].record_count = suite->part[side].run.cell_count = suite->count;
    const double factor = side == NOW || side == AGAIN_NOW ? 1 + suite->slowdown : 1;
    for (size_t i = suite->first; i < suite->first + suite->count; ++i) fill(bench, side, i, factor);
  }
}

static struct status look_again(struct suite *suite, struct compare *compare) {
  struct compare again;
  const unsigned base = suite->settings->paired ? AGAIN_BASE : BASE;
  struct status status = compare_build(&suite->part[base], &suite->part[AGAIN_NOW], &compare->settings, &again);
  if (status_failed(&status)) return status;
  status = confirm_add(compare, &again);
  compare_free(&again);
  return status;
}

/* Measured, and suspects measured again. The caller frees the comparison. */
static struct status gate(struct bench *bench, struct suite *suite, struct compare *out) {
  draw(bench, false);
  fill_sides(bench, suite, BASE);
  struct status status = compare_build(&suite->part[BASE], &suite->part[NOW], suite->settings, out);
  if (status_failed(&status)) return status;
  for (unsigned look = 0; look < COMPARE_LOOKS_MAX && !status_failed(&status) && confirm_wants_any(out); ++look) {
    /* The rows point at the first measurement, so only the sides of the second are drawn again. */
    if (look > 0) {
      draw(bench, true);
      fill_sides(bench, suite, AGAIN_BASE);
    }
    status = look_again(suite, out);
  }
  if (status_failed(&status)) compare_free(out);
  return status;
}

static struct compare_power_row *row_of(struct compare_power *power, const struct compare_row *wanted) {
  for (size_t i = 0; i < power->row_count; ++i) {
    struct compare_power_row *row = &power->rows[i];
    if (row->mode == wanted->mode && strcmp(row->key, wanted->key) == 0 && strcmp(row->variant, wanted->variant) == 0)
      return row;
  }
  return NULL;
}

static void count_verdicts(const struct compare *compare, struct compare_power *out) {
  const bool has_suite = compare->suite.key != NULL;
  bool failed = has_suite && compare_is_alarm(compare->suite.verdict), undecided = false;
  out->suite_failed += failed;
  for (size_t i = 0; i < compare->row_count; ++i) {
    const bool alarm = compare_is_alarm(compare->rows[i].verdict);
    if (!alarm && verdict_exit_code(compare->rows[i].verdict) != EXIT_CODE_INCONCLUSIVE) continue;
    struct compare_power_row *row = row_of(out, &compare->rows[i]);
    failed = failed || alarm;
    undecided = undecided || !alarm;
    if (row == NULL) continue;
    row->false_alarms += alarm;
    row->inconclusive += !alarm;
  }
  if (has_suite) undecided = undecided || verdict_exit_code(compare->suite.verdict) == EXIT_CODE_INCONCLUSIVE;
  out->failed += failed;
  out->undecided += undecided && !failed;
}

static struct status count_alarms(struct bench *bench, struct compare_power *out) {
  struct suite suite = {.count = bench->evidence->record_count, .settings = &bench->settings->compare};
  for (out->suites = 0; out->suites < bench->settings->suites; ++out->suites) {
    struct compare compare;
    const struct status status = gate(bench, &suite, &compare);
    if (status_failed(&status)) return status;
    count_verdicts(&compare, out);
    compare_free(&compare);
  }
  out->failed_upper = power_upper(out->failed, out->suites);
  out->undecided_upper = power_upper(out->undecided, out->suites);
  return status_ok();
}

/* ---- slowdowns ----------------------------------------------------------------------------------------------- */

/* The share of suites that fail, of as many as there are trials. */
static struct status share_failed(struct bench *bench, struct suite *suite, double *out) {
  uint64_t found = 0;
  for (uint32_t i = 0; i < bench->settings->trials; ++i) {
    struct compare compare;
    const struct status status = gate(bench, suite, &compare);
    if (status_failed(&status)) return status;
    found += compare.exit_code == EXIT_CODE_REGRESSION;
    compare_free(&compare);
  }
  *out = (double)found / bench->settings->trials;
  return status_ok();
}

/* Of one case and mode. Every size gets the same draws. */
static struct status share_found(struct bench *bench, size_t cell, enum time_mode mode, double slowdown,
                                 double *out) {
  struct compare_settings settings = bench->settings->compare;
  struct suite suite = {.first = cell, .count = 1, .settings = &settings, .slowdown = slowdown};
  for (enum time_mode other = 0; other < TIME_MODE_COUNT; ++other) settings.modes[other] = other == mode;
  bench->random = bench->settings->seed + cell;
  return share_failed(bench, &suite, out);
}

/* All cases slower by 1 %, which is below the line of each. */
static struct status measure_uniform(struct bench *bench, struct compare_power *out) {
  struct suite suite = {
      .count = bench->evidence->record_count, .settings = &bench->settings->compare, .slowdown = 0.01};
  out->uniform_1_percent = NAN;
  if (out->row_count < COMPARE_SUITE_ROWS_MIN || bench->settings->trials == 0) return status_ok();
  bench->random = bench->settings->seed;
  return share_failed(bench, &suite, &out->uniform_1_percent);
}

static struct status measure_row(struct bench *bench, size_t cell, struct compare_power_row *row) {
  struct status status = share_found(bench, cell, row->mode, 0.02, &row->found_2_percent);
  if (!status_failed(&status)) status = share_found(bench, cell, row->mode, 0.03, &row->found_3_percent);
  row->slowdown_80 = row->slowdown_99 = NAN;
  for (unsigned step = 1; step <= COMPARE_POWER_STEPS && isnan(row->slowdown_99) && !status_failed(&status); ++step) {
    const double slowdown = step * COMPARE_POWER_STEP;
    double found = 0;
    /* No slowdown below the line is found more often than not. */
    if (slowdown < row->threshold / 2) continue;
    status = share_found(bench, cell, row->mode, slowdown, &found);
    if (isnan(row->slowdown_80) && found >= 0.8) row->slowdown_80 = slowdown;
    if (found >= 0.99) row->slowdown_99 = slowdown;
  }
  return status;
}

/* ---- evidence ------------------------------------------------------------------------------------------------ */

static struct status check_cell(const char *path, const struct record *record, enum time_mode mode,
                                uint32_t *processes) {
  const uint32_t count = record->process[mode].count;
  if (*processes == 0) *processes = count;
  if (count == *processes) return status_ok();
  return status_make(STATUS_NOT_COMPARABLE,
                     "%s: %s of %s has times of %u processes and other cells of %u; measure again, all in one run",
                     path, record->attn_case.key, record->variant, (unsigned)count, (unsigned)*processes);
}

static struct status check_evidence(const char *path, const struct journal_data *evidence,
                                    const struct compare_power_settings *settings, uint32_t *processes) {
  struct status status = status_ok();
  *processes = 0;
  for (size_t i = 0; i < evidence->record_count * TIME_MODE_COUNT && !status_failed(&status); ++i) {
    const struct record *record = &evidence->records[i / TIME_MODE_COUNT];
    const enum time_mode mode = (enum time_mode)(i % TIME_MODE_COUNT);
    if (!settings->compare.modes[mode] || !judge_is_timed(record, mode)) continue;
    if (record->process[mode].count == 0) {
      return status_make(STATUS_NOT_COMPARABLE,
                         "%s: holds one process; measure several with --rounds %u or more, best %u", path,
                         2 * settings->rounds, 4 * settings->rounds);
    }
    status = check_cell(path, record, mode, processes);
  }
  if (status_failed(&status)) return status;
  if (*processes == 0) return status_make(STATUS_NOT_COMPARABLE, "%s: holds no times of the modes to judge", path);
  if (*processes >= 2 * settings->rounds) return status;
  return status_make(STATUS_NOT_COMPARABLE,
                     "%s: holds %u processes; suites of %u rounds need at least %u, best %u: measure more or give a "
                     "smaller --rounds",
                     path, (unsigned)*processes, (unsigned)settings->rounds, 2 * settings->rounds,
                     4 * settings->rounds);
}

/* Rows of all timed cells and modes, as the comparison of the evidence with itself sees them. */
static struct status list_rows(const struct journal_data *evidence, const struct compare_settings *settings,
                               struct compare_power *out) {
  struct compare whole;
  struct journal_data all = *evidence;
  all.run.cell_count = all.record_count;
  const struct status status = compare_build(&all, &all, settings, &whole);
  if (status_failed(&status)) return status;
  out->rows = calloc(whole.row_count + 1, sizeof *out->rows);
  for (size_t i = 0; i < whole.row_count && out->rows != NULL; ++i) {
    const struct compare_row *row = &whole.rows[i];
    if (isnan(row->ratio)) continue;
    out->rows[out->row_count++] = (struct compare_power_row){.key = row->key,
                                                             .variant = row->variant,
                                                             .mode = row->mode,
                                                             .median_us = row->base.median_us,
                                                             .spread_ratio = row->base.spread_ratio,
                                                             .threshold = row->threshold,
                                                             .found_2_percent = NAN,
                                                             .found_3_percent = NAN,
                                                             .slowdown_80 = NAN,
                                                             .slowdown_99 = NAN};
  }
  compare_free(&whole);
  return out->rows != NULL ? status : status_make(STATUS_MEMORY, "no memory for the rows of the self-test");
}

static struct status open_bench(const struct journal_data *evidence, struct bench *out) {
  for (unsigned side = 0; side < SIDES; ++side) {
    out->side[side] = *evidence;
    out->side[side].records = malloc((evidence->record_count + 1) * sizeof *evidence->records);
    if (out->side[side].records == NULL) return status_make(STATUS_MEMORY, "no memory for the self-test's suites");
    memcpy(out->side[side].records, evidence->records, evidence->record_count * sizeof *evidence->records);
  }
  return status_ok();
}

static void close_bench(struct bench *bench) {
  for (unsigned side = 0; side < SIDES; ++side) {
    if (bench->side[side].records != bench->evidence->records) journal_free(&bench->side[side]);
  }
}

static struct status measure_rows(struct bench *bench, struct compare_power *out) {
  struct status status = status_ok();
  for (size_t cell = 0; cell < bench->evidence->record_count; ++cell) {
    for (size_t i = 0; i < out->row_count && !status_failed(&status); ++i) {
      if (out->rows[i].key != bench->evidence->records[cell].attn_case.key) continue;
      status = measure_row(bench, cell, &out->rows[i]);
    }
  }
  return status;
}

/* A change that slows a kernel down shows in both modes, so the better one finds it. */
static void find_least(struct compare_power *out) {
  out->least_2_percent = out->least_3_percent = NAN;
  for (size_t i = 0; i < out->row_count; ++i) {
    const struct compare_power_row *row = &out->rows[i];
    double two = row->found_2_percent, three = row->found_3_percent;
    for (size_t j = 0; j < out->row_count; ++j) {
      if (out->rows[j].key != row->key || out->rows[j].variant != row->variant) continue;
      two = fmax(two, out->rows[j].found_2_percent);
      three = fmax(three, out->rows[j].found_3_percent);
    }
    out->least_2_percent = fmin(out->least_2_percent, two);
    out->least_3_percent = fmin(out->least_3_percent, three);
  }
}

struct status power_measure(const char *path, const struct journal_data *evidence,
                            const struct compare_power_settings *settings, struct compare_power *out) {
  *out = (struct compare_power){.settings = *settings};
  struct bench bench = {.evidence = evidence, .settings = &out->settings, .random = settings->seed};
  struct status status = check_evidence(path, evidence, settings, &bench.processes);
  if (status_failed(&status)) return status;
  out->processes = bench.processes;
  out->leftover = takes_leftover(settings, bench.processes);
  status = open_bench(evidence, &bench);
  if (!status_failed(&status)) status = list_rows(evidence, &settings->compare, out);
  if (!status_failed(&status)) status = count_alarms(&bench, out);
  if (!status_failed(&status)) status = measure_uniform(&bench, out);
  if (!status_failed(&status) && settings->trials > 0) status = measure_rows(&bench, out);
  find_least(out);
  close_bench(&bench);
  if (status_failed(&status)) power_free(out);
  return status;
}

void power_free(struct compare_power *power) {
  free(power->rows);
  power->rows = NULL;
  power->row_count = 0;
}

bool power_is_control(const struct compare_power_control *control) { return !isnan(control->injected_ratio); }

bool power_is_found(const struct compare_power_control *control) {
  return power_is_control(control) && compare_is_alarm(control->verdict);
}
