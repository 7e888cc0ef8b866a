/* Reads several reports and orders their rows by case. */
#include "cli/report/merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/sorting.h"

struct merge_loaded {
  struct journal_data data;
  struct report report;
};

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static const char *key_of(const struct merge_row *row) { return row->row->record->attn_case.key; }

static void add_rows(struct merge *merge, size_t source) {
  const struct report *report = merge->source[source].report;
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct report_row *row = &report->rows[i];
    struct merge_row *out = &merge->rows[merge->row_count];
    *out = (struct merge_row){.source = source, .report = report, .order = merge->row_count++, .row = row};
    for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
      const struct time_record *time = &row->record->time[mode];
      out->us[mode] = time->done ? time->us.median : (double)NAN;
    }
  }
}

static int compare_keys(const void *left, const void *right) {
  const struct merge_row *a = left, *b = right;
  return SORTING_FIRST(strcmp(key_of(a), key_of(b)), SORTING_ORDER(a->order, b->order));
}

static int compare_rows(const void *left, const void *right) {
  const struct merge_row *a = left, *b = right;
  return SORTING_FIRST(SORTING_ORDER(a->case_number, b->case_number), SORTING_ORDER(a->order, b->order));
}

/* A case's number is the place of its first row, so cases stand in order of first appearance. */
static void order_rows(struct merge *merge) {
  qsort(merge->rows, merge->row_count, sizeof *merge->rows, compare_keys);
  for (size_t i = 0; i < merge->row_count; ++i) {
    struct merge_row *row = &merge->rows[i];
    const bool is_new = i == 0 || strcmp(key_of(row), key_of(row - 1)) != 0;
    row->case_number = is_new ? row->order : merge->rows[i - 1].case_number;
  }
  qsort(merge->rows, merge->row_count, sizeof *merge->rows, compare_rows);
  for (size_t i = 0; i < merge->row_count; ++i) merge->rows[i].number = i + 1;
}

bool merge_is_same_device(const struct device_info *a, const struct device_info *b) {
  return a->sms == b->sms && a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

/* Rows of a case are neighbours, so only these are looked at. */
static void find_best(struct merge *merge) {
  for (size_t i = 0; i < merge->row_count; ++i) {
    struct merge_row *row = &merge->rows[i];
    double best_us = NAN;
    size_t first = i, timed = 0;
    while (first > 0 && merge->rows[first - 1].case_number == row->case_number) --first;
    for (size_t j = first; j < merge->row_count && merge->rows[j].case_number == row->case_number; ++j) {
      const struct merge_row *other = &merge->rows[j];
      if (!merge_is_same_device(row->row->device, other->row->device) || other->row->is_twin) continue;
      best_us = fmin(best_us, other->us[TIME_HOT]);
      timed += isfinite(other->us[TIME_HOT]);
    }
    row->best_ratio = row->us[TIME_HOT] / best_us;
    /* Of one report the answer names the fastest, by ratios in turns; between reports only medians can be compared.
     */
    row->leads_case = merge->source_count == 1 ? row->row->leads_case : row->best_ratio <= 1 && !row->row->is_twin;
    row->is_fastest = timed > 1 && row->leads_case;
  }
}

struct status merge_rows(struct merge *merge) {
  size_t count = 0;
  for (size_t i = 0; i < merge->source_count; ++i) count += merge->source[i].report->row_count;
  TRY(owned_array(&merge->rows, count, sizeof *merge->rows, "rows"));
  for (size_t i = 0; i < merge->source_count; ++i) add_rows(merge, i);
  order_rows(merge);
  find_best(merge);
  return status_ok();
}

/* ---- loading ------------------------------------------------------------------------------------------------- */

/* Times of unlike devices in one column would be read as if they could be compared. */
static struct status compare_devices(struct merge *merge, bool across_devices) {
  const struct merge_source *first = NULL;
  for (size_t i = 0; i < merge->source_count; ++i) {
    const struct merge_source *source = &merge->source[i];
    const struct journal_data *here = source->report->journal;
    if (!here->has_device) continue;
    if (first == NULL) first = source;
    const struct device_info *a = &first->report->journal->device, *b = &here->device;
    if (merge_is_same_device(a, b)) continue;
    merge->mixed_devices = true;
    if (across_devices) continue;
    return status_make(STATUS_NOT_COMPARABLE,
                       "%s was measured on %s (%u SMs or threads) and %s on %s (%u): their times cannot be compared; "
                       "measure both on one device, or give --across-devices to see them together all the same",
                       first->path, a->name, a->sms, source->path, b->name, b->sms);
  }
  return status_ok();
}

static struct status load_source(const char *path, const struct keep *keep, struct merge *out) {
  struct merge_loaded *loaded = calloc(1, sizeof *loaded);
  if (loaded == NULL) return status_make(STATUS_MEMORY, "%s: no memory to read it", path);
  out->source[out->source_count++] = (struct merge_source){.path = path, .report = &loaded->report, .loaded = loaded};
  TRY(measured_load(path, &loaded->data, NULL));
  TRY(keep_records(keep, path, &loaded->data));
  TRY(report_build(&loaded->data, &loaded->report));
  const enum exit_code exit_code = loaded->report.exit_code;
  if (exit_code != EXIT_CODE_OK && out->exit_code != EXIT_CODE_WRONG) out->exit_code = exit_code;
  return status_ok();
}

static struct status load(const char *const *paths, size_t count, const struct keep *keep, bool across_devices,
                          struct merge *out) {
  for (size_t i = 0; i < count; ++i) TRY(load_source(paths[i], keep, out));
  TRY(compare_devices(out, across_devices));
  return merge_rows(out);
}

struct status merge_load(const char *const *paths, size_t count, const struct keep *keep, bool across_devices,
                         struct merge *out) {
  *out = (struct merge){.exit_code = EXIT_CODE_OK};
  if (count > MERGE_SOURCES_MAX)
    return status_make(STATUS_USAGE, "%zu reports are more than the %d that can be shown together", count,
                       MERGE_SOURCES_MAX);
  const struct status status = load(paths, count, keep, across_devices, out);
  if (status_failed(&status)) merge_free(out);
  return status;
}

void merge_free(struct merge *merge) {
  for (size_t i = 0; i < merge->source_count; ++i) {
    struct merge_loaded *loaded = merge->source[i].loaded;
    if (loaded == NULL) continue;
    report_free(&loaded->report);
    journal_free(&loaded->data);
    free(loaded);
  }
  free(merge->rows);
  *merge = (struct merge){.exit_code = EXIT_CODE_OK};
}
