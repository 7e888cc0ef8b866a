/* Pairs the rows of two reports and collects their verdicts. */
#include "cli/gate/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analyse/metrics.h"
#include "cli/gate/judge.h"

struct compare_settings compare_defaults(void) {
  return (struct compare_settings){
      .threshold = 0.02,
      .floor_us =
          {[TIME_COLD] = 0.15, [TIME_HOT] = 0.1, [TIME_STEADY] = 0.1}, /* cold: five ticks of an event's 32 ns */
      .modes = {[TIME_COLD] = true, [TIME_HOT] = true},                /* steady: where it is asked for */
  };
}

bool compare_must_settle(const struct compare_settings *settings, const struct journal_data *now) {
  return !settings->paired && now->has_device && now->device.kind == DEVICE_CUDA;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static double threshold_of(const struct compare_settings *settings, const struct record *record) {
  double threshold = settings->threshold;
  for (size_t i = 0; i < settings->override_count; ++i) {
    const struct compare_override *override = &settings->override[i];
    if (cell_name_matches(override->glob, record->attn_case.key, record->variant)) threshold = override->threshold;
  }
  return threshold;
}

/* What the hardware allows, at the higher of the two clocks. */
static void fill_limits(const struct compare *compare, struct compare_row *row) {
  struct metrics base, now;
  if (!compare->base->has_device || !compare->now->has_device) return;
  metrics_of(row->base.record, cards_info(compare->base, row->base.record), &base);
  metrics_of(row->now.record, cards_info(compare->now, row->now.record), &now);
  row->physical_us = fmin(base.mode[row->mode].floor_us, now.mode[row->mode].floor_us);
  row->dram_bound = now.mode[row->mode].roof == ROOF_DRAM;
}

bool compare_is_alarm(enum compare_verdict verdict) {
  return verdict == COMPARE_regressed || verdict == COMPARE_cycles;
}

bool compare_is_undecided(enum compare_verdict verdict) {
  return verdict_exit_code(verdict) == EXIT_CODE_INCONCLUSIVE;
}

static bool is_suite_open(const struct compare *compare) {
  return compare->suite.key != NULL && compare_is_undecided(compare->suite.verdict);
}

bool compare_is_open(const struct compare *compare, const struct compare_row *row) {
  return compare_is_undecided(row->verdict) || (row->has_ratio && is_suite_open(compare));
}

bool compare_is_clear(const struct compare *compare) {
  for (enum compare_verdict verdict = 0; verdict < COMPARE_VERDICT_COUNT; ++verdict) {
    if (compare_is_undecided(verdict) && compare->verdict_count[verdict] > 0) return false;
  }
  return !is_suite_open(compare);
}

static double shortest_us(const struct record *record, enum time_mode mode) {
  const struct process_record *process = &record->process[mode];
  return process->count > 0 ? event_overhead_shortest(process->median_us, process->count)
                            : event_overhead_shortest(&record->time[mode].us.median, 1);
}

/* What the card of `record`, of this report, adds to times of the row, where it can be in all of these. */
static double overhead_on(const struct journal_data *data, const struct record *record,
                          const struct compare_row *row) {
  return event_overhead_off(
      event_overhead_in(row->mode, cards_info(data, record), cards_event_overhead_us(data, record)),
      fmin(shortest_us(row->base.record, row->mode), shortest_us(row->now.record, row->mode)));
}

/* Of a run with --devices a cell may be on another card each time, and cards of one model differ by more than kernels
 * that are to be told apart. */
static void judge_cards(const struct compare *compare, struct compare_row *row) {
  const bool by_card = compare->base->card_count > 0 || compare->now->card_count > 0;
  if (!by_card || row->verdict == COMPARE_implausible || !row->is_other_card) return;
  row->verdict = COMPARE_inconclusive;
  snprintf(row->reason, sizeof row->reason, "measured on different cards: %s in the base, %s now",
           cards_info(compare->base, row->base.record)->uuid, cards_info(compare->now, row->now.record)->uuid);
}

/* On another host an empty launch between two events takes longer or shorter, by as much as 1.7 us of 2.7 on H200s.
 * Where the verdict would be another one with each side's own constant, it is the hosts that differ. What the new
 * report claims can so leave a row undecided, and pass none. */
static void judge_hosts(const struct compare *compare, struct compare_row *row) {
  const struct journal_data *base = compare->base, *now = compare->now;
  if (!base->has_device || !now->has_device || row->verdict == COMPARE_implausible || !row->is_other_card) return;
  const double own_us = overhead_on(now, row->now.record, row);
  if (own_us == row->event_overhead_us) return;
  struct compare_row other = *row;
  struct compare_evidence seen;
  judge_observe_row(row, row->event_overhead_us, &seen);
  judge_observe(&row->now, row->mode, own_us, &seen.now);
  judge_timed(&compare->settings, &seen, &other);
  if (other.verdict == row->verdict || (compare_is_alarm(other.verdict) && compare_is_alarm(row->verdict))) return;
  row->by_hosts = true;
  row->verdict = COMPARE_inconclusive;
  row->rounds_needed = 0;
  snprintf(row->reason, sizeof row->reason,
           "an empty launch between two events takes %.3g us on the base's host and %.3g us on this one: compare hot "
           "times, or measure both on one host",
           row->event_overhead_us, own_us);
}

/* Within its process. How far the processes lie apart is part of the verdict already, and the load of a busy machine
 * shows in that. */
static bool drifted(const struct time_record *time) {
  return !time->settled && !time->settled_alone && !record_is_busy(time);
}

/* The base's constant for both sides: constants that were measured twice would differ, and look like a difference of
 * the kernels; and what the new report claims changes nothing. */
static void start_timed(const struct compare *compare, struct compare_row *row) {
  const struct record *base = row->base.record, *now = row->now.record;
  row->is_timed = true;
  row->is_unsettled = drifted(&base->time[row->mode]) || drifted(&now->time[row->mode]);
  row->is_single = base->time[row->mode].us.n < 2 || now->time[row->mode].us.n < 2;
  row->is_other_card = strcmp(cards_info(compare->base, base)->uuid, cards_info(compare->now, now)->uuid) != 0;
  if (compare->base->has_device) row->event_overhead_us = overhead_on(compare->base, base, row);
  fill_limits(compare, row);
}

struct compare_row compare_start(const struct compare *compare, const struct record *base, const struct record *now,
                                 enum time_mode mode) {
  const struct record *either = base != NULL ? base : now;
  const struct compare_side untimed = {.median_us = NAN, .spread_ratio = NAN, .sm_clock_mhz = NAN};
  const double threshold = threshold_of(&compare->settings, either);
  struct compare_row row = {.key = either->attn_case.key,
                            .variant = either->variant,
                            .mode = mode,
                            .base = untimed,
                            .now = untimed,
                            .family = compare->settings.family,
                            .floor_us = compare->settings.floor_us[mode],
                            .limits = judge_limits(threshold),
                            .threshold = threshold,
                            .physical_us = NAN,
                            .ratio = NAN,
                            .ci_low = NAN,
                            .ci_high = NAN,
                            .cycles_ratio = NAN,
                            .first_ratio = NAN};
  row.base.record = base;
  row.now.record = now;
  if (judge_is_timed(base, mode) && judge_is_timed(now, mode)) start_timed(compare, &row);
  return row;
}

static void judge_row(const struct compare *compare, struct compare_row *row, struct suite_sums *sums) {
  struct compare_evidence seen;
  if (!row->is_timed) {
    judge_untimed(row);
    return;
  }
  judge_observe_row(row, row->event_overhead_us, &seen);
  judge_timed(&compare->settings, &seen, row);
  judge_hosts(compare, row);
  judge_cards(compare, row);
  if (compare->row_count >= COMPARE_SUITE_ROWS_MIN) suite_add(row, &seen, sums);
}

/* Few pairs of one row tell little of its noise; those of all rows tell more. Of each the first pairs count, which no
 * look changes: a row that was clear and is not measured any more stays so. */
static void settle_noise(struct compare *compare) {
  struct compare_evidence seen;
  struct compare_noise others = {0, 0};
  size_t rows = 0;
  if (compare->settings.pairs_planned == 0) return;
  for (size_t i = 0; i < compare->row_count; ++i) {
    const struct compare_row *row = &compare->rows[i];
    if (!row->is_timed) continue;
    judge_observe_row(row, row->event_overhead_us, &seen);
    judge_keep(COMPARE_FEW_FIRST, &seen);
    const struct compare_noise own = judge_noise(&compare->settings, &seen, row);
    if (own.freedom <= 0) continue;
    others.variance += own.variance;
    ++rows;
  }
  if (rows < COMPARE_SUITE_ROWS_MIN) return;
  others = (struct compare_noise){others.variance / (double)rows, COMPARE_FEW_PRIOR};
  for (size_t i = 0; i < compare->row_count; ++i) compare->rows[i].others = others;
}

void compare_judge(struct compare *compare) {
  struct suite_sums sums;
  sums.rows = 0;
  settle_noise(compare);
  for (size_t i = 0; i < compare->row_count; ++i) judge_row(compare, &compare->rows[i], &sums);
  suite_judge(&sums, compare);
  compare_conclude(compare);
}

static void add_cell(struct compare *out, const struct record *base, const struct record *now) {
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    if (out->settings.modes[mode]) out->rows[out->row_count++] = compare_start(out, base, now, mode);
  }
}

/* Cells of both sides, in the modes that are judged. */
static uint32_t count_family(const struct compare *compare) {
  const size_t bases = compare->base->record_count, nows = compare->now->record_count;
  uint32_t modes = 0;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) modes += compare->settings.modes[mode];
  return (uint32_t)(bases < nows ? bases : nows) * modes;
}

/* Both lists are sorted: a walk along the two meets every cell of either once. */
static struct status add_rows(struct compare *out) {
  const size_t bases = out->base->record_count, nows = out->now->record_count;
  const struct record **base = record_sorted(out->base->records, out->base->record_count);
  const struct record **now = record_sorted(out->now->records, out->now->record_count);
  out->rows = calloc((bases + nows) * TIME_MODE_COUNT + 1, sizeof *out->rows);
  for (size_t b = 0, n = 0; base != NULL && now != NULL && out->rows != NULL && (b < bases || n < nows);) {
    const int order = b == bases ? 1 : n == nows ? -1 : record_order(&base[b], &now[n]);
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

/* Slowest first; rows without a ratio behind those with one. */
static int by_ratio(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
  return (a < b) - (a > b);
}

int compare_by_name(const void *left, const void *right) {
  const struct compare_row *a = left, *b = right;
  int order = a->key == b->key ? 0 : strcmp(a->key, b->key);
  if (order == 0 && a->variant != b->variant) order = strcmp(a->variant, b->variant);
  return order != 0 ? order : (int)a->mode - (int)b->mode;
}

static size_t place_of(enum compare_verdict verdict) {
  size_t place = 0;
  while (verdict_worst_first[place] != verdict) ++place;
  return place;
}

static int by_badness(const void *left, const void *right) {
  const struct compare_row *a = left, *b = right;
  if (a->verdict != b->verdict) return place_of(a->verdict) < place_of(b->verdict) ? -1 : 1;
  const int order = by_ratio(a->ratio, b->ratio);
  return order != 0 ? order : compare_by_name(a, b);
}

enum exit_code compare_exit_code_of(const struct compare_settings *settings, enum compare_verdict verdict) {
  if (verdict == COMPARE_added && settings->allow_new) return EXIT_CODE_OK;
  const enum exit_code code = verdict_exit_code(verdict);
  return code == EXIT_CODE_INCONCLUSIVE && settings->noise_is_ok ? EXIT_CODE_OK : code;
}

static const struct record *unmeasured_of(const struct journal_data *now) {
  return failures_lack_result(now) ? failures_loaded_skipped(now->records, now->record_count) : NULL;
}

/* The first of these that any row asks for. */
static enum exit_code worst_code(const struct compare *compare) {
  const struct compare_settings *settings = &compare->settings;
  static const enum exit_code order[] = {EXIT_CODE_WRONG, EXIT_CODE_COVERAGE, EXIT_CODE_REGRESSION,
                                         EXIT_CODE_INCONCLUSIVE};
  for (size_t i = 0; i < sizeof order / sizeof *order; ++i) {
    if (order[i] == EXIT_CODE_COVERAGE && (compare->compared == 0 || compare->unmeasured != NULL))
      return EXIT_CODE_COVERAGE;
    for (enum compare_verdict verdict = 0; verdict < COMPARE_VERDICT_COUNT; ++verdict) {
      if (compare->verdict_count[verdict] > 0 && compare_exit_code_of(settings, verdict) == order[i]) return order[i];
    }
    if (compare->suite.key != NULL && compare_exit_code_of(settings, compare->suite.verdict) == order[i])
      return order[i];
  }
  return EXIT_CODE_OK;
}

void compare_conclude(struct compare *compare) {
  memset(compare->verdict_count, 0, sizeof compare->verdict_count);
  compare->compared = 0;
  for (size_t i = 0; i < compare->row_count; ++i) {
    ++compare->verdict_count[compare->rows[i].verdict];
    compare->compared += compare->rows[i].has_ratio;
  }
  if (compare->row_count > 0 && !compare->settings.only_verdicts)
    qsort(compare->rows, compare->row_count, sizeof *compare->rows, by_badness);
  compare->exit_code = compare->comparable ? worst_code(compare) : EXIT_CODE_NOT_COMPARABLE;
}

struct status compare_build(const struct journal_data *base, const struct journal_data *now,
                            const struct compare_settings *settings, struct compare *out) {
  *out = (struct compare){.settings = *settings, .base = base, .now = now};
  identity_compare(out);
  out->settings.must_settle = compare_must_settle(settings, now);
  out->unmeasured = unmeasured_of(now);
  if (!settings->paired && settings->family == 0) out->settings.family = count_family(out);
  const struct status status = out->comparable ? add_rows(out) : status_ok();
  if (status_failed(&status)) {
    compare_free(out);
    return status;
  }
  compare_judge(out);
  return status;
}

void compare_clear(struct compare *compare) {
  for (size_t i = 0; i < compare->row_count; ++i) free(compare->rows[i].fresh);
  free(compare->suite.fresh);
  compare->suite.fresh = NULL;
  compare->row_count = 0;
}

void compare_free(struct compare *compare) {
  compare_clear(compare);
  free(compare->rows);
  compare->rows = NULL;
}
