/* Pairs the rows of two reports and collects their verdicts. */
#include "cli/gate/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gate/identity.h"
#include "cli/gate/judge.h"

struct compare_settings compare_defaults(void) {
  return (struct compare_settings){
      .threshold = 0.02,
      .floor_us = {[TIME_COLD] = 0.15, [TIME_HOT] = 0.1}, /* cold: five ticks of an event's 32 ns */
      .modes = {[TIME_COLD] = true, [TIME_HOT] = true},
  };
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static double threshold_for(const struct compare_settings *settings, const struct record *record) {
  double threshold = settings->threshold;
  for (size_t i = 0; i < settings->override_count; ++i) {
    const struct compare_override *override = &settings->override[i];
    if (cell_name_matches(override->glob, record->attn_case.key, record->variant)) threshold = override->threshold;
  }
  return threshold;
}

static void add_row(struct compare *out, const struct record *base, const struct record *now, enum time_mode mode) {
  const struct record *either = base != NULL ? base : now;
  const struct compare_side untimed = {.median_us = NAN, .spread_ratio = NAN, .sm_clock_mhz = NAN};
  struct compare_row *row = &out->rows[out->row_count++];
  *row = (struct compare_row){.key = either->attn_case.key,
                              .variant = either->variant,
                              .mode = mode,
                              .base = untimed,
                              .now = untimed,
                              .threshold = threshold_for(&out->settings, either),
                              .ratio = NAN,
                              .ci_low = NAN,
                              .ci_high = NAN,
                              .cycles_ratio = NAN,
                              .first_ratio = NAN};
  row->base.record = base;
  row->now.record = now;
  if (!judge_is_timed(base, mode) || !judge_is_timed(now, mode)) {
    judge_untimed(row);
    return;
  }
  struct compare_evidence seen;
  seen.base.count = seen.now.count = 0;
  judge_observe(base, mode, &seen.base);
  judge_observe(now, mode, &seen.now);
  judge_timed(&out->settings, &seen, row);
}

static int by_cell(const void *a, const void *b) {
  const struct record *left = *(const struct record *const *)a, *right = *(const struct record *const *)b;
  const int by_key = strcmp(left->attn_case.key, right->attn_case.key);
  return by_key != 0 ? by_key : strcmp(left->variant, right->variant);
}

/* The records in the order of their cells; the caller frees. */
static const struct record **sorted_records(const struct journal_data *data) {
  const struct record **sorted = malloc((data->record_count + 1) * sizeof *sorted);
  if (sorted == NULL) return NULL;
  for (size_t i = 0; i < data->record_count; ++i) sorted[i] = &data->records[i];
  qsort(sorted, data->record_count, sizeof *sorted, by_cell);
  return sorted;
}

static void add_cell(struct compare *out, const struct record *base, const struct record *now) {
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    if (out->settings.modes[mode]) add_row(out, base, now, mode);
  }
}

/* Both lists are sorted: a walk along the two meets every cell of either once. */
static struct status add_rows(struct compare *out) {
  const size_t bases = out->base->record_count, nows = out->now->record_count;
  const struct record **base = sorted_records(out->base), **now = sorted_records(out->now);
  out->rows = calloc((bases + nows) * TIME_MODE_COUNT + 1, sizeof *out->rows);
  for (size_t b = 0, n = 0; base != NULL && now != NULL && out->rows != NULL && (b < bases || n < nows);) {
    const int order = b == bases ? 1 : n == nows ? -1 : by_cell(&base[b], &now[n]);
    add_cell(out, order <= 0 ? base[b] : NULL, order >= 0 ? now[n] : NULL);
    b += order <= 0;
    n += order >= 0;
  }
  const bool whole = base != NULL && now != NULL && out->rows != NULL;
  free(base);
  free(now);
  return whole ? status_ok() : status_make(STATUS_MEMORY, "no memory to compare %zu cells with %zu", nows, bases);
}

/* ---- outcome ------------------------------------------------------------------------------------------------- */

/* Worst first. */
static const unsigned char weights[COMPARE_VERDICT_COUNT] = {
    [COMPARE_wrong] = 0,    [COMPARE_missing] = 1, [COMPARE_regressed] = 2,
    [COMPARE_added] = 3,    [COMPARE_clock] = 4,   [COMPARE_inconclusive] = 5,
    [COMPARE_improved] = 6, [COMPARE_same] = 7,    [COMPARE_untimed] = 8,
};

/* Slowest first; rows without a ratio behind those with one. */
static int by_ratio(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
  return (a < b) - (a > b);
}

static int by_badness(const void *left, const void *right) {
  const struct compare_row *a = left, *b = right;
  int order = weights[a->verdict] - weights[b->verdict];
  if (order == 0) order = by_ratio(a->ratio, b->ratio);
  if (order == 0) order = strcmp(a->key, b->key);
  if (order == 0) order = strcmp(a->variant, b->variant);
  return order != 0 ? order : (int)a->mode - (int)b->mode;
}

static enum exit_code exit_code_of(const struct compare *compare, enum compare_verdict verdict) {
  const struct compare_settings *settings = &compare->settings;
  if (verdict == COMPARE_added && settings->allow_new) return EXIT_CODE_OK;
  const enum exit_code code = verdict_exit_code(verdict);
  return code == EXIT_CODE_INCONCLUSIVE && settings->noise_is_ok ? EXIT_CODE_OK : code;
}

/* The first of these that any row asks for. */
static enum exit_code worst_code(const struct compare *compare) {
  static const enum exit_code order[] = {EXIT_CODE_WRONG, EXIT_CODE_COVERAGE, EXIT_CODE_REGRESSION,
                                         EXIT_CODE_INCONCLUSIVE};
  for (size_t i = 0; i < sizeof order / sizeof *order; ++i) {
    if (order[i] == EXIT_CODE_COVERAGE && compare->compared == 0) return EXIT_CODE_COVERAGE;
    for (enum compare_verdict verdict = 0; verdict < COMPARE_VERDICT_COUNT; ++verdict) {
      if (compare->verdict_count[verdict] > 0 && exit_code_of(compare, verdict) == order[i]) return order[i];
    }
  }
  return EXIT_CODE_OK;
}

static void conclude(struct compare *compare) {
  memset(compare->verdict_count, 0, sizeof compare->verdict_count);
  compare->compared = 0;
  for (size_t i = 0; i < compare->row_count; ++i) {
    ++compare->verdict_count[compare->rows[i].verdict];
    compare->compared += !isnan(compare->rows[i].ratio);
  }
  if (compare->row_count > 0) qsort(compare->rows, compare->row_count, sizeof *compare->rows, by_badness);
  compare->exit_code = compare->comparable ? worst_code(compare) : EXIT_CODE_NOT_COMPARABLE;
}

struct status compare_build(const struct journal_data *base, const struct journal_data *now,
                            const struct compare_settings *settings, struct compare *out) {
  *out = (struct compare){.settings = *settings, .base = base, .now = now};
  identity_compare(out);
  const struct status status = out->comparable ? add_rows(out) : status_ok();
  if (status_failed(&status)) {
    compare_free(out);
    return status;
  }
  conclude(out);
  return status;
}

void compare_free(struct compare *compare) {
  free(compare->rows);
  compare->rows = NULL;
  compare->row_count = 0;
}

/* ---- the second measurement ---------------------------------------------------------------------------------- */

bool compare_wants_again(const struct compare_row *row) {
  return row->verdict == COMPARE_regressed || row->verdict == COMPARE_inconclusive || row->verdict == COMPARE_clock;
}

static const struct compare_row *row_of(const struct compare *compare, const struct compare_row *wanted) {
  for (size_t i = 0; i < compare->row_count; ++i) {
    const struct compare_row *row = &compare->rows[i];
    if (row->mode == wanted->mode && strcmp(row->key, wanted->key) == 0 && strcmp(row->variant, wanted->variant) == 0)
      return row;
  }
  return NULL;
}

/* What is judged, in place of what stands in the row; the records stay those of the first measurement. */
static void take_judgement(const struct compare_row *from, struct compare_row *to) {
  struct compare_row row = *from;
  row.key = to->key;
  row.variant = to->variant;
  row.base.record = to->base.record;
  row.now.record = to->now.record;
  row.was_suspect = true;
  row.first_ratio = to->ratio;
  *to = row;
}

static void confirm_suspect(const struct compare_row *fresh, struct compare_row *row) {
  take_judgement(fresh, row);
  if (row->verdict != COMPARE_same) return;
  snprintf(row->reason, sizeof row->reason, "%+.2f %% at first, not when measured again",
           100 * (row->first_ratio - 1));
}

/* Judged over the observations of both measurements. */
static void pool(const struct compare *compare, const struct compare *again, const struct compare_row *fresh,
                 struct compare_row *row) {
  struct compare_evidence seen;
  struct compare_row pooled = *row;
  seen.base.count = seen.now.count = 0;
  pooled.threshold = threshold_for(&compare->settings, row->base.record);
  judge_observe(row->base.record, row->mode, &seen.base);
  judge_observe(row->now.record, row->mode, &seen.now);
  if (again->base != compare->base) judge_observe(fresh->base.record, row->mode, &seen.base);
  judge_observe(fresh->now.record, row->mode, &seen.now);
  judge_timed(&compare->settings, &seen, &pooled);
  if (pooled.verdict == COMPARE_regressed && fresh->verdict != COMPARE_regressed) {
    pooled.verdict = COMPARE_inconclusive;
    snprintf(pooled.reason, sizeof pooled.reason,
             "%+.2f %% over both measurements, %+.2f %% in the second, which alone does not decide",
             100 * (pooled.ratio - 1), 100 * (fresh->ratio - 1));
  }
  take_judgement(&pooled, row);
}

void compare_confirm(struct compare *compare, const struct compare *again) {
  for (size_t i = 0; i < compare->row_count; ++i) {
    struct compare_row *row = &compare->rows[i];
    const struct compare_row *fresh = compare_wants_again(row) ? row_of(again, row) : NULL;
    if (fresh == NULL) continue;
    if (row->verdict == COMPARE_regressed || isnan(fresh->ratio)) {
      confirm_suspect(fresh, row);
    } else {
      pool(compare, again, fresh, row);
    }
  }
  conclude(compare);
}
