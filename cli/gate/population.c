/* Rows of measured processes, prepared for drawing gates from them. */
#include "cli/gate/population.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
  struct status status = status_ok();
  *processes = 0;
  for (size_t i = 0; i < evidence->record_count * TIME_MODE_COUNT && !status_failed(&status); ++i) {
    const struct record *record = &evidence->records[i / TIME_MODE_COUNT];
    const enum time_mode mode = (enum time_mode)(i % TIME_MODE_COUNT);
    if (!settings->modes[mode] || !judge_is_timed(record, mode)) continue;
    if (record->process[mode].count == 0) {
      return status_make(STATUS_NOT_COMPARABLE,
                         "%s: holds one process; measure several with --rounds %u or more, best %u", path, 2 * rounds,
                         4 * rounds);
    }
    status = check_cell(path, record, mode, processes);
  }
  if (status_failed(&status)) return status;
  if (*processes == 0) return status_make(STATUS_NOT_COMPARABLE, "%s: holds no times of the modes to judge", path);
  if (*processes >= 2 * rounds) return status;
  return status_make(STATUS_NOT_COMPARABLE,
                     "%s: holds %u processes; suites of %u rounds need at least %u, best %u: measure more or give a "
                     "smaller --rounds",
                     path, (unsigned)*processes, (unsigned)rounds, 2 * rounds, 4 * rounds);
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right) {
  const struct record *const *a = left, *const *b = right;
  const int order = strcmp((*a)->attn_case.key, (*b)->attn_case.key);
  return order != 0 ? order : strcmp((*a)->variant, (*b)->variant);
}

/* Whatever the draw, as in judge_unfit. */
static bool is_unfit(const struct journal_data *evidence, const struct time_record *time) {
  const bool must_settle = evidence->has_device && evidence->device.kind == DEVICE_CUDA;
  return time->us.n < 2 || (must_settle && !time->settled);
}

static void fill_trial(const struct compare *self, const struct compare_row *row, double *logs, uint32_t processes,
                       struct trial_row *out) {
  const struct process_record *process = &row->base.record->process[row->mode];
  *out = (struct trial_row){.processes = processes,
                            .threshold = row->threshold,
                            .floor_us = self->settings.floor_us[row->mode],
                            .overhead_us = row->event_overhead_us,
                            .physical_us = row->physical_us,
                            .dram_bound = row->dram_bound,
                            .is_unfit = is_unfit(self->base, &row->base.record->time[row->mode])};
  for (uint32_t i = 0; i < processes; ++i) {
    logs[i] = log(process->median_us[i] - row->event_overhead_us);
    logs[processes + i] = process->sm_clock_mhz[i] > 0 ? log(process->sm_clock_mhz[i]) : (double)NAN;
    if ((process->throttle_reasons[i] & judge_protecting) != 0) out->protecting |= UINT64_C(1) << i;
  }
  for (unsigned look = 0; look < DRAWS_LOOKS; ++look) {
    out->us[look] = logs;
    out->mhz[look] = logs + processes;
  }
  trial_prepare(POPULATION_MOST_SLOWDOWN, out);
}

/* The row as a comparison of the evidence with itself has it. */
static void add_row(const struct compare *self, const struct record *record, enum time_mode mode,
                    struct population *out) {
  struct compare_row row = compare_start(self, record, record, mode);
  struct compare_observations seen = {.overhead_us = row.event_overhead_us};
  judge_observe(record, mode, &seen);
  judge_summary(&seen, &row.base);
  fill_trial(self, &row, out->logs + 2 * out->row_count * out->processes, out->processes,
             &out->trial[out->row_count]);
  const double floor =
      judge_floor_threshold(self->settings.floor_us[mode], row.base.median_us - row.event_overhead_us);
  out->rows[out->row_count++] = (struct population_row){.key = row.key,
                                                        .variant = row.variant,
                                                        .mode = mode,
                                                        .median_us = row.base.median_us,
                                                        .spread_ratio = row.base.spread_ratio,
                                                        .threshold = fmax(row.threshold, floor)};
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

static const struct record **sorted_by_name(const struct journal_data *data) {
  const struct record **sorted = calloc(data->record_count + 1, sizeof *sorted);
  for (size_t i = 0; i < data->record_count && sorted != NULL; ++i) sorted[i] = &data->records[i];
  if (sorted != NULL) qsort(sorted, data->record_count, sizeof *sorted, by_name);
  return sorted;
}

struct status population_open(const char *path, const struct journal_data *data,
                              const struct compare_settings *settings, uint32_t rounds, struct population *out) {
  *out = (struct population){.row_count = 0};
  TRY(check_evidence(path, data, settings, rounds, &out->processes));
  const struct compare self = {.settings = *settings, .base = data, .now = data};
  const size_t most = data->record_count * TIME_MODE_COUNT + 1;
  const struct record **sorted = sorted_by_name(data);
  out->rows = calloc(most, sizeof *out->rows);
  out->trial = calloc(most, sizeof *out->trial);
  out->logs = calloc(most * out->processes, 2 * sizeof *out->logs);
  const bool whole = sorted != NULL && out->rows != NULL && out->trial != NULL && out->logs != NULL;
  if (whole) add_rows(&self, sorted, out);
  free(sorted);
  if (whole) return status_ok();
  population_close(out);
  return status_make(STATUS_MEMORY, "no memory for the rows of the self-test");
}

void population_close(struct population *population) {
  free(population->rows);
  free(population->trial);
  free(population->logs);
  *population = (struct population){.row_count = 0};
}
