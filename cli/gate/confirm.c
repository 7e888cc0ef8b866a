/* Adds fresh processes to the rows of a comparison that wanted them, and judges those anew. */
#include "cli/gate/confirm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/gate/judge.h"
#include "cli/gate/suite.h"

static bool is_undecided(enum compare_verdict verdict) {
  return verdict == COMPARE_inconclusive || verdict == COMPARE_clock;
}

bool confirm_wants_more(enum compare_verdict verdict, uint32_t looks) {
  if (compare_is_alarm(verdict)) return looks == 0;
  return is_undecided(verdict) && looks < COMPARE_LOOKS_MAX;
}

bool confirm_wants(const struct compare_row *row) {
  return row->key != NULL && confirm_wants_more(row->verdict, row->looks);
}

bool confirm_wants_all(const struct compare *compare) { return confirm_wants(&compare->suite); }

bool confirm_wants_any(const struct compare *compare) {
  for (size_t i = 0; i < compare->row_count; ++i) {
    if (confirm_wants(&compare->rows[i])) return true;
  }
  return confirm_wants_all(compare);
}

/* ---- evidence ------------------------------------------------------------------------------------------------ */

static void append(const struct compare_observations *from, struct compare_observations *to) {
  for (uint32_t i = 0; i < from->count; ++i) judge_observe_one(from->us[i], from->mhz[i], to);
  to->throttle_reasons |= from->throttle_reasons;
  to->is_unsettled = to->is_unsettled || from->is_unsettled;
  to->is_single = to->is_single || from->is_single;
  to->overhead_us = from->overhead_us;
}

/* `seen` behind what is there. A base that did not change is there already. */
static void add_evidence(const struct compare_evidence *seen, bool same_base, struct compare_evidence *to) {
  if (!same_base || to->base.count == 0) append(&seen->base, &to->base);
  append(&seen->now, &to->now);
}

/* ---- one row ------------------------------------------------------------------------------------------------- */

struct look {
  const struct compare_settings *settings;
  double threshold; /* asked for, before any floor */
  bool same_base;
  struct compare_evidence first, seen; /* of the first measurement and of this one */
};

static void judge_again(const struct look *look, const struct compare_evidence *evidence, struct compare_row *row) {
  row->threshold = look->threshold;
  judge_timed(look->settings, evidence, row);
}

/* Over the first measurement and all later ones; an alarm must be one of the later ones alone. */
static void judge_pooled(const struct look *look, const struct compare_row *fresh, struct compare_row *row) {
  struct compare_evidence all = look->first;
  add_evidence(row->fresh, look->same_base, &all);
  judge_again(look, &all, row);
  if (!compare_is_alarm(row->verdict) || compare_is_alarm(fresh->verdict)) return;
  row->verdict = COMPARE_inconclusive;
  snprintf(row->reason, sizeof row->reason,
           "%+.2f %% over all measurements; the later ones alone, %+.2f %%, do not decide", 100 * (row->ratio - 1),
           100 * (fresh->ratio - 1));
}

static struct status add_look(const struct look *look, struct compare_row *row) {
  if (row->fresh == NULL) row->fresh = calloc(1, sizeof *row->fresh);
  if (row->fresh == NULL) return status_make(STATUS_MEMORY, "no memory for a second measurement");
  if (!row->was_suspect) {
    row->was_suspect = true;
    row->first = row->verdict;
    row->first_ratio = row->ratio;
  }
  ++row->looks;
  /* Times that are not fit prove nothing, and later ones would not wash them out. */
  if (judge_unfit(look->settings, row->fresh) != NULL) *row->fresh = (struct compare_evidence){.base = {.count = 0}};
  add_evidence(&look->seen, look->same_base, row->fresh);
  struct compare_row fresh = *row;
  judge_again(look, row->fresh, &fresh);
  if (compare_is_alarm(row->first) || judge_unfit(look->settings, &look->first) != NULL) {
    *row = fresh;
  } else {
    judge_pooled(look, &fresh, row);
  }
  if (row->verdict == COMPARE_same && compare_is_alarm(row->first)) {
    snprintf(row->reason, sizeof row->reason, "%+.2f %% at first, not when measured again",
             100 * (row->first_ratio - 1));
  }
  return status_ok();
}

/* The fresh processes found the cell wrong, or did not time it: that is its verdict. */
static void take_failure(const struct compare_row *fresh, struct compare_row *row) {
  row->verdict = fresh->verdict;
  row->first_ratio = row->ratio;
  row->ratio = row->ci_low = row->ci_high = row->cycles_ratio = NAN;
  row->was_suspect = true;
  snprintf(row->reason, sizeof row->reason, "%s", fresh->reason);
}

/* ---- the comparison ------------------------------------------------------------------------------------------ */

/* Suspects were picked for being slow: among fresh pairs of so many, looked at so often, one may be slow by chance.
 * Two samples keep the family of the whole table. */
static struct compare_settings settings_of_look(const struct compare *compare, uint32_t suspects,
                                                const struct compare_row *row) {
  struct compare_settings settings = row == &compare->suite ? suite_settings(compare) : compare->settings;
  if (settings.paired) settings.family = suspects * (row->looks + 1);
  return settings;
}

static struct status add_row(struct compare *compare, const struct compare *fresh, uint32_t suspects,
                             struct compare_row *row) {
  const struct compare_row *again = confirm_wants(row) ? compare_find(fresh, row) : NULL;
  if (again == NULL) return status_ok();
  if (isnan(again->ratio)) {
    take_failure(again, row);
    return status_ok();
  }
  const struct compare_settings settings = settings_of_look(compare, suspects, row);
  struct look look = {.settings = &settings,
                      .threshold = compare_threshold(&settings, row->base.record),
                      .same_base = fresh->base == compare->base};
  judge_observe_row(row, row->event_overhead_us, &look.first);
  judge_observe_row(again, row->event_overhead_us, &look.seen);
  return add_look(&look, row);
}

static struct status add_suite(struct compare *compare, const struct compare *fresh, uint32_t suspects) {
  if (!confirm_wants_all(compare)) return status_ok();
  const struct compare_settings settings = settings_of_look(compare, suspects, &compare->suite);
  struct look look = {.settings = &settings,
                      .threshold = COMPARE_SUITE_RATIO * settings.threshold,
                      .same_base = fresh->base == compare->base};
  suite_observe(compare, &look.first);
  if (suite_observe(fresh, &look.seen) != compare->suite_rows) return status_ok();
  return add_look(&look, &compare->suite);
}

/* All cases first: its rows are those of the first measurement, whatever becomes of them. */
struct status confirm_add(struct compare *compare, const struct compare *fresh) {
  uint32_t suspects = confirm_wants_all(compare);
  for (size_t i = 0; i < compare->row_count; ++i) suspects += confirm_wants(&compare->rows[i]);
  struct status status = add_suite(compare, fresh, suspects);
  for (size_t i = 0; i < compare->row_count && !status_failed(&status); ++i)
    status = add_row(compare, fresh, suspects, &compare->rows[i]);
  compare_conclude(compare);
  return status;
}
