/* Folds the journals of several rounds into one. */
#include "cli/record/journal.h"

#include <stdio.h>

/* ---- one series ---------------------------------------------------------------------------------------------- */

static struct status check_same(const struct journal_data *a, const struct journal_data *b, size_t cells) {
  struct alike_difference found[ALIKE_MAX];
  if (a->has_device != b->has_device)
    return status_make(STATUS_NOT_COMPARABLE, "one of the rounds has no device; measure all rounds on one device");
  if (alike_compare(ALIKE_ROUNDS, a, b, found) > 0)
    return status_make(STATUS_NOT_COMPARABLE,
                       "the rounds differ in the %s: \"%s\" and \"%s\"; measure all rounds on one device, with one "
                       "program, sweep and seed",
                       found[0].name, found[0].first, found[0].second);
  if (b->record_count == cells) return status_ok();
  return status_make(STATUS_NOT_COMPARABLE,
                     "one round measured %zu cells and the next one %zu; measure the same cells in all", cells,
                     b->record_count);
}

/* ---- adding -------------------------------------------------------------------------------------------------- */

/* Adds a round to a cell without times. A cell that is skipped in one round alone becomes an error. */
static void add_untimed(struct record *record, const struct record *next) {
  const bool fails_already = cell_status_exit_code(record->status) != EXIT_CODE_OK;
  if (fails_already || record->status == next->status) return;
  const enum cell_status before = record->status;
  const bool now_fails = cell_status_exit_code(next->status) != EXIT_CODE_OK;
  record->status = now_fails ? next->status : CELL_error;
  snprintf(record->reason, sizeof record->reason, "%s in one round and %s in another", cell_status_name(before),
           cell_status_name(next->status));
}

static struct status add_record(struct record *record, const struct record *next) {
  if (record->status != CELL_ok) {
    add_untimed(record, next);
    return status_ok();
  }
  const struct status status = process_add(record, process_count(record), next);
  return status_failed(&status) ? status_make(STATUS_NOT_COMPARABLE, "%s", status.text) : status;
}

struct status rounds_add(struct journal_data *into, const struct journal_data *next, size_t cells) {
  size_t found = 0;
  TRY(check_same(into, next, cells));
  for (size_t i = 0; i < into->record_count; ++i) {
    struct record *record = &into->records[i];
    const struct record *again = journal_find(next, found, record->attn_case.key, record->variant);
    if (again == NULL && cells == into->record_count)
      return status_make(STATUS_NOT_COMPARABLE,
                         "one round measured %s of %s and the next one did not; measure the same cells in all",
                         record->attn_case.key, record->variant);
    if (again == NULL) continue;
    ++found;
    TRY(add_record(record, again));
  }
  if (found < cells)
    return status_make(STATUS_NOT_COMPARABLE, "a round measured cells that the one before did not have");
  into->wall_s += next->wall_s;
  return status_ok();
}
