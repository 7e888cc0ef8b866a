/* Drops the rows that were not asked for. */
#include "cli/report/measured.h"

#include <string.h>

enum { FILTERS_MAX = 16 };

static bool is_variant(const struct record *record, const char *name, size_t length) {
  return (strlen(record->variant) == length && strncmp(record->variant, name, length) == 0) ||
         (strlen(record->variant_name) == length && strncmp(record->variant_name, name, length) == 0);
}

static bool keeps_variant(const struct keep *keep, const struct record *record) {
  if (keep->variants == NULL) return true;
  for (const char *at = keep->variants;;) {
    const size_t length = variant_spec_length(at);
    if (is_variant(record, at, length)) return true;
    if (at[length] == '\0') return false;
    at += length + 1;
  }
}

static void note_variant(const char *name, struct keep_seen *seen) {
  for (size_t i = 0; i < seen->variant_count; ++i) {
    if (strcmp(seen->variant[i], name) == 0) return;
  }
  if (seen->variant_count < KEEP_NAMES_MAX)
    snprintf(seen->variant[seen->variant_count++], sizeof seen->variant[0], "%s", name);
}

static void note_rows(const struct keep *keep, const struct journal_data *data, struct keep_seen *seen) {
  for (size_t i = 0; i < data->record_count; ++i) note_variant(data->records[i].variant_name, seen);
  const char *at = keep->variants;
  for (size_t name = 0; at != NULL && name < KEEP_NAMES_MAX; ++name) {
    const size_t length = variant_spec_length(at);
    for (size_t i = 0; i < data->record_count && !seen->is_met[name]; ++i)
      seen->is_met[name] = is_variant(&data->records[i], at, length);
    at = at[length] == '\0' ? NULL : at + length + 1;
  }
}

struct status keep_check_variants(const struct keep *keep, const char *path, const struct keep_seen *seen) {
  const char *names[KEEP_NAMES_MAX + 1] = {NULL}, *at = keep->variants;
  for (size_t i = 0; i < seen->variant_count; ++i) names[i] = seen->variant[i];
  for (size_t i = 0; at != NULL && i < KEEP_NAMES_MAX; ++i) {
    const size_t length = variant_spec_length(at);
    char name[VARIANT_SPEC_MAX];
    if (!seen->is_met[i]) {
      snprintf(name, sizeof name, "%.*s", (int)length, at);
      const char *nearest = json_nearest(name, names);
      return status_make(STATUS_USAGE, "--variants: no row in %s is of \"%s\"%s%s%s", path, name,
                         nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                         nearest != NULL ? "?" : "");
    }
    at = at[length] == '\0' ? NULL : at + length + 1;
  }
  return status_ok();
}

struct status keep_records(const struct keep *keep, const char *path, struct journal_data *data) {
  struct filter filters[FILTERS_MAX];
  struct keep_seen alone = {.variant_count = 0};
  size_t kept = 0;
  if (keep->filter_count == 0 && keep->variants == NULL) return status_ok();
  for (size_t i = 0; i < keep->filter_count && i < FILTERS_MAX; ++i) TRY(filter_parse(keep->filters[i], &filters[i]));
  note_rows(keep, data, keep->seen != NULL ? keep->seen : &alone);
  if (keep->seen == NULL) TRY(keep_check_variants(keep, path, &alone));
  for (size_t i = 0; i < data->record_count; ++i) {
    bool is_kept = keeps_variant(keep, &data->records[i]);
    for (size_t f = 0; f < keep->filter_count && f < FILTERS_MAX; ++f)
      is_kept = is_kept && filter_keeps(&filters[f], &data->records[i].attn_case.shape);
    if (is_kept) data->records[kept++] = data->records[i];
  }
  if (kept == 0 && keep->seen == NULL)
    return status_make(STATUS_USAGE, "%s: no row meets --filter and --variants", path);
  data->run.cell_count -= data->record_count - kept;
  data->record_count = kept;
  selection_free(&data->selection); /* it names cells that are not there any more */
  return status_ok();
}
