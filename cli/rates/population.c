/* Rows of measured processes, prepared for drawing gates from them. */
#include "cli/rates/drawn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/gate/judge.h"

/* ---- evidence ------------------------------------------------------------------------------------------------ */

static struct status check_cell(const char *path, const struct record *record, enum time_mode mode,
                                uint32_t *processes) {
  const uint32_t count = record->process[mode].count;
  for (uint32_t i = 0; i < count; ++i) {
    if (isfinite(record->process[mode].median_us[i]) && record->process[mode].median_us[i] > 0) continue;
    return status_make(STATUS_NOT_COMPARABLE, "%s: %s of %s has no time of process %u; measure again", path,
                       record->attn_case.key, record->variant, (unsigned)i + 1);
  }
  if (*processes == 0) *processes = count;
  if (count == *processes) return status_ok();
  return status_make(STATUS_NOT_COMPARABLE,
                     "%s: %s of %s has times of %u processes and other cells of %u; measure again, all in one run",
                     path, record->attn_case.key, record->variant, (unsigned)count, (unsigned)*processes);
}

static struct status check_evidence(const char *path, const struct journal_data *evidence,
                                    const struct compare_settings *settings, uint32_t rounds, uint32_t *processes) {
  *processes = 0;
  for (size_t i = 0; i < evidence->record_count * TIME_MODE_COUNT; ++i) {
    const struct record *record = &evidence->records[i / TIME_MODE_COUNT];
    const enum time_mode mode = (enum time_mode)(i % TIME_MODE_COUNT);
    if (!settings->modes[mode] || !judge_is_timed(record, mode)) continue;
    if (record->process[mode].count == 0)
      return status_make(STATUS_NOT_COMPARABLE,
                         "%s: holds one process; measure several with --rounds %u or more, best %u", path, 2 * rounds,
                         4 * rounds);
    TRY(check_cell(path, record, mode, processes));
  }
  if (*processes == 0) return status_make(STATUS_NOT_COMPARABLE, "%s: holds no times of the modes to judge", path);
  if (*processes >= 2 * rounds) return status_ok();
  return status_make(STATUS_NOT_COMPARABLE,
                     "%s: holds %u processes; suites of %u rounds need at least %u, best %u: measure more or give a "
                     "smaller --rounds",
                     path, (unsigned)*processes, (unsigned)rounds, 2 * rounds, 4 * rounds);
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

/* Every process has a time, so the row will have a ratio whichever are drawn. */
static void add_row(const struct compare *self, const struct record *record, enum time_mode mode,
                    struct population *out) {
  struct compare_row *row = &out->rows[out->row_count];
  struct compare_process *measured = &out->measured[out->row_count++ * out->processes];
  struct compare_evidence seen;
  *row = compare_start(self, record, record, mode);
  row->has_ratio = true;
  judge_observe_row(row, row->event_overhead_us, &seen);
  judge_summary(&seen.base, &row->base);
  memcpy(measured, seen.base.process, out->processes * sizeof *measured);
  row->base.measured = row->now.measured = measured;
}

static void add_rows(const struct compare *self, const struct record *const *sorted, struct population *out) {
  for (size_t i = 0; i < self->base->record_count * TIME_MODE_COUNT; ++i) {
    const enum time_mode mode = (enum time_mode)(i % TIME_MODE_COUNT);
    const struct record *record = sorted[i / TIME_MODE_COUNT];
    if (!self->settings.modes[mode]) continue;
    ++out->family;
    if (judge_is_timed(record, mode)) add_row(self, record, mode, out);
  }
}

struct status population_open(const char *path, const struct journal_data *data,
                              const struct compare_settings *settings, uint32_t rounds, struct population *out) {
  *out = (struct population){.data = data};
  TRY(check_evidence(path, data, settings, rounds, &out->processes));
  const struct compare self = {.settings = *settings, .base = data, .now = data};
  const size_t most = data->record_count * TIME_MODE_COUNT;
  OWNED(owned_free) const struct record **sorted = record_sorted(data->records, data->record_count);
  if (sorted == NULL) return status_make(STATUS_MEMORY, "no memory for %zu cells", data->record_count);
  TRY(owned_array(&out->rows, most, sizeof *out->rows, "rows of the self-test"));
  TRY(owned_array(&out->measured, most * out->processes, sizeof *out->measured, "times of the self-test"));
  add_rows(&self, sorted, out);
  return status_ok();
}

void population_close(struct population *population) {
  free(population->rows);
  free(population->measured);
  *population = (struct population){.row_count = 0};
}
