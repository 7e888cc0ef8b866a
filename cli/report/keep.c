/* Drops the rows that were not asked for. */
#include "cli/report/measured.h"

#include <string.h>

enum { FILTERS_MAX = 16, NAMES_MAX = 128 };

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

/* A name that no row has. */
static struct status check_variants(const struct keep *keep, const char *path, const struct journal_data *data) {
  const char *names[NAMES_MAX + 1] = {NULL};
  for (size_t i = 0, count = 0; i < data->record_count && count < NAMES_MAX; ++i) {
    size_t known = 0;
    while (known < count && strcmp(names[known], data->records[i].variant_name) != 0) ++known;
    if (known == count) names[count++] = data->records[i].variant_name;
  }
  for (const char *at = keep->variants; at != NULL;) {
    const size_t length = variant_spec_length(at);
    size_t i = 0;
    char name[VARIANT_SPEC_MAX];
    while (i < data->record_count && !is_variant(&data->records[i], at, length)) ++i;
    if (i == data->record_count) {
      snprintf(name, sizeof name, "%.*s", (int)length, at);
      const char *nearest = json_nearest(name, names);
      return status_make(STATUS_USAGE, "--variants: %s has no rows of \"%s\"%s%s%s", path, name,
                         nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                         nearest != NULL ? "?" : "");
    }
    at = at[length] == '\0' ? NULL : at + length + 1;
  }
  return status_ok();
}

struct status keep_records(const struct keep *keep, const char *path, struct journal_data *data) {
  struct filter filters[FILTERS_MAX];
  size_t kept = 0;
  if (keep->filter_count == 0 && keep->variants == NULL) return status_ok();
  for (size_t i = 0; i < keep->filter_count && i < FILTERS_MAX; ++i) TRY(filter_parse(keep->filters[i], &filters[i]));
  if (!keep->is_one_of_several) TRY(check_variants(keep, path, data));
  for (size_t i = 0; i < data->record_count; ++i) {
    bool is_kept = keeps_variant(keep, &data->records[i]);
    for (size_t f = 0; f < keep->filter_count && f < FILTERS_MAX; ++f)
      is_kept = is_kept && filter_keeps(&filters[f], &data->records[i].attn_case.shape);
    if (is_kept) data->records[kept++] = data->records[i];
  }
  if (kept == 0 && !keep->is_one_of_several)
    return status_make(STATUS_USAGE, "%s: no row meets --filter and --variants", path);
  data->run.cell_count -= data->record_count - kept;
  data->record_count = kept;
  selection_free(&data->selection); /* it names cells that are not there any more */
  return status_ok();
}
