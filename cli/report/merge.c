/* Reads several reports and orders their rows by case. */
#include "cli/report/merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/measured.h"

/* ---- merging ------------------------------------------------------------------------------------------------- */

/* The case that an earlier row has, or a new one. */
static size_t case_of(const struct merge *merge, const char *key, size_t *case_count) {
  for (size_t i = 0; i < merge->row_count; ++i) {
    if (strcmp(merge->rows[i].row->record->attn_case.key, key) == 0) return merge->rows[i].case_number;
  }
  return (*case_count)++;
}

static struct status add_rows(struct merge *merge, size_t index, size_t *case_count) {
  const struct merge_source *source = &merge->source[index];
  const size_t count = source->report.row_count;
  struct merge_row *rows = realloc(merge->rows, (merge->row_count + count + 1) * sizeof *rows);
  if (rows == NULL) return status_make(STATUS_MEMORY, "no memory for %zu rows", merge->row_count + count);
  merge->rows = rows;
  for (size_t i = 0; i < count; ++i) {
    const struct report_row *row = &source->report.rows[i];
    struct merge_row *out = &rows[merge->row_count];
    *out = (struct merge_row){.source = source,
                              .source_number = index + 1,
                              .case_number = case_of(merge, row->record->attn_case.key, case_count),
                              .order = merge->row_count,
                              .row = row};
    for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
      const struct time_record *time = &row->record->time[mode];
      out->us[mode] = time->done ? time->us.median : (double)NAN;
    }
    ++merge->row_count;
  }
  return status_ok();
}

static bool same_device(const struct merge_source *a, const struct merge_source *b) {
  const struct device_info *left = &a->data.device, *right = &b->data.device;
  return left->sms == right->sms && left->kind == right->kind && strcmp(left->name, right->name) == 0;
}

/* Times of unlike devices in one column would be read as if they could be compared. */
static struct status compare_devices(struct merge *merge, bool across_devices) {
  size_t first = 0;
  while (first < merge->source_count && !merge->source[first].data.has_device) ++first;
  for (size_t i = first + 1; i < merge->source_count; ++i) {
    const struct merge_source *a = &merge->source[first], *b = &merge->source[i];
    if (!b->data.has_device || same_device(a, b)) continue;
    merge->mixed_devices = true;
    if (across_devices) continue;
    return status_make(STATUS_NOT_COMPARABLE,
                       "%s was measured on %s (%u SMs or threads) and %s on %s (%u): their times cannot be compared; "
                       "measure both on one device, or give --across-devices to see them together all the same",
                       a->path, a->data.device.name, a->data.device.sms, b->path, b->data.device.name,
                       b->data.device.sms);
  }
  return status_ok();
}

static bool comparable(const struct merge_row *a, const struct merge_row *b) {
  const bool measured = a->source->data.has_device && b->source->data.has_device;
  return measured && a->case_number == b->case_number && same_device(a->source, b->source);
}

/* Rows of a case are neighbours, so only these are looked at. */
static void find_best(struct merge *merge) {
  for (size_t i = 0; i < merge->row_count; ++i) {
    struct merge_row *row = &merge->rows[i];
    double best_us = NAN;
    size_t first = i, timed = 0;
    while (first > 0 && merge->rows[first - 1].case_number == row->case_number) --first;
    for (size_t j = first; j < merge->row_count && merge->rows[j].case_number == row->case_number; ++j) {
      if (!comparable(row, &merge->rows[j]) || merge->rows[j].row->is_twin) continue;
      best_us = fmin(best_us, merge->rows[j].us[TIME_HOT]);
      timed += isfinite(merge->rows[j].us[TIME_HOT]);
    }
    row->best_ratio = row->us[TIME_HOT] / best_us;
    row->is_fastest = timed > 1 && row->best_ratio <= 1 && !row->row->is_twin;
  }
}

static int compare_rows(const void *a, const void *b) {
  const struct merge_row *l = a, *r = b;
  if (l->case_number != r->case_number) return l->case_number < r->case_number ? -1 : 1;
  if (l->source_number != r->source_number) return l->source_number < r->source_number ? -1 : 1;
  return (l->order > r->order) - (l->order < r->order);
}

static struct status load_source(const char *path, struct merge_source *out) {
  const struct status status = measured_load(path, &out->data, NULL);
  out->path = path;
  return status_failed(&status) ? status : report_build(&out->data, &out->report);
}

struct status merge_load(const char *const *paths, size_t count, bool across_devices, struct merge *out) {
  struct status status = status_ok();
  size_t case_count = 0;
  *out = (struct merge){.exit_code = EXIT_CODE_OK};
  if (count > MERGE_SOURCES_MAX) {
    return status_make(STATUS_USAGE, "%zu reports are more than the %d that can be shown together", count,
                       MERGE_SOURCES_MAX);
  }
  for (size_t i = 0; i < count && !status_failed(&status); ++i) {
    status = load_source(paths[i], &out->source[i]);
    out->source_count = i + 1;
    if (!status_failed(&status)) status = add_rows(out, i, &case_count);
    const enum exit_code exit_code = out->source[i].report.exit_code;
    if (exit_code != EXIT_CODE_OK && out->exit_code != EXIT_CODE_WRONG) out->exit_code = exit_code;
  }
  if (!status_failed(&status)) status = compare_devices(out, across_devices);
  if (status_failed(&status)) {
    merge_free(out);
    return status;
  }
  qsort(out->rows, out->row_count, sizeof *out->rows, compare_rows);
  find_best(out);
  return status;
}

void merge_free(struct merge *merge) {
  for (size_t i = 0; i < merge->source_count; ++i) {
    report_free(&merge->source[i].report);
    journal_free(&merge->source[i].data);
  }
  free(merge->rows);
  *merge = (struct merge){.exit_code = EXIT_CODE_OK};
}
