/* Adds fresh processes to the rows of a comparison that wanted them, and judges those anew. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/gate/judge.h"

bool confirm_wants(const struct compare_row *row) {
  if (row->key == NULL) return false;
  if (compare_is_alarm(row->verdict)) return row->looks == 0;
  return compare_is_undecided(row->verdict) && row->looks < COMPARE_LOOKS_MAX;
}

bool confirm_wants_all(const struct compare *compare) { return confirm_wants(&compare->suite); }

bool confirm_wants_any(const struct compare *compare) {
  for (size_t i = 0; i < compare->row_count; ++i) {
    if (confirm_wants(&compare->rows[i])) return true;
  }
  return confirm_wants_all(compare);
}

/* ---- one row ------------------------------------------------------------------------------------------------- */

struct look {
  const struct compare_settings *settings;
  bool same_base;                      /* a base that did not change counts once */
  struct compare_evidence first, seen; /* of the first measurement and of this one */
};

/* Over the first measurement and all later ones; an alarm must be one of the later ones alone. */
static void judge_pooled(struct look *look, const struct compare_row *fresh, struct compare_row *row) {
  judge_append(row->fresh, !look->same_base, &look->first);
  judge_timed(look->settings, &look->first, row);
  if (!compare_is_alarm(row->verdict) || compare_is_alarm(fresh->verdict)) return;
  row->verdict = COMPARE_inconclusive;
  snprintf(row->reason, sizeof row->reason,
           "%+.2f %% over all measurements; the later ones alone, %+.2f %%, do not decide", 100 * (row->ratio - 1),
           100 * (fresh->ratio - 1));
}

static struct status add_look(struct look *look, struct compare_row *row) {
  const bool starts = row->fresh == NULL;
  if (starts) row->fresh = malloc(sizeof *row->fresh);
  if (row->fresh == NULL) return status_make(STATUS_MEMORY, "no memory for a second measurement");
  if (!row->was_suspect) {
    row->was_suspect = true;
    row->first = row->verdict;
    row->first_ratio = row->ratio;
  }
  ++row->looks;
  /* Times that are not fit prove nothing, and later ones would not wash them out. */
  if (starts || judge_unfit(look->settings, row->fresh) != NULL) judge_clear(row->fresh);
  judge_append(&look->seen, !look->same_base || row->fresh->base.count == 0, row->fresh);
  struct compare_row fresh = *row;
  judge_timed(look->settings, row->fresh, &fresh);
  if (compare_is_alarm(row->first) || judge_unfit(look->settings, &look->first) != NULL) {
    *row = fresh;
  } else {
    judge_pooled(look, &fresh, row);
  }
  if (row->verdict == COMPARE_same && compare_is_alarm(row->first))
    snprintf(row->reason, sizeof row->reason, "%+.2f %% at first, not when measured again",
             100 * (row->first_ratio - 1));
  return status_ok();
}

/* The fresh processes found the cell wrong, or did not time it: that is its verdict. */
static void take_failure(const struct compare_row *fresh, struct compare_row *row) {
  row->verdict = fresh->verdict;
  row->first_ratio = row->ratio;
  row->has_ratio = false;
  row->ratio = row->ci_low = row->ci_high = row->cycles_ratio = NAN;
  row->was_suspect = true;
  snprintf(row->reason, sizeof row->reason, "%s", fresh->reason);
}

/* ---- the comparison ------------------------------------------------------------------------------------------ */

/* Suspects were picked for being slow: among fresh pairs of so many, looked at so often, one may be slow by chance.
 * Two samples keep the family of the whole table, and their base. Pairs are new on both sides, also those of a drawn
 * gate, which are of one report. */
static void start_look(const struct compare *compare, const struct compare *fresh, uint32_t suspects,
                       struct compare_row *row, struct look *out) {
  out->settings = &compare->settings;
  out->same_base = !compare->settings.paired && fresh->base == compare->base;
  if (compare->settings.paired) row->family = suspects * (row->looks + 1);
}

static struct status add_row(struct compare *compare, const struct compare *fresh, const struct compare_row *again,
                             uint32_t suspects, struct compare_row *row) {
  struct look look;
  if (!again->has_ratio) {
    take_failure(again, row);
    return status_ok();
  }
  start_look(compare, fresh, suspects, row, &look);
  judge_observe_row(row, row->event_overhead_us, &look.first);
  judge_observe_row(again, row->event_overhead_us, &look.seen);
  return add_look(&look, row);
}

/* Both lists are in the order of their names. */
static struct status add_rows(struct compare *compare, const struct compare *fresh, uint32_t suspects) {
  struct status status = status_ok();
  for (size_t i = 0, at = 0; i < compare->row_count && !status_failed(&status); ++i) {
    struct compare_row *row = &compare->rows[i];
    if (!confirm_wants(row)) continue;
    while (at < fresh->row_count && compare_by_name(&fresh->rows[at], row) < 0) ++at;
    if (at < fresh->row_count && compare_by_name(&fresh->rows[at], row) == 0)
      status = add_row(compare, fresh, &fresh->rows[at], suspects, row);
  }
  return status;
}

static struct status add_suite(struct compare *compare, const struct compare *fresh, uint32_t suspects) {
  struct look look;
  if (!confirm_wants_all(compare)) return status_ok();
  start_look(compare, fresh, suspects, &compare->suite, &look);
  suite_observe(compare, &look.first);
  if (suite_observe(fresh, &look.seen) != compare->suite_rows) return status_ok();
  return add_look(&look, &compare->suite);
}

static void sort_by_name(struct compare *compare) {
  if (compare->row_count > 0 && !compare->settings.only_verdicts)
    qsort(compare->rows, compare->row_count, sizeof *compare->rows, compare_by_name);
}

/* All cases first: its rows are those of the first measurement, whatever becomes of them. */
struct status confirm_add(struct compare *compare, struct compare *fresh) {
  uint32_t suspects = confirm_wants_all(compare);
  for (size_t i = 0; i < compare->row_count; ++i) suspects += confirm_wants(&compare->rows[i]);
  struct status status = add_suite(compare, fresh, suspects);
  sort_by_name(compare);
  sort_by_name(fresh);
  if (!status_failed(&status)) status = add_rows(compare, fresh, suspects);
  compare_conclude(compare);
  return status;
}
