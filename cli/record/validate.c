/* Refuses journals and reports that contradict themselves. */
#include "cli/record/validate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/record/cards.h"
#include "cli/record/cell_status.h"

/* ---- times --------------------------------------------------------------------------------------------------- */

bool validate_is_time(double us) { return us >= 1e-3 && us <= 86400e6; }

/* What may be unknown: NAN, else a clock that a processor can have. */
static bool is_clock(double mhz) { return isnan(mhz) || (mhz >= 10 && mhz <= 20000); }

static bool is_same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static bool is_ordered(const struct stats *us) {
  return us->min <= us->p25 && us->p25 <= us->median && us->median <= us->p75 && us->p75 <= us->p95 &&
         us->p95 <= us->max && us->min <= us->ci_low && us->ci_low <= us->median && us->median <= us->ci_high &&
         us->ci_high <= us->max;
}

/* NULL, or what is wrong with the time of one mode. Quantiles and samples of times entered by hand are not known. */
static const char *time_problem(const struct time_record *time, bool is_measured) {
  if (!time->done) return NULL;
  if (!validate_is_time(time->us.median)) return "has an impossible median";
  if (!is_measured) return NULL;
  if (!validate_is_time(time->us.min) || !validate_is_time(time->us.max)) return "has an impossible time";
  if (time->us.n == 0) return "has times of no samples";
  if (!is_ordered(&time->us)) return "has quantiles that are out of order";
  if (!(time->us.mad >= 0) || time->us.mad > time->us.max - time->us.min) return "has an impossible deviation (mad)";
  if (time->launches_per_sample == 0) return "has samples of no launches";
  if (!is_clock(time->sm_clock_mhz)) return "has an impossible SM clock";
  return NULL;
}

/* Statistics that do not follow from the samples beside them. Bit for bit: both were written with all digits. */
static const char *samples_problem(const struct time_record *time) {
  if (time->samples_us.value == NULL) return NULL;
  const struct stats us = stats_of(time->samples_us.value, time->samples_us.count);
  return us.n == time->us.n && us.min == time->us.min && us.median == time->us.median && us.max == time->us.max
             ? NULL
             : "has samples that contradict its time";
}

static const char *process_problem(const struct process_record *process, const struct time_record *time) {
  if (process->count == 0) return NULL;
  if (!time->done) return "has processes beside no time";
  for (uint32_t i = 0; i < process->count; ++i) {
    if (!validate_is_time(process->median_us[i])) return "has a process with an impossible time";
    if (!is_clock(process->sm_clock_mhz[i])) return "has a process with an impossible SM clock";
  }
  /* The first process is the one whose statistics are the cell's. Bit for bit, since both come from one number. */
  return process->median_us[0] == time->us.median && is_same(process->sm_clock_mhz[0], time->sm_clock_mhz)
             ? NULL
             : "has processes that contradict its time";
}

/* ---- checks -------------------------------------------------------------------------------------------------- */

/* NULL, or why an ok cell cannot have been checked like this. */
static const char *check_problem(const struct check_record *check) {
  if (!check->done) return "is ok but was never checked";
  if (!check->right) return "is ok although its check says that it is wrong";
  if (check->compare.elements == 0) return "is ok after a check of no elements";
  if (check->compare.bad_count > 0 || check->compare.max_bound_ratio > 1 || isnan(check->compare.max_bound_ratio))
    return "is ok with elements outside the tolerance";
  if (check->compare.nan_count > 0 || check->compare.inf_count > 0) return "is ok with NaN or Inf in its output";
  if (check->compare.lse.bad_rows > 0 || check->compare.lse.max_bound_ratio > 1)
    return "is ok with a log-sum-exp outside its bound";
  if (check->guard.redzone_bytes_changed > 0 || check->guard.input_elements_changed > 0)
    return "is ok although it wrote where it must not";
  if (check->compare.max_bound_ratio < 0 || check->compare.rel_frobenius < 0) return "is ok with a negative error";
  if (!check->known) {
    return check->compare.rel_frobenius <= check->tolerance.frobenius ? NULL
                                                                      : "is ok with a norm outside the tolerance";
  }
  /* NAN: not known of this launch. */
  if (check->compare.max_row_ratio > 1 || check->hard_ratio > 1) return "is ok with rows outside the tolerance";
  if (check->timed_wrong > 0) return "is ok although timed samples left a wrong output";
  return NULL;
}

static bool is_timed(const struct record *record) {
  return record->time[TIME_COLD].done || record->time[TIME_HOT].done;
}

static bool is_ratio(double x) { return isfinite(x) && x > 0; }

static const char *speedup_problem(const struct ratio_record *ratio) {
  if (!ratio->done) return NULL;
  if (!is_ratio(ratio->ratio) || !is_ratio(ratio->ci_low) || !is_ratio(ratio->ci_high))
    return "has a ratio to its reference that is not a number above 0";
  if (ratio->ci_low > ratio->ratio || ratio->ratio > ratio->ci_high)
    return "has a ratio to its reference outside its own interval";
  if (ratio->rounds == 0) return "has a ratio to its reference from no rounds";
  return ratio->drift_ratio < 0 || ratio->sm_clock_mhz <= 0
             ? "has a ratio to its reference with a negative drift or clock"
             : NULL;
}

static const char *cell_problem(const struct journal_data *data, const struct record *record, bool is_measured) {
  const char *problem = NULL;
  if (!cards_has(data, record)) return "names a card that is none of its run";
  if (record->status != CELL_ok) return NULL; /* has no speed, whatever its line says */
  if (is_measured) problem = check_problem(&record->check);
  if (problem == NULL && is_measured && record->attn_case.shape.lse && record->check.compare.lse.rows == 0)
    problem = "is ok although its log-sum-exp was never compared";
  if (problem == NULL && is_measured && is_timed(record) && !record->check.after_timing)
    problem = "is ok but was not checked again after timing";
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && problem == NULL; ++mode) {
    problem = time_problem(&record->time[mode], is_measured);
    if (problem == NULL) problem = samples_problem(&record->time[mode]);
    if (problem == NULL) problem = process_problem(&record->process[mode], &record->time[mode]);
    if (problem == NULL) problem = speedup_problem(&record->speedup.mode[mode]);
  }
  if (problem != NULL || record->process[TIME_COLD].count == 0 || record->process[TIME_HOT].count == 0)
    return problem;
  return record->process[TIME_COLD].count == record->process[TIME_HOT].count
             ? NULL
             : "has cold and hot times of unequal numbers of processes";
}

/* ---- the whole ----------------------------------------------------------------------------------------------- */

static struct status check_state(const char *path, const struct journal_data *data) {
  static const char *const states[] = {"complete", "interrupted", "partial"};
  bool is_known = false;
  for (size_t i = 0; i < sizeof states / sizeof *states; ++i)
    is_known = is_known || strcmp(states[i], data->state) == 0;
  if (!is_known) {
    return status_make(STATUS_INPUT, "%s: its run is \"%s\", not complete, interrupted or partial; measure again",
                       path, data->state);
  }
  if (data->record_count <= data->run.cell_count) return status_ok();
  return status_make(STATUS_INPUT, "%s: has %zu cells, but its run set out to measure %" PRIu64 "; measure again",
                     path, data->record_count, data->run.cell_count);
}

static uint32_t processes_of(const struct record *record) {
  const uint32_t cold = record->process[TIME_COLD].count, hot = record->process[TIME_HOT].count;
  return cold > hot ? cold : hot;
}

/* Every process of a run that came to its end measured every cell; a search leaves slow ones out. */
static const struct record *find_dropped(const struct journal_data *data) {
  const struct record *first = NULL;
  const bool is_even = strcmp(data->state, "complete") == 0 && !data->run.tuned;
  for (size_t i = 0; i < data->record_count && is_even; ++i) {
    const struct record *record = &data->records[i];
    if (record->status != CELL_ok || !is_timed(record)) continue;
    if (first == NULL) first = record;
    if (processes_of(record) != processes_of(first)) return record;
  }
  return NULL;
}

struct status validate_data(const char *path, const struct journal_data *data) {
  const bool is_measured = data->run.started_utc[0] != '\0';
  struct status status = check_state(path, data);
  for (size_t i = 0; i < data->record_count && !status_failed(&status); ++i) {
    const struct record *record = &data->records[i];
    const char *problem = cell_problem(data, record, is_measured);
    if (problem == NULL) continue;
    status = status_make(STATUS_INPUT, "%s: cell %s of %s %s; attnbench writes no such file, so measure again", path,
                         record->attn_case.key, record->variant, problem);
  }
  const struct record *dropped = find_dropped(data);
  if (status_failed(&status) || dropped == NULL) return status;
  return status_make(STATUS_INPUT, "%s: cell %s of %s was measured by another number of processes than other cells",
                     path, dropped->attn_case.key, dropped->variant);
}

/* A status that the report does not list is one that its attnbench did not know. */
static struct status check_count(const struct json_doc *doc, const cJSON *summary, const char *key, uint64_t count) {
  const cJSON *item = json_get(summary, key);
  uint64_t said = 0;
  if (item == NULL && count == 0) return status_ok();
  if (item == NULL) return json_error(doc, summary, false, "has no \"%s\"", key);
  const struct status status = json_whole(doc, item, 0, UINT32_MAX, &said);
  if (status_failed(&status) || said == count) return status;
  return json_error(doc, item, false, "is not what the results ask for, %" PRIu64, count);
}

static enum exit_code exit_code_of(const struct journal_data *data) {
  enum exit_code code = data->record_count < data->run.cell_count ? EXIT_CODE_COVERAGE : EXIT_CODE_OK;
  for (size_t i = 0; i < data->record_count; ++i) {
    const enum exit_code asked = cell_status_exit_code(data->records[i].status);
    if (asked == EXIT_CODE_WRONG) return asked;
    if (asked != EXIT_CODE_OK) code = asked;
  }
  return code;
}

struct status validate_summary(const struct json_doc *doc, const struct journal_data *data) {
  const cJSON *summary = json_get(doc->root, "summary");
  uint64_t count[CELL_STATUS_COUNT] = {0};
  if (!cJSON_IsObject(summary)) return json_error(doc, doc->root, false, "has no \"summary\"");
  if (json_get(summary, "cells") == NULL || json_get(summary, "exit_code") == NULL)
    return json_error(doc, summary, false, "has no \"cells\" or no \"exit_code\"");
  for (size_t i = 0; i < data->record_count; ++i) ++count[data->records[i].status];
  struct status status = check_count(doc, summary, "cells", data->record_count);
  for (enum cell_status cell = 0; cell < CELL_STATUS_COUNT && !status_failed(&status); ++cell)
    status = check_count(doc, summary, cell_status_name(cell), count[cell]);
  if (status_failed(&status)) return status;
  return check_count(doc, summary, "exit_code", (uint64_t)exit_code_of(data));
}
