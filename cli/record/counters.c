/* Reads a file of counters and gives them to the rows of a report. */
#include "cli/record/journal.h"

#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/record/field_tables.h"

/* More than 1 by more than a counter's own noise is a value in percent. */
static const double RATIO_MAX = 1.1;

struct counter_row {
  char key[AXIS_KEY_MAX], variant[VARIANT_SPEC_MAX];
  struct counter_record counters;
};

static const struct field row_fields[] = {
    FIELD_TEXT_OF("key", struct counter_row, key),
    FIELD_TEXT_OF("variant", struct counter_row, variant),
    FIELD_ARRAY_OF("passes", struct counter_row, counters.pass, counters.pass_count, record_counter_pass_fields),
    {0},
};

/* ---- one row ------------------------------------------------------------------------------------------------- */

static struct status check_values(const struct json_doc *doc, const cJSON *pass) {
  for (const cJSON *item = pass->child; item != NULL; item = item->next) {
    const bool is_ratio = text_ends_with(item->string, "ratio");
    if (cJSON_IsObject(item)) TRY(check_values(doc, item));
    if (!cJSON_IsNumber(item)) continue;
    if (item->valuedouble < 0) return json_error(doc, item, false, "is below 0, which no counter is");
    if (is_ratio && item->valuedouble > RATIO_MAX)
      return json_error(doc, item, false, "is %g, but a ratio is 0 to 1; divide a percentage by 100",
                        item->valuedouble);
  }
  return status_ok();
}

/* What a profiler captured must be what the report says was launched. */
static struct status check_launch(const struct json_doc *doc, const cJSON *pass, const struct counter_pass *counted,
                                  const struct pass_record *launched) {
  const uint32_t *g = counted->grid, *b = counted->block;
  if (memcmp(g, launched->pass.grid, sizeof counted->grid) == 0 &&
      memcmp(b, launched->pass.block, sizeof counted->block) == 0)
    return status_ok();
  return json_error(doc, pass, false,
                    "has grid (%u,%u,%u) and block (%u,%u,%u), but the report's pass %s was launched with grid "
                    "(%u,%u,%u) and block (%u,%u,%u); take counters and report from the same build and sweep",
                    g[0], g[1], g[2], b[0], b[1], b[2], launched->name, launched->pass.grid[0],
                    launched->pass.grid[1], launched->pass.grid[2], launched->pass.block[0], launched->pass.block[1],
                    launched->pass.block[2]);
}

static struct status check_passes(const struct json_doc *doc, const cJSON *item, const struct counter_row *row,
                                  const struct record *record) {
  const cJSON *passes = json_get(item, "passes"), *pass = passes->child;
  const uint32_t count = row->counters.pass_count, launches = record->plan.pass_count;
  if (count == 0 || (launches > 0 && count != launches))
    return json_error(doc, passes, false, "has %u passes, but %s launches %u", count, record->variant, launches);
  for (uint32_t i = 0; i < count; ++i, pass = pass->next) {
    TRY(check_values(doc, pass));
    if (launches > 0) TRY(check_launch(doc, pass, &row->counters.pass[i], &record->pass[i]));
  }
  return status_ok();
}

/* taken: which records this file has named already. */
static struct status read_row(const struct json_doc *doc, const cJSON *item, const struct counter_record *head,
                              struct journal_data *into, bool *taken) {
  struct counter_row row = {.key = "", .counters = *head};
  TRY(fields_read(doc, item, row_fields, &row));
  struct record *record = journal_find(into, 0, row.key, row.variant);
  if (record == NULL)
    return json_error(doc, item, false, "is of %s and %s, which the report does not have", row.key, row.variant);
  if (record->status != CELL_ok)
    return json_error(doc, item, false, "is of %s and %s, whose status is %s: it was not launched", row.key,
                      row.variant, cell_status_name(record->status));
  if (taken[record - into->records])
    return json_error(doc, item, false, "is of %s and %s, which appears twice", row.key, row.variant);
  TRY(check_passes(doc, item, &row, record));
  taken[record - into->records] = true;
  record->counters = row.counters;
  record->counters.done = true;
  return status_ok();
}

/* ---- the file ------------------------------------------------------------------------------------------------ */

static struct status read_head(const struct json_doc *doc, struct counter_record *head) {
  const cJSON *schema = json_get(doc->root, "schema");
  if (!cJSON_IsString(schema) || strcmp(schema->valuestring, COUNTERS_SCHEMA) != 0)
    return json_error(doc, schema != NULL ? schema : doc->root, false,
                      "is not a counter file; its \"schema\" must be \"%s\"", COUNTERS_SCHEMA);
  TRY(JSON_CHECK_KEYS(doc, doc->root, "schema", "source", "cache", "launches", "rows"));
  TRY(fields_read_part(doc, doc->root, record_counter_head_fields, head));
  if (head->source[0] == '\0') return json_error(doc, doc->root, false, "has an empty \"source\"; name the profiler");
  if (strcmp(head->cache, "cold") == 0 || strcmp(head->cache, "hot") == 0) return status_ok();
  return json_error(doc, json_get(doc->root, "cache"), false, "must be \"cold\" or \"hot\"");
}

struct status counters_read(const struct json_doc *doc, struct journal_data *into) {
  struct counter_record head;
  counter_record_start(&head);
  TRY(read_head(doc, &head));
  const cJSON *rows = json_get(doc->root, "rows");
  if (!cJSON_IsArray(rows)) return json_error(doc, doc->root, false, "has no array \"rows\"");
  OWNED_ARRAY(bool, taken, into->record_count, "rows");
  for (const cJSON *item = rows->child; item != NULL; item = item->next) TRY(read_row(doc, item, &head, into, taken));
  return status_ok();
}
