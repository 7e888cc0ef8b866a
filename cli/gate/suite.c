/* The verdict over all cases of a comparison. */
#include "cli/gate/judge.h"

#include <math.h>

/* Both sides keep as many processes as the row with the fewest has. */
static void add_side(const struct compare_observations *one, bool first, struct suite_sum *sum) {
  if (first || one->count < sum->count) sum->count = one->count;
  for (uint32_t i = 0; i < sum->count; ++i) {
    sum->log_us[i] = (first ? 0 : sum->log_us[i]) + one->process[i].log_us;
    sum->log_mhz[i] = (first ? 0 : sum->log_mhz[i]) + one->process[i].log_mhz;
  }
}

static void add_means(const struct suite_sum *sum, const struct suite_sums *sums, struct compare_observations *out) {
  const double rows = (double)sums->rows;
  for (uint32_t i = 0; sums->rows > 0 && i < sum->count; ++i) {
    const double mhz = sums->has_clock ? exp(sum->log_mhz[i] / rows) : (double)NAN;
    judge_add(judge_process(exp(sum->log_us[i] / rows), mhz, 0, 0), out);
  }
}

static void take_means(const struct suite_sums *sums, struct compare_evidence *out) {
  judge_clear(out);
  add_means(&sums->base, sums, &out->base);
  add_means(&sums->now, sums, &out->now);
}

/* A case that became much faster stands for itself: in the mean it would pay for a slowdown of all others. A row that
 * hosts explain is undecided already. */
static bool is_counted(const struct compare_row *row) {
  const bool is_apart = row->verdict == COMPARE_implausible || row->verdict == COMPARE_improved;
  return row->has_ratio && !is_apart && !row->by_hosts;
}

void suite_add(const struct compare_row *row, const struct compare_evidence *seen, struct suite_sums *sums) {
  if (!is_counted(row)) return;
  add_side(&seen->base, sums->rows == 0, &sums->base);
  add_side(&seen->now, sums->rows == 0, &sums->now);
  sums->has_clock = (sums->rows == 0 || sums->has_clock) && !row->dram_bound;
  ++sums->rows;
}

size_t suite_observe(const struct compare *compare, struct compare_evidence *out) {
  struct compare_evidence seen;
  struct suite_sums sums;
  sums.rows = 0;
  for (size_t i = 0; i < compare->row_count; ++i) {
    const struct compare_row *row = &compare->rows[i];
    if (!is_counted(row)) continue;
    judge_observe_row(row, row->event_overhead_us, &seen);
    suite_add(row, &seen, &sums);
  }
  take_means(&sums, out);
  return sums.rows;
}

void suite_judge(const struct suite_sums *sums, struct compare *compare) {
  struct compare_evidence seen;
  const double threshold = COMPARE_SUITE_RATIO * compare->settings.threshold;
  compare->suite = (struct compare_row){.key = NULL};
  compare->suite_rows = sums->rows;
  if (sums->rows < COMPARE_SUITE_ROWS_MIN) return;
  take_means(sums, &seen);
  compare->suite = (struct compare_row){.key = "all cases",
                                        .variant = "",
                                        .mode = TIME_HOT,
                                        .family = compare->settings.paired ? 0 : 1,
                                        .limits = judge_limits(threshold),
                                        .physical_us = NAN,
                                        .first_ratio = NAN};
  judge_timed(&compare->settings, &seen, &compare->suite);
}
