/* Tells what kind of file holds the measurements, and has it read. */
#include "cli/report/measured.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report/report.h"

/* ---- what a file can be -------------------------------------------------------------------------------------- */

static const struct format {
  const char *schema;
  enum measured_kind kind;
  struct status (*read)(const struct json_doc *, struct journal_data *out);
} formats[] = {
    {REPORT_SCHEMA, MEASURED_REPORT, report_read},
    {TIMES_SCHEMA, MEASURED_TIMES, times_read},
};

/* Files of attnbench that hold no measurements, by the start of their schema or by a key. */
static const struct {
  const char *schema, *key, *what, *instead;
} others[] = {
    {"attnbench.compare/", NULL, "a comparison", "give one of the two reports that it compares"},
    {"attnbench.counters/", NULL, "a file of counters",
     "add it to a report with attnbench report REPORT --counters FILE"},
    {"attnbench.timer_selftest/", NULL, "a self-test of the timer", "give a journal or a report"},
    {"attnbench.table/", NULL, "a table for a results page", "give a journal or a report"},
    {"attnbench.ladder/", NULL, "a ladder of a results page", "give a journal or a report"},
    {NULL, "benchmarks", "what --gbench wrote, which cannot be read back", "give the journal, or a report of --json"},
    {NULL, "grid", "a sweep", "measure it with attnbench --sweep FILE --json REPORT"},
    {NULL, "shapes", "a sweep", "measure it with attnbench --sweep FILE --json REPORT"},
};

static struct status refuse_other(const struct json_doc *doc, const cJSON *at, const char *schema) {
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    const bool is_it = others[i].schema != NULL ? strncmp(schema, others[i].schema, strlen(others[i].schema)) == 0
                                                : json_get(doc->root, others[i].key) != NULL;
    if (is_it)
      return json_error(doc, at, false, "is %s%s; %s", at != doc->root ? "that of " : "", others[i].what,
                        others[i].instead);
  }
  return status_ok();
}

static struct status refuse(const struct json_doc *doc) {
  const cJSON *schema = json_get(doc->root, "schema"), *at = schema != NULL ? schema : doc->root;
  const char *text = cJSON_IsString(schema) ? schema->valuestring : "";
  const struct status status = refuse_other(doc, at, text);
  if (status_failed(&status)) return status;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
    const size_t name = strcspn(formats[i].schema, "/") + 1;
    if (strncmp(text, formats[i].schema, name) != 0) continue;
    return json_error(doc, at, false, "is %s, but attnbench %s reads %s; use the attnbench that wrote the file", text,
                      version_string(), formats[i].schema);
  }
  return json_error(doc, at, false, "is not a report; give a journal, or a file whose \"schema\" is \"%s\" or \"%s\"",
                    REPORT_SCHEMA, TIMES_SCHEMA);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

static struct status read_document(const struct json_doc *doc, struct journal_data *out, enum measured_kind *kind) {
  const cJSON *schema = json_get(doc->root, "schema");
  for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, formats[i].schema) != 0) continue;
    *kind = formats[i].kind;
    return formats[i].read(doc, out);
  }
  return refuse(doc);
}

/* A report that was written with a checksum and has none now was changed too. A report that was made from an edited
 * one says so itself. */
static void note_checksum(const struct json_doc *doc, enum checksum found, struct journal_data *out) {
  const bool had_one = json_get(doc->root, JSON_HAS_CHECKSUM) != NULL || json_get(doc->root, "checksum") != NULL;
  out->is_edited = out->is_edited || found == CHECKSUM_WRONG || (found == CHECKSUM_NONE && had_one);
  out->lacks_checksum = found == CHECKSUM_NONE && !had_one;
}

/* Takes the text: a copy of a large report would be in the way. */
static struct status read_json(const char *path, char *text, size_t length, struct journal_data *out,
                               enum measured_kind *kind) {
  struct json_doc doc;
  const enum checksum found = checksum_check(&checksum_file, HASH_EMPTY, text, length);
  TRY(json_adopt(path, text, length, &doc));
  struct status status = read_document(&doc, out, kind);
  if (*kind == MEASURED_REPORT) note_checksum(&doc, found, out);
  if (!status_failed(&status) && *kind == MEASURED_REPORT && found == CHECKSUM_RIGHT) {
    status = derived_check(&doc, out);
    if (status_failed(&status)) journal_free(out);
  }
  json_free(&doc);
  return status;
}

static struct status check_json(const char *path, const char *text) {
  const char first = text[strspn(text, " \t\r\n")];
  if (first != '{')
    return status_make(STATUS_INPUT, "%s: is %s; give a journal, a report of --json or a table of times", path,
                       first == '\0' ? "empty" : "neither a journal nor JSON");
  return status_ok();
}

struct status measured_load(const char *path, struct journal_data *out, enum measured_kind *kind) {
  char *text;
  size_t length;
  enum measured_kind found = MEASURED_JOURNAL;
  struct status status = json_read_file(path, JOURNAL_BYTES_MAX, &text, &length);
  if (status_failed(&status)) return status;
  const bool is_journal = journal_starts(text);
  status = is_journal ? journal_parse(path, text, length, out) : check_json(path, text);
  if (is_journal || status_failed(&status)) {
    free(text);
  } else {
    status = read_json(path, text, length, out, &found);
  }
  if (kind != NULL) *kind = found;
  if (!status_failed(&status)) plausible_judge_all(out);
  return status;
}

/* A comparison would take what another device or seed did for what the program does. */
static struct status check_one_run(const char *path, const struct journal_data *data) {
  if (data->run.tuned)
    return status_make(STATUS_NOT_COMPARABLE,
                       "%s: attnbench tune measured it, each tuning as often as its search needed; a comparison "
                       "needs as many rounds of every cell, so measure the sweep that tune writes with --json",
                       path);
  for (size_t i = 0; i < data->record_count; ++i) {
    const struct record *record = &data->records[i];
    if (record->resumed_with_other[0] == '\0') continue;
    return status_make(STATUS_NOT_COMPARABLE,
                       "%s: %s of %s was measured with another %s than the rest (--resume=anyway, --across-devices); "
                       "a comparison needs one run, so measure the sweep anew",
                       path, record->attn_case.key, record->variant, record->resumed_with_other);
  }
  return status_ok();
}

static struct status check_unedited(const char *path, const struct journal_data *data, bool may_be_edited) {
  if (!data->is_edited || may_be_edited) return status_ok();
  return status_make(STATUS_INPUT,
                     "%s: %s; give the report as it was written, or accept the change with --allow-edited", path,
                     report_origin(data));
}

struct status measured_load_evidence(const char *path, bool may_be_edited, struct journal_data *out) {
  enum measured_kind kind;
  struct status status = measured_load(path, out, &kind);
  if (status_failed(&status)) return status;
  status = check_unedited(path, out, may_be_edited);
  if (!status_failed(&status)) status = check_one_run(path, out);
  if (!status_failed(&status) && kind != MEASURED_TIMES) return status;
  journal_free(out);
  if (status_failed(&status)) return status;
  return status_make(STATUS_INPUT,
                     "%s: holds times entered by hand, one number a row, which cannot be compared; give journals or "
                     "reports that were measured",
                     path);
}
