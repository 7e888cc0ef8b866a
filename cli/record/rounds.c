/* Folds the journals of several rounds into one. */
#include "cli/record/rounds.h"

#include <stdio.h>
#include <string.h>

/* ---- one series ---------------------------------------------------------------------------------------------- */

static struct status check_same(const struct journal_data *a, const struct journal_data *b) {
  const struct {
    const char *what, *first, *next;
  } texts[] = {{"device", a->device.name, b->device.name},
               {"device", a->device.uuid, b->device.uuid},
               {"sweep file", a->run.sweep_hash, b->run.sweep_hash},
               {"attnbench version", a->run.version, b->run.version},
               {"git commit", a->run.git_commit, b->run.git_commit},
               {"program's file", a->run.setup.program, b->run.setup.program},
               {"loaded objects", a->run.setup.objects, b->run.setup.objects}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    if (strcmp(texts[i].first, texts[i].next) == 0) continue;
    return status_make(STATUS_NOT_COMPARABLE,
                       "the rounds differ in the %s: \"%s\" and \"%s\"; measure all rounds on one device, with one "
                       "program and sweep",
                       texts[i].what, texts[i].first, texts[i].next);
  }
  if (a->run.seed != b->run.seed)
    return status_make(STATUS_NOT_COMPARABLE, "the rounds have different seeds; measure all with one --seed");
  if (a->record_count == b->record_count) return status_ok();
  return status_make(STATUS_NOT_COMPARABLE,
                     "one round measured %zu cells and the next one %zu; measure the same cells in all",
                     a->record_count, b->record_count);
}

/* Every round goes through the cells in the same order, so `hint` is the place nearly always. */
static const struct record *find(const struct journal_data *data, size_t hint, const struct record *wanted) {
  for (size_t i = 0; i < data->record_count; ++i) {
    const struct record *record = &data->records[(hint + i) % data->record_count];
    if (record_is_cell(record, wanted->attn_case.key, wanted->variant)) return record;
  }
  return NULL;
}

/* ---- adding -------------------------------------------------------------------------------------------------- */

/* A cell that had no times before. Skipped in both rounds is right; skipped in one is an error. */
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
  const struct process_sample sample = process_sample_of(next);
  const struct status status = process_add(record, process_count(record), &sample);
  return status_failed(&status) ? status_make(STATUS_NOT_COMPARABLE, "%s", status.text) : status;
}

struct status rounds_add(struct journal_data *into, const struct journal_data *next) {
  struct status status = check_same(into, next);
  for (size_t i = 0; i < into->record_count && !status_failed(&status); ++i) {
    const struct record *record = find(next, i, &into->records[i]);
    if (record != NULL) {
      status = add_record(&into->records[i], record);
    } else {
      status = status_make(STATUS_NOT_COMPARABLE,
                           "one round measured %s of %s and the next one did not; measure the same cells in all",
                           into->records[i].attn_case.key, into->records[i].variant);
    }
  }
  into->wall_s += next->wall_s;
  return status;
}
