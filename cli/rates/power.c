/* How often the gate is wrong: draws gates from measured processes and counts their verdicts. */
#include "cli/rates/power.h"

#include <math.h>
#include <stdlib.h>

#include "cli/base/owned.h"
#include "cli/base/signals.h"
#include "cli/gate/judge.h"
#include "cli/rates/drawn.h"

/* All cases slower by this, which is below the line of each. */
static const double uniform_slowdown = 0.01;

/* About as many rows are judged for each rate of whole gates, and as many gates of one row are drawn for the
 * slowdowns, as far as the fewest gates (power.h) allow: a few seconds for each at most. */
enum { JUDGED_MOST = 800000, TRIED_MOST = 200000 };

struct bench {
  struct population population; /* its rows in the order of those of the result */
  struct compare_settings settings;
  struct draws_source source;
};

/* A case with a variant: rows that are neighbours, one for each mode. */
struct rated_cell {
  size_t first, count;
  double noise; /* of the better mode, in lines of the gate */
};

/* ---- bounds -------------------------------------------------------------------------------------------------- */

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

static double power_lower(uint64_t hits, uint64_t n) { return 1 - power_upper(n - hits, n); }

/* ---- whole gates --------------------------------------------------------------------------------------------- */

/* Draws gates of these rows by these settings. */
static struct status open_gates(const struct bench *bench, uint32_t family, size_t rows, struct drawn *out) {
  struct compare_settings settings = bench->settings;
  settings.family = settings.paired ? 0 : family;
  return drawn_open(&bench->population, &settings, rows, out);
}

static void count_alarms(const struct drawn *drawn, void *of) {
  struct compare_power *out = of;
  const struct compare *gate = &drawn->gate;
  out->pairs += drawn->pairs;
  out->pairs_of_row += drawn->pairs_of_row;
  out->suite_failed += gate->suite.key != NULL && compare_is_alarm(gate->suite.verdict);
  out->failed += drawn_failed(drawn);
  out->undecided += drawn_undecided(drawn);
  for (size_t i = 0; i < gate->row_count; ++i) {
    out->rows[i].false_alarms += compare_is_alarm(gate->rows[i].verdict);
    out->rows[i].inconclusive += compare_is_undecided(gate->rows[i].verdict);
  }
}

/* How many gates there will be, once the first of them have shown what one costs. */
static uint64_t gates_of(const struct drawn *gates, uint64_t most) {
  const uint64_t affordable =
      POWER_SUITES_LEAST * UINT64_C(1) * JUDGED_MOST / (gates->judged > 0 ? gates->judged : 1);
  return affordable < POWER_SUITES_LEAST ? POWER_SUITES_LEAST : affordable < most ? affordable : most;
}

static void count_failed(const struct drawn *gate, void *of) { *(uint64_t *)of += drawn_failed(gate); }

/* Draws gates in which these rows are slower (NULL: all), and has `count` take note of each. There are *suites of
 * them, or as many as are affordable, which is then their number. */
static struct status draw_gates(const struct bench *bench, const struct rated_cell *slow, double slowdown,
                                bool as_affordable, uint64_t *suites, void (*count)(const struct drawn *, void *of),
                                void *of) {
  struct draws_source source = bench->source;
  OWNED(drawn_close) struct drawn gates = {.judged = 0};
  struct draws draws;
  TRY(open_gates(bench, bench->population.family, bench->population.row_count, &gates));
  drawn_select(0, bench->population.row_count, &gates);
  if (slow != NULL) drawn_slow(slow->first, slow->count, &gates);
  for (uint64_t drawn = 0; drawn < *suites;) {
    TRY(signals_check());
    draws_next(&source, &draws);
    TRY(drawn_judge(&draws, slowdown, &gates));
    count(&gates, of);
    if (++drawn == POWER_SUITES_LEAST && as_affordable) *suites = gates_of(&gates, *suites);
  }
  return status_ok();
}

static struct status measure_gates(const struct bench *bench, struct compare_power *out) {
  out->suites = out->settings.suites;
  TRY(draw_gates(bench, NULL, 0, true, &out->suites, count_alarms, out));
  out->failed_upper = power_upper(out->failed, out->suites);
  out->undecided_upper = power_upper(out->undecided, out->suites);
  out->uniform_1_percent = out->uniform_1_percent_lower = NAN;
  if (out->row_count < COMPARE_SUITE_ROWS_MIN || out->settings.trials == 0) return status_ok();
  out->uniform_suites = out->settings.suites;
  TRY(draw_gates(bench, NULL, uniform_slowdown, true, &out->uniform_suites, count_failed, &out->uniform_found));
  out->uniform_1_percent = (double)out->uniform_found / (double)out->uniform_suites;
  out->uniform_1_percent_lower = power_lower(out->uniform_found, out->uniform_suites);
  return status_ok();
}

/* ---- slowdowns of one row ------------------------------------------------------------------------------------ */

/* A gate of one row alone, of which every size of slowdown is asked with the same processes. */
struct probe {
  struct drawn drawn;
  const struct draws *draws;
  struct status status; /* once it failed, nothing more is found */
};

static bool finds(struct probe *probe, unsigned step) {
  if (status_failed(&probe->status)) return false;
  probe->status = drawn_judge(probe->draws, step * COMPARE_POWER_STEP, &probe->drawn);
  return drawn_failed(&probe->drawn);
}

/* The smallest slowdown that is found, in steps; one more than there are when none is. What is found counts as found
 * at every larger size. The search begins at `guess`, where the draw before ended. */
static unsigned least_found(struct probe *probe, unsigned guess) {
  unsigned missed = 0, found = COMPARE_POWER_STEPS + 1, at = guess;
  for (unsigned stride = 1; missed + 1 < found; stride *= 2) {
    if (at <= missed || at >= found) at = missed + (found - missed) / 2;
    if (finds(probe, at)) {
      found = at;
      at = at > stride ? at - stride : 0;
    } else {
      missed = at;
      at += stride;
    }
  }
  return found;
}

static double share(const uint32_t *least, unsigned step, uint32_t trials) {
  uint32_t found = 0;
  for (unsigned i = 1; i <= step; ++i) found += least[i];
  return (double)found / trials;
}

static double slowdown_found(const uint32_t *least, double wanted, uint32_t trials) {
  for (unsigned step = 1; step <= COMPARE_POWER_STEPS; ++step) {
    if (share(least, step, trials) >= wanted) return step * COMPARE_POWER_STEP;
  }
  return NAN;
}

static void measure_row(const struct draws *draws, uint32_t trials, struct probe *probe,
                        struct compare_power_row *row) {
  uint32_t least[COMPARE_POWER_STEPS + 2] = {0};
  unsigned at = COMPARE_POWER_STEPS / 2;
  for (uint32_t i = 0; i < trials; ++i) {
    probe->draws = &draws[i];
    at = least_found(probe, at);
    ++least[at];
    if (at > COMPARE_POWER_STEPS) at = COMPARE_POWER_STEPS;
  }
  row->found_2_percent = share(least, POWER_STEP_2_PERCENT, trials);
  row->found_3_percent = share(least, POWER_STEP_3_PERCENT, trials);
  row->slowdown_80 = slowdown_found(least, 0.8, trials);
  row->slowdown_99 = slowdown_found(least, 0.99, trials);
}

/* ---- which rows are tried -------------------------------------------------------------------------------------- */

/* What neighbours in time differ by, as a root of a mean of squares. */
static double noise_of(const struct compare_row *row) {
  const struct process_record *process = &row->base.record->process[row->mode];
  const uint32_t pairs = process->count / 2;
  double squares = 0;
  for (uint32_t pair = 0; pair < pairs; ++pair) {
    const double difference = log((process->median_us[2 * pair] - row->event_overhead_us) /
                                  (process->median_us[2 * pair + 1] - row->event_overhead_us));
    squares += difference * difference;
  }
  return sqrt(squares / pairs) / log1p(COMPARE_LINE_RATIO * row->threshold);
}

static int by_noise(const void *left, const void *right) {
  const struct rated_cell *a = left, *b = right;
  if (a->noise != b->noise) return a->noise < b->noise ? 1 : -1;
  return (a->first > b->first) - (a->first < b->first);
}

static size_t list_cells(const struct bench *bench, const struct compare_power *out, struct rated_cell *cells) {
  size_t count = 0;
  for (size_t i = 0; i < out->row_count; ++i) {
    const double noise = noise_of(&bench->population.rows[i]);
    const bool is_next =
        count == 0 || out->rows[i].key != out->rows[i - 1].key || out->rows[i].variant != out->rows[i - 1].variant;
    if (is_next) cells[count++] = (struct rated_cell){.first = i, .noise = noise};
    struct rated_cell *cell = &cells[count - 1];
    ++cell->count;
    cell->noise = fmin(cell->noise, noise);
  }
  qsort(cells, count, sizeof *cells, by_noise);
  return count;
}

/* Of many cells the noisiest, in which slowdowns are found least, are half of those that are tried; the other half is
 * of every noise. Returns which of them, in this order, is the next one. */
static size_t cell_at(size_t i, size_t tried, size_t count) {
  const size_t noisiest = tried / 2;
  return tried == count || i < noisiest ? i : noisiest + (i - noisiest) * (count - noisiest) / (tried - noisiest);
}

static void close_probe(struct probe *probe) { drawn_close(&probe->drawn); }

static struct status try_cells(const struct bench *bench, const struct rated_cell *cells, size_t count,
                               const struct draws *draws, struct compare_power *out) {
  OWNED(close_probe) struct probe probe = {.status = status_ok()};
  const size_t most = TRIED_MOST / POWER_TRIALS_LEAST * count / out->row_count, tried = count < most ? count : most;
  TRY(open_gates(bench, 1, 1, &probe.drawn));
  for (size_t i = 0; i < tried && !status_failed(&probe.status); ++i) {
    const struct rated_cell *cell = &cells[cell_at(i, tried, count)];
    for (size_t row = cell->first; row < cell->first + cell->count; ++row) {
      drawn_select(row, 1, &probe.drawn);
      measure_row(draws, out->trials, &probe, &out->rows[row]);
    }
    out->rows_tried += cell->count;
    if (!status_failed(&probe.status)) probe.status = signals_check();
  }
  return probe.status;
}

static uint32_t trials_of(const struct compare_power *out) {
  const size_t affordable = TRIED_MOST / (out->row_count > 0 ? out->row_count : 1);
  const size_t trials = affordable > POWER_TRIALS_LEAST ? affordable : POWER_TRIALS_LEAST;
  return trials < out->settings.trials ? (uint32_t)trials : out->settings.trials;
}

static struct status measure_rows(const struct bench *bench, struct compare_power *out) {
  struct draws_source source = bench->source;
  out->trials = trials_of(out);
  OWNED_ARRAY(struct draws, draws, out->trials, "gates");
  OWNED_ARRAY(struct rated_cell, cells, out->row_count, "cells of the self-test");
  for (uint32_t i = 0; i < out->trials; ++i) draws_next(&source, &draws[i]);
  return try_cells(bench, cells, list_cells(bench, out, cells), draws, out);
}

static double lower_of(double share, uint32_t trials) {
  return isnan(share) ? share : power_lower((uint64_t)llround(share * trials), trials);
}

/* A change that slows a kernel down shows in both modes, so the better one finds it. Modes of a cell are neighbours.
 */
static struct rated_cell find_least(struct compare_power *out) {
  struct rated_cell least = {.count = 0};
  out->least_2_percent = out->least_3_percent = NAN;
  for (size_t i = 0, next; i < out->row_count; i = next) {
    double two = NAN, three = NAN;
    for (next = i; next < out->row_count && out->rows[next].key == out->rows[i].key &&
                   out->rows[next].variant == out->rows[i].variant;
         ++next) {
      two = fmax(two, out->rows[next].found_2_percent);
      three = fmax(three, out->rows[next].found_3_percent);
    }
    const bool is_least = !isnan(two) && !(two >= out->least_2_percent);
    if (is_least) least = (struct rated_cell){.first = i, .count = next - i};
    out->least_2_percent = fmin(out->least_2_percent, two);
    out->least_3_percent = fmin(out->least_3_percent, three);
  }
  out->least_2_percent_lower = lower_of(out->least_2_percent, out->trials);
  out->least_3_percent_lower = lower_of(out->least_3_percent, out->trials);
  return least;
}

/* ---- slowdowns in whole gates ---------------------------------------------------------------------------------- */

/* Among many rows a slower one is found less often than alone: more suspects ask for more certainty. */
static struct status share_of_whole(const struct bench *bench, const struct rated_cell *cell, double slowdown,
                                    uint64_t suites, double *out) {
  uint64_t found = 0;
  TRY(draw_gates(bench, cell, slowdown, false, &suites, count_failed, &found));
  *out = (double)found / (double)suites;
  return status_ok();
}

static struct status measure_whole(const struct bench *bench, const struct rated_cell *least,
                                   struct compare_power *out) {
  const uint64_t affordable = TRIED_MOST / (out->row_count + 1);
  out->whole_2_percent = out->whole_3_percent = NAN;
  if (least->count == 0 || isnan(out->least_2_percent)) return status_ok();
  out->whole_suites = affordable < POWER_SUITES_LEAST ? POWER_SUITES_LEAST : affordable;
  if (out->whole_suites > out->settings.trials) out->whole_suites = out->settings.trials;
  TRY(share_of_whole(bench, least, POWER_STEP_2_PERCENT * COMPARE_POWER_STEP, out->whole_suites,
                     &out->whole_2_percent));
  return share_of_whole(bench, least, POWER_STEP_3_PERCENT * COMPARE_POWER_STEP, out->whole_suites,
                        &out->whole_3_percent);
}

/* ---- the whole ----------------------------------------------------------------------------------------------- */

static struct status list_rows(const struct bench *bench, struct compare_power *out) {
  const struct population *population = &bench->population;
  TRY(owned_array(&out->rows, population->row_count, sizeof *out->rows, "rows of the self-test"));
  for (; out->row_count < population->row_count; ++out->row_count) {
    const struct compare_row *row = &population->rows[out->row_count];
    const double floor =
        judge_floor_threshold(bench->settings.floor_us[row->mode], row->base.median_us - row->event_overhead_us);
    out->rows[out->row_count] = (struct compare_power_row){.key = row->key,
                                                           .variant = row->variant,
                                                           .mode = row->mode,
                                                           .median_us = row->base.median_us,
                                                           .spread_ratio = row->base.spread_ratio,
                                                           .threshold = fmax(row->threshold, floor),
                                                           .found_2_percent = NAN,
                                                           .found_3_percent = NAN,
                                                           .slowdown_80 = NAN,
                                                           .slowdown_99 = NAN};
  }
  return status_ok();
}

static struct status measure(const struct bench *bench, struct compare_power *out) {
  TRY(list_rows(bench, out));
  TRY(measure_gates(bench, out));
  if (out->settings.trials > 0) TRY(measure_rows(bench, out));
  const struct rated_cell least = find_least(out);
  return measure_whole(bench, &least, out);
}

static void close_bench(struct bench *bench) { population_close(&bench->population); }

struct status power_measure(const char *path, const struct journal_data *evidence,
                            const struct compare_power_settings *settings, struct compare_power *out) {
  OWNED(close_bench) struct bench bench = {.settings = settings->compare};
  *out = (struct compare_power){.settings = *settings};
  bench.settings.must_settle = compare_must_settle(&settings->compare, evidence);
  TRY(population_open(path, evidence, &settings->compare, settings->rounds, &bench.population));
  out->processes = bench.population.processes;
  bench.source = (struct draws_source){.paired = settings->compare.paired,
                                       .processes = out->processes,
                                       .rounds = settings->rounds,
                                       .random = settings->seed};
  out->leftover = draws_leave_over(&bench.source);
  const struct status status = measure(&bench, out);
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
