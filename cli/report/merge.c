/* Reads several reports and orders their rows by case. */
#include "cli/report/merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/report.h"

/* ---- files --------------------------------------------------------------------------------------------------- */

bool merge_is_report(const char *path) {
  char *text = NULL;
  size_t length = 0;
  const struct status status = json_read_file(path, JOURNAL_BYTES_MAX, &text, &length);
  if (status_failed(&status)) return false;
  const bool is_report = !journal_starts(text) && strstr(text, "\"attnbench.report/") != NULL;
  free(text);
  return is_report;
}

static struct status write_report(const struct journal_data *journal, FILE *stream) {
  struct report report;
  struct status status = report_build(journal, &report);
  if (status_failed(&status)) return status;
  status = report_write_json(&report, stream);
  report_free(&report);
  return status;
}

/* A journal becomes the report that would be written from it, so that there is one format to read. */
static struct status report_of_journal(const char *path, char **text, size_t *length) {
  struct journal_data journal;
  struct status status = journal_load(path, &journal);
  if (status_failed(&status)) return status;
  FILE *stream = open_memstream(text, length);
  status = stream != NULL ? write_report(&journal, stream) : status_make(STATUS_MEMORY, "%s: no memory", path);
  if (stream != NULL && fclose(stream) != 0 && !status_failed(&status)) {
    status = status_make(STATUS_MEMORY, "%s: no memory for its report", path);
  }
  journal_free(&journal);
  return status;
}

static struct status read_text(const char *path, char **text, size_t *length) {
  const struct status status = json_read_file(path, JOURNAL_BYTES_MAX, text, length);
  if (status_failed(&status) || !journal_starts(*text)) return status;
  free(*text);
  *text = NULL;
  return report_of_journal(path, text, length);
}

/* ---- parts of a report --------------------------------------------------------------------------------------- */

static struct status want_text(const struct json_doc *doc, const cJSON *object, const char *key, const char **out) {
  const cJSON *item = json_get(object, key);
  if (!cJSON_IsString(item)) {
    return json_error(doc, object != NULL ? object : doc->root, false, "lacks the text \"%s\"; is it a report?", key);
  }
  *out = item->valuestring;
  return status_ok();
}

static struct status want_whole(const struct json_doc *doc, const char *part, const char *key, uint64_t max,
                                uint64_t *out) {
  const cJSON *item = json_get(json_get(doc->root, part), key);
  if (item != NULL) return json_whole(doc, item, 0, max, out);
  return json_error(doc, doc->root, false, "lacks %s.%s; is it a report?", part, key);
}

/* A number, or NAN where the path ends in null or nothing: not everything is measured by everyone. */
static double number_at(const cJSON *object, const char *key, const char *mode, const char *inner) {
  const cJSON *item = json_get(object, key);
  if (mode != NULL) item = json_get(item, mode);
  if (inner != NULL) item = json_get(item, inner);
  return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

static struct status read_device(struct merge_source *source, const cJSON *root) {
  const cJSON *device = json_get(root, "device");
  if (!cJSON_IsObject(device)) return status_ok();
  struct status status = want_text(&source->doc, device, "name", &source->device);
  if (!status_failed(&status)) status = want_text(&source->doc, device, "kind", &source->device_kind);
  if (status_failed(&status)) return status;
  return want_whole(&source->doc, "device", "sms", UINT32_MAX, &source->sms);
}

static struct status read_head(struct merge_source *source) {
  const struct json_doc *doc = &source->doc;
  const char *schema = "";
  uint64_t exit_code = 0;
  struct status status = want_text(doc, doc->root, "schema", &schema);
  if (!status_failed(&status) && strcmp(schema, REPORT_SCHEMA) != 0) {
    return json_error(doc, json_get(doc->root, "schema"), false, "is not %s; write the report again", REPORT_SCHEMA);
  }
  if (!status_failed(&status)) status = want_text(doc, json_get(doc->root, "tool"), "name", &source->tool);
  if (!status_failed(&status)) status = want_text(doc, json_get(doc->root, "tool"), "version", &source->version);
  if (!status_failed(&status)) status = want_text(doc, json_get(doc->root, "sweep"), "name", &source->sweep);
  if (!status_failed(&status)) status = read_device(source, doc->root);
  if (status_failed(&status)) return status;
  status = want_whole(doc, "run", "seed", UINT64_MAX, &source->seed);
  if (!status_failed(&status)) status = want_whole(doc, "summary", "exit_code", EXIT_CODE_COVERAGE, &exit_code);
  source->exit_code = (enum exit_code)exit_code;
  return status;
}

static struct status read_row(const struct merge_source *source, const cJSON *result, struct merge_row *out) {
  struct status status = want_text(&source->doc, result, "key", &out->key);
  if (!status_failed(&status)) status = want_text(&source->doc, result, "variant", &out->variant);
  if (!status_failed(&status)) status = want_text(&source->doc, result, "status", &out->status);
  const cJSON *reason = json_get(result, "reason");
  out->source = source;
  out->reason = cJSON_IsString(reason) ? reason->valuestring : "";
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    out->us[mode] = number_at(result, "time", time_mode_name(mode), "median_us");
  }
  out->tflop_per_s = number_at(result, "tflop_per_s", time_mode_name(TIME_HOT), NULL);
  out->max_abs_error = number_at(result, "check", "max_abs_error", NULL);
  return status;
}

/* ---- merging ------------------------------------------------------------------------------------------------- */

/* The case that an earlier row has, or a new one. */
static size_t case_of(const struct merge *merge, const char *key, size_t *case_count) {
  for (size_t i = 0; i < merge->row_count; ++i) {
    if (strcmp(merge->rows[i].key, key) == 0) return merge->rows[i].case_number;
  }
  return (*case_count)++;
}

static struct status add_rows(struct merge *merge, size_t index, size_t *case_count) {
  const struct merge_source *source = &merge->source[index];
  const cJSON *results = json_get(source->doc.root, "results"), *result;
  if (!cJSON_IsArray(results)) return json_error(&source->doc, source->doc.root, false, "has no array \"results\"");
  const size_t count = (size_t)cJSON_GetArraySize(results);
  struct merge_row *rows = realloc(merge->rows, (merge->row_count + count + 1) * sizeof *rows);
  if (rows == NULL) return status_make(STATUS_MEMORY, "no memory for %zu rows", merge->row_count + count);
  merge->rows = rows;
  cJSON_ArrayForEach(result, results) {
    struct merge_row row = {.source_number = index + 1, .order = merge->row_count};
    const struct status status = read_row(source, result, &row);
    if (status_failed(&status)) return status;
    row.case_number = case_of(merge, row.key, case_count);
    merge->rows[merge->row_count++] = row;
  }
  return status_ok();
}

static bool same_device(const struct merge_source *a, const struct merge_source *b) {
  return a->sms == b->sms && strcmp(a->device, b->device) == 0 && strcmp(a->device_kind, b->device_kind) == 0;
}

/* Times of unlike devices in one column would be read as if they could be compared. */
static struct status compare_devices(struct merge *merge, const char *const *paths, bool across_devices) {
  size_t first = 0;
  while (first < merge->source_count && merge->source[first].device == NULL) ++first;
  for (size_t i = first + 1; i < merge->source_count; ++i) {
    const struct merge_source *a = &merge->source[first], *b = &merge->source[i];
    if (b->device == NULL || same_device(a, b)) continue;
    merge->mixed_devices = true;
    if (across_devices) continue;
    return status_make(STATUS_NOT_COMPARABLE,
                       "%s was measured on %s (%u SMs or threads) and %s on %s (%u): their times cannot be compared; "
                       "measure both on one device, or give --across-devices to see them together all the same",
                       paths[first], a->device, (unsigned)a->sms, paths[i], b->device, (unsigned)b->sms);
  }
  return status_ok();
}

static bool comparable(const struct merge_row *a, const struct merge_row *b) {
  const bool measured = a->source->device != NULL && b->source->device != NULL;
  return measured && a->case_number == b->case_number && same_device(a->source, b->source);
}

/* Rows of a case stand together, so only neighbours are looked at. */
static void find_best(struct merge *merge) {
  for (size_t i = 0; i < merge->row_count; ++i) {
    struct merge_row *row = &merge->rows[i];
    double best_us = NAN;
    size_t first = i;
    while (first > 0 && merge->rows[first - 1].case_number == row->case_number) --first;
    for (size_t j = first; j < merge->row_count && merge->rows[j].case_number == row->case_number; ++j) {
      if (comparable(row, &merge->rows[j])) best_us = fmin(best_us, merge->rows[j].us[TIME_HOT]);
    }
    row->best_ratio = row->us[TIME_HOT] / best_us;
  }
}

static int compare_rows(const void *a, const void *b) {
  const struct merge_row *l = a, *r = b;
  if (l->case_number != r->case_number) return l->case_number < r->case_number ? -1 : 1;
  if (l->source_number != r->source_number) return l->source_number < r->source_number ? -1 : 1;
  return (l->order > r->order) - (l->order < r->order);
}

static struct status load_source(const char *path, struct merge_source *out) {
  char *text = NULL;
  size_t length = 0;
  struct status status = read_text(path, &text, &length);
  if (!status_failed(&status)) status = json_parse(path, text, length, &out->doc);
  free(text);
  return status_failed(&status) ? status : read_head(out);
}

struct status merge_load(const char *const *paths, size_t count, bool across_devices, struct merge *out) {
  struct status status = status_ok();
  size_t case_count = 0;
  *out = (struct merge){.exit_code = EXIT_CODE_OK};
  if (count > MERGE_SOURCES_MAX) return status_make(STATUS_USAGE, "more than %d reports", MERGE_SOURCES_MAX);
  for (size_t i = 0; i < count && !status_failed(&status); ++i) {
    status = load_source(paths[i], &out->source[i]);
    out->source_count = i + 1;
    if (!status_failed(&status)) status = add_rows(out, i, &case_count);
    const enum exit_code exit_code = out->source[i].exit_code;
    if (exit_code != EXIT_CODE_OK && out->exit_code != EXIT_CODE_WRONG) out->exit_code = exit_code;
  }
  if (!status_failed(&status)) status = compare_devices(out, paths, across_devices);
  if (status_failed(&status)) {
    merge_free(out);
    return status;
  }
  qsort(out->rows, out->row_count, sizeof *out->rows, compare_rows);
  find_best(out);
  return status;
}

void merge_free(struct merge *merge) {
  for (size_t i = 0; i < merge->source_count; ++i) json_free(&merge->source[i].doc);
  free(merge->rows);
  *merge = (struct merge){.exit_code = EXIT_CODE_OK};
}
