/* The verdict over all cases of a comparison. */
#include "cli/gate/suite.h"

#include <math.h>

/* Adds one row's logarithms; both sides keep as many processes as the row with the fewest has. */
static void add_side(const struct compare_observations *one, bool first, struct compare_observations *sum) {
  if (first) sum->count = one->count;
  if (one->count < sum->count) sum->count = one->count;
  for (uint32_t i = 0; i < sum->count; ++i) {
    sum->us[i] = (first ? 0 : sum->us[i]) + log(one->us[i] - one->overhead_us);
    sum->mhz[i] = (first ? 0 : sum->mhz[i]) + log(one->mhz[i]);
  }
}

static void take_mean(struct compare_observations *sum, size_t rows, bool has_clock) {
  for (uint32_t i = 0; i < sum->count; ++i) {
    sum->us[i] = exp(sum->us[i] / (double)rows);
    sum->mhz[i] = has_clock ? exp(sum->mhz[i] / (double)rows) : (double)NAN;
  }
}

bool suite_counts(enum compare_verdict verdict) {
  return verdict != COMPARE_implausible && verdict != COMPARE_improved;
}

/* A row that hosts explain is undecided already. */
static bool is_counted(const struct compare_row *row) {
  return !isnan(row->ratio) && suite_counts(row->verdict) && !row->by_hosts;
}

size_t suite_observe(const struct compare *compare, struct compare_evidence *out) {
  struct compare_evidence seen;
  size_t rows = 0;
  bool has_clock = true;
  *out = (struct compare_evidence){.base = {.count = 0}};
  for (size_t i = 0; i < compare->row_count; ++i) {
    const struct compare_row *row = &compare->rows[i];
    if (!is_counted(row)) continue;
    judge_observe_row(row, row->event_overhead_us, &seen);
    add_side(&seen.base, rows == 0, &out->base);
    add_side(&seen.now, rows == 0, &out->now);
    has_clock = has_clock && !row->dram_bound;
    ++rows;
  }
  take_mean(&out->base, rows, has_clock);
  take_mean(&out->now, rows, has_clock);
  return rows;
}

struct compare_settings suite_settings(const struct compare *compare) {
  struct compare_settings settings = compare->settings;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) settings.floor_us[mode] = 0;
  settings.family = settings.paired ? 0 : 1;
  return settings;
}

void suite_judge(struct compare *compare) {
  struct compare_evidence seen;
  const struct compare_settings settings = suite_settings(compare);
  compare->suite = (struct compare_row){.key = NULL};
  compare->suite_rows = suite_observe(compare, &seen);
  if (compare->suite_rows < COMPARE_SUITE_ROWS_MIN) return;
  compare->suite = (struct compare_row){.key = "all cases",
                                        .variant = "",
                                        .mode = TIME_HOT,
                                        .threshold = COMPARE_SUITE_RATIO * compare->settings.threshold,
                                        .physical_us = NAN,
                                        .first_ratio = NAN};
  judge_timed(&settings, &seen, &compare->suite);
}
